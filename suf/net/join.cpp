#include "suf/net/join.hpp"

#include <algorithm>

#include "suf/base/digest.hpp"

namespace suf::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kJoinBytes = 32 + 1 + 32;
constexpr Millis kSessionWait{2000};

// Returns a proof about another connection that only the ends of the first connection can compute.
Hash Proof(const char* label, const Channel& first, uint8_t index, const Hash& exporter) {
  return Hmac(first.exporter(), {AsView(label), View(&index, 1), exporter});
}
// Returns the name of a session, which reveals nothing about its exporter.
Hash NameOf(const Channel& first) { return Hmac(first.exporter(), {AsView("suf session")}); }

constexpr size_t kSeatBytes = 16;

[[noreturn]] void FailForeignStream(Channel& side) {
  EndSession(side, Refusal::kStream, Cause::kRefused, side.peer_title(),
             " opened a stream of no session that waits for it; start again, one process listens at an address");
}

}  // namespace

std::string SeatName(const Channel& first, int index) {
  const auto number = uint8_t(index);
  return Hex(View(Hmac(first.exporter(), {AsView("suf seat"), View(&number, 1)})).first(kSeatBytes));
}

TlsChannel::Side RequestJoin(const Channel& first, TlsChannel& side, int index) {
  if (side.peer().key != first.peer().key) FailForeignStream(side);
  const auto number = uint8_t(index);
  Writer w;
  w.Raw(NameOf(first));
  w.Put(number);
  w.Raw(Proof("suf join", first, number, side.exporter()));
  side.Send(kJoin, w.bytes());
  const Bytes answer = side.RecvExact(kJoin, sizeof(Hash));
  if (!Equal(answer, Proof("suf joined", first, number, side.exporter()))) FailForeignStream(side);
  return {side.TakePipe(), side.exporter()};
}

std::vector<TlsChannel::Side> Lobby::Gather(Channel& first, int streams, Millis wait) {
  const auto deadline = Clock::now() + wait;
  const Hash name = NameOf(first);
  std::unique_lock l(m_);
  // on every exit, remove the entry, so that AddStream finds no destroyed channel
  struct Entry {
    ~Entry() {
      if (!l.owns_lock()) l.lock();
      lobby.waiting_.erase(name);
      for (const std::string& seat : seats) lobby.seats_.erase(seat);
    }
    Lobby& lobby;
    std::unique_lock<std::mutex>& l;
    const Hash& name;
    std::vector<std::string> seats;
  } entry{*this, l, name, {}};
  for (int i = 1; i < streams; ++i) seats_.insert(entry.seats.emplace_back(SeatName(first, i)));
  std::vector<JoinSeat>& seats = waiting_.emplace(name, WaitingPeer{&first, {}}).first->second.seats;
  seats.resize(size_t(streams - 1));
  changed_.notify_all();
  const auto missing = [&] {
    return std::count_if(seats.begin(), seats.end(), [](const JoinSeat& s) { return !s.side.pipe; });
  };
  // a peer that was promised all its seats continues on the first connection before we have the last pipe
  const auto promised = [&] {
    return std::all_of(seats.begin(), seats.end(), [](const JoinSeat& s) { return s.taken; });
  };
  for (bool gone = false; missing() && !gone && Clock::now() < deadline;) {
    changed_.wait_for(l, kPeerPoll);
    l.unlock();
    const bool said = first.PeerGone(0);
    l.lock();
    gone = said && !promised();
  }
  const auto left = missing();
  std::vector<TlsChannel::Side> sides;
  for (JoinSeat& s : seats) sides.push_back(std::move(s.side));
  l.unlock();
  if (left)
    EndSession(first, Refusal::kStream, Cause::kPeer, first.peer_title(), " opened ", streams - 1 - left, " of ",
               streams - 1, " further streams; start it again, or take fewer streams");
  return sides;
}

bool Lobby::ReserveSeat(const std::string& seat) {
  std::unique_lock l(m_);
  // our end of the session's first handshake may still be running
  changed_.wait_for(l, kSessionWait, [&] { return seats_.contains(seat); });
  return seats_.erase(seat);
}

size_t Lobby::missing() const {
  std::lock_guard l(m_);
  size_t sum = 0;
  for (const auto& [name, waiting] : waiting_)
    sum += size_t(
        std::count_if(waiting.seats.begin(), waiting.seats.end(), [](const JoinSeat& s) { return !s.side.pipe; }));
  return sum;
}

void Lobby::AddStream(TlsChannel& side) {
  const Bytes asked = side.RecvExact(kJoin, kJoinBytes);
  Reader r(asked, "a request to join");
  const Hash name = r.GetHash();
  const auto index = r.Get<uint8_t>();
  const Hash proof = r.GetHash();
  std::unique_lock l(m_);
  // our end of the session's first handshake may still be running
  changed_.wait_for(l, kSessionWait, [&] { return waiting_.contains(name); });
  const auto seat = [&]() -> JoinSeat* {
    const auto found = waiting_.find(name);
    if (found == waiting_.end() || index < 1 || index > found->second.seats.size()) return nullptr;
    return &found->second.seats[index - 1u];
  };
  const Channel* first = seat() ? waiting_.at(name).first : nullptr;
  if (!first || first->peer().key != side.peer().key ||
      !Equal(proof, Proof("suf join", *first, index, side.exporter())) || std::exchange(seat()->taken, true)) {
    l.unlock();
    FailForeignStream(side);
  }
  const Hash answer = Proof("suf joined", *first, index, side.exporter());
  l.unlock();
  TlsChannel::Side taken{nullptr, side.exporter()};
  try {
    side.Send(kJoin, answer);
    taken.pipe = side.TakePipe();
  } catch (...) {
    l.lock();
    if (JoinSeat* s = seat()) s->taken = false;
    throw;
  }
  l.lock();
  if (JoinSeat* s = seat()) s->side = std::move(taken);
  changed_.notify_all();
}

}  // namespace suf::net
