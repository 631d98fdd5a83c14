// Compositions of gates: a text of named values (docs/gates.md), checked, evaluated and emitted as one trace. A value
// is opened at most once, in the ring that its readers need.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "suf/compiler/choose.hpp"
#include "suf/gates/compose/registry.hpp"
#include "suf/gates/function_plan.hpp"

namespace suf::gates {

// Limits of a composition's text.
inline constexpr size_t kMostCompositionText = size_t{1} << 24, kMostStatements = 4096, kMostPorts = 16,
                        kMostOutputs = 256;

// A place in the text, from 1 on.
struct TextPlace {
  int line = 0, column = 0;
};
// A name at its place.
struct PlacedName {
  std::string name;
  TextPlace place;
};
// `name = input p1 32:12 [n, 16] range -8..8`
struct InputStatement {
  PlacedName name;
  Origin from = Origin::kP1;
  ValueType type;
};
// `names = gate(arguments, parameter=value ..) outputs names`
struct GateStatement {
  std::vector<PlacedName> names, arguments, outputs;  // outputs: of the gate; empty without the word
  PlacedName gate;
  std::vector<std::pair<PlacedName, std::string>> set;
  // The function by its name, a path if `quoted`; or the function itself.
  std::string function_name;
  bool quoted = false;
  std::optional<func::Function> function;
  std::vector<int64_t> constants;
};
// `output name -> p1`
struct OutputStatement {
  PlacedName name;
  To to = To::kP1;
};
struct CompositionText {
  std::vector<InputStatement> inputs;
  std::vector<GateStatement> gates;
  std::vector<OutputStatement> outputs;
};

// A function, and the bits by which the scale of its numbers exceeds that of x. They are the parameter `finer` of a
// statement that does not set it.
struct ScaledFunction {
  ScaledFunction(func::Function function, int more = 0) : f(std::move(function)), finer(more) {}
  func::Function f;
  int finer = 0;
};
// Makes the function that a text names, for an x of this type. It reads a path, or takes a function of the library.
// Throws Cause::kInput.
using FunctionReader = std::function<ScaledFunction(const std::string& name, bool quoted, const ValueType& x)>;
// Parses a text. Throws Cause::kInput, with line and column, what was found and what is allowed.
CompositionText ParseComposition(std::string_view text);
// Returns the value of a gate's parameter, or of `ring`. Throws Cause::kInput, with the parameters or the limits.
int64_t ParameterValue(const GateFacts& gate, const std::string& name, const std::string& text);
// Returns the text of a gate alone. All outputs of a function are known only with a reader of functions.
CompositionText TextOf(const GateEntry& gate, const SingleGate& use, const FunctionReader& functions = {});
// Prints a text that ParseComposition reads. Functions and constants are written out.
std::string Print(const CompositionText& text);

// A checked composition.
class Composition {
 public:
  // A value: an input, or a named output of a gate.
  struct ComposedValue {
    std::string name;
    ValueType type;
    int ring = 1;  // of a number
    GateNeed::GateForm form = GateNeed::kShares;
  };
  // A gate statement with its uses of values.
  struct ComposedGate {
    const GateEntry* gate = nullptr;
    GateUse use;
    std::vector<int> arguments, results;  // indices into values(); -1: an output without a name
    std::vector<GateNeed> needs;
    TextPlace place;
  };

  // Checks types, rings and readers. Reads functions, which then are in text(). Without a reader a text must have them.
  // Throws Cause::kInput or Cause::kRefused, with line and column.
  explicit Composition(CompositionText text, const FunctionReader& functions = {});
  const CompositionText& text() const { return text_; }
  const std::vector<ComposedValue>& values() const { return values_; }
  const std::vector<ComposedGate>& gates() const { return gates_; }
  // Returns the index of a value; -1 if there is none.
  int value(const std::string& name) const;

 private:
  void Declare(const PlacedName& name, ComposedValue value);
  int Used(const PlacedName& name) const;
  void Infer(GateStatement& s, const FunctionReader& functions);
  void TakeArguments(const GateStatement& s, ComposedGate* g) const;
  void NameResults(const GateStatement& s, ComposedGate* g);
  void SetRings();
  CompositionText text_;
  std::vector<ComposedValue> values_;
  std::unordered_map<std::string, int> numbers_;  // of values, by name
  std::vector<ComposedGate> gates_;
};

// The lowering of each gate statement, in order.
using GateChoices = std::vector<std::string>;
// Returns the default choices.
GateChoices DefaultChoices(const Composition& c);
// Returns the choices that one change at a time does not make cheaper, for `rows` rows. If `safe`, choices without
// a steering of P0 (pfss::Steering) come before others. Late statements of a
// long text keep their defaults. Throws Cause::kRefused if no choice of some statement applies.
GateChoices Choose(const Composition& c, const compiler::Prices& prices, int64_t rows,
                   const pfss::Capabilities& can = {}, bool safe = false);

// Emits a composition for `rows` rows and closes the trace. An input's name is the value's. Both parties' shares of a
// shared input have it.
void Emit(Trace& t, const Composition& c, const GateChoices& choices, int64_t rows);
pfss::Ending EndingOf(const Composition& c);
// Returns the number of elements of a value for `rows` rows.
int64_t CountOf(const Composition& c, int value, int64_t rows);
// Returns every value, in order of values(), by the gates' Spec. `inputs` are in order of the text's inputs.
std::vector<Ints> Evaluate(const Composition& c, const std::vector<Ints>& inputs, int64_t rows);
// Returns whether party p brings the input, or a share of it. Returns whether p learns the output, or keeps a share.
bool Brings(const InputStatement& s, int p);
bool Learns(const OutputStatement& s, int p);
// Returns the rows of a call from the counts of elements of its inputs, in order of the text. Some may be unknown.
// Returns 1 if no input has rows, and 0 if only unknown ones have. Throws Cause::kInput, with the input, if a number is
// no whole number of rows, or if two inputs differ.
int64_t RowsOf(const Composition& c, const std::vector<std::optional<size_t>>& counts);
// Returns the words of an input of the party that brings it, for Emit's trace. Throws Cause::kInput, with the element's
// number, if one is outside the input's range.
std::vector<uint64_t> InputWords(const InputStatement& s, const Ints& values);
// Returns the words of a share of an input. Throws Cause::kInput if one is not below 2^bits.
std::vector<uint64_t> ShareWords(const InputStatement& s, const Ints& values);
// Returns the type of an output. Shares of a statement with `ring=` have the bits of that ring.
ValueType OutputType(const Composition& c, const OutputStatement& s);
// Returns the outputs, by number of their statement, from which P0 learns a result of P1's inputs or shares.
std::vector<size_t> RevealsToP0(const Composition& c);
// Splits a party's results by output statement. Words are numbers of the output's type, or shares of its ring.
std::vector<Ints> OutputWords(const Composition& c, int party, std::span<const uint64_t> results, int64_t rows);

}  // namespace suf::gates
