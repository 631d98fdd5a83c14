#include "suf/nn/plan/bill_memo.hpp"

#include <algorithm>

#include "suf/base/digest.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::nn {

namespace {

// Adds what Derive sets.
void AddDerived(const Operator& op, BillMemo::Key* key) {
  for (const int64_t x :
       {int64_t(op.form), int64_t(op.summand_ring), int64_t(op.wrapped), int64_t(op.unused), int64_t(op.one_row),
        int64_t(op.wanted), op.dim, op.heads, int64_t(op.built), int64_t(op.summands)})
    key->push_back(x);
}

// Numbers for lists of delayed wires, so that nodes of a trace share them. Number 0 is the empty list.
class Arrivals {
 public:
  int Of(Arrival a) {
    std::sort(a.begin(), a.end());
    const auto [at, fresh] = numbers_.try_emplace(std::move(a), int(lists_.size()));
    if (fresh) lists_.push_back(&at->first);
    return at->second;
  }
  const Arrival& operator[](int i) const { return *lists_[size_t(i)]; }
  // Returns the later one of both.
  int Later(int a, int b) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    const auto [at, fresh] = later_.try_emplace({std::min(a, b), std::max(a, b)}, 0);
    if (!fresh) return at->second;
    Arrival all = (*this)[a];
    for (const WireDelay& d : (*this)[b]) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const WireDelay& x) {
        return x.node == d.node && x.slot == d.slot && x.party == d.party;
      });
      if (same == all.end())
        all.push_back(d);
      else
        same->ticks = std::max(same->ticks, d.ticks);
    }
    return at->second = Of(std::move(all));
  }
  // Returns the arrival some ticks later.
  int Delayed(int a, int ticks) {
    Arrival all = (*this)[a];
    for (WireDelay& d : all) d.ticks += ticks;
    return Of(std::move(all));
  }

 private:
  std::map<Arrival, int> numbers_{{{}, 0}};
  std::vector<const Arrival*> lists_{&numbers_.begin()->first};
  std::map<std::pair<int, int>, int> later_;
};

// Splits a trace into the parts of its operators.
class Split {
 public:
  Split(const pfss::Schedule& s, const std::vector<OperatorNodes>& emitted)
      : s_(s),
        t_(s.trace()),
        emitted_(emitted),
        parts_(emitted.size()),
        owner_(t_.nodes().size()),
        at_(owner_.size()),
        work_(emitted.size()) {
    for (size_t i = 0; i < emitted.size(); ++i)
      std::fill(owner_.begin() + emitted[i].begin, owner_.begin() + emitted[i].end, int(i));
    SetArrivals();
    for (int p : {0, 1}) AddWork(p);
    AddMessages();
    AddKeys();
    for (size_t i = 0; i < parts_.size(); ++i)
      for (auto& [at, work] : work_[i]) {
        work.at = lists_[at.first];
        work.party = at.second;
        parts_[i].work.push_back(std::move(work));
      }
  }
  std::vector<BillPart> Parts() { return std::move(parts_); }

 private:
  using Node = pfss::Node;

  // Sets the first tick at which each party can know each node (Schedule::at), relative to the wires that are read.
  void SetArrivals() {
    const int start = lists_.Of({WireDelay{}});
    size_t op = 0;
    for (int i = 0; i < int(t_.nodes().size()); ++i) {
      while (i == emitted_[op].end) EndOperator(op++);
      const Node& n = t_.node(i);
      auto& at = at_[size_t(i)];
      if (n.op == pfss::Op::kInput) {
        if (n.attrs[0] >= 0) at = {lists_.Delayed(start, int(n.attrs[0])), lists_.Delayed(start, int(n.attrs[0]))};
      } else if (n.op == pfss::Op::kSend) {
        const size_t p = size_t(n.attrs[0]);
        at[p] = at_[size_t(n.args[0])][p];
        at[1 - p] = at[p] == 0 ? start : lists_.Delayed(at[p], 1);
      } else if (n.op != pfss::Op::kTell) {
        for (size_t p : {0, 1}) {
          for (int a : n.args) at[p] = lists_.Later(at[p], at_[size_t(a)][p]);
          if (n.op == pfss::Op::kWait && at[p] != 0) at[p] = lists_.Delayed(at[p], int(n.attrs[0]));
        }
      }
    }
    for (; op < emitted_.size(); ++op) EndOperator(op);
  }

  // Keeps the arrivals of an operator's wires. Readers count from these wires.
  void EndOperator(size_t op) {
    for (size_t slot = 0; slot < emitted_[op].wires.size(); ++slot) {
      auto& at = at_[size_t(emitted_[op].wires[slot])];
      parts_[op].wires.push_back({lists_[at[0]], lists_[at[1]]});
      for (int p : {0, 1})
        if (at[size_t(p)] != 0) at[size_t(p)] = lists_.Of({{int(op), int(slot), p, 0}});
    }
  }

  BillPart::Work& WorkOf(int op, int at, int party) { return work_[size_t(op)][{at, party}]; }

  // Adds a party's work. A node that needs no message is computed with its first reader (Schedule::PlaceNodes).
  void AddWork(int p) {
    const size_t party = size_t(p);
    std::vector<int> tick(owner_.size(), -1), with(owner_.size(), -1);  // a node's tick, and the reader that it is with
    for (const pfss::Step& step : s_.steps(p))
      for (int i : step.nodes) tick[size_t(i)] = step.tick;
    const std::vector<int>& live = s_.live(Role(p));
    for (size_t k = live.size(); k-- > 0;) {
      const int i = live[k];
      const Node& n = t_.node(i);
      const bool alone = s_.at(i, p) >= 0 || tick[size_t(i)] < 0 || with[size_t(i)] < 0;
      const int first = alone ? i : with[size_t(i)];
      const int at = s_.at(first, p) >= 0 ? at_[size_t(first)][party] : 0;
      BillPart::Work& work = WorkOf(owner_[size_t(first)], at, p);
      if (pfss::Info(n.op).cls != pfss::OpClass::kGiven) {
        work.blocks += pfss::AesBlocks(t_, i);
        work.words += pfss::Words(t_, i);
      }
      if (n.op == pfss::Op::kTell || (n.op == pfss::Op::kSend && n.attrs[0] != p)) continue;
      for (int a : n.args)
        if (s_.at(a, p) < 0 && tick[size_t(a)] >= 0 && tick[size_t(a)] == tick[size_t(i)]) with[size_t(a)] = first;
    }
  }

  void AddMessages() {
    for (const pfss::Frame& f : s_.frames())
      for (const pfss::FrameField& part : f.parts)
        WorkOf(owner_[size_t(part.node)], f.tick < 0 ? 0 : at_[size_t(part.node)][size_t(f.sender)], f.sender).sent +=
            part.bytes;
  }

  void AddKeys() {
    for (size_t p : {0, 1})
      for (const pfss::FrameField& part : s_.key(int(p))) {
        const Node& n = t_.node(part.node);
        BillPart& of = parts_[size_t(owner_[size_t(part.node)])];
        of.key[p] += part.bytes;
        of.key_bits[p] += pfss::Size(n.shape) * n.ring.bits;
      }
    for (int i : s_.live(Role::kDealer)) {
      if (pfss::Info(t_.node(i).op).cls == pfss::OpClass::kGiven) continue;
      BillPart& of = parts_[size_t(owner_[size_t(i)])];
      of.dealer_blocks += pfss::AesBlocks(t_, i);
      of.dealer_words += pfss::Words(t_, i);
    }
  }

  const pfss::Schedule& s_;
  const pfss::Trace& t_;
  const std::vector<OperatorNodes>& emitted_;
  std::vector<BillPart> parts_;
  std::vector<int> owner_;              // by node of the trace: the operator that emitted it
  std::vector<std::array<int, 2>> at_;  // by node and party: numbers of arrivals
  Arrivals lists_;
  std::vector<std::map<std::pair<int, int>, BillPart::Work>> work_;  // by operator, then by arrival and party
};

// The ticks of the wires of all operators, and the steps of both parties.
class Ticks {
 public:
  explicit Ticks(size_t ops) : wires_(ops) {}
  int Of(const Arrival& a) const {
    int tick = -1;
    for (const WireDelay& d : a) {
      if (d.node < 0) {
        tick = std::max(tick, d.ticks);
        continue;
      }
      const auto& slots = wires_[size_t(d.node)];
      if (size_t(d.slot) < slots.size()) tick = std::max(tick, slots[size_t(d.slot)][size_t(d.party)] + d.ticks);
    }
    return tick;
  }
  void Add(size_t op, const BillPart& part) {
    for (const auto& at : part.wires) wires_[op].push_back({Of(at[0]), Of(at[1])});
    for (const BillPart::Work& w : part.work) {
      const int tick = Of(w.at);
      compiler::TickWork& step = StepAt(tick, w.party);
      step.blocks += w.blocks;
      step.words += w.words;
      step.sent += w.sent;
      if (w.sent == 0) continue;
      compiler::TickWork& next = StepAt(tick + 1, 1 - w.party);
      next.due = next.due || tick >= 0;
    }
  }
  // Returns the steps of both parties, in order.
  std::vector<compiler::TickWork> Steps() const {
    std::vector<compiler::TickWork> out;
    for (auto& [at, step] : steps_) out.push_back(step);
    return out;
  }

 private:
  compiler::TickWork& StepAt(int tick, int party) {
    return steps_.try_emplace({tick, party}, compiler::TickWork{tick, party}).first->second;
  }

  std::vector<std::vector<std::array<int, 2>>> wires_;  // by operator, slot and party
  std::map<std::pair<int, int>, compiler::TickWork> steps_;
};

}  // namespace

int64_t BillMemo::NumberOf(std::string_view text) {
  return numbers_.try_emplace(Sha256().Add(text).Done(), int64_t(numbers_.size())).first->second;
}

const BillPart* BillMemo::Find(const Key& key) const {
  const auto at = parts_.find(key);
  return at == parts_.end() ? nullptr : &at->second;
}

ClassBills::ClassBills(const Plan& plan, Class& c, std::vector<std::vector<size_t>> knobs, BillMemo& memo)
    : plan_(plan), class_(c), knobs_(std::move(knobs)), memo_(memo) {
  std::vector<int64_t> stored;
  for (const OperatorPtr& op : c.ops)
    stored.push_back(memo.NumberOf(Str(op->ring, " ", op->scale, " ", StoredText(*op))));
  const pfss::KeysTo keys_to = plan.variants.at(size_t(c.variant)).keys_to;
  for (auto& n : plan.graph.nodes()) {
    std::string context = Str(n->index, " ", c.max_n, " ", c.tiles, " ", int(keys_to), " ", stored[size_t(n->index)]);
    for (const GraphNode* x : n->in) {
      context += Str(" ", x->index, ":", stored[size_t(x->index)]);
      for (const GraphNode* reader : plan.graph.Readers(x))
        context += Str(" ", reader->index, ":", stored[size_t(reader->index)]);
    }
    context_.push_back(memo.NumberOf(context));
  }
}

BillMemo::Key ClassBills::KeyOf(size_t node, const State& state) const {
  BillMemo::Key key{context_[node]};
  for (size_t k : knobs_[node]) key.push_back(int64_t(state[k]));
  AddDerived(*class_.ops[node], &key);
  for (const GraphNode* x : plan_.graph.node(node).in) AddDerived(*class_.ops[size_t(x->index)], &key);
  return key;
}

std::optional<size_t> ClassBills::Record(const State& state) {
  memo_.CountTrace();
  pfss::Trace t;
  std::vector<OperatorNodes> emitted;
  try {
    Build(t, plan_, class_.max_n, class_.variant, 1, &emitted);
  } catch (const Error& e) {
    if (e.cause() != Cause::kRefused || emitted.size() >= class_.ops.size()) throw;
    BillPart none;
    none.refused = true;
    memo_.Add(KeyOf(emitted.size(), state), std::move(none));
    return emitted.size();
  }
  std::vector<BillPart> parts = Split(pfss::Schedule(t), emitted).Parts();
  for (size_t i = 0; i < parts.size(); ++i) memo_.Add(KeyOf(i, state), std::move(parts[i]));
  return std::nullopt;
}

std::optional<size_t> ClassBills::Learn(const State& state) {
  bool unknown = false;
  for (size_t i = 0; i < class_.ops.size(); ++i) {
    const BillPart* part = memo_.Find(KeyOf(i, state));
    if (part && part->refused) return i;
    unknown = unknown || !part;
  }
  return unknown ? Record(state) : std::nullopt;
}

std::optional<compiler::Bill> ClassBills::Of(const State& state) {
  if (Learn(state)) return std::nullopt;
  std::vector<const BillPart*> parts;
  for (size_t i = 0; i < class_.ops.size(); ++i) parts.push_back(memo_.Find(KeyOf(i, state)));
  return Sum(parts);
}

compiler::Bill ClassBills::Sum(const std::vector<const BillPart*>& parts) const {
  compiler::Bill b;
  Ticks ticks(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const BillPart& part = *parts[i];
    ticks.Add(i, part);
    for (size_t p : {0, 1}) {
      b.key[p] += part.key[p];
      b.key_bits[p] += part.key_bits[p];
    }
    b.blocks[size_t(Role::kDealer)] += part.dealer_blocks;
    b.words[size_t(Role::kDealer)] += part.dealer_words;
  }
  if (plan_.variants.at(size_t(class_.variant)).keys_to == pfss::KeysTo::kBalanced) {
    b.key = {(b.key[0] + b.key[1]) / 2, (b.key[0] + b.key[1]) / 2};
    b.key_bits = {(b.key_bits[0] + b.key_bits[1]) / 2, (b.key_bits[0] + b.key_bits[1]) / 2};
  }
  b.steps = ticks.Steps();
  for (const compiler::TickWork& step : b.steps) {
    const size_t p = size_t(step.party);
    b.sent[p] += step.sent;
    b.blocks[p] += step.blocks;
    b.words[p] += step.words;
    if (step.sent > 0) b.flights = std::max(b.flights, step.tick + 1);
  }
  return b;
}

}  // namespace suf::nn
