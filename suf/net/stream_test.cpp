// One session over several connections: their shares of a frame, how they are bound together, and how they end.
#include "suf/net/stream.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <future>

#include "suf/net/internal/asio.hpp"
#include "suf/net/internal/handshake.hpp"
#include "suf/net/internal/testing.hpp"
#include "suf/net/join.hpp"

namespace suf::net {
namespace {

TEST(Share, EachByteGoesOverOneStreamInOrder) {
  for (size_t count = 1; count <= 5; ++count)
    for (size_t blocks = 0; blocks <= 2 * count + 1; ++blocks)
      for (size_t odd : {size_t{0}, size_t{1}, Share::kLeast, 2 * Share::kLeast + 1, Share::kBlock - 1}) {
        const size_t length = blocks * Share::kBlock + odd;
        std::vector<char> seen(length);
        size_t sum = 0;
        for (size_t index = 0; index < count; ++index) {
          const Share share{index, count};
          size_t at = 0, before = 0;
          for (Share::FrameSlice p = share.At(at, length); p.bytes; p = share.At(at, length)) {
            ASSERT_GE(p.place, before);
            ASSERT_EQ(share.Bytes(p.place, length), at);
            for (size_t i = 0; i < p.bytes; ++i) ASSERT_FALSE(std::exchange(seen[p.place + i], 1));
            at += p.bytes;
            before = p.place + p.bytes;
          }
          ASSERT_EQ(share.At(at, length).place, length);
          ASSERT_EQ(share.Bytes(length), at);
          sum += at;
        }
        ASSERT_EQ(sum, length);
      }
}

// A listener of the dealer whose sessions go over up to `streams` connections.
struct Streams : TestServer {
  Streams(int streams, std::function<void(Channel&)> session, Millis timeout = kAmple)
      : TestServer(std::move(session), timeout, {Role::kModel, Role::kData}, streams) {}
};
std::unique_ptr<Channel> Call(const TestServer& s, int streams, Millis timeout = kAmple) {
  return Dial(Certs::Of(Role::kData), s.address(), Role::kDealer, timeout, {}, streams);
}

Bytes Random(size_t n) {
  Bytes b(n);
  RandomBytes(b);
  return b;
}

const std::vector<size_t> kSizes = {0, 1, 65'536, 65'537, 98'304, 131'072, 131'073, 1'000'003, 5'000'000, 3};

// Sends each frame that arrives back. Receives and sends it by parts.
void Answer(Channel& ch) {
  for (size_t n : kSizes) {
    Bytes buffer(n, 0xa5);
    ch.Post(kFirstRun, buffer);
    if (n) {
      ch.RecvUpTo(n / 3);
      ch.RecvUpTo(n / 2);
    }
    ch.RecvUpTo(n);
    if (n) {
      ch.SendUpTo(kFirstRun, buffer, n / 5);
      ch.SendUpTo(kFirstRun, buffer, n / 2);
    }
    ch.SendUpTo(kFirstRun, buffer, n);
    ch.Release(buffer);
  }
}
// The other side of Answer, with each buffer posted before its frame is due.
void Ask(Channel& ch) {
  std::vector<Bytes> buffers;
  for (size_t n : kSizes) buffers.push_back(Bytes(n));
  for (Bytes& buffer : buffers) ch.Post(kFirstRun, buffer);
  for (size_t i = 0; i < kSizes.size(); ++i) {
    if (i == kSizes.size() / 2) {
      EXPECT_FALSE(ch.PeerGone(0));
    }
    const Bytes said = Random(kSizes[i]);
    ch.Send(kFirstRun, said);
    ch.RecvUpTo(kSizes[i]);
    EXPECT_EQ(buffers[i], said) << kSizes[i];
  }
}

TEST(Stream, EveryFrameArrivesWholeAndInOrderOverAnyNumber) {
  std::optional<Traffic> one;
  for (auto [ours, theirs] :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 2}, {3, 3}, {4, 2}, {1, 4}, {4, 4}, {5, 16}}) {
    Hash exporter{};
    std::pair<Hash, Hash> transcript;
    Streams server(theirs, [&](Channel& ch) {
      Answer(ch);
      ch.Unpost();
      Answer(ch);  // nothing is posted: the session goes on
      exporter = ch.exporter();
      transcript = ch.Transcript();
    });
    auto ch = Call(server, ours);
    const auto ask_twice = [&] {
      Ask(*ch);
      ch->Unpost();
      Ask(*ch);
    };
    EXPECT_NO_THROW(ask_twice()) << ours << " " << theirs;
    server.Join();
    EXPECT_TRUE(server.errors.empty()) << (server.errors.empty() ? "" : server.errors[0].what());
    EXPECT_EQ(exporter, ch->exporter());
    EXPECT_EQ(transcript.first, ch->Transcript().second);
    EXPECT_EQ(transcript.second, ch->Transcript().first);
    const Traffic t = ch->traffic(Phase::kControl);
    if (!one) one = t;
    EXPECT_EQ(t.bytes_sent, one->bytes_sent);
    EXPECT_EQ(t.bytes_received, one->bytes_received);
  }
}

// A fault of a Wire's writer.
enum class Wrong { kNothing, kDies, kSilent, kRepeats, kSwaps };
// A pipe over a socket, without TLS. Its writer commits a fault from some header on.
class Wire final : public Pipe {
 public:
  explicit Wire(int fd, size_t header) : fd_(fd), header_(header) {}
  size_t Read(std::span<uint8_t> out, std::error_code* error) override {
    const ssize_t n = recv(fd_.get(), out.data(), out.size(), MSG_DONTWAIT);
    if (!n || (n < 0 && errno != EAGAIN)) *error = asio::error::eof;
    return n > 0 ? size_t(n) : 0;
  }
  void Queue(View plain, std::error_code*) override {
    if (plain.size() >= header_ && View(begins_).size() && std::equal(begins_.begin(), begins_.end(), plain.begin()))
      Begin(plain);
    else if (!silent_)
      Append(&out_, plain);
  }
  bool Flush(std::error_code* error) override {
    while (sent_ < out_.size()) {
      const ssize_t n = send(fd_.get(), out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno == EAGAIN) return false;
      if (n < 0) {
        *error = std::make_error_code(std::errc::broken_pipe);
        return true;
      }
      sent_ += size_t(n);
    }
    out_.clear();
    sent_ = 0;
    std::this_thread::sleep_for(pause_);
    return true;
  }
  size_t queued() const override { return out_.size() - sent_; }
  bool Wait(bool read, bool write, Deadline deadline, int also = -1) override {
    return WaitOn(fd_.get(), read, write, deadline, also);
  }
  void Drain(Deadline) noexcept override { Drop(); }
  void Drop() noexcept override { shutdown(fd_.get(), SHUT_RDWR); }
  // Commits the fault when bytes are queued that begin so. With kSwaps it sends the other stream's header.
  void At(Bytes begins, Wrong wrong) {
    begins_ = std::move(begins);
    wrong_ = wrong;
  }
  // Pauses this long after each flush: the peer has the bytes before this thread continues.
  void Pause(Millis time) { pause_ = time; }

 private:
  void Begin(View plain) {
    begins_.clear();
    if (wrong_ == Wrong::kDies) return Drop();
    if (wrong_ == Wrong::kSilent) silent_ = true;
    if (wrong_ == Wrong::kRepeats) Append(&out_, plain.first(header_));
    const size_t at = out_.size();
    if (!silent_) Append(&out_, plain);
    if (wrong_ == Wrong::kSwaps) out_[at + 8] ^= 3;  // the number of the other stream
  }
  Fd fd_;
  const size_t header_;
  Bytes out_, begins_;
  size_t sent_ = 0;
  bool silent_ = false;
  Millis pause_{0};
  Wrong wrong_ = Wrong::kNothing;
};

constexpr size_t kStreams = 3, kFrames = 3, kLength = 200'001;

// Both ends of a session over `count` wires: the model owner, which sends, and the data owner.
struct Ends {
  explicit Ends(Millis timeout, size_t count = kStreams) {
    const Hash exporter = RandomHash();
    std::vector<TlsChannel::Side> sides[2];
    for (size_t s = 0; s < count; ++s) {
      int fds[2];
      SUF_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
      auto from = std::make_shared<Wire>(fds[0], s ? 12 : 8), to = std::make_shared<Wire>(fds[1], s ? 12 : 8);
      wires.push_back(from);
      if (s) {
        const Hash own = RandomHash();
        sides[0].push_back({from, own});
        sides[1].push_back({to, own});
      } else {
        const Identity model{Role::kModel, {1}}, data{Role::kData, {2}};
        ch[0] = std::make_unique<TlsChannel>(from, model, data, exporter, timeout);
        ch[1] = std::make_unique<TlsChannel>(to, data, model, exporter, timeout);
      }
    }
    for (int i : {0, 1}) ch[i]->AddStreams(std::move(sides[i]));
  }
  std::vector<std::shared_ptr<Wire>> wires;
  std::unique_ptr<TlsChannel> ch[2];
};

// Returns the error message with which receiving ended, or nothing. `whole` counts the frames that arrived.
std::string Receive(Channel& ch, std::vector<Bytes>& buffers, size_t* whole) {
  try {
    for (Bytes& buffer : buffers) ch.Post(kFirstRun, buffer);
    for (Bytes& buffer : buffers) {
      ch.RecvUpTo(1);
      ch.RecvUpTo(buffer.size());
      ++*whole;
    }
    return {};
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), Cause::kPeer);
    ch.Unpost();
    return e.what();
  }
}

TEST(Stream, OneThatDoesWrongAtAnyFrameEndsTheSessionWithASentence) {
  for (const Wrong wrong : {Wrong::kNothing, Wrong::kDies, Wrong::kSilent, Wrong::kRepeats, Wrong::kSwaps})
    for (size_t stream = 0; stream < kStreams; ++stream)
      for (uint16_t frame = 0; frame < kFrames; ++frame) {
        // only TLS notices these two: the first connection has no number, and nothing follows the last frame
        if ((wrong == Wrong::kSwaps && !stream) || (wrong == Wrong::kRepeats && frame + 1u == kFrames)) continue;
        Ends ends(wrong == Wrong::kSilent ? Millis{150} : kAmple);
        Writer w;
        w.Put(uint32_t(kLength));
        w.Put(uint16_t(kFirstRun));
        w.Put(frame);
        if (wrong != Wrong::kNothing) ends.wires[stream]->At(w.Take(), wrong);
        const std::string where = Str(int(wrong), " at stream ", stream, ", frame ", frame);
        std::vector<Bytes> buffers(kFrames, Bytes(kLength, 0xa5)), said;
        for (size_t i = 0; i < kFrames; ++i) said.push_back(Random(kLength));
        auto sending = std::async(std::launch::async, [&] {
          try {
            for (const Bytes& b : said) {
              ends.ch[0]->SendUpTo(kFirstRun, b, kLength / 2);
              ends.ch[0]->SendUpTo(kFirstRun, b, kLength);
            }
          } catch (const Error&) {
          }
        });
        size_t whole = 0;
        const std::string sentence = Receive(*ends.ch[1], buffers, &whole);
        if (wrong == Wrong::kNothing) {
          EXPECT_EQ(sentence, "") << where;
          EXPECT_EQ(buffers, said);
          continue;
        }
        EXPECT_LE(whole, wrong == Wrong::kRepeats ? frame + 1u : frame) << where;
        for (size_t i = 0; i < whole && i < frame; ++i) EXPECT_EQ(buffers[i], said[i]) << where;
        const char* due = wrong == Wrong::kDies     ? "ended the connection"
                          : wrong == Wrong::kSilent ? "was silent"
                          : stream                  ? "sent another frame over a stream"
                                                    : "";
        EXPECT_NE(sentence, "") << where;
        EXPECT_NE(sentence.find(due), std::string::npos) << where << ": " << sentence;
        // withdrawn buffers are no longer written
        for (Bytes& buffer : buffers) std::fill(buffer.begin(), buffer.end(), 0x5a);
        std::this_thread::sleep_for(Millis{2});
        for (const Bytes& buffer : buffers) EXPECT_EQ(buffer, Bytes(kLength, 0x5a)) << where;
        ends.ch[1].reset();  // otherwise the sender would wait for it
      }
}

TEST(Stream, AFrameThatLeftIsReleasedWhileOthersLeave) {
  Ends ends(kAmple, 5);
  const Bytes first = Random(kLength), second = Random(40 * kLength);  // more than sockets hold
  std::vector<Bytes> buffers{Bytes(first.size()), Bytes(second.size())};
  ends.ch[1]->Post(kFirstRun, buffers[0]);
  ends.ch[0]->SendUpTo(kFirstRun, first, first.size());
  ends.ch[1]->RecvUpTo(first.size());
  ends.ch[0]->SendUpTo(kFirstRun, second, second.size());
  ends.ch[0]->Release(first);  // the second frame is not received yet: waiting for it would end the session
  ends.ch[1]->Post(kFirstRun, buffers[1]);
  EXPECT_NO_THROW(ends.ch[1]->RecvUpTo(second.size()));
  ends.ch[0]->Release(second);
  EXPECT_EQ(buffers, (std::vector<Bytes>{first, second}));
}

// Opens a connection that requests to become a stream, by arbitrary bytes.
std::unique_ptr<Channel> Joining(const TestServer& s, Role role, View ask, Millis timeout) {
  auto link = std::make_shared<TlsLink>(Certs::Of(role), Connected(s));
  link->Join(std::string(32, '0'));
  auto ch = DoHandshake(link, false, {Role::kDealer}, timeout, "the dealer");
  if (!ask.empty()) ch->Send(kJoin, ask);
  return ch;
}

TEST(Stream, OneOfNoSessionIsRefusedAndDisturbsNone) {
  constexpr Millis kSlow{120'000};  // 68 handshakes at once, also under a sanitizer on a busy machine
  std::atomic<bool> go{false};
  Streams server(
      3,
      [&](Channel& ch) {
        while (!go) std::this_thread::sleep_for(Millis{5});
        Answer(ch);
      },
      kSlow);
  struct Go {  // the session ends also if a call below throws
    std::atomic<bool>& set;
    ~Go() { set = true; }
  } at_end{go};
  auto ch = Call(server, 3, kSlow);
  // all at once: the listener waits two seconds for the session of an unknown seat
  const auto join = [&](int count, Role role, const Bytes& ask) {
    std::vector<std::future<std::unique_ptr<Channel>>> joining;
    for (int i = 0; i < count; ++i)
      joining.push_back(std::async(std::launch::async, [&, role] { return Joining(server, role, ask, kSlow); }));
    std::vector<std::unique_ptr<Channel>> joined;
    for (auto& f : joining) joined.push_back(f.get());
    return joined;
  };
  auto silent = join(64, Role::kModel, {});
  auto foreign = join(4, Role::kData, Random(65));
  for (auto& f : foreign)
    EXPECT_TRUE(Fails(Cause::kRefused, "knows no session for a stream of ours", [&] { f->RecvExact(kJoin, 32); }));
  go = true;
  EXPECT_NO_THROW(Ask(*ch));
  silent.clear();
  server.Join();
  for (const Error& e : server.errors)
    EXPECT_TRUE(std::string(e.what()).find("stream") != std::string::npos || e.cause() == Cause::kPeer) << e.what();
}

TEST(Stream, ASessionWhoseStreamsDoNotComeIsNamed) {
  Streams server(4, Answer, kQuick);
  auto link = std::make_shared<TlsLink>(Certs::Of(Role::kData), Connected(server));
  link->OfferStreams(4);
  auto ch = DoHandshake(link, false, {Role::kDealer}, kAmple, "the dealer");
  EXPECT_EQ(link->streams(), 4);
  EXPECT_TRUE(Fails(Cause::kRefused, "knows no session for a stream of ours", [&] { ch->RecvExact(kFirstRun, 1); }));
  EXPECT_TRUE(server.Heard(Cause::kPeer, "the data owner opened 0 of 3 further streams"));
}

const Identity kDealing{Role::kDealer, {1}}, kAsking{Role::kData, {2}}, kOther{Role::kModel, {3}};

// Both ends of a connection of the dealer's listener, each over a Wire; the listener's may pause.
struct Joined {
  explicit Joined(Identity dials, Millis pause = Millis{0}, const Hash& exporter = RandomHash()) {
    int fds[2];
    SUF_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    auto wire = std::make_shared<Wire>(fds[0], 8);
    wire->Pause(pause);
    in = std::make_unique<TlsChannel>(wire, kDealing, dials, exporter, kAmple);
    out = std::make_unique<TlsChannel>(std::make_shared<Wire>(fds[1], 8), dials, kDealing, exporter, kAmple);
  }
  std::unique_ptr<TlsChannel> in, out;
};

TEST(Stream, APeerThatIsInSaysHelloBeforeWeAreDone) {
  Lobby lobby;
  const Joined first(kAsking);
  auto gathered = std::async(std::launch::async, [&] { return lobby.Gather(*first.in, 2, kAmple); });
  // the answer has arrived, but for several polls the thread that sent it does not continue
  const Joined side(kAsking, Millis{200});
  auto taken = std::async(std::launch::async, [&] { lobby.AddStream(*side.in); });
  EXPECT_NO_THROW((void)RequestJoin(*first.out, *side.out, 1));
  const Bytes hello = Random(200);
  first.out->Send(kHello, hello);
  EXPECT_NO_THROW(EXPECT_EQ(gathered.get().size(), 1u));
  EXPECT_NO_THROW(taken.get());
  EXPECT_EQ(first.in->Recv(kHello, 256), hello);
}

TEST(Stream, APeerThatLeavesWhileItIsTakenInIsGone) {
  Lobby lobby;
  const Joined first(kAsking);
  auto gathered = std::async(std::launch::async, [&] { return lobby.Gather(*first.in, 3, kAmple); });
  const Joined side(kAsking);
  auto taken = std::async(std::launch::async, [&] { lobby.AddStream(*side.in); });
  EXPECT_NO_THROW((void)RequestJoin(*first.out, *side.out, 1));
  taken.get();
  first.out->Refuse(Refusal::kGaveUp);
  EXPECT_TRUE(Fails(Cause::kPeer, "the data owner opened 1 of 2 further streams", [&] { gathered.get(); }));
}

// A pipe whose reads run out of memory.
struct NoMemory final : Pipe {
  size_t Read(std::span<uint8_t>, std::error_code*) override { throw std::bad_alloc(); }
  void Queue(View, std::error_code*) override {}
  bool Flush(std::error_code*) override { return true; }
  size_t queued() const override { return 0; }
  bool Wait(bool, bool, Deadline, int) override { return true; }
  void Drain(Deadline) noexcept override {}
  void Drop() noexcept override {}
  void EnlargeBuffers() override {}
};

// A session whose wait for its streams fails leaves nothing behind for a later stream to find.
TEST(Stream, ASessionThatEndsWhileItWaitsIsForgotten) {
  Lobby lobby;
  TlsChannel first(std::make_shared<NoMemory>(), kDealing, kAsking, RandomHash(), kAmple);
  EXPECT_THROW((void)lobby.Gather(first, 3, kAmple), std::bad_alloc);
  EXPECT_EQ(lobby.missing(), 0u);
  EXPECT_THROW((void)lobby.Gather(first, 2, kAmple), std::bad_alloc);  // it may come again
  EXPECT_EQ(lobby.missing(), 0u);
}

// A stream that names its seat in its greeting is no longer a stranger. Each seat works once, and only while it is
// free.
TEST(Stream, ASeatIsKnownByItsNameOnce) {
  Lobby lobby;
  const Joined first(kAsking), other(kAsking);
  auto gathered = std::async(std::launch::async, [&] { return lobby.Gather(*first.in, 3, kAmple); });
  EXPECT_TRUE(lobby.ReserveSeat(SeatName(*first.out, 2)));  // waits for the session
  EXPECT_EQ(lobby.missing(), 2u);
  EXPECT_TRUE(lobby.ReserveSeat(SeatName(*first.out, 1)));
  EXPECT_FALSE(lobby.ReserveSeat(SeatName(*first.out, 1)));
  EXPECT_NE(SeatName(*first.out, 1), SeatName(*other.out, 1));
  first.out->Refuse(Refusal::kGaveUp);
  EXPECT_THROW(gathered.get(), Error);
  EXPECT_EQ(lobby.missing(), 0u);
}

// A limit on the descriptors of this process, for its lifetime.
struct FewFiles {
  explicit FewFiles(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &had);
    const rlimit few{most, had.rlim_max};
    SUF_CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~FewFiles() { setrlimit(RLIMIT_NOFILE, &had); }
  rlimit had{};
};
int OpenFiles() {
  int open = 0;
  for (int fd = 0; fd < 1024; ++fd) open += fcntl(fd, F_GETFD) != -1;
  return open;
}

// If descriptors are few, a session has fewer streams than both ends allow, and another session still starts.
TEST(Stream, FewDescriptorsMakeFewStreams) {
  const FewFiles few(64);
  std::atomic<bool> over{false};
  Streams server(16, [&](Channel& ch) {
    Answer(ch);
    while (!over) std::this_thread::sleep_for(Millis{5});
  });
  std::vector<std::unique_ptr<Channel>> sessions;
  std::vector<int> opened;
  for (int before = OpenFiles(), i = 0; i < 3; ++i) {
    sessions.push_back(Call(server, 16));
    EXPECT_NO_THROW(Ask(*sessions.back())) << i;
    opened.push_back(OpenFiles() - std::exchange(before, OpenFiles()));  // at both ends
  }
  EXPECT_GE(opened[0], 4 * 8);  // a stream has a socket and an eventfd at each end
  EXPECT_LT(opened[0], 4 * 16);
  EXPECT_LT(opened[1], opened[0]);
  EXPECT_EQ(opened[2], 2);
  over = true;
  server.Join();
  EXPECT_TRUE(server.errors.empty()) << (server.errors.empty() ? "" : server.errors[0].what());
}

// 200 slow strangers that reconnect when they are dropped displace no stream of an accepted session.
TEST(Stream, ComesInBesideSlowStrangers) {
  Streams server(16, Answer);
  std::atomic<bool> over{false};
  std::atomic<int> sent_away{0};
  std::thread strangers([&] {
    std::vector<Fd> all(200);
    while (!over) {
      for (Fd& fd : all) {
        char byte = 0x16;  // the first byte of a greeting
        if (fd && recv(fd.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) continue;
        sent_away += bool(fd);
        fd = Connected(server);
        (void)!send(fd.get(), &byte, 1, MSG_NOSIGNAL);
      }
      std::this_thread::sleep_for(Millis{1});
    }
  });
  for (int i = 0; i < 3; ++i) {
    while (sent_away < 100 * (i + 1)) std::this_thread::sleep_for(Millis{1});
    EXPECT_NO_THROW(Ask(*Call(server, 16)));
  }
  over = true;
  strangers.join();
  server.Join();
  for (const Error& e : server.errors)  // errors of strangers only: none ended a session
    EXPECT_NE(std::string(e.what()).find("TLS handshake"), std::string::npos) << e.what();
}

TEST(Stream, AProofIsOfOneSessionOneNumberAndOneConnection) {
  Lobby lobby;
  const Joined first(kAsking), stranger(kAsking);
  auto gathered = std::async(std::launch::async, [&] { return lobby.Gather(*first.in, 3, kAmple); });
  const auto joins = [&](const Channel& session, int index, Identity who, bool moved) {
    const Hash exporter = RandomHash();
    const Joined side(who, Millis{0}, exporter);
    auto asked = std::async(std::launch::async, [&] {
      // `moved` means that the proof was made for another connection
      const Joined other(who, Millis{0}, moved ? RandomHash() : exporter);
      auto relayed = std::async(std::launch::async, [&] { return other.in->RecvExact(kJoin, 65); });
      auto proof = std::async(std::launch::async, [&] {
        try {
          (void)RequestJoin(session, *other.out, index);
        } catch (const Error&) {
        }
      });
      side.out->Send(kJoin, relayed.get());
      other.in->Refuse(Refusal::kGaveUp);
      proof.get();
      try {
        (void)side.out->RecvExact(kJoin, 32);
        return true;
      } catch (const Error& e) {
        EXPECT_EQ(e.cause(), Cause::kRefused);
        return false;
      }
    });
    try {
      lobby.AddStream(*side.in);
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("opened a stream of no session"), std::string::npos);
    }
    return asked.get();
  };
  EXPECT_FALSE(joins(*stranger.out, 1, kAsking, false));  // of another session
  EXPECT_FALSE(joins(*first.out, 1, kOther, false));      // of another key
  EXPECT_FALSE(joins(*first.out, 0, kAsking, false));     // numbers that do not exist
  EXPECT_FALSE(joins(*first.out, 3, kAsking, false));
  EXPECT_TRUE(joins(*first.out, 1, kAsking, false));
  EXPECT_FALSE(joins(*first.out, 1, kAsking, false));  // twice
  EXPECT_FALSE(joins(*first.out, 2, kAsking, true));   // by a proof for another connection
  EXPECT_TRUE(joins(*first.out, 2, kAsking, false));
  EXPECT_EQ(gathered.get().size(), 2u);
}

}  // namespace
}  // namespace suf::net
