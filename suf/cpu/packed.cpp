#include "suf/cpu/packed.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "suf/cpu/bulk.hpp"
#include "suf/cpu/executor.hpp"
#include "suf/fss/prg.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/grouping/element.hpp"
#include "suf/grouping/randomness.hpp"
#include "suf/ring/modular.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {
constexpr size_t kSlack = 256;  // kernels may read, never write, this far beyond the end
}

Arena::~Arena() {
  for (auto& [room, block] : idle_) std::free(block.p);
}

std::shared_ptr<uint8_t> Arena::Take(size_t bytes) {
  size_t room = (bytes + kSlack + 4095) / 4096 * 4096;
  uint8_t* p = nullptr;
  {
    std::lock_guard l(m_);
    // Takes the best fit that wastes less than half.
    if (auto it = idle_.lower_bound(room); it != idle_.end() && it->first <= 2 * room) {
      room = it->first;
      p = it->second.p;
      idle_.erase(it);
    }
  }
  if (!p) p = static_cast<uint8_t*>(std::aligned_alloc(4096, room));
  if (!p)
    Fail(Cause::kResource, "no memory for a tensor of ", bytes,
         " bytes; bring fewer tokens or values at once, or free memory");
  return {p, [this, room](uint8_t* q) {
            std::lock_guard l(m_);
            idle_.emplace(room, Block{q, true});
          }};
}

void Arena::WipeIdle() {
  std::lock_guard l(m_);
  for (auto& [room, block] : idle_)
    if (std::exchange(block.used, false)) Wipe(block.p, room);
}

PackedExecutor::PackedExecutor(const Schedule& s, Role role, std::shared_ptr<const ExecutionPlan> plan,
                               exec::Pool& pool, ring::Isa variant, WeightCache& weights, Arena& arena)
    : s_(s),
      t_(s.trace()),
      role_(role),
      pool_(pool),
      variant_(variant),
      strips_(StripsFor(variant)),
      weights_(weights),
      plan_(std::move(plan)),
      arena_(arena),
      values_(t_.nodes().size()),
      part_(values_.size()),
      done_(values_.size()) {
  for (const pfss::Frame& f : s_.frames())
    for (const FrameField& part : f.parts) part_[size_t(part.node)] = &part;
  counts_.reserve(values_.size());
  elements_.reserve(values_.size());
  for (int i = 0; i < int(t_.nodes().size()); ++i) {
    counts_.push_back(size_t(Size(node(i).shape)));
    elements_.push_back(grouping::Element(s, i));
  }
}

std::shared_ptr<uint8_t> PackedExecutor::Make(int i) {
  auto p = arena_.Take(count(i) * size_t(element(i)));
  values_[size_t(i)] = {p, element(i), false};
  return p;
}

void PackedExecutor::Alias(int i, int from) { values_[size_t(i)] = values_[size_t(from)]; }

PackedExecutor::~PackedExecutor() {
  values_.clear();
  arena_.WipeIdle();
}

void PackedExecutor::OpenSections(const Randomness& randomness) {
  std::vector<int> drawn;
  sections_.resize(t_.nodes().size());
  for (auto& ins : plan_->plan.instructions)
    for (auto& m : ins.members)
      if (node(m.node).op == Op::kRand) drawn.push_back(m.node);
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  pool_.For(drawn.size(), 16, [&](size_t lo, size_t hi) {
    for (size_t k = lo; k < hi; ++k) {
      const auto& attrs = node(drawn[k]).attrs;
      sections_[size_t(drawn[k])] = randomness.Open(int(attrs[0]), int(attrs[1]));
    }
  });
}

void PackedExecutor::Run(const Program& program, const Randomness& randomness, Io& io) {
  // Programs must be the schedule's own, in their order: their instructions were planned in advance.
  const grouping::GroupPlan& plan = plan_->plan;
  SUF_CHECK(next_ < plan.programs.size() && program.role == role_ && program.nodes == plan.programs[next_].nodes);
  Host host{randomness, io};
  if (next_ == 0) OpenSections(randomness);
  const size_t at = next_++;
  for (const Instruction& ins : plan.of(at)) {
    const auto begin = std::chrono::steady_clock::now();
    double keys = 0;
    std::vector<int> nodes{ins.node};
    if (ins.group) {
      keys = Group(ins, host);
      nodes.clear();
      for (auto& m : ins.members) nodes.push_back(m.node);
    } else if (ins.same >= 0) {
      Alias(ins.node, ins.same);
    } else {
      Bulk(ins, host);
    }
    for (int i : nodes) done_[size_t(i)] = 1;
    if (const size_t all = io.Sending().size(); all > kLongFrame) {
      const FrameField* next = NextPart(io);
      io.Written(next ? size_t(next->at) : all);
    }
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    io.Took(node(nodes.back()).scope, {.compute = took * (1 - keys), .key = took * keys});
    for (int i : ins.read) io.Read(i);
    io.Done(nodes);
    for (int i : ins.dead) values_[size_t(i)] = {};
  }
  for (int i : plan.unread[at]) io.Read(i);
}

std::vector<uint64_t> PackedExecutor::Result(int i) {
  std::vector<uint64_t> out(count(i));
  const PackedTensor& v = values_[size_t(i)];
  SUF_CHECK(v.data && v.element <= 8);
  const uint64_t mask = ring::Mask(node(i).ring.bits);
  pool_.For(out.size(), kGrain, [&](size_t lo, size_t hi) {
    uint64_t* const part = &out[lo];
    if (v.splat)
      strips_.splat[3](WordIn(v, 0), hi - lo, part);
    else
      Widen(v, lo, hi - lo, 8, part);
    strips_.shift[3][1](part, 0, mask, hi - lo, part);
  });
  return out;
}

namespace {

class Packed : public pfss::Backend {
 public:
  Packed(exec::Pool& pool, ring::Isa variant) : pool_(pool), variant_(variant) {
    can_.name = std::string("packed/") + ring::Name(variant);
    can_.what = "the CPU engine";
  }
  std::string name() const override { return can_.name; }
  const pfss::Capabilities& capabilities() const override { return can_; }
  uint32_t prg() const override { return fss::kPrgId; }
  std::unique_ptr<pfss::Randomness> Expand(pfss::Material m) override {
    return grouping::MakeRandomness(std::move(m), variant_);
  }
  std::unique_ptr<pfss::Executor> Start(const pfss::Schedule& s, Role role) override {
    RefuseLacking(can_, s.trace());
    return std::make_unique<PackedExecutor>(s, role, PlanFor(s, role), pool_, variant_, weights_, arena_);
  }
  int64_t ValueBytes(const pfss::Schedule& s, Role role) override {
    const pfss::Trace& t = s.trace();
    return grouping::Peak(PlanFor(s, role)->plan, [&](int i) {
      const pfss::Node& n = t.node(i);
      const bool computed = n.op != pfss::Op::kInput && n.op != pfss::Op::kConst;
      return computed ? pfss::Size(n.shape) * grouping::Element(s, i) : 0;
    });
  }

 private:
  std::shared_ptr<const ExecutionPlan> PlanFor(const pfss::Schedule& s, Role role) {
    std::lock_guard l(m_);
    auto& kept = plans_[{s.trace().digest(), int(role)}];
    if (!kept) kept = std::make_shared<const ExecutionPlan>(PlanOf(s, role));
    auto plan = kept;
    if (plans_.size() > 16) plans_.clear();
    return plan;
  }

  exec::Pool& pool_;
  ring::Isa variant_;
  pfss::Capabilities can_;
  WeightCache weights_;
  std::mutex m_;
  std::map<std::pair<Hash, int>, std::shared_ptr<const ExecutionPlan>> plans_;  // by trace and role
  Arena arena_;
};

}  // namespace

std::unique_ptr<pfss::Backend> MakePacked(exec::Pool& pool, ring::Isa variant) {
  return std::make_unique<Packed>(pool, variant);
}

}  // namespace suf::cpu
