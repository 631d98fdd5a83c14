// P0's counts of texts, tokens and searches, by owner and day (UTC). A job is counted before it begins. If it does not
// begin, its count is given back.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "suf/store/job.hpp"

namespace suf::service {

// The texts of a job, their tokens, and how many of the texts are searched for.
struct Amount {
  uint64_t texts = 0, tokens = 0, searches = 0;
  bool operator==(const Amount&) const = default;
};

// Returns what a job counts. A search also embeds its texts, so it counts them and their tokens. A fetch counts
// nothing, because each search has at most one.
inline Amount AmountOf(const store::Job& job) {
  if (store::IsFetch(job)) return {};
  const uint64_t texts = job.texts;
  return {texts, texts * job.tokens, store::IsSearch(job) ? texts : 0};
}

// The most that an owner may use in a day. An absent number sets no limit.
struct Quota {
  std::optional<uint64_t> texts = {}, tokens = {}, searches = {};
  // Returns whether a limit applies to a part of this amount.
  bool Limits(const Amount& more) const {
    return (texts && more.texts) || (tokens && more.tokens) || (searches && more.searches);
  }
  // Returns whether `more` fits beside the amount that is used. A part of 0 always fits.
  bool Admits(const Amount& used, const Amount& more) const {
    const auto fits = [](const std::optional<uint64_t>& most, uint64_t a, uint64_t b) {
      return !most || !b || (a <= *most && b <= *most - a);
    };
    return fits(texts, used.texts, more.texts) && fits(tokens, used.tokens, more.tokens) &&
           fits(searches, used.searches, more.searches);
  }
};

// The answer to a job that its owner's quota does not admit.
struct RetryAfter {
  uint32_t seconds = 0;  // until the next day, 1 to 86,400; 0 if the quota of a whole day does not admit the job
};

// Thread-safe. The functions throw Cause::kResource if the counts cannot be read or written. They throw Cause::kRefused
// if it has become unsafe to count there. A later call may succeed.
class Counts {
 public:
  virtual ~Counts() = default;
  // Adds the amount to the owner's count of today if the quota admits it. Returns the number of the reservation, whose
  // count is then durable. If it throws, the amount may be counted, but no reservation holds it.
  virtual std::variant<uint64_t, RetryAfter> Reserve(const std::string& owner, const Amount& amount,
                                                     const Quota& quota) = 0;
  // Makes a reservation final, which neither was released nor is final.
  virtual void Confirm(uint64_t reservation) = 0;
  // Gives a reservation back, unless it is final. It lowers no count of a later day. If that fails, or in a crash, the
  // amount stays counted.
  virtual void Release(uint64_t reservation) noexcept = 0;
  // Returns the owner's count of today.
  virtual Amount Today(const std::string& owner) = 0;
  // Returns sentences for the operator, each once.
  virtual std::vector<std::string> TakeNotices() = 0;
};

}  // namespace suf::service
