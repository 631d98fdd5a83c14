// Fuzzes a session over three connections: frames are posted, taken in parts, sent and forgotten in any order. The
// input is {u8 length, orders; {u16 length, records} twice, for two connections; the records of the third}.
#include "fuzz/pipe.hpp"

namespace {
using namespace suf::fuzz;
}

SUF_FUZZ(streams) {
  constexpr size_t kMostRooms = 4;
  static const suf::Bytes payload(200'000);
  suf::View orders = PullBytes(input, Pull<uint8_t>(input));
  std::vector<std::shared_ptr<FuzzPipe>> pipes;
  for (int i = 0; i < 3; ++i)
    pipes.push_back(std::make_shared<FuzzPipe>(i < 2 ? PullBytes(input, Pull<uint16_t>(input)) : input));
  std::deque<suf::Bytes> rooms;  // must outlive the channel
  TlsChannel ch(pipes[0], kModel, kData, kExporter, Millis{20});
  ch.AddStreams({{pipes[1], suf::Hash{1}}, {pipes[2], suf::Hash{2}}});
  ch.Advance(PeerState::kAccepted);
  size_t taken = 0;
  while (!orders.empty()) {
    const uint8_t order = Pull<uint8_t>(orders);
    switch (order & 7) {
      case 0:
      case 1:
        if (rooms.size() == taken + kMostRooms) break;
        rooms.emplace_back(order & 8 ? size_t{100} : 65'537 + size_t(order >> 4) * 9'000);
        ch.Post(order & 1 ? kFirstRun : kChunk, rooms.back());
        break;
      case 2:
        if (taken < rooms.size()) ch.RecvUpTo(rooms[taken].size() / 2);
        break;
      case 3:
        if (taken == rooms.size()) break;
        ch.RecvUpTo(rooms[taken].size());
        rooms[taken++] = {};
        break;
      case 4:
        ch.SendUpTo(kFirstRun, payload, payload.size() / 3);
        ch.SendUpTo(kFirstRun, payload, payload.size());
        break;
      case 5:
        (void)ch.PeerGone(order & 8 ? 0 : kControlFrame);
        break;
      case 6:
        if (taken == rooms.size()) (void)ch.Recv(kClaim, 64);
        break;
      case 7:
        if (order & 8) pipes[order >> 4 & 1]->stuck = 2;
        if (!(order & 8)) return order & 16 ? ch.Refuse(Refusal::kProtocol) : ch.Unpost();
        break;
    }
    // A part of a frame goes straight into its buffer, and nothing is held besides.
    SUF_CHECK(ch.held() <= pipes[0]->came + (1 << 20));
  }
}
