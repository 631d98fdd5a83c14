// Channels over TCP and TLS 1.3: both ends show a certificate of one CA and the role in it is checked at both ends; no
// resumption, no tickets. Asio and OpenSSL stay in the .cpp.
#pragma once
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "suf/net/credentials.hpp"

namespace suf::net {

// Where a role listens or is reached. host: a name, an IPv4 address, or an IPv6 address without brackets.
struct Address {
  std::string host;
  uint16_t port = 0;
  // Reads host:port, [IPv6]:port, or an IPv6 address, a colon and a port. Throws Cause::kInput with what is wrong.
  static Address Parse(const std::string& text);
  // The same for an address to listen at, where port 0 takes a free one.
  static Address ParseListening(const std::string& text);
  // An IPv6 address gets brackets.
  std::string Text() const { return host.find(':') == host.npos ? Str(host, ":", port) : Str("[", host, "]:", port); }
};

// Connects to the role `to`. Throws Cause::kPeer (nobody answers, silent) or Cause::kRefused (certificate or
// role, of either side). streams: frames over 16 KiB of keys, masked weights and inferences go over so many
// connections, or as many as the other end takes; they are there when it returns. When `stop` is requested, from any
// thread, dialing and the channel end as if the peer had hung up.
std::unique_ptr<Channel> Dial(const Credentials& own, const Address& where, Role to, Millis timeout = kTimeout,
                              std::stop_token stop = {}, int streams = 1);

// Accepts connections; each runs in a thread of its own, hand-shake included, so a silent stranger holds up
// nobody. 96 sessions at most; apart from these 64 handshakes, of 10 s at most, where a new client takes the place of
// the oldest, as it does when descriptors or threads run out.
class Listener {
 public:
  // Port 0 takes a free one. streams: of a session, at most. Throws Cause::kResource when the address cannot be had.
  Listener(const Credentials& own, const Address& where, std::vector<Role> peers, Millis timeout = kTimeout,
           int streams = 1);
  ~Listener();
  uint16_t port() const;
  // Until Stop; then drops all but the sessions we deal or compute for (Stage::kEngaged), and waits for these.
  // `failed` hears what ended a session, one call at a time.
  void Run(const std::function<void(Channel&)>& session, const std::function<void(const Error&)>& failed);
  // From any thread.
  void Stop();
  // The peers of the sessions that Stop waits for: "the data owner at 10.0.0.2:41234". From any thread.
  std::vector<std::string> Running() const;
  // As Stop, and ends each session as if its peer had hung up; Run returns once each has put away what it had.
  // From any thread.
  void Abort();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::net
