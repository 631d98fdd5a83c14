// The connection of a party to the dealer over TLS.
#pragma once
#include "suf/net/tls.hpp"
#include "suf/proto/supply.hpp"

namespace suf::roles {

// Returns the function by which a role connects to the dealer whenever keys are due. `timeout` is how long a silent
// dealer is waited for. Each session has `streams` connections, as in net::Dial.
inline proto::DialDealer ToDealer(const net::Credentials& own, const net::Address& address,
                                  net::Millis timeout = net::kTimeout, int streams = 1) {
  return [own, address, timeout, streams](std::stop_token stop) {
    return net::Dial(own, address, Role::kDealer, timeout, std::move(stop), streams);
  };
}

}  // namespace suf::roles
