// How a connection becomes a stream of a session. It names the session. Both ends prove that they know the exporter of
// the session's first connection, bound to that of this one. See docs/design/streams.md#connections.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "suf/net/tls_channel.hpp"

namespace suf::net {

// Returns the name of a stream's seat, for the greeting of its handshake. Until the stream arrives, only the ends of
// the session's first connection can compute it.
std::string SeatName(const Channel& first, int index);

// Joins `side` to the session of `first` as stream number `index`, at the end that dialed. One flight each way.
TlsChannel::Side RequestJoin(const Channel& first, TlsChannel& side, int index);

// The sessions of the listening end whose streams are on their way.
class Lobby {
 public:
  // Returns the further streams of a session of `streams` connections, by number. Ends the session if they do not
  // arrive within `wait`.
  std::vector<TlsChannel::Side> Gather(Channel& first, int streams, Millis wait);
  // Adds a connection that was opened to join. Refuses it if its session does not appear within 2 s, already has
  // this stream, or is another peer's.
  void AddStream(TlsChannel& side);
  // Reserves the seat of this name; returns false if none waits for its stream. Waits up to 2 s for the session.
  bool ReserveSeat(const std::string& seat);
  // Returns the number of streams that are on their way to all sessions.
  size_t missing() const;

 private:
  struct JoinSeat {
    bool taken = false;
    TlsChannel::Side side;  // has a pipe once it arrived
  };
  struct WaitingPeer {
    const Channel* first;
    std::vector<JoinSeat> seats;
  };
  mutable std::mutex m_;
  std::condition_variable changed_;
  std::map<Hash, WaitingPeer> waiting_;
  std::set<std::string> seats_;  // names of seats that no greeting has used yet
};

}  // namespace suf::net
