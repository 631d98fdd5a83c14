// A link of the benchmark, not of the product: frames of one inference over plain TCP, neither encrypted nor tagged.
// What a machine's sockets cost in themselves, and what a system without a protected channel is measured with.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "suf/run/party.hpp"

namespace suf::bench {

// `count` TCP connections over the loopback, their two ends, with TCP_NODELAY. Throws Cause::kResource.
std::array<std::vector<int>, 2> Connected(int count);
// Put, Get: all bytes of a blocking socket. Throw Cause::kPeer when it ends.
void Put(int socket, View bytes);
void Get(int socket, std::span<uint8_t> bytes);

// A session's channel as the product has it, with its threads and its way to divide a frame; but its pipes
// are sockets. Takes them over.
std::unique_ptr<net::Channel> TcpChannel(const std::vector<int>& sockets);

// TcpLink: the product's link over one, which it owns: as a base, since the link refers to it from the beginning on.
struct OwnChannel {
  std::unique_ptr<net::Channel> channel;
};
class TcpLink : private OwnChannel, public run::ChannelLink {
 public:
  explicit TcpLink(const std::vector<int>& sockets) : OwnChannel{TcpChannel(sockets)}, run::ChannelLink(*channel) {}
};

}  // namespace suf::bench
