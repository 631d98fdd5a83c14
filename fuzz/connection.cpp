// Fuzzes the frames of an established connection: a TlsChannel over a FuzzPipe, in every state. It waits with Recv,
// polls with PeerGone, reads while it writes, or refuses.
// The input is {u16 length, orders}, then the bytes of the peer as records of fuzz/pipe.hpp. After each order the
// memory held is compared with the bytes received.
#include "fuzz/pipe.hpp"

namespace suf::fuzz {
namespace {

class ConnectionPlay {
 public:
  explicit ConnectionPlay(View records) : pipe_(std::make_shared<FuzzPipe>(records)) {}

  // Carries out an order; returns false after the last possible one.
  bool Step(uint8_t order) {
    const size_t bytes = size_t{1} << (order >> 3 & 31) % 25;
    switch (order & 7) {
      case 0:
        Keep(ch_.Recv(kHello, 256));
        ch_.Advance(PeerState::kAccepted);
        accepted_ = true;
        break;
      case 1:
        Keep(ch_.RecvExact(kFirstRun, bytes));
        break;
      case 2:
        Keep(ch_.RecvEither(kClaim, kAudit, 64).second);
        break;
      case 3:
        Keep(ch_.Recv(kChunk, kChunkBytes));
        break;
      case 4:
        (void)ch_.PeerGone(order & 8 ? 0 : kControlFrame);
        break;
      case 5:
        Exchange(order >> 6, std::min<size_t>(bytes, 4096), order & 8);
        break;
      case 6:
        last_ = {};
        break;
      case 7:
        pipe_->broken = order & 8;
        if (order & 16) {
          ch_.Refuse(Refusal::kProtocol);
          CheckMemory(0);
          return false;
        }
        pipe_->stuck = 2;
        ch_.Send(kChoice, Bytes(8));
        break;
    }
    CheckMemory(16);
    return true;
  }

 private:
  // Keeps a payload until the next one.
  void Keep(Bytes payload) {
    given_ += last_.capacity();
    last_ = std::move(payload);
  }

  // Reads while it writes, into posted buffers, as an inference does.
  void Exchange(int count, size_t bytes, bool is_long) {
    static const Bytes long_payload(100'000), short_payload(10);
    for (int i = 0; i < count; ++i) {
      buffers_.emplace_back(bytes);
      ch_.Post(kFirstRun, buffers_.back());
    }
    pipe_->stuck = 3;
    const Bytes& payload = is_long ? long_payload : short_payload;
    ch_.SendUpTo(kFirstRun, payload, payload.size() / 2);
    ch_.SendUpTo(kFirstRun, payload, payload.size());
    CheckMemory(0);
    for (const Bytes& buffer : buffers_) {
      ch_.RecvUpTo(buffer.size() / 2);
      ch_.RecvUpTo(buffer.size());
    }
    buffers_.clear();
  }

  // Compares the memory held with the bytes received. The fixed part is OpenSSL's buffer at its full size, and the
  // buffer of the current record.
  void CheckMemory(size_t frames) const {
    const size_t fixed = (accepted_ ? 128 << 10 : 17 << 10) + sizeof ch_, ahead = accepted_ ? 1 << 20 : 64 << 10;
    SUF_CHECK(ch_.held() + fixed <= pipe_->came - std::min(given_, pipe_->came) + ahead + frames * kFrameCost);
  }

  std::shared_ptr<FuzzPipe> pipe_;
  TlsChannel ch_{pipe_, kModel, kData, kExporter, Millis{1000}};
  bool accepted_ = false;
  size_t given_ = 0;  // bytes received by the caller and not returned to the channel
  Bytes last_;
  std::deque<Bytes> buffers_;
};

}  // namespace
}  // namespace suf::fuzz

SUF_FUZZ(connection) {
  using namespace suf::fuzz;
  suf::View orders = PullBytes(input, Pull<uint16_t>(input) & 0xff);
  ConnectionPlay play(input);
  while (!orders.empty() && play.Step(Pull<uint8_t>(orders))) {
  }
}
