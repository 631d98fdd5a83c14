// Several inferences at once between one process of P0 and one of P1, over TLS. Long frames move while they are
// computed, as in serve and embed. No inference may wait for the peer of another one.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <latch>
#include <thread>

#include "suf/backends/all.hpp"
#include "suf/base/folder_test.hpp"
#include "suf/exec/pools.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/deal.hpp"
#include "suf/run/party.hpp"

namespace suf {
namespace {

constexpr int kSessions = 2;
constexpr net::Millis kLimit{120'000};  // for a silent peer

// A hidden layer of 4096 columns makes frames of 128 KiB and more with 16 tokens, with little other work.
constexpr model::Small kWide{.d = 8, .heads = 2, .ff = 4096, .vocab = 32, .layers = 1, .positions = 64};

// The two ends of the case in which P1 stops inside a long frame of session 0. Each process has its own.
struct StopCase {
  std::latch waits{1};  // P0 waits for the second half of the frame
  std::latch over{1};   // P1 has ended session 1
};

// A link that counts what it sends. In a StopCase it also sees to the order of events.
class OrderedLink : public run::FrameLink {
 public:
  OrderedLink(net::Channel& ch, const pfss::Schedule& s, StopCase* stop) : link_(ch), s_(s), stop_(stop) {}
  void Send(int index, View payload, size_t bytes) override {
    const size_t half = payload.size() / 2;
    if (stop_ && IsLong(index, 1) && bytes > half) {
      link_.Send(index, payload, half);
      std::exchange(stop_, nullptr)->over.wait();
    }
    link_.Send(index, payload, bytes);
    if (bytes < payload.size()) return;
    const bool online = s_.frames()[size_t(index)].tick >= 0;
    sent_[online] += int64_t(payload.size());
    ++frames_[online];
  }
  void Post(int index, std::span<uint8_t> into) override { link_.Post(index, into); }
  void Receive(int index, size_t bytes) override {
    // a part of the frame is awaited by a range of the pool, all of it by the run's thread
    const size_t all = size_t(s_.frames()[size_t(index)].bytes);
    if (stop_ && IsLong(index, 1) && bytes > all / 2 && bytes < all) std::exchange(stop_, nullptr)->waits.count_down();
    link_.Receive(index, bytes);
  }
  void Release(View memory) override { link_.Release(memory); }
  void Unpost() override { link_.Unpost(); }
  double waited() const override { return link_.waited(); }
  // Throws unless all that the schedule says was sent, and nothing more.
  void Check(int party) const {
    for (const bool online : {false, true})
      if (sent_[online] != s_.sent(party, online) || frames_[online] != s_.frame_count(party, online))
        throw Bug(Str("P", party, " sent ", sent_[online], " bytes in ", frames_[online], " frames, not ",
                      s_.sent(party, online), " in ", s_.frame_count(party, online)));
  }

 private:
  // Returns whether a frame of the inference moves in parts.
  bool IsLong(int index, int sender) const {
    const pfss::Frame& f = s_.frames()[size_t(index)];
    return f.tick >= 0 && f.sender == sender && size_t(f.bytes) > pfss::kLongFrame;
  }

  run::ChannelLink link_;
  const pfss::Schedule& s_;
  StopCase* stop_;
  std::array<int64_t, 2> sent_{};
  std::array<int, 2> frames_{};
};

// A party of all sessions, made in its own process. Both processes make the same model, text and keys by a seed.
class PartySide {
 public:
  PartySide(int party, int tokens) : party_(party), pools_(exec::DefaultPools()) {
    const model::LoadedModel m = model::SmallModel(1, kWide);
    plan_ = model::SmallPlan(m, tokens);
    const nn::QuantisedWeights q = nn::Quantise(m.weights, plan_);
    nn::Build(trace_, plan_, tokens);
    schedule_.emplace(trace_);
    for (const int p : {0, 1}) CheckLongFrame(p);
    const model::Text ids = model::Texts(3, 1, tokens, tokens, kWide.vocab)[0];
    std::mt19937_64 rng(4);
    run::Inputs in[3];
    model::ForInputs(plan_, q, ids, rng, [&](int role, const std::string& name, const std::vector<uint64_t>& words) {
      in[role].Set(name, words);
    });
    inputs_ = in[party];
    if (party == 1) want_ = nn::PlanSimulator(plan_, q).Run(ids).y;
    backend_ = backends::Make("packed", pools_);
    for (int s = 0; s < kSessions; ++s) {
      const auto randomness = backend_->Expand(Secrets(s));
      body_[size_t(s)] = run::DealBodies(*schedule_, *backend_, *randomness, in[2])[size_t(party)];
    }
  }
  // Runs one inference of a session. Throws unless P1 receives the simulator's words.
  void Run(net::Channel& ch, int session, StopCase* stop) {
    pfss::BundleSecrets secrets = Secrets(session);
    secrets.key[size_t(1 - party_)].reset();
    const auto randomness = backend_->Expand(std::move(secrets));
    store::KeySource keys(std::make_shared<const store::BodyLayout>(run::LayoutOf(*schedule_, party_)),
                          store::kKeyWindow);
    keys.FeedFrom(body_[size_t(session)]);
    OrderedLink link(ch, *schedule_, stop);
    run::Inputs inputs = inputs_;  // shares arrays and versions
    const auto words = run::RunParty({.schedule = *schedule_,
                                      .backend = *backend_,
                                      .party = party_,
                                      .randomness = *randomness,
                                      .inputs = inputs,
                                      .keys = keys,
                                      .link = link,
                                      .parts = true});
    link.Check(party_);
    std::vector<int64_t> y;
    for (const uint64_t w : words) y.push_back(ring::Signed(w, trace_.node(trace_.result(1)).ring.bits));
    if (y != want_) throw Bug(Str("session ", session, " has other words than the simulator"));
  }

 private:
  static pfss::BundleSecrets Secrets(int s) {
    return {{Secret(Hash{uint8_t(s), 1}), Secret(Hash{uint8_t(s), 2})}, Hash{uint8_t(s), 3}};
  }
  // Without a long frame this test would show nothing.
  void CheckLongFrame(int sender) const {
    for (const pfss::Frame& f : schedule_->frames())
      if (f.tick >= 0 && f.sender == sender && size_t(f.bytes) > pfss::kLongFrame) return;
    throw Bug(Str("P", sender, " sends no long frame"));
  }

  const int party_;
  exec::Pools& pools_;
  nn::Plan plan_;
  pfss::Trace trace_;
  std::optional<pfss::Schedule> schedule_;
  run::Inputs inputs_;
  std::vector<int64_t> want_;
  std::unique_ptr<pfss::Backend> backend_;
  std::array<Bytes, kSessions> body_;
};

struct TogetherCase {
  int tokens, texts;  // of each session
  bool stops = false;
};

// Counts and prints the sessions that fail.
class Failures {
 public:
  void Run(const char* who, const std::function<void()>& f) {
    try {
      f();
    } catch (const std::exception& e) {
      ++count_;
      std::fprintf(stderr, "%s: %s\n", who, e.what());
    }
  }
  int count() const { return count_; }

 private:
  std::atomic<int> count_{0};
};

// Runs P0 until both sessions are over. Writes its port to `port`. Returns the number of failures.
int ServeBoth(const TogetherCase& c, const std::string& certs, int port) {
  Failures failures;
  failures.Run("P0", [&] {
    PartySide side(0, c.tokens);
    StopCase stop;
    net::Listener listener(net::Credentials(certs + "/model"), {"127.0.0.1", 0}, {Role::kData}, kLimit);
    std::atomic<int> left{kSessions};
    const uint16_t at = listener.port();
    if (write(port, &at, sizeof at) != sizeof at) throw Bug("the pipe is closed");
    listener.Run(
        [&](net::Channel& ch) {
          failures.Run("P0", [&] {
            const int session = ch.RecvExact(net::kHello, 1)[0];
            if (c.stops && session == 1) stop.waits.wait();
            for (int i = 0; i < c.texts; ++i)
              side.Run(ch, session, c.stops && session == 0 && i == 0 ? &stop : nullptr);
            (void)ch.RecvExact(net::kEnd, 0);
            ch.Send(net::kEnd, {});
          });
          if (--left == 0) listener.Stop();
        },
        [](const Error&) {});
  });
  return failures.count();
}

// Runs both sessions of P1. Reads the port of P0 from `port`. Returns the number of failures.
int AskBoth(const TogetherCase& c, const std::string& certs, int port) {
  Failures failures;
  failures.Run("P1", [&] {
    PartySide side(1, c.tokens);
    StopCase stop;
    uint16_t at = 0;
    if (read(port, &at, sizeof at) != sizeof at) throw Bug("P0 has no port");
    const net::Credentials own(certs + "/data");
    const auto session = [&](int s) {
      failures.Run("P1", [&] {
        const auto ch = net::Dial(own, {"127.0.0.1", at}, Role::kModel, kLimit);
        const uint8_t number = uint8_t(s);
        ch->Send(net::kHello, View(&number, 1));
        for (int i = 0; i < c.texts; ++i) side.Run(*ch, s, c.stops && s == 0 && i == 0 ? &stop : nullptr);
        ch->Send(net::kEnd, {});
        (void)ch->RecvExact(net::kEnd, 0);
      });
      if (s == 1) stop.over.count_down();
    };
    std::jthread other([&] { session(1); });
    session(0);
  });
  return failures.count();
}

// Forks both processes from this one, which has no other thread. Expects that neither fails.
void RunTogether(const TogetherCase& c) {
  const Scratch dir;
  const std::string certs = dir / "certs";
  net::MakeCerts(certs);
  int port[2];
  ASSERT_EQ(pipe(port), 0);
  const auto child = [&](int keep, const auto& f) {
    const pid_t pid = fork();
    if (pid) return pid;
    close(port[1 - keep]);
    _exit(f(c, certs, port[keep]) ? 1 : 0);
  };
  const pid_t p0 = child(1, ServeBoth), p1 = child(0, AskBoth);
  for (const int end : port) close(end);
  int status = -1;
  ASSERT_EQ(waitpid(p1, &status, 0), p1);
  EXPECT_EQ(status, 0) << "P1";
  if (status) kill(p0, SIGKILL);
  ASSERT_EQ(waitpid(p0, &status, 0), p0);
  EXPECT_EQ(status, 0) << "P0";
}

TEST(Together, TwoSessionsOf16TokensEnd) { RunTogether({.tokens = 16, .texts = 6}); }
TEST(Together, TwoSessionsOf64TokensEnd) { RunTogether({.tokens = 64, .texts = 3}); }

// P1 sends half of a long frame and waits until the other session is over. That session begins when P0 waits for the
// other half.
TEST(Together, OneThatStopsInsideAFrameDelaysNoOther) { RunTogether({.tokens = 16, .texts = 2, .stops = true}); }

}  // namespace
}  // namespace suf
