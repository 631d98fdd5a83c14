// The frames of an established connection: TlsChannel over a pipe whose bytes the input gives, in every state: waiting
// with Recv, looking with PeerGone, reading while it writes, refusing. The input: {u16 length, orders}, then what the
// peer sends as records {u16: 2 (length - 1) + whether it is a run; bytes, or one byte to repeat eight times as often}.
// After each order the memory held is compared with the bytes that came.
#include "fuzz/peer.hpp"
#include "suf/net/internal/asio.hpp"
#include "suf/net/internal/tls_channel.hpp"

namespace {
using namespace suf::fuzz;

constexpr size_t kMostBytes = 5 << 18;  // that the peer sends in one execution: the longest chunk, and some

class FuzzPipe : public Pipe {
 public:
  explicit FuzzPipe(suf::View input) : input_(input) {}
  size_t Read(std::span<uint8_t> out, std::error_code* error) override {
    SUF_CHECK(!over && !out.empty());
    if (!run_ && !input_.empty() && came < kMostBytes) {
      uint16_t head = Pull<uint16_t>(input_);
      run_ = size_t(head >> 1) + 1, repeat_ = head & 1;
      if (!repeat_) run_ = std::min(run_, input_.size());
      if (repeat_) byte_ = Pull<uint8_t>(input_), run_ *= 8;
    }
    size_t n = std::min({run_, out.size(), kRecord});
    if (!n) *error = asio::error::eof;
    if (repeat_)
      std::fill_n(out.begin(), n, byte_);
    else if (n)
      std::copy_n(PullBytes(input_, n).begin(), n, out.begin());
    run_ -= n, came += n;
    return n;
  }
  void Queue(suf::View plain, std::error_code*) override { queued_ += plain.size(); }
  bool Flush(std::error_code* error) override {
    if (broken) *error = std::make_error_code(std::errc::broken_pipe);
    if (!broken && stuck) return --stuck, false;
    queued_ = 0;
    return true;
  }
  size_t queued() const override { return queued_; }
  bool Wait(bool read, bool write, Deadline, int) override { return write || (read && (run_ || !input_.empty())); }
  void Drain(Deadline) noexcept override { over = true; }
  void Drop() noexcept override { over = true; }
  size_t came = 0;  // bytes
  int stuck = 0;    // so often it cannot write
  bool broken = false, over = false;

 private:
  suf::View input_;
  size_t run_ = 0, queued_ = 0;
  bool repeat_ = false;
  uint8_t byte_ = 0;
};
}  // namespace

SUF_FUZZ(connection) {
  static const suf::Bytes long_payload(100'000), short_payload(10);
  suf::View orders = PullBytes(input, Pull<uint16_t>(input) & 0xff);
  auto pipe = std::make_shared<FuzzPipe>(input);
  TlsChannel ch(pipe, kModel, kData, kExporter, Millis{1000});
  bool accepted = false;
  size_t given = 0;  // bytes that were taken, and given back to nobody
  suf::Bytes last;
  std::deque<suf::Bytes> rooms;
  auto take = [&](suf::Bytes b) { given += last.capacity(), last = std::move(b); };
  auto check = [&](size_t frames) {
    // OpenSSL's buffer, once it is wide, and that of the record at hand
    size_t fixed = (accepted ? 128 << 10 : 17 << 10) + sizeof ch, ahead = accepted ? 1 << 20 : 64 << 10;
    SUF_CHECK(ch.held() + fixed <= pipe->came - std::min(given, pipe->came) + ahead + frames * kFrameCost);
  };
  while (!orders.empty()) {
    uint8_t order = Pull<uint8_t>(orders);
    size_t bytes = size_t{1} << (order >> 3 & 31) % 25;
    switch (order & 7) {
      case 0:
        take(ch.Recv(kHello, 256));
        ch.Reach(Stage::kAccepted), accepted = true;
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
      case 5: {  // an inference: reads while it writes, into rooms that are posted
        for (size_t i = 0; i < size_t(order >> 6); ++i) {
          rooms.emplace_back(std::min<size_t>(bytes, 4096));
          ch.Post(kFirstRun, rooms.back());
        }
        pipe->stuck = 3;
        const suf::Bytes& payload = order & 8 ? long_payload : short_payload;
        ch.SendUpTo(kFirstRun, payload, payload.size() / 2), ch.SendUpTo(kFirstRun, payload, payload.size());
        check(0);
        for (const suf::Bytes& room : rooms) ch.RecvUpTo(room.size() / 2), ch.RecvUpTo(room.size());
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
