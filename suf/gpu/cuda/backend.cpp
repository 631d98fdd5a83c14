#include "suf/gpu/cuda/backend.hpp"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <set>

#include "suf/base/lru_cache.hpp"
#include "suf/gpu/cuda/executor.hpp"
#include "suf/gpu/cuda/groups/printer.hpp"
#include "suf/gpu/kernel_folder.hpp"
#include "suf/grouping/randomness.hpp"

namespace suf::gpu::cuda {
namespace {

// The receiver of log lines.
std::mutex log_mutex;
std::function<void(const std::string&)> log_sink;
void LogLine(const std::string& line) {
  std::lock_guard l(log_mutex);
  if (log_sink) log_sink(line);
}

using namespace pfss;  // NOLINT: the whole file speaks of traces

// The executors of one device. Plans, memory and graphs of traces that ran stay for later runs.
class Cuda : public Backend {
 public:
  Cuda(Capabilities can, int index, Groups groups)
      : can_(std::move(can)),
        gpu_(exec::cuda::Find(index)),
        groups_(groups),
        kernels_(Codes(FindKernelFolder().path, Str("sm_", gpu_.major, gpu_.minor)), gpu_.index,
                 groups == Groups::kPrinted) {
    exec::cuda::PinHostBuffers();
  }
  std::string name() const override { return can_.name; }
  const Capabilities& capabilities() const override { return can_; }
  uint32_t prg() const override { return fss::kPrgId; }
  std::unique_ptr<Randomness> Expand(BundleSecrets m) override { return grouping::MakeRandomness(std::move(m)); }

  std::unique_ptr<Executor> Start(const Schedule& s, Role role) override {
    RefuseLacking(can_, s.trace());
    exec::cuda::Use(gpu_.index);
    const Key key{s.trace().digest(), int(role)};
    std::unique_ptr<Instance> instance;
    std::shared_ptr<RunningTrace> run;
    {
      std::lock_guard l(m_);
      KeptTrace& kept = KeptFor(key);
      run = std::make_shared<RunningTrace>(*this, key);
      ++kept.running;
      if (!kept.idle.empty()) {
        instance = std::move(kept.idle.back());
        kept.idle.pop_back();
      }
    }
    if (!instance) {
      Lack lack;
      instance = NewInstance(s, role, {}, &lack);
      if (!instance)
        Fail(Cause::kResource, "a run needs ", lack.needed, " bytes of the device's memory, and ", lack.free,
             " are free; bring fewer tokens or values at once, or free memory of the device");
    }
    return std::make_unique<CudaExecutor>(s, role, gpu_.index, weights_, std::move(instance),
                                          [this, run](std::unique_ptr<Instance> i) {
                                            const std::string lacks = i->kernels.Lacks();
                                            TakeBack(*run, std::move(i));
                                            if (!lacks.empty()) LogLine(lacks);
                                          });
  }
  void KeepPlans(uint64_t bytes) override { plans_.SetLimit(bytes); }
  int64_t ValueBytes(const Schedule& s, Role role) override { return int64_t(PlanFor(s, role)->slab); }
  std::variant<std::shared_ptr<Reservation>, Lack> Reserve(const Schedule& s, Role role,
                                                           const InputBytes& bytes_of) override {
    RefuseLacking(can_, s.trace());
    exec::cuda::Use(gpu_.index);
    (void)exec::cuda::Free();  // reports a device that an earlier run lost, before this run spends anything
    const Key key{s.trace().digest(), int(role)};
    {
      std::lock_guard l(m_);
      if (KeptTrace& kept = KeptFor(key); kept.idle.size() > kept.Promised()) return Promise(key, kept);
    }
    Lack lack;
    auto instance = NewInstance(s, role, bytes_of, &lack);
    if (!instance) return lack;
    std::lock_guard l(m_);
    KeptTrace& kept = KeptFor(key);
    kept.idle.push_back(std::move(instance));
    return Promise(key, kept);
  }
  pfss::Peak Peak() const override {
    const exec::cuda::Most most = exec::cuda::MostHeld();
    return {int64_t(most.device), int64_t(most.pinned)};
  }

 private:
  // Rows times members from which a trace's groups are worth compiling. Code in the folder serves every trace.
  static constexpr int64_t kWorth = int64_t{1} << 24;
  // Returns the bytes of a new instance and of the inputs that stay and are not there yet. Without bytes_of these are
  // left out.
  int64_t Needed(const Schedule& s, Role role, const DevicePlan& plan, const InputBytes& bytes_of) const {
    constexpr size_t kBeside = size_t{64} << 20;  // the device's own use
    const int64_t values = int64_t(plan.slab + kBeside);
    if (!bytes_of) return values;
    const DeviceCost cost = DeviceCostOf(s, role, plan, bytes_of);
    return values + cost.codes + std::max<int64_t>(0, cost.weights + cost.inputs - weights_.bytes());
  }
  // Returns null if the device has too little memory, with the amounts in `lack`.
  std::unique_ptr<Instance> NewInstance(const Schedule& s, Role role, const InputBytes& bytes_of, Lack* lack) {
    auto plan = PlanFor(s, role);
    int64_t work = 0;
    for (const grouping::Instruction& ins : plan->plan.instructions) work += int64_t(ins.rows * ins.members.size());
    *lack = {Needed(s, role, *plan, bytes_of), int64_t(exec::cuda::Free())};
    if (lack->needed > lack->free) {  // the memory of other traces goes first
      std::lock_guard l(m_);
      for (auto& [key, kept] : kept_) kept.idle.resize(std::min(kept.idle.size(), kept.Promised()));
      lack->free = int64_t(exec::cuda::Free());
    }
    if (lack->needed > lack->free) return nullptr;
    const bool worth = groups_ == Groups::kPrinted || work >= kWorth;
    return std::make_unique<Instance>(s, role, std::move(plan), groups_ == Groups::kInterpreted ? nullptr : &kernels_,
                                      worth);
  }
  using Key = std::pair<Hash, int>;  // digest of a trace, role
  struct KeptTrace {
    std::vector<std::unique_ptr<Instance>> idle;
    size_t running = 0;   // executors
    size_t reserved = 0;  // reservations
    uint64_t used = 0;    // number of the last use

    // Returns how many idle instances belong to reservations whose run has yet to begin.
    size_t Promised() const { return reserved - std::min(reserved, running); }
    bool unused() const { return !running && !reserved; }
  };
  // Counts as a reservation of a trace while it lives.
  struct ReservedTrace : Reservation {
    ReservedTrace(Cuda& b, Key k) : backend(b), key(std::move(k)) {}
    ~ReservedTrace() override {
      std::lock_guard l(backend.m_);
      --backend.kept_.at(key).reserved;
    }
    Cuda& backend;
    const Key key;
  };
  // Counts as a run of a trace until its instance is back, or until it is destroyed without one.
  struct RunningTrace {
    RunningTrace(Cuda& b, Key k) : backend(b), key(std::move(k)) {}
    ~RunningTrace() {
      if (ended) return;
      std::lock_guard l(backend.m_);
      --backend.kept_.at(key).running;
    }
    Cuda& backend;
    const Key key;
    bool ended = false;
  };
  // Returns a new reservation. The caller holds the lock.
  std::shared_ptr<Reservation> Promise(const Key& key, KeptTrace& kept) {
    auto out = std::make_shared<ReservedTrace>(*this, key);
    ++kept.reserved;
    return out;
  }
  static constexpr size_t kMostTraces = 16;
  // Returns what is kept for a trace, and marks it as used. If there are too many, drops those that were unused for the
  // longest time and are not in use. The caller holds the lock.
  KeptTrace& KeptFor(const Key& key) {
    KeptTrace& kept = kept_[key];
    kept.used = ++uses_;
    while (kept_.size() > kMostTraces) {
      auto oldest = kept_.end();
      for (auto k = kept_.begin(); k != kept_.end(); ++k)
        if (k->first != key && k->second.unused() && (oldest == kept_.end() || k->second.used < oldest->second.used))
          oldest = k;
      if (oldest == kept_.end()) break;
      kept_.erase(oldest);
    }
    return kept;
  }

  std::shared_ptr<const DevicePlan> PlanFor(const Schedule& s, Role role) {
    return plans_.Get({s.trace().digest(), int(role)}, [&] {
      auto plan = std::make_shared<const DevicePlan>(PlanOf(s, role, SpareOf));
      return std::pair(plan, MemoryOf(*plan));
    });
  }
  // Keeps the instance of a run that has ended for later ones.
  void TakeBack(RunningTrace& run, std::unique_ptr<Instance> i) {
    std::lock_guard l(m_);
    KeptTrace& kept = kept_.at(run.key);
    --kept.running;
    run.ended = true;
    kept.idle.push_back(std::move(i));
  }

  const Capabilities can_;
  const exec::cuda::Gpu gpu_;
  const Groups groups_;
  KernelCache kernels_;
  DeviceWeightCache weights_;
  LruCache<Key, DevicePlan> plans_{kPlanBytes};
  std::mutex m_;
  std::map<Key, KeptTrace> kept_;
  uint64_t uses_ = 0;
};

}  // namespace

void SetLogSink(std::function<void(const std::string&)> to) {
  std::lock_guard l(log_mutex);
  log_sink = std::move(to);
}

std::unique_ptr<Backend> MakeBackend(Capabilities can, int index, Groups groups) {
  return std::make_unique<Cuda>(std::move(can), index, groups);
}

KernelsMade MakeKernels(const Schedule& s, Role role, const std::string& architecture, const std::string& folder,
                        const std::function<void(size_t, size_t)>& done) {
  if (exec::cuda::CompilerName().empty())
    Fail(Cause::kResource,
         "kernels are compiled by NVRTC, and this machine has no libnvrtc.so.12 or 13; install CUDA's "
         "run-time compiler, or let the library path lead to it");
  const DevicePlan plan = PlanOf(s, role, SpareOf);
  Base base;
  for (int i : Inputs(s.trace(), plan)) base.forms[i] = FirstForm(s.trace(), i);
  const GroupCodes codes = Assemble(s, role, plan, base);
  std::set<std::string> texts;
  for (size_t k = 0; k < plan.plan.instructions.size(); ++k)
    if (plan.plan.instructions[k].group && !plan.Idle(s.trace(), k))
      if (PrintedKernel p = Print(codes, base, k); p.params.size() <= kMostParams) texts.insert(std::move(p.text));
  const std::vector<std::string> all(texts.begin(), texts.end());
  const Codes kept(folder.empty() ? FindKernelFolder().path : folder, architecture);
  std::atomic<size_t> through{0}, there{0};
  std::mutex m;
  exec::Default().For(all.size(), 1, [&](size_t lo, size_t hi) {
    for (size_t i = lo; i < hi; ++i) {
      there += !kept.Get(all[i]).empty();
      std::lock_guard l(m);
      if (done) done(++through, all.size());
    }
  });
  return {all.size(), there};
}

}  // namespace suf::gpu::cuda
