// The handshake of Dial and Listener, which turns a link into a channel. Tests also use it without a network.
#pragma once
#include <string>
#include <vector>

#include "suf/net/tls_link.hpp"

namespace suf::net {

// Does the TLS handshake, then checks both roles and the pins. `who` names the peer in error messages. Throws as Dial
// does.
std::unique_ptr<Channel> DoHandshake(std::shared_ptr<TlsLink> link, bool server, const std::vector<Role>& peers,
                                     Millis timeout, const std::string& who);

}  // namespace suf::net
