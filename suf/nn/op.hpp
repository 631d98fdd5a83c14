// An operator of a model: a struct that says, once, everything about it. A model is a graph of operators (graph.hpp);
// float model, calibration, plan, check, specification, trace and weights are loops over it. A program adds an operator
// of its own by Register; no file of the library changes. (docs/mathematics.md#graph)
#pragma once
#include <memory>
#include <optional>
#include <variant>

#include "suf/gates/gate.hpp"
#include "suf/nn/fields.hpp"
#include "suf/nn/norms.hpp"
#include "suf/nn/options.hpp"
#include "suf/nn/reach.hpp"

namespace suf::nn {

using pfss::kP0;
using pfss::kPub;
using pfss::SharedWire;
using pfss::Wire;

// How a reader takes a wire. kOpen: both parties see x_hat. kMap: P0 alone, the mask shared (a private linear
// map). kProduct: both, the mask shared (a product of wires).
// kSummands: not at all, as public coefficients of the dealer's words, where its operator can give that; else kProduct.
enum class Form : uint8_t { kOpen, kMap, kProduct, kSummands };
// How a node's numbers lie: (rows, dim); scores of all pairs, (heads, n, n); of the pairs j <= i, packed.
enum class Layout : uint8_t { kRows, kPairs, kPacked };
// Which rows of an input are read for rows of the result: the same ones; all of the text's; both, in two
// wires; the first or the last one.
enum class TakenRows : uint8_t { kOwn, kAll, kBoth, kFirst, kLast };
// A value in Z_{2^ring} that nobody opens.
struct Summands {
  compiler::Factors sum;
  int ring = 0;
  Shape shape;
};
// Of that form; knowers stay static inside an operator. Nothing: the result, which P1 has.
using AnyWire = std::variant<std::monostate, Wire<kPub>, SharedWire<kP0>, SharedWire<kPub>, Summands>;

// What the search for a cheaper plan may set of a node: `at` is one of `options`, whose meaning is the same.
struct Knob {
  std::string name;
  std::vector<std::string> options;
  size_t at = 0;
  std::function<void(size_t)> set;
};
// In how many stages, from `least` on; none is a DCF.
Knob StagesKnob(std::string name, compiler::Stages* stages, compiler::Stages least = compiler::Stages::kOne);
// One of these, of which the present one is one.
Knob LoweringKnob(std::string name, compiler::Lowering* lowering, std::vector<compiler::Lowering> options);

// A weight as the plan fixes it.
struct Slot {
  enum Length : uint8_t { kFixed, kRows, kCorner, kTimes };
  std::string name;
  Expr weight;
  int scale = 0;
  bool masked = true;      // P1 holds W - B in the node's ring; else P0 alone holds it
  Length length = kFixed;  // by n tokens: all of it; the first n rows; the n x n corner of every block; n times it
};

// Least and greatest of what was seen. Seen: by name, entries as the operator likes.
struct Range {
  double low = 1e300, high = -1e300;
  void See(double x) { low = x < low ? x : low, high = x > high ? x : high; }
};
using Seen = std::map<std::string, std::vector<Range>>;

// The float model at one node. value: of a weight, kept for the next text.
struct RealCall {
  int n = 0;
  std::span<const int32_t> ids;
  exec::Pool& pool;
  std::function<const Reals&(const Expr&)> value;
};

// The quantised weights of one node and their norms, measured once.
class NodeWeights {
 public:
  virtual ~NodeWeights() = default;
  virtual const Tensor& At(const std::string& slot) const = 0;
  // Of the weight "full": Euclidean norms of columns; |W|; largest singular value of rows [begin, begin + count).
  virtual const Reals& Columns() const = 0;
  virtual const Reals& Magnitudes() const = 0;
  virtual double Largest(int64_t begin, int64_t count) const = 0;
  // Of an image of another node's weight through this one's rows.
  virtual const Path& Behind(const Image& image) const = 0;
};

// What a plan is made of at one node.
struct Facts {
  const Options& options;
  int node = 0, least = 3, n = 0;  // texts of least to n tokens
  const NodeWeights* weights = nullptr;
  const Seen* seen = nullptr;  // only for Choose
  // rows: whether a reader looks at the length of the result's rows; what no one asks is not measured.
  bool rows = true;
  // ring_ahead: the ring that the reader's result would need if this node gave that edge; over 64: none.
  std::function<int(const Edge&)> ring_ahead;
};

// A number of bits that a node needs inside, for every text. `calibrated` ones hold on texts like those of the
// calibration alone. field: where the plan keeps it; null: nowhere, it is certified only. gap: bits of a ring that stay
// free, 2 where a signed number is opened or cut in it: the certificate is about the others.
struct Width {
  const char* name;
  int bits;
  int* field = nullptr;
  int limit = 64;
  bool calibrated = false;
  int gap = 0;
};
// Of the result or of a width: |value| < 2^bits.
struct Certificate {
  std::string width;  // "" is the result
  int bits = 0;
  bool hard = false;
  bool operator==(const Certificate&) const = default;
};

// Gets what the specification sees inside a node.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual void See(const char* width, std::span<const int64_t> values) = 0;
  // A value below or above what the tables are fine for.
  virtual void Leave(const char* width, int64_t value, int64_t limit) = 0;
};

// The specification at one node.
struct IntCall {
  int n = 0;
  std::span<const int32_t> ids;
  exec::Pool& pool;
  Watch& watch;
  std::function<const Tensor&(const char* slot)> weight;
  // times: x W of slot "full", x (rows, in), modulo a power of two above 2^ring.
  std::function<Ints(const Ints& x, const char* slot, int ring)> times;
};

// A weight's three parts: inputs "W.<node>.<slot>" of P0, "Wh." = W - B of P1, "B." of the dealer.
struct Private {
  pfss::Own<0> w;
  pfss::Own<1> masked;
  pfss::Sec b;
};

// The trace at one node, for rows [from, from + rows) of a text of n tokens. Inputs have these rows, but
// those that an operator reads of all n (TakenRows). Causal attention: all rows or the last one, a decoder's new token.
struct Emission {
  pfss::Trace& t;
  int n = 0;
  bool result = false;  // the graph's last node: P1 learns it
  Form form = Form::kOpen;
  std::string name;   // of the node's weights
  std::string label;  // of the wire
  int from = 0, rows = n;
  int wait = 0;  // ticks by which a text's own data come later: the second of two tiles
  // Whether causal scores are the pairs j <= i; of the last row alone every column is seen.
  bool Packed(bool causal) const;
  // others: names of weights that are not the first variant's, by slot (SlotName).
  std::map<std::string, std::string> others = {};
  std::string NameOf(const Slot& s) const;
  Private Masked(const Slot& s, const Shape& shape) const;
  pfss::Own<0> Plain(const Slot& s, const Shape& shape) const;
  // The node's wire, as its readers want it; the result is revealed to P1.
  AnyWire Open(const compiler::Owing& y) const;
};

class Operator {
 public:
  virtual ~Operator() = default;
  // In a plan; Clone: a copy of its own.
  virtual std::string_view Name() const = 0;
  virtual std::unique_ptr<Operator> Clone() const = 0;

  // ---- the model's
  virtual RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const = 0;
  // Adds what calibration needs of the inputs.
  virtual void See(const RealCall&, std::span<const RealArray* const>, Seen*) const {}
  // What the graph of a plan says.
  virtual void Attributes(Visitor&) {}

  // ---- the plan's
  // Choose: policy: scale and parameters from the inputs' edges. Throws Cause::kRefused with the remedy.
  virtual void Choose(const Facts&, const Edges& in) { scale = in.at(0).scale; }
  // What the result reaches and the widths needed inside. Compile takes the widths, CheckWeights compares them.
  virtual Reach Bound(const Facts&, const Edges& in, std::vector<Width>* widths) = 0;
  // See Edge.
  virtual int Nominal(const Options&) const { return scale; }
  // The ring that input i must have, `ring` being chosen. Settle: called when all rings are.
  virtual int Need(int /*input*/, const Edges& /*in*/) const { return ring; }
  virtual void Settle(const Edges& /*in*/) {}
  // The ring that the result must have for what is computed inside, whatever its readers need.
  virtual int LeastRing() const { return 1; }
  // How many it takes.
  virtual std::pair<size_t, size_t> Inputs() const { return {1, 1}; }
  // Whether input i is read with these parameters; a node that no reader uses in a class is left out of it.
  virtual bool Uses(int /*input*/) const { return true; }
  // In which form input i is read. Transparent: a view, which hands on the form that its own readers want.
  virtual Form Reads(int /*input*/) const { return Form::kOpen; }
  // That in which input i is read as summands.
  virtual int SummandRing(int /*input*/) const { return ring; }
  virtual bool Transparent() const { return false; }
  // Whether it looks at the length of an input's rows, not at coordinates alone; `own`: whether a reader
  // looks at its own.
  virtual bool ReadsRows(bool /*own*/) const { return true; }
  // Input i is read modulo a window, so that no bound of it has to fit its ring; `wrapped`: so is the result.
  virtual bool Wraps() const { return Transparent() && wrapped; }
  // Columns of the result's rows, or heads of scores. OneRow: whether it has one row, whatever the length.
  virtual int64_t Dim(const Edges& in) const { return in.at(0).dim; }
  virtual bool OneRow(const Edges& in) const { return !in.empty() && in[0].one_row; }
  // Which rows of input i, of so many inputs, are read; of kBoth the wire of all rows comes behind the others.
  // Tiles: whether Build takes any of a text's rows, so that a text may run in two tiles.
  virtual TakenRows Takes(int /*input*/, size_t /*inputs*/) const { return TakenRows::kOwn; }
  virtual bool Tiles() const { return true; }
  // How the result lies; Wants: how input i must.
  virtual Layout Gives() const { return Layout::kRows; }
  virtual Layout Wants(int /*input*/) const { return Layout::kRows; }
  // The ring of the wire that Build makes of these inputs in `form`. Heads: of a wire that lies by heads, else 0;
  // TakesHeads: whether an input may lie so. Summed: whether Build gives summands in the form kSummands.
  virtual int Built(const Edges& /*in*/) const { return ring; }
  virtual int64_t Heads(const Edges& /*in*/) const { return 0; }
  virtual bool TakesHeads() const { return false; }
  virtual bool Summed(const Edges& /*in*/) const { return false; }
  // What the readings take for granted of the attributes, `where` as in Check; called before any of them.
  virtual void Verify(const std::string& /*where*/) const {}
  // The parameters, with their ranges. Check: what Build and Spec take for granted of them; throws
  // Cause::kRefused with a sentence that names `where`.
  virtual void Fields(Visitor&) {}
  virtual void Check(const Edges&, int /*max_n*/, const std::string& /*where*/) const {}
  virtual std::vector<Slot> Slots() const { return {}; }
  // What may be chosen by cost, once shifts and tables stand; none for what is left out.
  virtual std::vector<Knob> Knobs() { return {}; }

  // ---- the meaning, twice
  virtual IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const = 0;
  virtual AnyWire Build(const Emission& e, std::span<const AnyWire> x) const = 0;

  // What every node of a plan has: the result's scale and the ring of its wire.
  int scale = 0, ring = 0;
  // What follows from the graph (Derive in plan.hpp): the form that its readers want, whether all of them wrap it,
  // whether nobody uses it in this class, its width and rows, and how its wire is built.
  Form form = Form::kOpen;
  int summand_ring = 0;  // of summands: as the reader wants them
  bool wrapped = false, unused = false, one_row = false;
  int64_t dim = 0, heads = 0;
  int built = 0;          // ring of the wire that Build makes
  bool summands = false;  // instead of a wire
};
using OperatorPtr = std::unique_ptr<Operator>;

// Define<T>: Name and Clone from T::kName and T's copy constructor.
template <class T>
class Define : public Operator {
 public:
  std::string_view Name() const override { return T::kName; }
  OperatorPtr Clone() const override { return std::make_unique<T>(static_cast<const T&>(*this)); }
};

// Register: makes an operator known to plans by its name; a name twice is a Bug. MakeOperator: by name; throws
// Cause::kRefused for a plan with an unknown one.
template <class T>
OperatorPtr NewOperator() {
  return std::make_unique<T>();
}
void Register(std::string_view name, OperatorPtr (*make)());
template <class T>
void Register() {
  Register(T::kName, NewOperator<T>);
}
OperatorPtr MakeOperator(const std::string& name);

// ---- for operators
// Wanted: throws Cause::kRefused "the plan is inconsistent at <where>: <what>" unless it holds.
void Wanted(bool holds, const std::string& where, const char* what);
// AsOpen, AsMap, AsProduct: a wire in the form that the operator reads; a shared one serves every form.
Wire<kPub> AsOpen(const AnyWire& w);
SharedWire<kP0> AsMap(const AnyWire& w);
SharedWire<kPub> AsProduct(const AnyWire& w);
// On: f on whatever form the wire has.
template <class F>
AnyWire On(const AnyWire& w, F f) {
  return std::visit(
      [&](const auto& x) -> AnyWire {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::monostate>)
          throw Bug("a result has no reader");
        else if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Summands>)
          throw Bug("what is not opened has no view");
        else
          return Map(x, f);
      },
      w);
}
int RingBits(const AnyWire& w);
const Shape& ShapeOf(const AnyWire& w);

// Arithmetic that wraps, so that nothing is undefined for a plan whose certificates lie.
inline int64_t WrapMul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
inline int64_t WrapAdd(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
inline int64_t WrapShl(int64_t a, int s) { return s >= 64 ? 0 : int64_t(uint64_t(a) << s); }

}  // namespace suf::nn
