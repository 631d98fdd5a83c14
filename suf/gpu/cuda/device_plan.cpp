#include "suf/gpu/cuda/device_plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "suf/base/lru_cache.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/grouping/element.hpp"
#include "suf/grouping/rows_core.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using grouping::Instruction;
using grouping::Member;
using grouping::Operand;

namespace {

size_t Aligned(size_t bytes) { return (bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign; }

// Slots that are taken and given back: bytes of the slab, words of a frame. It uses the best fit; the last idle slot
// grows.
class Slab {
 public:
  explicit Slab(size_t align) : align_(align) {}
  Slot Take(size_t size) {
    const size_t need = Need(size);
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it)
      if (it->second >= need && (best == idle_.end() || it->second < best->second)) best = it;
    if (best == idle_.end()) {
      size_t at = end_;
      if (!idle_.empty() && idle_.rbegin()->first + idle_.rbegin()->second == end_) {
        at = idle_.rbegin()->first;
        idle_.erase(std::prev(idle_.end()));
      }
      end_ = at + need;
      return {at, size};
    }
    const auto [at, free] = *best;
    idle_.erase(best);
    if (free > need) idle_.emplace(at + need, free - need);
    return {at, size};
  }
  void Give(const Slot& r) {
    auto [it, fresh] = idle_.emplace(r.at, Need(r.bytes));
    SUF_CHECK(fresh);
    if (const auto next = std::next(it); next != idle_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      idle_.erase(next);
    }
    if (it != idle_.begin())
      if (const auto before = std::prev(it); before->first + before->second == it->first) {
        before->second += it->second;
        idle_.erase(it);
      }
  }
  size_t end() const { return end_; }

 private:
  size_t Need(size_t size) const { return std::max((size + align_ - 1) / align_ * align_, align_); }
  const size_t align_;
  std::map<size_t, size_t> idle_;  // at -> size
  size_t end_ = 0;
};

// Calls f(node, bytes, drawn) for the PRG words and key sections of an instruction.
template <class F>
void Needs(const Trace& t, const Instruction& ins, F f) {
  for (const Member& m : ins.members) {
    const Node& n = t.node(m.node);
    if (n.op == Op::kRand)
      f(m.node, size_t(Size(n.shape)) * fss::ElementBytes(n.ring.bits), true);
    else if (m.emits && n.op == Op::kTell)
      f(m.node, size_t(PackedBytes(n)) + 2 * kEdge, false);
  }
}

// Places everything in the slab, batch by batch. Memory that a batch frees is reused from the next batch on.
class Placer {
 public:
  Placer(const Schedule& s, Role role, const Spare& spare, DevicePlan& plan)
      : s_(s), t_(s.trace()), role_(role), spare_(spare), plan_(plan) {}
  void Run() {
    PlaceWords();
    if (role_ != Role::kDealer) PlaceKeys();
    PlaceDirect();
    for (DeviceStep& step : plan_.programs) PlaceStep(step);
    plan_.slab = slab_.end();
  }

 private:
  const Node& node(int i) const { return t_.node(i); }
  const std::vector<Instruction>& all() const { return plan_.plan.instructions; }

  // Takes a slot for the batches from `first` to `last`.
  Slot Lease(size_t bytes, int first, int last, int node) {
    const Slot slot = slab_.Take(bytes);
    plan_.leases.push_back({slot, first, last, node});
    return slot;
  }

  // Places the PRG words of two chapters for the whole run.
  void PlaceWords() {
    size_t most = 0;
    for (const Chapter& c : plan_.chapters) most = std::max(most, c.bytes);
    for (Slot& slot : words_) slot = slab_.Take(most);
    for (size_t c = 0; c < plan_.chapters.size(); ++c)
      for (auto& [i, slot] : plan_.chapters[c].drawn) {
        slot.at += words_[c % 2].at;
        plan_.leases.push_back({slot, int(plan_.chapters[c ? c - 1 : 0].begin), int(plan_.chapters[c].end) - 1, i});
      }
  }

  // Places a party's key sections for the whole run.
  void PlaceKeys() {
    for (LaunchBatch& batch : plan_.batches)
      for (size_t k = batch.begin; k < batch.end; ++k)
        for (const Member& m : all()[k].members) {
          if (node(m.node).op != Op::kTell) continue;
          if (!plan_.keys.count(m.node))
            plan_.keys[m.node] =
                Lease(size_t(PackedBytes(node(m.node))) + 2 * kEdge, 0, int(plan_.batches.size()), m.node);
          if (std::find(batch.read.begin(), batch.read.end(), m.node) == batch.read.end()) batch.read.push_back(m.node);
        }
  }

  // Gives the words and sections that are read in place their slots.
  void PlaceDirect() {
    for (auto& [i, where] : plan_.direct)
      if (node(i).op == Op::kRand)
        where.first.at += words_[ChapterOf(i) % 2].at;
      else
        where.first = {plan_.keys.at(i).at + kEdge, plan_.keys.at(i).bytes - 2 * kEdge};
  }

  void PlaceStep(DeviceStep& step) {
    std::vector<Slot> frames;
    const int first = int(step.begin), last = std::max(first, int(step.end) - 1);
    const auto frame = [&](int f, Slot* slot) {
      if (f < 0) return;
      *slot = Lease(size_t(s_.frames()[size_t(f)].bytes) + 2 * kEdge, first, last, -1);
      frames.push_back(*slot);
    };
    frame(step.receives, &step.received);
    frame(step.sends, &step.sent);
    for (size_t b = step.begin; b < step.end; ++b) PlaceBatch(b);
    for (const Slot& slot : frames) slab_.Give(slot);
  }

  void PlaceBatch(size_t b) {
    LaunchBatch& batch = plan_.batches[b];
    std::vector<Slot> gone = std::exchange(told_, {});
    for (size_t k = batch.begin; k < batch.end; ++k) {
      const Instruction& ins = all()[k];
      Needs(t_, ins, [&](int i, size_t bytes, bool drawn) {
        if (drawn || batch.told.count(i)) return;
        batch.told[i] = Lease(bytes, int(b), int(b) + 1, i);
        told_.push_back(batch.told[i]);
        batch.made.push_back(i);
      });
      if (ins.node >= 0) BeginValue(ins.node, b);
      for (const Member& m : ins.members)
        if (m.kept) BeginValue(m.node, b);
      if (const size_t bytes = ins.same < 0 ? spare_(s_, ins, plan_.frames[k]) : 0) {
        batch.spare[int(k)] = Lease(bytes, int(b), int(b), -1);
        gone.push_back(batch.spare[int(k)]);
      }
      for (int i : ins.dead) EndValue(i, b, &gone);
    }
    for (const Slot& slot : gone) slab_.Give(slot);
  }

  // Places the value of a node that batch b computes. It may have a slot already, by an alias, or need none.
  void BeginValue(int i, size_t b) {
    const int root = plan_.Root(i);
    if (users_[root]++) return;
    const Node& n = node(root);
    if (n.op == Op::kInput || n.op == Op::kConst || plan_.direct.count(root)) return;
    const size_t bytes = size_t(Size(n.shape)) * size_t(grouping::Element(s_, root));
    lease_of_[root] = plan_.leases.size();
    plan_.values[root] = Lease(bytes, int(b), int(plan_.batches.size()), root);
  }
  // Adds the slot of a node's value to `gone` if nothing reads it after batch b.
  void EndValue(int i, size_t b, std::vector<Slot>* gone) {
    const int root = plan_.Root(i);
    if (--users_[root] || !plan_.values.count(root)) return;
    plan_.leases[lease_of_.at(root)].last = int(b);
    gone->push_back(plan_.values[root]);
  }

  // Returns the chapter of the instruction that draws a direct word.
  size_t ChapterOf(int i) const {
    for (const LaunchBatch& batch : plan_.batches)
      for (size_t k = batch.begin; k < batch.end; ++k)
        if (const Instruction& ins = all()[k]; ins.group && ins.members.size() == 1 && ins.members[0].node == i)
          return batch.chapter;
    SUF_CHECK(false);
    return 0;
  }

  const Schedule& s_;
  const Trace& t_;
  const Role role_;
  const Spare& spare_;
  DevicePlan& plan_;
  Slab slab_{kSlotAlign};
  std::array<Slot, 2> words_;       // by a chapter's parity
  std::vector<Slot> told_;          // sections of the previous batch
  std::map<int, int> users_;        // by root: nodes that are alive
  std::map<int, size_t> lease_of_;  // by root: the lease of its value
};

class Planner {
 public:
  Planner(const Schedule& s, Role role, const Spare& spare, size_t most)
      : s_(s), t_(s.trace()), role_(role), spare_(spare), most_(most) {
    grouping::GroupLimits limits = kLimits;
    if (role != Role::kDealer) limits.bytes = std::numeric_limits<int64_t>::max();  // a frame leaves as a whole
    out_.plan = grouping::PlanOf(s, role, Programs(s, role), limits);
  }

  DevicePlan Run() {
    Cut();
    Chapters();
    for (const Instruction& ins : out_.plan.instructions) {
      if (ins.same >= 0) out_.root[ins.node] = out_.Root(ins.same);
      out_.frames.push_back(ins.group ? Registers(ins) : RegisterFrame{});
    }
    Direct();
    Placer(s_, role_, spare_, out_).Run();
    return std::move(out_);
  }

 private:
  const Node& node(int i) const { return t_.node(i); }
  const std::vector<Instruction>& all() const { return out_.plan.instructions; }

  // Cuts programs into batches.
  void Cut() {
    size_t begin = 0;
    for (size_t p = 0; p < out_.plan.programs.size(); ++p) {
      DeviceStep part{.begin = out_.batches.size()};
      const size_t end = size_t(out_.plan.ends[p]);
      std::set<int> seen;
      size_t bytes = 0;
      for (size_t k = begin; k < end; ++k) {
        size_t more = 0;
        Needs(t_, all()[k], [&](int i, size_t b, bool) { more += seen.count(i) ? 0 : b; });
        if (k > begin && bytes + more > most_) {
          out_.batches.push_back({.begin = begin, .end = k});
          begin = k;
          bytes = 0;
          seen.clear();
        }
        Needs(t_, all()[k], [&](int i, size_t b, bool) { bytes += seen.insert(i).second ? b : 0; });
      }
      if (end > begin) out_.batches.push_back({.begin = begin, .end = end});
      begin = end;
      part.end = out_.batches.size();
      if (role_ != Role::kDealer) {
        const Step& step = s_.steps(int(role_))[p];
        part.receives = step.receive;
        part.sends = step.send;
      }
      out_.programs.push_back(part);
    }
  }

  // Joins batches to chapters, whose words have slots one after another.
  void Chapters() {
    for (size_t b = 0; b < out_.batches.size(); ++b) {
      std::map<int, size_t> more;
      size_t bytes = 0;
      LaunchBatch& batch = out_.batches[b];
      for (size_t k = batch.begin; k < batch.end; ++k)
        Needs(t_, all()[k], [&](int i, size_t size, bool drawn) {
          const bool there = !out_.chapters.empty() && out_.chapters.back().drawn.count(i);
          if (drawn && !there && more.emplace(i, size).second) bytes += Aligned(size);
        });
      if (out_.chapters.empty() || out_.chapters.back().bytes + bytes > most_) {
        more.clear();
        for (size_t k = batch.begin; k < batch.end; ++k)
          Needs(t_, all()[k], [&](int i, size_t size, bool drawn) {
            if (drawn) more.emplace(i, size);
          });
        out_.chapters.push_back({b, b, {}, 0});
      }
      Chapter& c = out_.chapters.back();
      for (const auto& [i, size] : more) {
        c.drawn[i] = {c.bytes, size};
        c.bytes += Aligned(size);
      }
      c.end = b + 1;
      batch.chapter = out_.chapters.size() - 1;
    }
  }

  // Finds the single words or sections that are kept in the form in which they are drawn or received.
  void Direct() {
    std::map<int, size_t> last;  // node -> the last batch that reads it
    std::vector<size_t> batch(all().size());
    for (size_t b = 0; b < out_.batches.size(); ++b)
      for (size_t k = out_.batches[b].begin; k < out_.batches[b].end; ++k) batch[k] = b;
    for (size_t k = 0; k < all().size(); ++k)
      grouping::Reads(t_, all()[k], [&](int a) { last[out_.Root(a)] = batch[k]; });
    for (int p : {0, 1})
      if (int(role_) == p)
        for (const pfss::Trace::Result& r : t_.results(p)) last[out_.Root(r.node)] = out_.batches.size();
    for (size_t k = 0; k < all().size(); ++k) {
      const Instruction& ins = all()[k];
      if (!ins.group || ins.members.size() != 1 || !ins.members[0].kept) continue;
      const int i = ins.members[0].node;
      const Node& n = node(i);
      const int bits = n.ring.bits, bytes = int(fss::ElementBytes(bits));
      const bool whole = bits == 8 * bytes;
      if (n.op == Op::kRand && (whole || n.ring.kind == Ring::kAdd)) {
        const Chapter& c = out_.chapters[out_.batches[batch[k]].chapter];
        if (last[i] < c.end) out_.direct[i] = {c.drawn.at(i), bytes};
      } else if (n.op == Op::kTell && role_ != Role::kDealer && whole) {
        out_.direct[i] = {{}, bytes};  // Placer sets the slot
      }
    }
  }

  // Allocates registers. Those of a member live until its last reader, those of a loaded operand while the member runs.
  RegisterFrame Registers(const Instruction& ins) const {
    const size_t n = ins.members.size();
    std::vector<size_t> last(n);
    for (size_t k = 0; k < n; ++k) {
      last[k] = k;
      for (const Operand& o : ins.members[k].operands)
        if (o.from == Operand::kMember) last[size_t(o.member)] = k;
    }
    RegisterFrame f;
    f.members.resize(n);
    f.operands.resize(n);
    Slab slab(1);
    std::vector<Slot> slots;  // of members
    for (size_t k = 0; k < n; ++k) {
      const Member& m = ins.members[k];
      std::vector<Slot> own;
      for (size_t j = 0; j < m.operands.size(); ++j) {
        const Operand& o = m.operands[j];
        f.operands[k].push_back(-1);
        if (o.from != Operand::kMemory && !(o.from == Operand::kMember && Reduces(s_, ins, m, j))) continue;
        own.push_back(slab.Take(size_t(o.planes * grouping::row::WordsOf(node(node(m.node).args[j]).ring.bits))));
        f.operands[k][j] = int(own.back().at);
      }
      slots.push_back(slab.Take(size_t(m.planes * grouping::row::WordsOf(node(m.node).ring.bits))));
      f.members[k] = int(slots.back().at);
      for (const Slot& r : own) slab.Give(r);
      for (size_t j = 0; j <= k; ++j)
        if (last[j] == k) slab.Give(slots[j]);
    }
    f.words = int(slab.end());
    return f;
  }

  const Schedule& s_;
  const Trace& t_;
  Role role_;
  const Spare& spare_;
  size_t most_;
  DevicePlan out_;
};

}  // namespace

bool DevicePlan::Idle(const Trace& t, size_t k) const {
  const Instruction& ins = plan.instructions[k];
  if (ins.group) return ins.members.size() == 1 && direct.count(ins.members[0].node);
  const Op op = t.node(ins.node).op;
  return ins.same >= 0 || op == Op::kInput || op == Op::kConst;
}

uint64_t MemoryOf(const DevicePlan& plan) {
  constexpr uint64_t kEntry = 80;  // bytes of an entry of a map
  uint64_t all = sizeof plan + grouping::MemoryOf(plan.plan) + HeapBytes(plan.batches) + HeapBytes(plan.chapters) +
                 HeapBytes(plan.programs) + HeapBytes(plan.frames) + HeapBytes(plan.leases);
  size_t entries = plan.keys.size() + plan.values.size() + plan.root.size() + plan.direct.size();
  for (const LaunchBatch& b : plan.batches) {
    entries += b.told.size() + b.spare.size();
    all += HeapBytes(b.made) + HeapBytes(b.read);
  }
  for (const Chapter& c : plan.chapters) entries += c.drawn.size();
  for (const RegisterFrame& f : plan.frames) {
    all += HeapBytes(f.members) + HeapBytes(f.operands);
    for (const std::vector<int>& o : f.operands) all += HeapBytes(o);
  }
  return all + entries * kEntry;
}

bool Reduces(const Schedule& s, const Instruction& ins, const Member& m, size_t j) {
  const Trace& t = s.trace();
  const Node& made = t.node(ins.members[size_t(m.operands[j].member)].node);
  const Node& named = t.node(t.node(m.node).args[j]);
  return named.ring.kind == Ring::kAdd && (made.ring.kind != Ring::kAdd || made.ring.bits > named.ring.bits);
}

DevicePlan PlanOf(const Schedule& s, Role role, const Spare& spare, size_t most) {
  return Planner(s, role, spare, most).Run();
}

}  // namespace suf::gpu::cuda
