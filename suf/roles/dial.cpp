#include "suf/roles/dial.hpp"

#include <condition_variable>
#include <mutex>
#include <set>

#include "suf/base/plural.hpp"

namespace suf::roles {
namespace {

constexpr net::Millis kAgain{200};  // the pause between two attempts to reach a dealer

// The places of dealers and the keys that they have shown.
class DealerBook {
 public:
  DealerBook(std::vector<DialPlace> places, size_t keys, net::Millis timeout)
      : places_(std::move(places)), timeout_(timeout), shown_(places_.size()) {
    SUF_CHECK(places_.size() == keys);
  }

  // Connects to the dealer with this key, which is number `index` of the list.
  std::unique_ptr<net::Channel> Dial(const Hash& key, size_t index, const std::stop_token& stop) {
    const auto until = std::chrono::steady_clock::now() + timeout_;
    const auto left = [&] { return std::chrono::duration_cast<net::Millis>(until - std::chrono::steady_clock::now()); };
    for (;;) {
      std::exception_ptr failed;
      for (const size_t place : CandidatesFor(key, index)) try {
          auto ch = places_[place](std::max(left(), net::Millis(1)), stop);
          const Hash shown = ch->peer().key;
          Note(place, shown);
          if (shown == key) return ch;
          ch->Refuse(net::Refusal::kGaveUp);  // another dealer of the list
        } catch (const Error& e) {
          if (e.cause() != Cause::kPeer) throw;
          if (!failed) failed = std::current_exception();
        }
      if (!failed)
        Fail(Cause::kRefused, "none of the ", places_.size(), " listed dealers shows the pinned key dealer=", Hex(key),
             "; pin the key of each listed dealer");
      if (stop.stop_requested() || left() <= kAgain) std::rethrow_exception(failed);
      std::unique_lock l(m_);
      std::condition_variable_any().wait_for(l, stop, kAgain, [] { return false; });
    }
  }

 private:
  // Returns the places at which the dealer may listen. That is the one where it was. Otherwise it is the place of its
  // number, and then those whose keys are unknown.
  std::vector<size_t> CandidatesFor(const Hash& key, size_t index) const {
    const std::lock_guard l(m_);
    std::vector<size_t> unknown;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (shown_[i] == key) return {i};
      if (shown_[i] == Hash{}) unknown.insert(i == index ? unknown.begin() : unknown.end(), i);
    }
    return unknown;
  }
  void Note(size_t place, const Hash& key) {
    const std::lock_guard l(m_);
    shown_[place] = key;
  }

  const std::vector<DialPlace> places_;
  const net::Millis timeout_;
  mutable std::mutex m_;     // guards the member below
  std::vector<Hash> shown_;  // by place; zeros: unknown
};

}  // namespace

proto::Dealers ListedDealers(std::vector<DialPlace> places, std::vector<Hash> keys, net::Millis timeout) {
  const auto book = std::make_shared<DealerBook>(std::move(places), keys.size(), timeout);
  std::vector<proto::DealerContact> list;
  for (size_t i = 0; i < keys.size(); ++i)
    list.emplace_back([book, key = keys[i], i](std::stop_token stop) { return book->Dial(key, i, stop); }, keys[i],
                      true);
  return proto::Dealers(std::move(list));
}

proto::Dealers DealersAt(const net::Credentials& own, const std::vector<net::Address>& addresses, net::Millis timeout,
                         int streams) {
  const std::vector<Hash> keys = own.PinnedOf(Role::kDealer);
  if (addresses.size() == 1) {
    proto::DialDealer dial = ToDealer(own, addresses[0], timeout, streams);
    return keys.size() == 1 ? proto::Dealers(std::move(dial), keys[0]) : proto::Dealers(std::move(dial));
  }
  if (addresses.size() > proto::Dealers::kMost)
    Fail(Cause::kInput, addresses.size(), " dealers are listed, and at most ", proto::Dealers::kMost,
         " are possible; list fewer");
  if (keys.size() != addresses.size())
    Fail(Cause::kInput, Plural(addresses.size(), "dealer is", "dealers are"), " listed and ",
         Plural(keys.size(), "key of a dealer is", "keys of dealers are"),
         " pinned; pin the key of each listed dealer, and no other");
  std::vector<DialPlace> places;
  for (const net::Address& a : addresses)
    places.push_back([own, a, streams](net::Millis wait, std::stop_token stop) {
      return net::Dial(own, a, Role::kDealer, wait, std::move(stop), streams);
    });
  return ListedDealers(std::move(places), keys, timeout);
}

}  // namespace suf::roles
