// How a party reaches the dealer over TLS.
#pragma once
#include "suf/net/tls.hpp"
#include "suf/proto/supply.hpp"

namespace suf::roles {

// A new connection whenever keys are due; timeout: how long a silent dealer is waited for; streams: of each
// session, as net::Dial.
inline proto::DialDealer ToDealer(const net::Credentials& own, const net::Address& address,
                                  net::Millis timeout = net::kTimeout, int streams = 1) {
  return [own, address, timeout, streams](std::stop_token stop) {
    return net::Dial(own, address, Role::kDealer, timeout, std::move(stop), streams);
  };
}

}  // namespace suf::roles
