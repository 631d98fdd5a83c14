// The connections of a party to its dealers over TLS.
#pragma once
#include <functional>
#include <vector>

#include "suf/net/tls.hpp"
#include "suf/proto/dealers.hpp"

namespace suf::roles {

// Returns the function by which a role connects to its only dealer whenever keys are due. `timeout` is how long a
// silent dealer is waited for. Each session has `streams` connections, as in net::Dial.
inline proto::DialDealer ToDealer(const net::Credentials& own, const net::Address& address,
                                  net::Millis timeout = net::kTimeout, int streams = 1) {
  return [own, address, timeout, streams](std::stop_token stop) {
    return net::Dial(own, address, Role::kDealer, timeout, std::move(stop), streams);
  };
}

// Returns the dealers at these addresses. For several addresses, `own` must pin as many keys of dealers, which then are
// the dealers of a list. Keys and addresses find each other, and those in the same order find each other at once.
// Throws Cause::kInput for an address that is listed twice, for more than Dealers::kMost, and for other numbers of
// pinned keys.
proto::Dealers DealersAt(const net::Credentials& own, const std::vector<net::Address>& addresses,
                         net::Millis timeout = net::kTimeout, int streams = 1);

// Connects to a place where some dealer listens, and gives up after that time.
using DialPlace = std::function<std::unique_ptr<net::Channel>(net::Millis, std::stop_token)>;
// Returns a list of dealers with these keys, each of which listens at one of the places. A dealer that cannot be
// reached is dialled again until `timeout` has passed.
proto::Dealers ListedDealers(std::vector<DialPlace> places, std::vector<Hash> keys, net::Millis timeout);

}  // namespace suf::roles
