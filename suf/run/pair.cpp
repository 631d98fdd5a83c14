#include "suf/run/pair.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "suf/exec/host.hpp"

namespace suf::run {
namespace {

struct Queue {
  std::mutex m;
  std::condition_variable ready;
  std::deque<std::pair<int, exec::HostBuffer>> frames;  // in pages that later ones use again
  bool closed = false;
};

class QueueLink : public Link {
 public:
  QueueLink(std::shared_ptr<Queue> in, std::shared_ptr<Queue> out, double seconds)
      : in_(std::move(in)), out_(std::move(out)), seconds_(seconds) {}
  ~QueueLink() override {
    std::lock_guard l(out_->m);
    out_->closed = true;
    out_->ready.notify_all();
  }
  void Send(int index, View payload, size_t bytes) override {
    if (bytes < payload.size()) return;
    exec::HostBuffer copy(payload.size());
    std::copy(payload.begin(), payload.end(), copy.span().begin());
    std::lock_guard l(out_->m);
    out_->frames.emplace_back(index, std::move(copy));
    out_->ready.notify_all();
  }
  void Post(int, std::span<uint8_t> into) override { posted_.push_back(into); }
  void Receive(int index, size_t bytes) override {
    const std::span<uint8_t> into = posted_.front();
    if (std::exchange(came_, index) != index) {
      const exec::HostBuffer frame = Next(index);
      const View payload = frame.view();
      if (payload.size() != into.size())
        Fail(Cause::kPeer, "frame ", index, " of ", payload.size(), " bytes came where ", into.size(), " were due");
      std::copy(payload.begin(), payload.end(), into.begin());
    }
    if (bytes == into.size()) posted_.pop_front();
  }
  double waited() const override { return waited_; }

 private:
  exec::HostBuffer Next(int index) {
    auto begin = std::chrono::steady_clock::now();
    std::unique_lock l(in_->m);
    bool came = in_->ready.wait_for(l, std::chrono::duration<double>(seconds_),
                                    [&] { return !in_->frames.empty() || in_->closed; });
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!came || in_->frames.empty())
      Fail(Cause::kPeer, "the peer was silent for ", seconds_, " s (frame ", index, "); start both sides again");
    auto [got, frame] = std::move(in_->frames.front());
    in_->frames.pop_front();
    if (got != index) Fail(Cause::kPeer, "frame ", got, " came where frame ", index, " was due");
    return std::move(frame);
  }
  double waited_ = 0;
  int came_ = -1;
  std::deque<std::span<uint8_t>> posted_;
  std::shared_ptr<Queue> in_, out_;
  double seconds_;
};

// Counted: counts and keeps what one party sends. `chain` is what a party has behind it, by frame, written before the
// frame leaves; a frame before the inference is behind nothing.
class Counted : public Link {
 public:
  Counted(std::unique_ptr<Link> link, const pfss::Schedule& s, PairRun* run, std::vector<int>* chain, int party)
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
  void Receive(int index, size_t bytes) override {
    link_->Receive(index, bytes);
    behind_ = std::max(behind_, chain_[size_t(index)]);
  }
  double waited() const override { return link_->waited(); }

 private:
  std::unique_ptr<Link> link_;
  const pfss::Schedule& s_;
  PairRun* run_;
  std::vector<int>& chain_;
  int party_, behind_ = 0;
};

}  // namespace

std::array<std::unique_ptr<Link>, 2> MakeLinks(double seconds) {
  auto a = std::make_shared<Queue>(), b = std::make_shared<Queue>();
  return {std::make_unique<QueueLink>(a, b, seconds), std::make_unique<QueueLink>(b, a, seconds)};
}

PairRun RunPair(const PairJob& job) {
  PairRun run;
  run.frame.resize(job.schedule.frames().size());
  std::vector<int> chain(run.frame.size(), 0);
  auto streams = [&](Role role) {
    pfss::Material m{{}, job.material.rho};
    for (int p : {0, 1})
      if (role == Role::kDealer || int(role) == p) m.key[size_t(p)].emplace(job.material.key[size_t(p)]->view());
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
      store::KeySource keys(std::make_shared<const store::Layout>(LayoutOf(job.schedule, p)), job.window);
      keys.FeedFrom(run.key[size_t(p)]);
      run.result[size_t(p)] =
          RunParty({job.schedule, *job.backend[size_t(p)], p, *randomness, *job.inputs[size_t(p)], keys, link});
    } catch (...) {
      error[size_t(p)] = std::current_exception();
    }
  };
  std::thread other([&] { party(1); });
  party(0);
  other.join();
  // a party that fails closes its link, so that the other fails too: the first cause is not a missing peer
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
