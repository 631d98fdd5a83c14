// The dealer against one fuzzed party; the first byte says which. Once a request is on its way, an honest partner asks
// for the same bundles in a second thread.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fuzz/peer.hpp"

namespace {
using namespace suf::fuzz;

suf::Bytes Request(const Identity& partner) {
  suf::Writer w;
  w.Put(uint32_t{3}), w.Put(uint32_t{2}), w.Raw(TestPlan().task(3).trace), w.Raw(kWeights), w.Raw(partner.key);
  w.Raw(suf::Hash{21}), w.Raw(suf::Hash{22});
  return w.Take();
}

suf::Bytes Honest(const Identity& partner) {
  suf::Bytes all = AFrame(kHello, Hello());
  for (const suf::Bytes& f : {AFrame(kRequest, Request(partner)), AFrame(kEnd, {})})
    all.insert(all.end(), f.begin(), f.end());
  return all;
}

// Aside: runs one thing at a time in a thread that stays.
class Aside {
 public:
  void Run(std::function<void()> f) {
    std::lock_guard l(m_);
    todo_ = std::move(f);
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock l(m_);
    changed_.wait(l, [&] { return !todo_; });
  }
  ~Aside() {
    {
      std::lock_guard l(m_);
      stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  void Loop() {
    std::unique_lock l(m_);
    for (;;) {
      changed_.wait(l, [&] { return todo_ || stop_; });
      if (stop_) return;
      auto f = todo_;
      l.unlock();
      f();
      l.lock();
      todo_ = {};
      changed_.notify_all();
    }
  }
  std::mutex m_;
  std::condition_variable changed_;
  std::function<void()> todo_;
  bool stop_ = false;
  std::thread thread_{[this] { Loop(); }};
};
}  // namespace

SUF_FUZZ(dealer) {
  static const Folder folder;
  static DealerState state(folder / "s");
  static Aside aside;
  Dealer dealer(TestPlan(), state, {.ahead_tokens = 3, .ahead_count = 2, .partner_wait = Millis{1000}},
                [](const DealJob&, Sink& a, Sink& b) { a.Write(suf::Bytes(kBody)), b.Write(suf::Bytes(kBody)); });
  bool data = Pull<uint8_t>(input) & 1;
  const Identity &one = data ? kData : kModel, &two = data ? kModel : kData;
  suf::Bytes honest = Honest(one);
  Peer partner(kDealer, two, honest, [](Peer&, uint16_t, suf::Bytes&) {});
  bool asked = false;
  Peer party(kDealer, one, input, [&](Peer&, uint16_t kind, suf::Bytes& payload) {
    if (kind != kRequest || payload.size() != 8 + 5 * 32 || asked) return;
    suf::Reader r(payload, "a request");
    uint32_t n = r.Get<uint32_t>(), count = r.Get<uint32_t>();
    if (n < 1 || n > TestPlan().max_tokens || count < 1) return;  // refused; the partner would wait in vain
    asked = true;
    aside.Run([&] { Quietly([&] { dealer.Handle(partner); }); });
  });
  uint64_t before = state.Reserve(1);
  bool fine = Quietly([&] { dealer.Handle(party); });
  partner.gone = true;
  aside.Wait();
  uint64_t dealt = state.Reserve(1) - before - 1;
  SUF_CHECK(dealt <= 2 && (dealt == 0 || asked));
  if (!fine) suf::Fail(suf::Exit::kPeer, "the session ended early; start again");
}
