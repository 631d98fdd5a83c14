// Fuzzes the frames of an established connection: a TlsChannel over a FuzzPipe, in every state. It waits with Recv,
// polls with PeerGone, reads while it writes, or refuses.
// The input is {u16 length, orders}, then the bytes of the peer as records of fuzz/pipe.hpp. After each order the
// memory held is compared with the bytes received.
#include "fuzz/pipe.hpp"

namespace {
using namespace suf::fuzz;
}  // namespace

SUF_FUZZ(connection) {
  static const suf::Bytes long_payload(100'000), short_payload(10);
  suf::View orders = PullBytes(input, Pull<uint16_t>(input) & 0xff);
  auto pipe = std::make_shared<FuzzPipe>(input);
  TlsChannel ch(pipe, kModel, kData, kExporter, Millis{1000});
  bool accepted = false;
  size_t given = 0;  // bytes received by the caller and not returned to the channel
  suf::Bytes last;
  std::deque<suf::Bytes> rooms;
  auto take = [&](suf::Bytes b) {
    given += last.capacity();
    last = std::move(b);
  };
  auto check = [&](size_t frames) {
    // OpenSSL's buffer at its full size, and the buffer of the current record
    size_t fixed = (accepted ? 128 << 10 : 17 << 10) + sizeof ch, ahead = accepted ? 1 << 20 : 64 << 10;
    SUF_CHECK(ch.held() + fixed <= pipe->came - std::min(given, pipe->came) + ahead + frames * kFrameCost);
  };
  while (!orders.empty()) {
    uint8_t order = Pull<uint8_t>(orders);
    size_t bytes = size_t{1} << (order >> 3 & 31) % 25;
    switch (order & 7) {
      case 0:
        take(ch.Recv(kHello, 256));
        ch.Reach(Stage::kAccepted);
        accepted = true;
        break;
      case 1:
        take(ch.RecvExact(kFirstRun, bytes));
        break;
      case 2:
        take(ch.RecvEither(kClaim, kAudit, 64).second);
        break;
      case 3:
        take(ch.Recv(kChunk, kChunkBytes));
        break;
      case 4:
        (void)ch.PeerGone(order & 8 ? 0 : kControlFrame);
        break;
      case 5: {  // an inference: reads while it writes, into posted buffers
        for (size_t i = 0; i < size_t(order >> 6); ++i) {
          rooms.emplace_back(std::min<size_t>(bytes, 4096));
          ch.Post(kFirstRun, rooms.back());
        }
        pipe->stuck = 3;
        const suf::Bytes& payload = order & 8 ? long_payload : short_payload;
        ch.SendUpTo(kFirstRun, payload, payload.size() / 2);
        ch.SendUpTo(kFirstRun, payload, payload.size());
        check(0);
        for (const suf::Bytes& room : rooms) {
          ch.RecvUpTo(room.size() / 2);
          ch.RecvUpTo(room.size());
        }
        rooms.clear();
        break;
      }
      case 6:
        last = {};
        break;
      case 7:
        pipe->broken = order & 8;
        if (order & 16) return ch.Refuse(Refusal::kProtocol), check(0);
        pipe->stuck = 2;
        ch.Send(kChoice, suf::Bytes(8));
        break;
    }
    check(16);
  }
}
