#include "suf/run/pair.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "suf/base/cores.hpp"
#include "suf/exec/host.hpp"
#include "suf/exec/pool.hpp"

namespace suf::run {
namespace {

// One direction of a link. Final bytes of a frame go to the buffer that its receiver posted. A frame without a posted
// buffer is kept.
struct Queue {
  struct Posted {
    int index;
    std::span<uint8_t> into;
    size_t came = 0;
  };
  std::mutex m;
  std::condition_variable ready;
  std::deque<Posted> posted;                          // in the order of the frames
  std::deque<std::pair<int, exec::HostBuffer>> kept;  // frames without a buffer yet; none while one is posted
  bool closed = false;
  std::atomic<uint64_t> moves{0};  // polled before a receiver sleeps
  // Returns the posted frame that arrives next; end() if there is none.
  auto Due() {
    return std::find_if(posted.begin(), posted.end(), [](const Posted& p) { return p.came < p.into.size(); });
  }
  void Moved() {
    ++moves;
    ready.notify_all();
  }
};

class QueueLink : public FrameLink {
 public:
  QueueLink(std::shared_ptr<Queue> in, std::shared_ptr<Queue> out, double seconds)
      : in_(std::move(in)), out_(std::move(out)), seconds_(seconds) {}
  ~QueueLink() override {
    Unpost();
    std::lock_guard l(out_->m);
    out_->closed = true;
    out_->Moved();
  }
  void Send(int index, View payload, size_t bytes) override {
    std::lock_guard l(out_->m);
    if (const auto to = out_->Due(); to != out_->posted.end()) {
      Fits(*to, index, payload.size());
      exec::Copy(payload.first(bytes).subspan(to->came), to->into.data() + to->came);
      to->came = bytes;
    } else if (bytes == payload.size()) {
      exec::HostBuffer copy(bytes);
      exec::Copy(payload, copy.span().data());
      out_->kept.emplace_back(index, std::move(copy));
    }
    out_->Moved();
  }
  void Post(int index, std::span<uint8_t> into) override {
    std::lock_guard l(in_->m);
    in_->posted.push_back({index, into});
    if (in_->kept.empty()) return;
    const auto& [got, frame] = in_->kept.front();
    Fits(in_->posted.back(), got, frame.size());
    exec::Copy(frame.view(), into.data());
    in_->posted.back().came = into.size();
    in_->kept.pop_front();
  }
  void Receive(int index, size_t bytes) override {
    const auto begin = std::chrono::steady_clock::now();
    std::optional<uint64_t> seen;  // moves at the last poll; the lock is tried again after the next move
    const auto moved = [&] { return in_->moves != seen; };
    PollUntil(
        PollDeadline(),
        [&] {
          if (!moved()) return false;
          std::unique_lock l(in_->m, std::try_to_lock);  // a sender holds it while it copies
          if (!l) return false;
          seen = in_->moves;
          return in_->closed || in_->posted.empty() || in_->posted.front().came >= bytes;
        },
        moved);
    std::unique_lock l(in_->m);
    SUF_CHECK(!in_->posted.empty() && in_->posted.front().index == index);
    const Queue::Posted& due = in_->posted.front();
    in_->ready.wait_for(l, std::chrono::duration<double>(seconds_), [&] { return due.came >= bytes || in_->closed; });
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (due.came < bytes)
      Fail(Cause::kPeer, "the peer was silent for ", seconds_, " s (frame ", index, "); start both sides again");
    if (bytes == due.into.size()) in_->posted.pop_front();
  }
  void Unpost() override {
    std::lock_guard l(in_->m);
    in_->posted.clear();
  }
  double waited() const override { return waited_; }

 private:
  static void Fits(const Queue::Posted& room, int index, size_t bytes) {
    if (index != room.index) Fail(Cause::kPeer, "frame ", index, " came where frame ", room.index, " was due");
    if (bytes != room.into.size())
      Fail(Cause::kPeer, "frame ", index, " of ", bytes, " bytes came where ", room.into.size(), " were due");
  }
  double waited_ = 0;
  std::shared_ptr<Queue> in_, out_;
  double seconds_;
};

// A link that counts and keeps the frames of one party. `chain` has the length of the longest chain that ends in each
// frame. It is written before the frame leaves, and is 0 for frames before the inference.
class Counted : public FrameLink {
 public:
  Counted(std::unique_ptr<FrameLink> link, const pfss::Schedule& s, PairRun* run, std::vector<int>* chain, int party)
      : link_(std::move(link)), s_(s), run_(run), chain_(*chain), party_(party) {}
  void Send(int index, View payload, size_t bytes) override {
    if (bytes == payload.size()) {
      const pfss::Frame& f = s_.frames()[size_t(index)];
      SUF_CHECK(f.sender == party_);
      (f.tick < 0 ? run_->offline : run_->online)[size_t(party_)] += int64_t(payload.size());
      run_->frames[size_t(party_)] += f.tick >= 0;
      run_->frame[size_t(index)].assign(payload.begin(), payload.end());
      chain_[size_t(index)] = f.tick < 0 ? 0 : behind_ + 1;
    }
    link_->Send(index, payload, bytes);
  }
  void Post(int index, std::span<uint8_t> into) override { link_->Post(index, into); }
  void Unpost() override { link_->Unpost(); }
  void Receive(int index, size_t bytes) override {
    link_->Receive(index, bytes);
    behind_ = std::max(behind_, chain_[size_t(index)]);
  }
  double waited() const override { return link_->waited(); }

 private:
  std::unique_ptr<FrameLink> link_;
  const pfss::Schedule& s_;
  PairRun* run_;
  std::vector<int>& chain_;
  int party_, behind_ = 0;
};

}  // namespace

std::array<std::unique_ptr<FrameLink>, 2> MakeLinks(double seconds) {
  auto a = std::make_shared<Queue>(), b = std::make_shared<Queue>();
  return {std::make_unique<QueueLink>(a, b, seconds), std::make_unique<QueueLink>(b, a, seconds)};
}

PairRun RunPair(const PairJob& job) {
  PairRun run;
  run.frame.resize(job.schedule.frames().size());
  std::vector<int> chain(run.frame.size(), 0);
  auto streams = [&](Role role) {
    pfss::BundleSecrets m{{}, job.secrets.rho};
    for (int p : {0, 1})
      if (role == Role::kDealer || int(role) == p) m.key[size_t(p)].emplace(job.secrets.key[size_t(p)]->view());
    auto r = job.backend[size_t(role)]->Expand(std::move(m));
    return job.wrap ? job.wrap(role, std::move(r)) : std::move(r);
  };
  run.key = DealBodies(job.schedule, *job.backend[2], *streams(Role::kDealer), *job.inputs[2]);
  auto links = MakeLinks();
  std::array<std::exception_ptr, 2> error;
  auto party = [&](int p) {
    try {
      Counted link(std::move(links[size_t(p)]), job.schedule, &run, &chain, p);
      auto randomness = streams(Role(p));
      store::KeySource keys(std::make_shared<const store::BodyLayout>(LayoutOf(job.schedule, p)), job.window);
      keys.FeedFrom(run.key[size_t(p)]);
      run.result[size_t(p)] = RunParty({.schedule = job.schedule,
                                        .backend = *job.backend[size_t(p)],
                                        .party = p,
                                        .randomness = *randomness,
                                        .inputs = *job.inputs[size_t(p)],
                                        .keys = keys,
                                        .link = link});
    } catch (...) {
      error[size_t(p)] = std::current_exception();
    }
  };
  std::thread other([&] { party(1); });
  party(0);
  other.join();
  // a failing party closes its link, so the other fails as well: a missing peer is not the first cause
  for (int p : {1, 0})
    if (error[size_t(p)]) {
      try {
        std::rethrow_exception(error[size_t(p)]);
      } catch (const Error& e) {
        if (e.cause() == Cause::kPeer && error[size_t(1 - p)]) continue;
        throw;
      }
    }
  if (error[1]) std::rethrow_exception(error[1]);
  for (int c : chain) run.flights = std::max(run.flights, c);
  return run;
}

}  // namespace suf::run
