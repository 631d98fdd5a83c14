// The hand-shake of Dial and Listener on a stream socket that is connected already, for what tests it without a
// network.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "suf/proto/credentials.hpp"

namespace suf::proto {

// Secured: takes `socket` over. As server or client; `who` names the peer in sentences. Throws as Dial does.
std::unique_ptr<Channel> Secured(const Credentials& own, int socket, bool server, const std::vector<Role>& peers,
                                 Millis timeout, const std::string& who);

}  // namespace suf::proto
