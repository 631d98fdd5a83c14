// Bills of a class under many settings of its knobs. An operator's part of a trace depends on its parameters and on the
// wires that it reads. So parts of earlier traces give most bills without a trace (docs/mathematics.md#cost-model).
#pragma once
#include <map>
#include <optional>

#include "suf/compiler/choose.hpp"
#include "suf/nn/plan/plan.hpp"

namespace suf::nn {

// The tick of a party's wire plus some ticks. `node` and `slot` name the wire (OperatorNodes::wires); node -1 is tick
// 0.
struct WireDelay {
  int node = -1, slot = 0, party = 0, ticks = 0;
  auto operator<=>(const WireDelay&) const = default;
};
// The latest of some delayed wires. Without any it is before the inference.
using Arrival = std::vector<WireDelay>;

// The part of a bill that one operator causes.
struct BillPart {
  // The work and the message of a party at one tick.
  struct Work {
    Arrival at;
    int party = 0;
    int64_t blocks = 0, words = 0, sent = 0;
  };
  bool refused = false;  // there is no such trace
  std::vector<Work> work;
  std::vector<std::array<Arrival, 2>> wires;  // by slot and party
  std::array<int64_t, 2> key{}, key_bits{};
  int64_t dealer_blocks = 0, dealer_words = 0;
};

// Parts of bills, for searches of all classes and variants of a compilation.
class BillMemo {
 public:
  using Key = std::vector<int64_t>;
  // Returns a number for the text, the same one for equal texts.
  int64_t NumberOf(std::string_view text);
  // Returns the part with this key, or null.
  const BillPart* Find(const Key& key) const;
  void Add(Key key, BillPart part) { parts_.try_emplace(std::move(key), std::move(part)); }
  // Returns the traces that were made.
  int traces() const { return traces_; }
  void CountTrace() { ++traces_; }

 private:
  std::map<Hash, int64_t> numbers_;
  std::map<Key, BillPart> parts_;
  int traces_ = 0;
};

// The bills of one class, for its longest text.
class ClassBills {
 public:
  using State = std::vector<size_t>;
  // Takes the knobs of each node, as places in a state. All knobs must have their first option now. Plan, class and
  // memory must outlive it.
  ClassBills(const Plan& plan, Class& c, std::vector<std::vector<size_t>> knobs, BillMemo& memo);
  // Returns the bill of the class with its knobs in `state`, which the caller has set. It makes a trace only if a part
  // is unknown. Corrections are split evenly, as the balanced bundles of a whole trace are. Returns nothing if an
  // operator has no such trace.
  std::optional<compiler::Bill> Of(const State& state);

  // Makes a trace in `state` if a part is unknown, and keeps its parts. Returns the node that has no such trace.
  std::optional<size_t> Learn(const State& state);
  // Returns the places in a state of a node's knobs.
  const std::vector<size_t>& KnobsOf(size_t node) const { return knobs_[node]; }

 private:
  BillMemo::Key KeyOf(size_t node, const State& state) const;
  std::optional<size_t> Record(const State& state);
  compiler::Bill Sum(const std::vector<const BillPart*>& parts) const;

  const Plan& plan_;
  Class& class_;
  const std::vector<std::vector<size_t>> knobs_;
  std::vector<int64_t> context_;  // by node: number of all that no knob changes
  BillMemo& memo_;
};

}  // namespace suf::nn
