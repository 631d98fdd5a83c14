// Gates by name. An entry describes a gate for people and lets a composition infer, build and evaluate its uses. A
// program may register entries of its own (docs/gates.md).
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suf/func/split.hpp"
#include "suf/gates/compose/value_type.hpp"
#include "suf/gates/gate.hpp"

namespace suf::gates {

// A whole number in [low, high], or one of `choices`, by its index.
struct GateParameter {
  std::string name, meaning;
  int64_t low = 0, high = 0;
  std::optional<int64_t> fallback;  // none: it must be given
  std::vector<std::string> choices = {};
};
// An input or an output.
struct GatePort {
  std::string name;
  ValueKind kind = ValueKind::kNumber;
  std::string rule;  // its width, in a few words

  // Of an input of a gate that is used alone: its shape, and whether a number is signed.
  pfss::Shape shape = {kRows};
  bool is_signed = true;
  bool any = false;  // an input of any kind
};

// One use of a gate.
struct GateUse {
  std::map<std::string, int64_t> set;      // every parameter; `ring` only if the statement has it
  std::optional<func::Function> function;  // of a gate that takes one
  std::vector<int64_t> constants;          // of a gate that takes some
  std::vector<ValueType> in, out;
  // Of each output: the ring of a number, as its readers need it, or 1. And whether anything reads it.
  std::vector<int> ring;
  std::vector<bool> read;
  std::string option;  // the lowering: one of Options

  int64_t operator[](const std::string& name) const { return set.at(name); }
};

// A use's reading of an input.
struct GateNeed {
  // kShares: shares, which are not opened. kWire: an opened wire. kSharedWire: one whose mask the parties share.
  enum GateForm : uint8_t { kShares, kWire, kSharedWire } form = kWire;
  int ring = 1;  // the ring of a number, in which the operand is given
};

// An input of a use in a trace: shares, or a wire. Numbers are in the ring of the need. Bits and masks are strings.
struct GateOperand {
  std::optional<OwedWord> shares;
  std::optional<Wire<kPub>> wire;
  std::optional<pfss::Dealt> mask;  // shares of the wire's mask, if the parties have some
  // Returns the value as shares, opened or not.
  OwedWord AsShares(Trace& t) const;
  SharedWire<kPub> AsSharedWire() const { return {*wire, *mask}; }
};

// The facts of a gate for people. Its name is in small letters, its meaning is one sentence.
struct GateFacts {
  std::string name, meaning;
  std::string certificate = {};  // the range that it relies on; empty if every input is right
  std::string source = {};       // paper or section
  std::vector<GateParameter> parameters = {};
  std::vector<GatePort> inputs, outputs;
  // The composition broadcasts the inputs of an elementwise gate to one shape.
  bool elementwise = true;
  bool takes_function = false, takes_constants = false;
};

// A gate alone. Its inputs come from P1 and have every value of this width. If the gate relies on a certificate, they
// lie within a quarter of it.
struct SingleGate {
  int bits = 32, scale = 0;
  std::vector<std::pair<std::string, std::string>> set = {};  // parameters as a text has them
  std::string function_name = {};
  std::vector<int64_t> constants = {};
  std::vector<std::string> outputs = {};  // that P1 learns; none: all of the gate
};

// A gate by name.
class GateEntry {
 public:
  explicit GateEntry(GateFacts f) : facts(std::move(f)) {}
  virtual ~GateEntry() = default;
  const GateFacts facts;

  // Returns the outputs of a use. They are those of facts, unless the use's function names them.
  virtual std::vector<GatePort> Outputs(const GateUse&) const { return facts.outputs; }
  // Returns the types of all outputs, from u.in and u.set alone. Throws Cause::kInput if a type does not fit, and
  // Cause::kRefused if a certificate cannot be had.
  virtual std::vector<ValueType> Infer(const GateUse& u) const = 0;
  // Returns a need for each input, from all but u.option.
  virtual std::vector<GateNeed> Needs(const GateUse& u) const = 0;
  // Returns the names of the lowerings; the first is the default. A gate with one way has one empty name.
  virtual std::vector<std::string> Options(const GateUse&) const { return {""}; }
  // Returns uses by which a check tries the gate at this width; none if it takes no such width. The default sets
  // parameters without a fallback to 2, or to their first choice.
  virtual std::vector<SingleGate> Samples(int bits) const;
  // Returns the outputs as integers. Shapes of u.in have no kRows. Independent of Build.
  virtual std::vector<Ints> Spec(const GateUse& u, const std::vector<Ints>& in) const = 0;
  // Emits the outputs; those that nothing reads may be missing. Throws Cause::kRefused if the option does not apply.
  virtual std::vector<std::optional<GateOperand>> Build(Trace& t, const GateUse& u,
                                                        const std::vector<GateOperand>& in) const = 0;
};

// Adds a gate, or replaces the one of its name.
void Register(std::unique_ptr<const GateEntry> entry);
// Returns all gates in order of registration.
std::vector<const GateEntry*> All();
// Returns the gate of this name, in any case. Throws Cause::kInput, with the nearest names, if there is none.
const GateEntry& GateNamed(const std::string& name);

}  // namespace suf::gates
