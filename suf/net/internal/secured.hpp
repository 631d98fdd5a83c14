// The hand-shake of Dial and Listener, and what it makes of a link; also for what tests it without a network.
#pragma once
#include <string>
#include <vector>

#include "suf/net/internal/tls_link.hpp"

namespace suf::net {

// The TLS handshake, then both roles and pins checked; `who` names the peer in sentences. Throws as Dial does.
std::unique_ptr<Channel> Secured(std::shared_ptr<TlsLink> link, bool server, const std::vector<Role>& peers,
                                 Millis timeout, const std::string& who);

}  // namespace suf::net
