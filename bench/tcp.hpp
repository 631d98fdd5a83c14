// A link of the benchmarks, not of the product: frames of one inference over plain TCP, neither encrypted nor tagged.
// Measures the sockets of a machine alone, and compares with systems that have no protected channel.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "suf/run/party.hpp"

namespace suf::bench {

// Makes `count` TCP connections over the loopback, with TCP_NODELAY; returns both ends. Throws Cause::kResource.
std::array<std::vector<int>, 2> Connected(int count);
// Writes all bytes to a blocking socket. Throws Cause::kPeer if the connection ends.
void Put(int socket, View bytes);
// Reads all bytes from a blocking socket. Throws Cause::kPeer if the connection ends.
void Get(int socket, std::span<uint8_t> bytes);

// A channel of the product, with its threads and its division of frames, over plain sockets. Takes ownership of the
// sockets.
std::unique_ptr<net::Channel> TcpChannel(const std::vector<int>& sockets);

// The channel of a TcpLink. It is a base, because the link refers to it from the beginning.
struct OwnChannel {
  std::unique_ptr<net::Channel> channel;
};
// The product's link over such a channel, which it owns.
class TcpLink : private OwnChannel, public run::ChannelLink {
 public:
  explicit TcpLink(const std::vector<int>& sockets) : OwnChannel{TcpChannel(sockets)}, run::ChannelLink(*channel) {}
};

}  // namespace suf::bench
