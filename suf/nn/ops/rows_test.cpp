// Operators on some rows of a text: their results are those rows of the result on all. Attention reads k and v of all
// rows. Causal attention takes the last row alone, a decoder's new token.
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/lookup.hpp"
#include "suf/nn/ops/map.hpp"
#include "suf/nn/ops/norm.hpp"
#include "suf/nn/ops/residual.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

constexpr int kTokens = 6;
constexpr int64_t kOwnHeads = 4, kServing = 2, kOf = 3;

// The rows [from, from + rows).
struct Part {
  int from, rows;
};
constexpr Part kParts[] = {{0, 3}, {3, 3}, {2, 1}, {1, 4}, {5, 1}};
std::vector<Part> PartsOf(bool causal) {
  if (causal) return {{kTokens - 1, 1}};
  return {std::begin(kParts), std::end(kParts)};
}

// Returns these rows of (heads, n, ..).
template <class T>
std::vector<T> Cut(const std::vector<T>& all, int64_t heads, Part p) {
  const int64_t of = int64_t(all.size()) / heads / kTokens;
  std::vector<T> v;
  for (int64_t h = 0; h < heads; ++h) {
    const auto first = all.begin() + (h * kTokens + p.from) * of;
    v.insert(v.end(), first, first + p.rows * of);
  }
  return v;
}
IntArray CutRows(const IntArray& x, Part p) { return {{p.rows, x.cols()}, Cut(x.at, 1, p)}; }
IntArray CutPairs(const IntArray& x, Part p) { return {{x.shape[0], p.rows, kTokens}, Cut(x.at, x.shape[0], p)}; }

struct PartRig : OpRig {
  explicit PartRig(Part p) : OpRig(kTokens) {
    from = p.from;
    rows = p.rows;
  }
};

// Expects that Spec and Float make these rows from `part` as they make them, among others, from `all`. `part` has the
// rows that the operator reads.
void ExpectPart(PartRig& rig, const Operator& op, const std::vector<IntArray>& all, const std::vector<IntArray>& part,
                const Checkpoint& weights = {}) {
  const Part p{rig.from, rig.rows};
  const auto cut = [&](const auto& y) {
    auto out = y;
    out.shape[y.shape.size() - 2] = p.rows;
    out.at = Cut(y.at, y.shape.size() == 3 ? y.shape[0] : 1, p);
    return out;
  };
  const auto given = [](const std::vector<IntArray>& x) {
    std::vector<Given> out;
    for (const IntArray& a : x) out.push_back({a});
    return out;
  };
  const IntArray want = cut(rig.Spec(op, given(all))), got = rig.Spec(op, given(part), {p.from, p.rows});
  EXPECT_EQ(got.shape, want.shape);
  EXPECT_EQ(got.at, want.at);
  const auto reals = [](const std::vector<IntArray>& x) {
    std::vector<RealArray> out;
    for (const IntArray& a : x) {
      out.push_back({a.shape, Reals(a.at.begin(), a.at.end())});
      for (double& v : out.back().at) v /= 64;
    }
    return out;
  };
  const RealArray real = cut(FloatOf(op, kTokens, weights, reals(all), rig.ids)),
                  own = FloatOf(op, kTokens, weights, reals(part), rig.ids, nullptr, {p.from, p.rows});
  EXPECT_EQ(own.shape, real.shape);
  EXPECT_EQ(own.at, real.at);
}

// Scores read q of the rows and k of all, apart or both in one input. Relative biases of other rows are not read.
TEST(Rows, Scores) {
  for (bool causal : {false, true})
    for (bool relative : {false, true})
      for (bool one : {false, true})
        for (Part p : PartsOf(causal)) {
          Scores s;
          s.heads = kOwnHeads;
          s.serving = kServing;
          s.head_dim = kOf;
          s.causal = causal;
          s.ring = 33;
          PartRig rig(p);
          if (relative) {
            s.relative = Expr::Leaf("r", {kOwnHeads, 13});
            rig.weights["relative"] = Tensor({kOwnHeads, 13}, Numbers(52, 1 << 20));
          }
          rig.order = [&](const IntArray& y) { return Cut(y.at, kOwnHeads, p); };
          const IntArray q{{kTokens, kOwnHeads * kOf}, Numbers(72, 1 << 12, 5)},
              k{{kTokens, kServing * kOf}, Numbers(36, 1 << 12, 6)};
          Given own{q, 33, OperandForm::kProduct, CutRows(q, p)}, served{k, 33, OperandForm::kProduct};
          if (one) {
            IntArray both{{kTokens, 18}, {}};
            for (int i = 0; i < kTokens; ++i) {
              both.at.insert(both.at.end(), q.at.begin() + i * 12, q.at.begin() + i * 12 + 12);
              both.at.insert(both.at.end(), k.at.begin() + i * 6, k.at.begin() + i * 6 + 6);
            }
            own.wire = CutRows(both, p);
            served.wire = both;
          }
          EXPECT_EQ(rig.Run(s, {own, served}).size(), size_t(kOwnHeads * p.rows * kTokens));
          EXPECT_EQ(rig.key_bits(size_t(kOwnHeads * p.rows * kTokens)), 0);
          Checkpoint w;
          if (relative) Store(&w, s.relative, RealNumbers(52));
          if (one)
            ExpectPart(rig, s, {served.wire}, {served.wire}, w);
          else
            ExpectPart(rig, s, {q, k}, {CutRows(q, p), k}, w);
        }
}

TEST(Rows, SoftmaxByMaximum) {
  for (bool causal : {false, true})
    for (Part p : PartsOf(causal)) {
      Softmax s;
      s.causal = causal;
      s.ring = 15;
      s.shift = 2;
      s.maximum.low = 2;
      s.maximum.level = 3;
      s.maximum.floor = 2;
      s.maximum.count_bits = 3;
      s.maximum.low_table = {40, 31, 24, 19};
      s.maximum.high_table = {64, 24, 9, 3, 1, 1, 0, 0};
      s.offset = {0, 29, 58, 87};
      PartRig rig(p);
      rig.order = [&](const IntArray& y) { return Cut(y.at, kOwnHeads, p); };
      const IntArray z{{kOwnHeads, kTokens, kTokens}, Numbers(144, 63, 3)};
      rig.Run(s, {{z, s.window(), OperandForm::kOpen, CutPairs(z, p)}});
      ExpectPart(rig, s, {z}, {CutPairs(z, p)});
    }
}

// A row's own scores, with itself and with the previous token, stay those of its place in the text.
TEST(Rows, SoftmaxAboutAShift) {
  for (bool causal : {false, true})
    for (bool own : {false, true})
      for (Part p : PartsOf(causal)) {
        Softmax s;
        s.by = Softmax::kShift;
        s.causal = causal;
        s.ring = 17;
        s.shift = 3;
        s.shifted.index = 4;
        s.shifted.table = {1, 3, 9, 40, 200};
        s.shifted.end = 7;
        s.shifted.peak = 6;
        s.shifted.read.stages = compiler::Stages::kTwo;
        s.shifted.score_up = own ? 4 : 0;
        s.shifted.shift_up = s.shifted.score_up + 1;
        s.offset = {0, 8, 16, 24};
        if (own) s.own = {-7, 16, 3, 0, 0, -16, 5, 16};
        PartRig rig(p);
        rig.order = [&](const IntArray& y) { return Cut(y.at, kOwnHeads, p); };
        const IntArray z{{kOwnHeads, kTokens, kTokens}, Numbers(144, 63, 3)},
            shift{{kTokens, kOwnHeads}, Numbers(24, 20, 4)};
        rig.Run(s, {{z, s.Need(0, {}), OperandForm::kOpen, CutPairs(z, p)},
                    {shift, s.Need(1, {}), OperandForm::kOpen, CutRows(shift, p)}});
        ExpectPart(rig, s, {z, shift}, {CutPairs(z, p), CutRows(shift, p)});
      }
}

TEST(Rows, WeightedSum) {
  for (Part p : PartsOf(false)) {
    WeightedSum s;
    s.heads = kOwnHeads;
    s.serving = kServing;
    s.head_dim = kOf;
    s.row_sum = 12;
    s.top = 12;
    s.product = 24;
    s.ring = 40;
    s.recip = func::FitOctaves([](double v) { return std::ldexp(1.0, 15) / v; }, 0, 12, 3, 2).f;
    PartRig rig(p);
    rig.order = [&](const IntArray& y) {
      Ints v;
      for (int64_t h = 0; h < kOwnHeads; ++h)
        for (int64_t i = p.from; i < p.from + p.rows; ++i)
          for (int64_t k = 0; k < kOf; ++k) v.push_back(y.at[size_t((i * kOwnHeads + h) * kOf + k)]);
      return v;
    };
    IntArray e{{kOwnHeads, kTokens, kTokens}, Numbers(144, 600, 7)};
    for (int64_t& x : e.at) x = std::abs(x) + 1;
    const IntArray v{{kTokens, kServing * kOf}, Numbers(36, 1 << 9, 8)};
    rig.Run(s, {{e, 24, OperandForm::kProduct, CutPairs(e, p)}, {v, 24, OperandForm::kProduct}});
    ExpectPart(rig, s, {e, v}, {CutPairs(e, p), v});
  }
}

// Runs a map by one weight, whose slot is `name`, with a rotation behind it. Its input has a ring of `ring` bits.
void ExpectTurned(const nn::LinearMap& map, const char* name, int64_t columns, int ring) {
  const Expr& weight = map.terms[0].weight;
  const int64_t size = nn::Size(weight.shape());
  for (Part p : kParts) {
    nn::LinearMap m = map;
    m.scale = 20;
    m.ring = 40;
    m.rotary = 2;
    m.base = 100;
    m.turn = 6;
    m.cosines = Numbers(14, 64, 1);
    m.sines = Numbers(14, 64, 2);
    PartRig rig(p);
    rig.weights[name] = Tensor(weight.shape(), Numbers(size, 100, 3));
    rig.order = [&](const IntArray& y) { return Cut(y.at, 1, p); };
    const IntArray x{{kTokens, columns}, Numbers(kTokens * columns, 100, 4)};
    rig.Run(m, {{x, ring, OperandForm::kMap, CutRows(x, p)}});
    Checkpoint w;
    Store(&w, weight, RealNumbers(size));
    ExpectPart(rig, m, {x}, {CutRows(x, p)}, w);
  }
}

TEST(Rows, RotationByPosition) {
  nn::LinearMap m;
  m.terms = {{nn::LinearMap::kFull, 0, Expr::Leaf("w", {2, 8})}};
  m.full = 4;
  ExpectTurned(m, "full", 2, 20);
}

// A diagonal term, such as gamma of a norm, before the rotation.
TEST(Rows, RotationOfADiagonal) {
  nn::LinearMap m;
  m.terms = {{nn::LinearMap::kDiag, 0, Expr::Leaf("g", {8})}};
  m.gamma = 4;
  ExpectTurned(m, "diag", 8, 40);
}

// A norm of whole rows, and one of each head.
TEST(Rows, Norm) {
  for (int groups : {1, 3})
    for (Part p : kParts) {
      nn::Norm n;
      n.dim = 6 / groups;
      n.groups = groups;
      n.kz = 14;
      n.cut = 3;
      n.square = 22;
      n.epsilon = 5;
      n.floor = 1;
      n.top = 22;
      n.shift = 7;
      n.rsqrt = func::FitOctaves([](double v) { return std::ldexp(1.0, 20) / std::sqrt(v); }, 1, 22, 3, 3).f;
      n.product = 40;
      n.ring = 40;
      PartRig rig(p);
      rig.order = [&](const IntArray& y) { return Cut(y.at, 1, p); };
      const IntArray z{{kTokens, 6}, Numbers(36, 4000, 4)};
      rig.Run(n, {{z, 14, OperandForm::kOpen, CutRows(z, p)}});
      ExpectPart(rig, n, {z}, {CutRows(z, p)});
    }
}

TEST(Rows, LookupByPosition) {
  for (Part p : kParts) {
    Lookup l;
    l.table = Expr::Leaf("words", {5, 3});
    l.positions = Expr::Leaf("places", {7, 3});
    l.Choose({Options{}}, {});
    PartRig rig(p);
    rig.weights["table"] = Tensor({5, 3}, Numbers(15, 4000, 2));
    rig.weights["positions"] = Tensor({7, 3}, Numbers(21, 4000, 3));
    rig.ids = {4, 0, 2, 2, 1, 3};
    rig.order = [&](const IntArray& y) { return Cut(y.at, 1, p); };
    EXPECT_EQ(rig.Run(l, {}).size(), size_t(p.rows * 3));
    Checkpoint w;
    Store(&w, l.table, RealNumbers(15));
    Store(&w, l.positions, RealNumbers(21));
    ExpectPart(rig, l, {}, {}, w);
  }
}

// The last row of a text is the last of these rows, if it is among them.
TEST(Rows, Pool) {
  for (auto kind : {nn::PoolRows::kFirst, nn::PoolRows::kLast}) {
    nn::PoolRows pool;
    pool.kind = kind;
    pool.ring = 20;
    const IntArray x{{kTokens, 3}, Numbers(18, 100, 9)};
    auto run = [&](Part p) {
      PartRig rig(p);
      return rig.Run(pool, {{x, 20, OperandForm::kOpen, CutRows(x, p)}});
    };
    const Part with = kind == nn::PoolRows::kFirst ? Part{0, 4} : Part{2, 4};
    EXPECT_EQ(run(with).size(), 3u);
    EXPECT_THROW((void)run({1, 3}), Bug);
  }
}

// No reading takes rows beyond the text, or rows of a causal text that are not the last one.
TEST(Rows, Refusals) {
  pfss::Trace t;
  auto at = [&](int from, int rows) { return Emission{t, kTokens, false, OperandForm::kOpen, "7", "y", from, rows}; };
  for (auto [from, rows] : {std::pair{-1, 1}, {0, 0}, {0, 7}, {6, 1}}) {
    EXPECT_THROW((void)at(from, rows).Packed(false), Bug) << from;
  }
  EXPECT_THROW((void)at(0, 3).Packed(true), Bug);
  EXPECT_THROW((void)at(4, 1).Packed(true), Bug);
  EXPECT_TRUE(at(0, 6).Packed(true));
  EXPECT_FALSE(at(5, 1).Packed(true));
  EXPECT_FALSE(at(0, 6).Packed(false));
  EXPECT_EQ((Emission{t, kTokens}.rows), kTokens);
}

// A batch's rows are the same ones of some of its texts.
TEST(Rows, OfABatch) {
  pfss::Trace t;
  struct Case {
    int first_text, texts, from, rows;
  };
  auto at = [&](const Case& c) {
    Emission e{t, kTokens, false, OperandForm::kOpen, "7", "y", c.from, c.rows};
    e.texts = 3;
    e.first_text = c.first_text;
    e.texts_here = c.texts;
    return e;
  };
  for (const Case& c : {Case{0, 1, 0, 6}, {0, 3, 0, 6}, {1, 2, 0, 6}, {2, 1, 0, 6}}) {
    EXPECT_TRUE(at(c).Packed(true)) << c.first_text;
    EXPECT_FALSE(at(c).Packed(false)) << c.first_text;
  }
  EXPECT_FALSE(at({1, 2, 5, 1}).Packed(true));
  EXPECT_FALSE(at({1, 2, 0, 1}).Packed(false));
  for (const Case& c : {Case{0, 1, 0, 5}, {0, 4, 0, 6}, {2, 2, 0, 6}, {-1, 1, 0, 6}, {0, 0, 0, 6}, {0, 3, 4, 1}}) {
    EXPECT_THROW((void)at(c).Packed(true), Bug) << c.first_text;
  }
  EXPECT_EQ((Emission{t, kTokens}.texts_here), 1);
}

}  // namespace
}  // namespace suf::nn
