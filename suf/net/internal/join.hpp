// How a connection becomes one of a session's streams: it names the session, and both ends show that they know the
// exporter of its first connection, bound to this one's. docs/design/streams.md#connections.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "suf/net/internal/tls_channel.hpp"

namespace suf::net {

// The name of a stream's seat, for the greeting of its handshake: only the ends of the session's first connection can
// say it before the stream comes.
std::string SeatName(const Channel& first, int index);

// Of the end that dialed: `side` as stream number `index` of the session of `first`. One flight each way.
TlsChannel::Side AskToJoin(const Channel& first, TlsChannel& side, int index);

// Of the end that listens: sessions whose streams are on their way.
class Lobby {
 public:
  // The other streams of a session of so many, by number. Ends the session where they do not come in that time.
  std::vector<TlsChannel::Side> Gather(Channel& first, int streams, Millis wait);
  // What a connection asks for that was opened to join; refused where its session is not here within 2 s, has
  // it already, or is another one's.
  void TakeIn(TlsChannel& side);
  // Whether a seat of this name waits for its stream; true once. Waits up to 2 s for the session.
  bool Expects(const std::string& seat);
  // Streams that are on their way to all sessions.
  size_t missing() const;

 private:
  struct Seat {
    bool taken = false;
    TlsChannel::Side side;  // with a pipe once it came
  };
  struct Waiting {
    const Channel* first;
    std::vector<Seat> seats;
  };
  mutable std::mutex m_;
  std::condition_variable changed_;
  std::map<Hash, Waiting> waiting_;
  std::set<std::string> seats_;  // SeatName of seats that nobody named yet
};

}  // namespace suf::net
