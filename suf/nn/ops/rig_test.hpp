// For tests of operators. One operator runs between wires of a given form, with its weights under fresh masks B. Its
// result is opened like a reader's and compared with Spec on plain arrays. Its readings without data are tested as
// well: float, bounds, fields, check.
#pragma once
#include "suf/gates/rig_test.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/measure.hpp"
#include "suf/nn/plan/octave_tables.hpp"

namespace suf::nn {

inline constexpr OperandForm kForms[] = {OperandForm::kOpen, OperandForm::kMap, OperandForm::kProduct};
inline constexpr int kWideRings[] = {31, 32, 33, 47, 62};
// Lowerings of a row function. StepDcf needs no stage.
inline constexpr compiler::Lowering kRows[] = {
    {compiler::Kind::kRowLut},
    {compiler::Kind::kRowLut, compiler::StepSource::kDigits, compiler::Stages::kTwo},
    {compiler::Kind::kRowLut, compiler::StepSource::kParity},
    {compiler::Kind::kStepDcf}};

// Returns a pool of one thread, because a test's work is small.
inline exec::Pool& OnePool() {
  static exec::Pool pool(1);
  return pool;
}

// The reports of Spec to its observer.
class Witness : public RangeObserver {
 public:
  void See(const char* width, std::span<const int64_t> v) override { seen[width].assign(v.begin(), v.end()); }
  void Leave(const char* width, int64_t value, int64_t limit) override { left.push_back({width, value, limit}); }
  struct Left {
    std::string width;
    int64_t value, limit;
    bool operator==(const Left&) const = default;
  };
  std::map<std::string, Ints> seen;
  std::vector<Left> left;
};

// An input, with the ring and the form of its wire. `wire` is the order in the wire, if it differs from `x`.
struct Given {
  IntArray x;
  int ring = 0;
  OperandForm form = OperandForm::kOpen;
  IntArray wire = {};
};

// A run of one operator on texts of n tokens. If it runs on rows [from, from + rows), `order` leaves out the others.
class OpRig {
 public:
  explicit OpRig(int tokens) : n(tokens), rows(tokens) {}

  const int n;
  int from = 0, rows;
  std::vector<int32_t> ids;
  std::map<std::string, Tensor> weights;                                                // by slot
  std::function<Ints(const IntArray&)> order = [](const IntArray& y) { return y.at; };  // from the result to its wire
  gates::Rig g;
  Witness witness;
  int ring = 0;       // ring of the result's wire
  bool late = false;  // the inputs are opened once more

  // Returns the specification's rows `of` a text; all of them without a number of rows.
  IntArray Spec(const Operator& op, const std::vector<Given>& in, TextRows of = {}) {
    if (of.rows == 0) of = {0, n};
    std::vector<const IntArray*> x;
    for (const Given& i : in) x.push_back(&i.x);
    const IntCall call{n,
                       ids,
                       OnePool(),
                       witness,
                       [&](const char* slot) -> const Tensor& { return weights.at(slot); },
                       [&](const Ints& v, const char* slot, int) { return Times(v, weights.at(slot)); },
                       of.from,
                       of.rows};
    return op.Spec(call, x);
  }

  // Returns the protocol's result as numbers of its ring, and expects that it equals Spec in that ring. `result`: it is
  // revealed to P1.
  Ints Run(const Operator& op, const std::vector<Given>& in, bool result = false, uint8_t serial = 1) {
    std::vector<AnyWire> x;
    for (const Given& i : in) x.push_back(Give(i));
    SetWeights(op);
    const auto* lookup = dynamic_cast<const Lookup*>(&op);
    const auto [tokens, types] = SplitTypes(ids, lookup ? lookup->words() : INT32_MAX, lookup ? lookup->types : 1);
    inputs(1).Set(kTokensInput, Ints(tokens.begin(), tokens.end()));
    inputs(1).Set(kTypesInput, Ints(types.begin(), types.end()));
    if (lookup && lookup->known) {
      Ints all;
      for (size_t i = 0; i < ids.size(); ++i) {
        const Ints entry = weights.at("table").Row(tokens[i]);
        const Ints type = lookup->types ? weights.at("table").Row(lookup->words() + types[i]) : Ints(entry.size(), 0);
        for (size_t j = 0; j < entry.size(); ++j) all.push_back(entry[j] + type[j]);
      }
      inputs(1).Set(kRowsInput, all);
    }
    const AnyWire y = op.Build({g.t, n, result, op.form, "7", "y", from, rows}, x);
    EXPECT_EQ(result, std::holds_alternative<std::monostate>(y));
    Ints got;
    if (result) {
      ring = op.ring;
      got = g.Close(ring, serial);
    } else {
      ring = RingBits(y);
      got = g.Run(Shares(y, op.form), serial);
    }
    Ints want = order(Spec(op, in));
    for (int64_t& v : want) v = gates::Number(uint64_t(v), ring);
    EXPECT_EQ(got, want);
    return got;
  }

  // Returns the key bits without those by which the rig reads a defined mask.
  int64_t key_bits(size_t results) const { return g.key_bits() - read_ * int64_t(results) * ring; }

 private:
  run::Inputs& inputs(int role) { return g.inputs[role]; }

  static Ints Times(const Ints& x, const Tensor& w) {
    const int64_t out = w.cols(), in = w.rows(), rows = int64_t(x.size()) / in;
    Ints y(size_t(rows * out), 0);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < in; ++k)
        for (int64_t j = 0; j < out; ++j)
          y[size_t(i * out + j)] = WrapAdd(y[size_t(i * out + j)], WrapMul(x[size_t(i * in + k)], w[k * out + j]));
    return y;
  }

  AnyWire Give(const Given& i) {
    const IntArray& x = i.wire.at.empty() ? i.x : i.wire;
    SharedWire<kPub> w = late ? g.Both(x.at, i.ring, x.shape) : g.Give(x.at, i.ring, x.shape);
    pfss::Sh y = -pfss::Sh(w.s);
    if (late)
      y.b = y.b + w.hat;  // P1's half waits for P0's
    else
      y.a = y.a + w.hat;
    if (i.form == OperandForm::kMap) return g.t.open<kP0>(y, "again");
    SharedWire<kPub> again = g.t.open(y, "again");
    if (i.form == OperandForm::kProduct) return again;
    return Wire<kPub>(again);
  }

  // Returns the part of a weight that a trace of n tokens reads.
  Ints Sized(const WeightSlot& s, const Tensor& w) const {
    const int64_t cols = w.cols();
    Ints v;
    for (int64_t i = 0; s.length == WeightSlot::kCorner && i < w.shape()[0] * n * n; ++i)
      v.push_back(w[i / (n * n) * cols + cols / 2 + i % n - i / n % n]);
    for (int64_t i = 0; s.length != WeightSlot::kCorner && i < w.size(); ++i) {
      const int64_t row = i / cols % (w.shape().size() > 1 ? w.shape()[w.shape().size() - 2] : 1);
      if (s.length == WeightSlot::kRows && row >= n) continue;
      v.push_back(s.length == WeightSlot::kTimes ? WrapMul(w[i], n) : w[i]);
    }
    return v;
  }

  void SetWeights(const Operator& op) {
    std::mt19937_64 rng(uint64_t(n) + 99);
    for (const WeightSlot& s : op.Slots()) {
      Ints w = Sized(s, weights.at(s.name)), b, masked;
      inputs(0).Set("W.7." + s.name, w);
      if (!s.masked) continue;
      for (int64_t x : w) {
        b.push_back(int64_t(rng()));
        masked.push_back(WrapAdd(x, -b.back()));
      }
      inputs(1).Set("Wh.7." + s.name, masked);
      inputs(2).Set("B.7." + s.name, b);
    }
  }

  pfss::Sh Shares(const AnyWire& y, OperandForm form) {
    if (form == OperandForm::kMap) {
      SharedWire<kP0> w = AsMap(y);
      pfss::Sh z = -pfss::Sh(w.s);
      z.a = z.a + w.hat;
      return z;
    }
    if (form == OperandForm::kProduct || std::holds_alternative<SharedWire<kPub>>(y)) {
      SharedWire<kPub> w = AsProduct(y);
      return -pfss::Sh(w.s) + w.hat;
    }
    Wire<kPub> w = AsOpen(y);
    read_ = 1;
    pfss::Dealt r = g.t.deal(w.r, w.k());
    return -pfss::Sh(r) + w.hat;
  }

  int read_ = 0;
};

// Returns the flights of a run from its inputs' openings to its result's. P1 learns the result by P0's half and sends
// nothing after it, so flights come in pairs.
inline int Flights(int openings) { return (openings + 3) / 2 * 2; }
// Returns the flights from the inputs' openings to the result's, which may be odd. Calls run(rig) twice, the second
// time with inputs that come a flight later.
template <class F>
int FlightsOf(int n, F run) {
  int sum = 0;
  for (bool late : {false, true}) {
    OpRig rig(n);
    rig.late = late;
    run(&rig);
    sum += rig.g.flights();
  }
  return sum / 2 - 3;
}

// Returns the float result of an operator on rows `of` a text of n tokens. Without a number of rows, takes all.
inline RealArray FloatOf(const Operator& op, int n, const Checkpoint& weights, const std::vector<RealArray>& in,
                         std::vector<int32_t> ids = {}, Seen* seen = nullptr, TextRows of = {}) {
  std::map<std::string, Reals> values;
  const RealCall call{n,
                      ids,
                      OnePool(),
                      [&](const Expr& e) -> const Reals& {
                        return values.try_emplace(e.Text(), weights.Value(e)).first->second; },
                      of.from,
                      of.rows ? of.rows : n};
  std::vector<const RealArray*> x;
  for (const RealArray& a : in) x.push_back(&a);
  if (seen) op.See(call, x, seen);
  return op.Float(call, x);
}

// The bounds of an operator's result, and its widths by name, which it takes.
struct Bounded {
  RowBound reach;
  std::map<std::string, Width> widths;
};
inline Bounded BoundOf(Operator& op, int n, const Edges& in, const std::map<std::string, Tensor>& weights = {}) {
  static const Options options;
  Measures measures(OnePool());
  GraphNode node;
  node.index = 7;
  for (const WeightSlot& s : op.Slots()) measures.Set(node, s, weights.at(s.name));
  const Facts facts{options, 7, 1, n, weights.empty() ? nullptr : &measures.Of(node), nullptr, true, {}};
  std::vector<Width> widths;
  Bounded b{op.Bound(facts, in, &widths), {}};
  for (const Width& w : widths) {
    b.widths.emplace(w.name, w);
    if (w.field) *w.field = w.bits;
  }
  return b;
}

// Returns every row of whole numbers inside a reach.
inline std::vector<Ints> RowsOf(const RowBound& r) {
  std::vector<Ints> rows{{}};
  for (double most : r.Box()) {
    std::vector<Ints> longer;
    for (const Ints& row : rows)
      for (int64_t v = -int64_t(most); v <= int64_t(most); ++v) {
        longer.push_back(row);
        longer.back().push_back(v);
      }
    rows = std::move(longer);
  }
  std::erase_if(rows, [&](const Ints& row) { return Length(Reals(row.begin(), row.end())) > r.length; });
  return rows;
}

// Expects that every row of y is inside a reach.
inline void ExpectWithin(const IntArray& y, const RowBound& r) {
  const Reals box = r.Box();
  ASSERT_EQ(y.cols(), r.dim);
  for (int64_t i = 0; i < y.rows(); ++i) {
    Reals row;
    for (int64_t j = 0; j < r.dim; ++j) {
      row.push_back(double(y.at[size_t(i * r.dim + j)]));
      ASSERT_LE(std::abs(row.back()), box[size_t(j)] * (1 + 1e-12)) << "row " << i << " column " << j;
    }
    ASSERT_LE(Length(row), r.length * (1 + 1e-12)) << "row " << i;
  }
}
// Expects that the values Spec saw inside are within the widths.
inline void ExpectSeen(const Witness& w, const Bounded& b, const std::string& width) {
  ASSERT_TRUE(w.seen.count(width) && b.widths.count(width)) << width;
  for (int64_t v : w.seen.at(width)) ASSERT_LT(std::abs(double(v)), std::ldexp(1.0, b.widths.at(width).bits)) << width;
}

// A visitor that keeps the written fields and gives them to a reader. Every number must be in its range.
class Recorder : public Visitor {
 public:
  bool reading = false;
  std::vector<std::pair<std::string, std::string>> items;

  bool fills() const override { return reading; }
  // Whether the next field has this name; an absent one is not recorded.
  bool Has(const char* name) const override { return reading && at_ < items.size() && items[at_].first == name; }
  void Real(const char* name, double* x, double lo, double hi) override {
    Item(name, Str(*x), [&](const std::string& s) { *x = std::stod(s); });
    EXPECT_TRUE(*x >= lo && *x <= hi) << name;
  }
  void Flag(const char* name, bool* x) override {
    Item(name, *x ? "1" : "0", [&](const std::string& s) { *x = s == "1"; });
  }
  void Text(const char* name, std::string* x, size_t limit) override {
    Item(name, *x, [&](const std::string& s) { *x = s; });
    EXPECT_LE(x->size(), limit) << name;
  }
  void AnyText(const char* name, std::string* x, size_t limit) override { Text(name, x, limit); }
  void Many(const char* name, Ints* x, size_t most, int64_t lo, int64_t hi) override {
    List(
        name, x->size(), most, [&](size_t n) { x->resize(n); },
        [&](Visitor& v, size_t i) { v.Int("", (*x)[i], lo, hi); });
  }
  void Weight(const char* name, Expr* x, bool optional) override {
    Item(name, x->Text(), [&](const std::string& s) { *x = s.empty() ? Expr() : Expr::Parse(s, name); });
    EXPECT_TRUE(optional || *x) << name;
  }
  void Function(const char* name, func::Suf* x) override;
  void List(const char* name, size_t size, size_t most, const std::function<void(size_t)>& resize,
            const std::function<void(Visitor&, size_t)>& item) override {
    Item(name, Str(size), [&](const std::string& s) { size = std::stoul(s); });
    EXPECT_LE(size, most) << name;
    if (reading) resize(size);
    for (size_t i = 0; i < size; ++i) item(*this, i);
  }

 protected:
  void Whole(const char* name, int64_t* x, int64_t lo, int64_t hi) override {
    Item(name, Str(*x), [&](const std::string& s) { *x = std::stoll(s); });
    EXPECT_TRUE(*x >= lo && *x <= hi) << name << " " << *x;
  }

 private:
  template <class F>
  void Item(const char* name, const std::string& text, F read) {
    if (!reading) return void(items.emplace_back(name, text));
    ASSERT_LT(at_, items.size()) << name;
    EXPECT_EQ(items[at_].first, name);
    read(items[at_++].second);
  }
  size_t at_ = 0;
};

// Expects that the fields of an operator make an equal one, in a recorder and in a plan's text.
void ExpectFields(const Operator& op);

// Expects that f throws Error with that cause and an error message with these words.
template <class F>
void ExpectRefused(F f, const std::string& words, Cause cause = Cause::kRefused) {
  try {
    f();
    ADD_FAILURE() << "nothing was refused, expected: " << words;
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), cause);
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what() << "\nexpected: " << words;
  }
}

// A change that makes parameters inconsistent, and the words of Check about it.
template <class T>
struct Fault {
  std::function<void(T&, Edges&)> change;
  std::string words;
};
// Expects that Check accepts good parameters and refuses each fault.
template <class T>
void ExpectChecked(const T& good, const Edges& in, int max_n, const std::vector<Fault<T>>& faults) {
  EXPECT_NO_THROW(good.Check(in, max_n, "here"));
  for (const Fault<T>& f : faults) {
    T bad = good;
    Edges edges = in;
    f.change(bad, edges);
    ExpectRefused([&] { bad.Check(edges, max_n, "here"); },
                  "the plan is inconsistent at here: " + f.words + "; compile the plan again");
  }
}

// Returns an input as Choose and Check see it.
inline Edge EdgeOf(int scale, int ring, int64_t dim, RowBound reach = {}, bool one_row = false) {
  return {scale, scale, ring, dim, one_row, std::move(reach)};
}
// Returns the reach |x_j| <= each[j] of rows no longer than `length`.
inline RowBound BoxOf(Reals each, double length = 1e300) {
  RowBound r{int64_t(each.size()), 0, each, {}, {}};
  r.length = std::min(length, Length(each));
  return r;
}

// Returns n seeded numbers in [-most, most].
inline Ints Numbers(size_t n, int64_t most, uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  std::uniform_int_distribution<int64_t> d(-most, most);
  Ints v(n);
  for (int64_t& x : v) x = d(rng);
  return v;
}
inline Reals RealNumbers(size_t n, uint64_t seed = 1) {
  Reals v;
  for (int64_t x : Numbers(n, 4000, seed)) v.push_back(double(x) / 1000);
  return v;
}
// Stores a leaf's tensor of a checkpoint.
inline void Store(Checkpoint* w, const Expr& leaf, const Reals& values) {
  std::map<std::string, Shape> name;
  leaf.Leaves(&name);
  w->Set(name.begin()->first, {leaf.shape(), {values.begin(), values.end()}});
}

// The least entry, the largest entry and the largest sum of rows of two entries.
struct Pairs {
  double least, most, sum;
};
inline Pairs OfPairs(const IntArray& y) {
  Pairs p{0, 0, 0};
  for (size_t i = 0; i < y.at.size(); i += 2) {
    const double a = double(y.at[i]), b = double(y.at[i + 1]);
    p = {std::min({p.least, a, b}), std::max({p.most, a, b}), std::max(p.sum, a + b)};
  }
  return p;
}

}  // namespace suf::nn
