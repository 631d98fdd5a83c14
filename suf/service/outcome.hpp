// The end of a job, in logs and metrics.
#pragma once
#include <optional>
#include <string_view>

namespace suf::service {

// As P0's or the dealer's frames show it: no value depends on a result.
enum class JobOutcome { kDone, kBroken, kRefused };
inline constexpr int kOutcomeCount = 3;
// Returns "done", "broken" or "refused".
constexpr const char* Name(JobOutcome outcome) {
  constexpr const char* kWords[kOutcomeCount] = {"done", "broken", "refused"};
  return kWords[int(outcome)];
}
constexpr std::optional<JobOutcome> OutcomeNamed(std::string_view word) {
  for (int i = 0; i < kOutcomeCount; ++i)
    if (word == Name(JobOutcome(i))) return JobOutcome(i);
  return std::nullopt;
}

}  // namespace suf::service
