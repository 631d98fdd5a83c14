// The dealers of a party. A party has one dealer, or a list of them; then each lane has one of the list
// (docs/design/dealers.md).
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "suf/net/channel.hpp"

namespace suf::proto {

// Connects to the dealer; the connection is closed when a stop is requested.
using DialDealer = std::function<std::unique_ptr<net::Channel>(std::stop_token)>;

// A dealer, as one lane uses it.
struct DealerContact {
  template <class F>
  requires std::convertible_to<F, DialDealer> DealerContact(F only)
      : dial(std::move(only)) {}  // not explicit: most parties have one dealer
  DealerContact(DialDealer d, const Hash& k, bool is_listed) : dial(std::move(d)), key(k), listed(is_listed) {}
  // Connects. Throws Cause::kRefused if another key answers than this one.
  std::unique_ptr<net::Channel> Dial(std::stop_token stop) const;

  DialDealer dial;
  Hash key{};           // SHA-256 of its public key; zeros: the store remembers that of the first connection
  bool listed = false;  // whether it is one of several, so that lanes are bound to it (store::LaneWish)
};

// Immutable.
class Dealers {
 public:
  // The most dealers of a list.
  static constexpr size_t kMost = 16;
  // One dealer. A key that is known is what a data owner names in its greeting.
  template <class F>
  requires std::convertible_to<F, DialDealer> Dealers(F dial)
      : all_{DealerContact(std::move(dial))} {}  // not explicit: most parties have one dealer
  Dealers(DialDealer dial, const Hash& key) : all_{{std::move(dial), key, false}} {}
  // A list of 2 to kMost dealers with different keys, all of them listed.
  explicit Dealers(std::vector<DealerContact> list);

  size_t size() const { return all_.size(); }
  const DealerContact& operator[](size_t i) const { return all_.at(i); }
  // Returns the contact for a lane whose greeting names this dealer; zeros: none. Nothing if we do not use that dealer.
  // A list has no dealer for a lane that names none.
  std::optional<DealerContact> For(const Hash& key) const;

 private:
  std::vector<DealerContact> all_;
};

}  // namespace suf::proto
