// Channels over TCP and TLS 1.3. Each end shows a certificate of one CA, and the other end checks the role in it. No
// resumption, no tickets. Asio and OpenSSL stay in the .cpp files.
#pragma once
#include <algorithm>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "suf/net/credentials.hpp"

namespace suf::net {

// The place where a role listens or is reached. `host` is a name, an IPv4 address, or an IPv6 address without brackets.
struct Address {
  std::string host;
  uint16_t port = 0;
  // Parses host:port, [IPv6]:port, or an IPv6 address, a colon and a port. Throws Cause::kInput with the reason.
  static Address Parse(const std::string& text);
  // The most addresses of a list.
  static constexpr size_t kMostListed = 64;
  // Parses addresses with commas between. Throws Cause::kInput as Parse does, and for an address that appears twice.
  static std::vector<Address> ParseList(const std::string& text);
  // Parses an address to listen at; port 0 takes a free one.
  static Address ParseListening(const std::string& text);
  // Returns host:port; an IPv6 address gets brackets.
  std::string Text() const { return host.find(':') == host.npos ? Str(host, ":", port) : Str("[", host, "]:", port); }
};

// Connects to the role `to`. Throws Cause::kPeer if no process answers or it stays silent. Throws Cause::kRefused if
// either side rejects the other's certificate or role. Frames of keys, masked weights and inferences over 16 KiB use
// `streams` connections, or fewer if the other end allows fewer. All of them exist on return. If `stop` is requested,
// from any thread, dialing and the channel end as if the peer had hung up.
std::unique_ptr<Channel> Dial(const Credentials& own, const Address& where, Role to, Millis timeout = kTimeout,
                              std::stop_token stop = {}, int streams = 1);

// The sessions of a Listener by default, and the most of them that one data owner's certificate may hold.
inline constexpr int kSessions = 96, kSessionsOfOne = 72;
// Returns the number of sessions for a server that runs `at_once` inferences side by side. Each has room for the
// sessions that wait for their turn.
constexpr int SessionsFor(int at_once) { return std::max(kSessions, 64 + 32 * at_once); }

// A server of connections. Each runs in its own thread, handshake included, so that a silent stranger delays no other
// client. Limits are the number of sessions and, apart from these, 64 handshakes of 10 s. If the handshakes,
// descriptors or threads run out, a new client replaces the oldest client in a handshake. A data owner has at most
// kSessionsOfOne sessions, so that others find a place.
class Listener {
 public:
  // Port 0 takes a free one. `streams` is the most per session. Throws Cause::kResource if the address is not
  // available. AllowDescriptors(sessions, streams) checks that the process may open enough files.
  Listener(const Credentials& own, const Address& where, std::vector<Role> peers, Millis timeout = kTimeout,
           int streams = 1, int sessions = kSessions);
  ~Listener();
  uint16_t port() const;
  // Serves until Stop. Then drops all sessions except those that we deal or compute for (PeerState::kEngaged), and
  // waits until these end or idle. Calls `failed` with each error that ended a session, one call at a time.
  void Run(const std::function<void(Channel&)>& session, const std::function<void(const Error&)>& failed);
  // Makes Run return. Thread-safe.
  void Stop();
  // Returns the peers of the sessions that Stop waits for: "the data owner at 10.0.0.2:41234". Thread-safe.
  std::vector<std::string> Running() const;
  // Stops, and ends each session as if its peer had hung up. Run returns after each session has put its state away.
  // Thread-safe.
  void Abort();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::net
