// How a party reaches the dealer over TLS.
#pragma once
#include "suf/proto/supply.hpp"
#include "suf/proto/tls.hpp"

namespace suf::roles {

// ToDealer: a new connection whenever keys are due; timeout: how long a silent dealer is waited for.
inline proto::DialDealer ToDealer(const proto::Credentials& own, const proto::Address& address,
                                  proto::Millis timeout = proto::kTimeout) {
  return [own, address, timeout](std::stop_token stop) {
    return proto::Dial(own, address, proto::Role::kDealer, timeout, std::move(stop));
  };
}

}  // namespace suf::roles
