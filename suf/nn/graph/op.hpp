// An operator of a model: a struct that states everything about it once. A model is a graph of operators (graph.hpp).
// Float model, calibration, plan, check, specification, trace and weights are loops over it. A program adds its own
// operator by Register; no file of the library changes. (docs/mathematics.md#graph)
#pragma once
#include <memory>
#include <optional>
#include <variant>

#include "suf/gates/gate.hpp"
#include "suf/nn/plan/fields.hpp"
#include "suf/nn/plan/norms.hpp"
#include "suf/nn/plan/options.hpp"
#include "suf/nn/plan/reach.hpp"

namespace suf::nn {

using pfss::kP0;
using pfss::kPub;
using pfss::SharedWire;
using pfss::Wire;

// The form in which a reader takes a wire.
// * kOpen: both parties see x_hat.
// * kMap: P0 alone sees x_hat, and the mask is shared (a private linear map).
// * kProduct: both parties see x_hat, and the mask is shared (a product of wires).
// * kSummands: the wire is not opened. It is public coefficients of the dealer's words if the operator can give them,
//   otherwise kProduct.
enum class OperandForm : uint8_t { kOpen, kMap, kProduct, kSummands };
// The order of a node's numbers.
// * kRows: (rows, dim).
// * kPairs: scores of all pairs, (heads, n, n).
// * kPacked: scores of the pairs j <= i, packed.
enum class RowLayout : uint8_t { kRows, kPairs, kPacked };
// The rows of an input that are read for rows of the result.
// * kOwn: the same rows.
// * kAll: all rows of the text.
// * kBoth: both, in two wires.
// * kFirst, kLast: the first or the last row.
enum class TakenRows : uint8_t { kOwn, kAll, kBoth, kFirst, kLast };
// The rows of a text's result that readers take. Only these are computed. Behind the keys and values of the last layer,
// the embedding of a first token needs one row. (docs/mathematics.md#wanted-rows)
enum class WantedRows : uint8_t { kAll, kFirst, kLast };
// Rows [from, from + rows) of a text.
struct TextRows {
  int from = 0, rows = 0;
};
inline TextRows RangeOf(WantedRows wanted, int n) {
  if (wanted == WantedRows::kAll) return {0, n};
  return {wanted == WantedRows::kFirst ? 0 : n - 1, 1};
}
// Returns the rows of its own that a reader takes of an input. They are those wanted of it, unless `taken` says others.
inline WantedRows OwnRows(TakenRows taken, WantedRows wanted) {
  if (taken == TakenRows::kOwn || taken == TakenRows::kBoth) return wanted;
  return taken == TakenRows::kFirst  ? WantedRows::kFirst
         : taken == TakenRows::kLast ? WantedRows::kLast
                                     : WantedRows::kAll;
}
// A value in Z_{2^ring} that is never opened.
struct Summands {
  compiler::Factors sum;
  int ring = 0;
  Shape shape;
};
// A wire in the form that its readers want. Inside an operator its type still says which parties know it.
// std::monostate stands for the result, which P1 has.
using AnyWire = std::variant<std::monostate, Wire<kPub>, SharedWire<kP0>, SharedWire<kPub>, Summands>;

// A setting of a node that the search for a cheaper plan may change. `at` is one of `options`, which all compute the
// same.
struct Knob {
  std::string name;
  std::vector<std::string> options;
  size_t at = 0;
  std::function<void(size_t)> set;
};
// Returns the knob of the number of stages, from `least` on. Without a stage, the value is read off a DCF.
Knob StagesKnob(std::string name, compiler::Stages* stages, compiler::Stages least = compiler::Stages::kOne);
// Returns the knob that chooses one of `options`, which contain the present lowering.
Knob LoweringKnob(std::string name, compiler::Lowering* lowering, std::vector<compiler::Lowering> options);

// The most tokens of a text that an operator computes; 0: any number. `what` names them in a sentence: "positions".
struct LengthLimit {
  int64_t tokens = 0;
  const char* what = "";
};
// Throws Cause::kInput if a text of n tokens is over the limit.
void CheckLength(const LengthLimit& limit, int64_t n);

// A weight as the plan fixes it.
struct WeightSlot {
  // The part of a weight that a text of n tokens reads.
  // * kFixed: all of it.
  // * kRows: the first n rows.
  // * kCorner: an n x n matrix for each row of the weight, which holds diagonals (Expr::Relative).
  // * kTimes: n times the weight.
  enum Length : uint8_t { kFixed, kRows, kCorner, kTimes };
  std::string name;
  Expr weight;
  int scale = 0;
  // P1 holds W - B in the node's ring; otherwise P0 alone holds W.
  bool masked = true;
  Length length = kFixed;
  bool known = false;  // the weight is public, and P1 computes with it before the trace: no party has it as an input
};

// The least and the greatest value seen.
struct SeenRange {
  double low = 1e300, high = -1e300;
  void See(double x) {
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
};
// Ranges seen in calibration, by name. The operator defines their entries.
using Seen = std::map<std::string, std::vector<SeenRange>>;

// The float model at one node, for rows [from, from + rows) of a text of n tokens. Inputs have these rows. Those of
// which an operator reads all (TakenRows::kAll and kBoth) have n. `value` evaluates a weight and keeps it for the next
// text.
struct RealCall {
  int n = 0;
  std::span<const int32_t> ids;
  exec::Pool& pool;
  std::function<const Reals&(const Expr&)> value;
  int from = 0, rows = n;
};

// The quantised weights of one node and their norms, each measured once.
class NodeWeights {
 public:
  virtual ~NodeWeights() = default;
  virtual const Tensor& At(const std::string& slot) const = 0;
  // Returns the Euclidean norms of the columns of the weight "full".
  virtual const Reals& Columns() const = 0;
  // Returns |W|, elementwise, of the weight "full".
  virtual const Reals& Magnitudes() const = 0;
  // Returns the largest singular value of rows [begin, begin + count) of the weight "full".
  virtual double Largest(int64_t begin, int64_t count) const = 0;
  // Returns the norms of an image of another node's weight through this one's rows.
  virtual const Path& Behind(const Image& image) const = 0;
};

// The facts from which the parameters of one node are chosen.
struct Facts {
  const Options& options;
  int node = 0, least = 3, n = 0;  // for texts of `least` to `n` tokens
  const NodeWeights* weights = nullptr;
  const Seen* seen = nullptr;  // set only for Choose
  // Whether a reader uses the length of the result's rows. A length that no reader uses is not measured.
  bool rows = true;
  // Returns the ring that the reader's result would need if this node gave that edge. Over 64 means that none fits.
  std::function<int(const Edge&)> ring_ahead;
  // Bits by which Choose lowers the result's scale below the policy's. It does so if it sets a ring that is too narrow.
  int lower = 0;
};

// A number of bits that a node needs inside, for every text. If `calibrated`, it holds only on texts like those of the
// calibration. The plan keeps it in `field`; if that is null, it is only certified. `gap` bits of a ring stay free: 2
// if a signed number is opened or cut in it. The certificate is about the other bits.
struct Width {
  const char* name;
  int bits;
  int* field = nullptr;
  int limit = 64;
  bool calibrated = false;
  int gap = 0;
};
// The certificate |value| < 2^bits, of the result or of a width.
struct Certificate {
  std::string width;  // empty: the result
  int bits = 0;
  bool hard = false;
  bool operator==(const Certificate&) const = default;
};

// An observer of the values that the specification computes inside a node.
class RangeObserver {
 public:
  virtual ~RangeObserver() = default;
  virtual void See(const char* width, std::span<const int64_t> values) = 0;
  // Reports a value below or above the range for which the tables are fine.
  virtual void Leave(const char* width, int64_t value, int64_t limit) = 0;
};

// The specification at one node, for the rows that RealCall describes.
struct IntCall {
  int n = 0;
  std::span<const int32_t> ids;
  exec::Pool& pool;
  RangeObserver& watch;
  std::function<const Tensor&(const char* slot)> weight;
  // Returns x W for x (rows, in) and the weight W of `slot`, modulo a power of two above 2^ring.
  std::function<Ints(const Ints& x, const char* slot, int ring)> times;
  int from = 0, rows = n;
};

// The three parts of a weight: inputs "W.<node>.<slot>" of P0, "Wh." = W - B of P1, "B." of the dealer.
struct Private {
  pfss::Own<0> w;
  pfss::Own<1> masked;
  pfss::Sec b;
};

// The trace at one node, for rows [from, from + rows) of a text of n tokens. Inputs have these rows, except those of
// which an operator reads all n (TakenRows). Causal attention takes all rows or the last one, a decoder's new token.
// A batch has `texts` texts of n tokens. A node has these rows of each of `texts_here` texts from `first_text` on, one
// text behind the other. They are all rows of a text, or one. Inputs have the same ones. Scores and values by heads
// then lie by texts and heads: (texts_here heads, rows, ..).
struct Emission {
  pfss::Trace& t;
  int n = 0;
  bool result = false;  // this is the graph's last node: P1 learns it
  OperandForm form = OperandForm::kOpen;
  std::string name;   // name of the node's weights
  std::string label;  // name of the wire
  int from = 0, rows = n;
  // Ticks by which a text's own data come later, for the second of two tiles.
  int wait = 0;
  int texts = 1;  // of the batch
  int first_text = 0, texts_here = texts;
  // Whether causal scores are the pairs j <= i. The last row alone sees every column, so its scores are not packed.
  bool Packed(bool causal) const;
  // Names, by slot, of weights that differ from the first class's (SlotName).
  std::map<std::string, std::string> others = {};
  std::string NameOf(const WeightSlot& s) const;
  Private Masked(const WeightSlot& s, const Shape& shape) const;
  pfss::Own<0> Plain(const WeightSlot& s, const Shape& shape) const;
  // Opens the node's wire in the form that its readers want. The result is revealed to P1.
  AnyWire Open(const compiler::OwedWord& y) const;
};

class Operator {
 public:
  virtual ~Operator() = default;
  // Returns the name in a plan.
  virtual std::string_view Name() const = 0;
  virtual std::unique_ptr<Operator> Clone() const = 0;

  // ---- model
  virtual RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const = 0;
  // Records the ranges of the inputs that calibration needs.
  virtual void See(const RealCall&, std::span<const RealArray* const>, Seen*) const {}
  // Returns the limit of a text's length that the model sets here.
  virtual LengthLimit Longest() const { return {}; }
  // Visits the attributes that the graph of a plan stores.
  virtual void Attributes(Visitor&) {}

  // ---- plan
  // Chooses scale and parameters from the policy and the inputs' edges. Throws Cause::kRefused with the remedy.
  virtual void Choose(const Facts&, const Edges& in) { scale = in.at(0).scale; }
  // Bounds the result and adds the widths needed inside. Compile takes the widths, CheckWeights compares them.
  virtual RowBound Bound(const Facts&, const Edges& in, std::vector<Width>* widths) = 0;
  // Returns the result's nominal scale (Edge::nominal).
  virtual int Nominal(const Options&) const { return scale; }
  // Returns the ring that input i must have for the chosen `ring`.
  virtual int Need(int /*input*/, const Edges& /*in*/) const { return ring; }
  // Called when all rings are chosen.
  virtual void Settle(const Edges& /*in*/) {}
  // Returns the ring that the result must have for the numbers computed inside, whatever its readers need.
  virtual int LeastRing() const { return 1; }
  // Returns the least and the largest number of inputs.
  virtual std::pair<size_t, size_t> Inputs() const { return {1, 1}; }
  // Whether input i is read with these parameters. A node without readers in a class is left out of it.
  virtual bool Uses(int /*input*/) const { return true; }
  // Returns the form in which input i is read.
  virtual OperandForm Reads(int /*input*/) const { return OperandForm::kOpen; }
  // Returns the ring in which input i is read as summands.
  virtual int SummandRing(int /*input*/) const { return ring; }
  // Whether it is a view, which passes on the form that its own readers want.
  virtual bool Transparent() const { return false; }
  // Whether it uses the length of an input's rows, not only coordinates. `own`: whether a reader uses the length of its
  // own rows.
  virtual bool ReadsRows(bool /*own*/) const { return true; }
  // Whether inputs are read modulo a window, so that their bounds need not fit their rings. A view does so if all
  // readers of its result do (`wrapped`).
  virtual bool Wraps() const { return Transparent() && wrapped; }
  // Returns the columns of the result's rows, or the heads of scores.
  virtual int64_t Dim(const Edges& in) const { return in.at(0).dim; }
  // Whether the result has one row, whatever the length.
  virtual bool OneRow(const Edges& in) const { return !in.empty() && in[0].one_row; }
  // Returns the rows of input i, of `inputs` inputs, that are read. For kBoth the wire of all rows comes behind the
  // others.
  virtual TakenRows InputRows(int /*input*/, size_t /*inputs*/) const { return TakenRows::kOwn; }
  // Whether Build takes any of a text's rows, so that a text may run in two tiles.
  virtual bool Tiles() const { return true; }
  // Whether Build takes a text's last row alone.
  virtual bool TakesLast() const { return Tiles(); }
  // Whether Build takes the rows of several texts (Emission::texts). Otherwise a plan with it runs no batches.
  virtual bool TakesTexts() const { return false; }
  // Returns the order of the result's numbers.
  virtual RowLayout ResultLayout() const { return RowLayout::kRows; }
  // Returns the order that the numbers of input i must have.
  virtual RowLayout InputLayout(int /*input*/) const { return RowLayout::kRows; }
  // Returns the ring of the wire that Build makes of these inputs in `form`.
  virtual int Built(const Edges& /*in*/) const { return ring; }
  // Returns the heads of a wire that lies by heads, otherwise 0.
  virtual int64_t Heads(const Edges& /*in*/) const { return 0; }
  // Whether an input may lie by heads.
  virtual bool TakesHeads() const { return false; }
  // Whether Build gives summands in the form kSummands.
  virtual bool Summed(const Edges& /*in*/) const { return false; }
  // Checks the attributes, before any reading relies on them. `where` is as in Check.
  virtual void Verify(const std::string& /*where*/) const {}
  // Visits the parameters, with their ranges.
  virtual void Fields(Visitor&) {}
  // Checks the parameters on which Build and Spec rely. Throws Cause::kRefused with an error message that names
  // `where`.
  virtual void Check(const Edges&, int /*max_n*/, const std::string& /*where*/) const {}
  virtual std::vector<WeightSlot> Slots() const { return {}; }
  // Returns the settings that may be chosen by cost, after shifts and tables. A step that is left out has none.
  virtual std::vector<Knob> Knobs() { return {}; }

  // ---- specification and trace
  virtual IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const = 0;
  virtual AnyWire Build(const Emission& e, std::span<const AnyWire> x) const = 0;

  // The result's scale and the ring of its wire, which every node of a plan has.
  int scale = 0, ring = 0;
  // The form that the readers want. Derive (plan.hpp) computes this field and those below from the graph.
  OperandForm form = OperandForm::kOpen;
  // The ring of summands that the reader wants.
  int summand_ring = 0;
  // Whether all readers wrap it, whether no reader uses it in this class, and whether it has one row.
  bool wrapped = false, unused = false, one_row = false;
  WantedRows wanted = WantedRows::kAll;  // by its readers
  // Columns of its rows or heads of scores; heads if the wire lies by heads, otherwise 0.
  int64_t dim = 0, heads = 0;
  int built = 0;          // ring of the wire that Build makes
  bool summands = false;  // Build makes summands instead of a wire
};
using OperatorPtr = std::unique_ptr<Operator>;

// A base class with Name and Clone, from T::kName and T's copy constructor.
template <class T>
class OperatorBase : public Operator {
 public:
  std::string_view Name() const override { return T::kName; }
  OperatorPtr Clone() const override { return std::make_unique<T>(static_cast<const T&>(*this)); }
};

template <class T>
OperatorPtr NewOperator() {
  return std::make_unique<T>();
}
// Makes an operator known to plans by its name. A second one of that name is a Bug.
void Register(std::string_view name, OperatorPtr (*make)());
template <class T>
void Register() {
  Register(T::kName, NewOperator<T>);
}
// Makes an operator by its name. Throws Cause::kRefused if the name is unknown.
OperatorPtr MakeOperator(const std::string& name);

// ---- helpers of operators
// Throws Cause::kRefused "the plan is inconsistent at <where>: <what>" unless `holds`.
void Wanted(bool holds, const std::string& where, const char* what);
// Returns a wire in the form kOpen. A shared wire of both parties serves every form.
Wire<kPub> AsOpen(const AnyWire& w);
// Returns a wire in the form kMap.
SharedWire<kP0> AsMap(const AnyWire& w);
// Returns a wire in the form kProduct.
SharedWire<kPub> AsProduct(const AnyWire& w);
// Applies f to a wire of any form.
template <class F>
AnyWire On(const AnyWire& w, F f) {
  return std::visit(
      [&](const auto& x) -> AnyWire {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::monostate>)
          throw Bug("a result has no reader");
        else if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Summands>)
          throw Bug("an unopened value has no view");
        else
          return Map(x, f);
      },
      w);
}
// Returns rows (texts n, heads of) by heads: (texts heads, n, of). One text takes two views, a batch three.
template <unsigned A>
pfss::Val<A> ByHeads(pfss::Val<A> rows, int64_t texts, int64_t heads) {
  const int64_t n = rows.shape()[0] / texts, of = rows.shape()[1] / heads;
  if (texts == 1) {
    auto u = Reshape(rows, {n, heads, of});
    return Permute(u, {1, 0, 2});
  }
  auto u = Reshape(rows, {texts, n, heads, of});
  auto v = Permute(u, {0, 2, 1, 3});
  return Reshape(v, {texts * heads, n, of});
}
// Repeats public numbers or rows of one text for each text, along the first axis: (texts n, ..).
std::vector<uint64_t> ForTexts(const Ints& one, int64_t texts);
template <class V>
V ForTexts(V one, int64_t texts) {
  if (texts == 1) return one;
  Shape by_text = one.shape(), all = by_text;
  by_text.insert(by_text.begin(), texts);
  all[0] *= texts;
  one = Broadcast(one, by_text);
  return Reshape(one, all);
}
// Returns rows [from, from + rows) of each text, of a value whose first axis has all texts' rows.
template <class V>
V RowsOfTexts(V all, int64_t texts, int64_t from, int64_t rows) {
  if (texts == 1) return Between(all, 0, from, from + rows);
  Shape by_text = all.shape(), of = by_text;
  by_text[0] /= texts;
  by_text.insert(by_text.begin(), texts);
  of[0] = texts * rows;
  all = Reshape(all, by_text);
  all = Between(all, 1, from, from + rows);
  return Reshape(all, of);
}
int RingBits(const AnyWire& w);
const Shape& ShapeOf(const AnyWire& w);

// Multiplies modulo 2^64, so that nothing is undefined for a plan with false certificates.
inline int64_t WrapMul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
// Adds modulo 2^64.
inline int64_t WrapAdd(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
// Shifts left modulo 2^64.
inline int64_t WrapShl(int64_t a, int s) { return s >= 64 ? 0 : int64_t(uint64_t(a) << s); }

}  // namespace suf::nn
