// The schedule of MiniLM's shapes at 32 tokens, against the numbers of the executable specification in Python. This is
// an independent statement of every gate's cost. Every layer has the costs of its layer 1.
#include "suf/pfss/schedule.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "suf/grouping/check_test.hpp"
#include "suf/model/random.hpp"
#include "suf/model/testing.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/fold.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/pfss/lint.hpp"

namespace suf::model {
namespace {

// Returns groups {w, lo, hi} of ones. The schedule depends on no values and on no cover.
std::vector<func::Octave> Constant(std::vector<std::array<int, 3>> groups) {
  std::vector<func::Octave> out;
  for (auto [w, lo, hi] : groups) out.push_back({w, lo, hi, std::vector<int64_t>(size_t(hi - lo), 1)});
  return out;
}

// Ring, scale and parameters of every node whose place has such an end.
struct Numbers {
  nn::Plan plan;
  nn::Class* c = &plan.classes.emplace_back();

  Numbers() {
    const ModelFolder folder;
    folder.Write("config.json", FindPreset("minilm").config);
    plan.graph = nn::Fold(ReadGraph(folder.path()));
    plan.min_tokens = 3;
    plan.max_tokens = c->max_n = 32;
    for (auto& n : plan.graph.nodes()) c->ops.push_back(n->op->Clone());
    c->certificates.resize(plan.graph.size());
  }
  template <class T, class F>
  void Set(const std::string& label, int ring, int scale, F f) {
    int set = 0;
    for (auto& n : plan.graph.nodes()) {
      if (!("/" + nn::Graph::Where(*n)).ends_with("/" + label)) continue;
      T& op = dynamic_cast<T&>(*c->ops[size_t(n->index)]);
      op.ring = ring;
      op.scale = scale;
      f(op);
      ++set;
    }
    EXPECT_TRUE(set == 1 || set == 6) << label;
  }
  void Norm(const std::string& where, int ring, int kz, int cut, int square, const std::vector<func::Octave>& rsqrt,
            int product, int shift, int scale = 10) {
    Set<nn::Norm>(where, ring, scale, [&](nn::Norm& n) {
      n.kz = kz;
      n.cut = cut;
      n.square = square;
      n.floor = 1;
      n.top = square;
      n.rsqrt = rsqrt;
      n.product = product;
      n.shift = shift;
      n.stages = n.unit ? compiler::Stages::kOne : compiler::Stages::kTwo;
    });
  }
};

nn::Plan MiniLm() {
  Numbers p;
  p.Set<nn::Lookup>("z_embed", 16, 12, [](auto&) {});
  p.Norm("embed/normalised", 33, 16, 0, 30, Constant({{13, 0, 2048}, {17, 128, 2048}, {21, 128, 256}}), 26, 9);
  p.Set<nn::LinearMap>("z_qk", 29, 22, [](nn::LinearMap& m) { m.full = 12; });
  p.Set<nn::Rescale>("q,k", 25, 8, [](nn::Rescale& r) { r.shift = 14; });
  p.Set<nn::LinearMap>("z_v", 28, 24, [](nn::LinearMap& m) { m.full = 14; });
  p.Set<nn::Rescale>("attention/v", 41, 10, [](nn::Rescale& r) { r.shift = 14; });
  p.Set<nn::Scores>("scores", 25, 16, [](auto&) {});
  p.Set<nn::Softmax>("attention/e", 41, 18, [](nn::Softmax& s) {
    s.shift = 12;
    s.maximum.low = 7;
    s.maximum.level = 6;
    s.maximum.floor = 30;
    s.offset.assign(12, 1 << 24);
    s.maximum.low_table.assign(128, 511);
    s.maximum.high_table.assign(64, 16383);
    s.maximum.count_bits = 6;  // opened in 11 and 16 bits
  });
  p.Set<nn::WeightedSum>("eV*recip", 61, 42, [](nn::WeightedSum& w) {
    w.row_sum = 27;
    w.product = 41;
    w.recip = Constant({{12, 0, 1024}, {16, 64, 1024}, {20, 64, 128}});
  });
  p.Set<nn::Rescale>("attention/o", 61, 42, [](auto&) {});
  p.Set<nn::LinearMap>("z_proj", 61, 54, [](nn::LinearMap& m) {
    m.full = 12;
    m.gamma = 12;
    m.diag = 32;
    m.mean = 4;
    m.up = 28;
  });
  p.Norm("norm1/normalised", 35, 61, 44, 32, Constant({{15, 0, 2048}, {19, 128, 2048}, {23, 128, 256}}), 27, 10);
  p.Set<nn::LinearMap>("z_ffn1", 28, 24, [](nn::LinearMap& m) { m.full = 14; });
  p.Set<nn::Activation>("gelu/gelu", 35, 16, [](nn::Activation& a) {
    a.shift = 14;
    a.lines = {5, 10, 6, std::vector<int64_t>(512), std::vector<int64_t>(512)};
    // No two successive lines are equal. Offsets are opened in 20 bits, slopes in 7.
    for (size_t i = 0; i < 512; ++i) {
      a.lines.offset[i] = int64_t(i * 101 % 130000) + 120000;
      a.lines.rise[i] = int64_t(i % 31);
    }
  });
  p.Set<nn::LinearMap>("z_ffn2", 35, 30, [](nn::LinearMap& m) {
    m.full = 14;
    m.gamma = 18;
    m.diag = m.mean = 2;
  });
  p.Norm("norm2/normalised", 33, 35, 14, 40,
         Constant({{15, 0, 2048}, {19, 128, 2048}, {23, 128, 2048}, {27, 128, 2048}, {31, 128, 256}}), 31, 14);
  p.Set<nn::PoolRows>("pooled", 33, 10, [](auto&) {});
  p.Set<nn::LinearMap>("z_pool", 33, 20, [](nn::LinearMap& m) { m.gamma = 10; });
  p.Norm("pool/unit", 18, 33, 14, 39,
         Constant({{13, 0, 2048}, {17, 128, 2048}, {21, 128, 2048}, {25, 128, 2048}, {29, 128, 512}}), 31, 14, 16);
  for (const auto& op : p.c->ops) EXPECT_GT(op->ring, 0) << op->Name();
  nn::Derive(p.plan.graph, p.c->ops);
  return std::move(p.plan);
}

TEST(Schedule, MiniLmAt32Tokens) {
  const nn::Plan plan = MiniLm();
  pfss::Trace t;
  nn::Build(t, plan, 32);
  const pfss::Schedule s(t);
  EXPECT_EQ(s.flights(), 206);
  grouping::CheckAll(s);
  const pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty());
  EXPECT_EQ(lint.results, 1);
  struct Bits {
    int64_t key, online, offline;
  };
  // A norm's word R is dealt one bit narrower than there if the variance's ring is the widest: 12288 bits.
  const std::map<std::string, Bits> want = {{"attention", {39316608, 8636928, 1056768}},
                                            {"proj", {0, 749568, 749568}},
                                            {"norm1", {14769824 - 12288, 1575168, 0}},
                                            {"gelu", {51609600, 7913472, 1376256}},
                                            {"ffn2", {0, 430080, 430080}},
                                            {"norm2", {9590432 - 12288, 1462784, 0}}};
  int seen = 0;
  for (auto& row : pfss::CostOf(s).rows) {
    const size_t slash = row.scope.find('/');
    if (slash == std::string::npos) continue;
    const Bits& bits = want.at(row.scope.substr(slash + 1));
    EXPECT_EQ(row.key[0] + row.key[1], bits.key) << row.scope;
    EXPECT_EQ(row.online[0] + row.online[1], bits.online) << row.scope;
    EXPECT_EQ(row.offline, bits.offline) << row.scope;
    ++seen;
  }
  EXPECT_EQ(seen, 36);
  // Both bundles are equally heavy, within one percent.
  EXPECT_LT(std::abs(s.key_bits(0) - s.key_bits(1)), s.key_bits(0) / 100);
}

// A batch of 8 texts has the flights of one text, 8 times its key and bytes, and hardly more nodes.
TEST(Schedule, MiniLmInABatch) {
  const nn::Plan plan = MiniLm();
  pfss::Trace one, eight;
  nn::Build(one, plan, 32);
  nn::Build(eight, plan, 32, 0, 8);
  const pfss::Schedule alone(one), s(eight);
  EXPECT_EQ(s.flights(), 206);
  EXPECT_EQ(s.frames().size(), alone.frames().size());
  grouping::CheckAll(s);
  const pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty());
  EXPECT_EQ(lint.results, 1);
  const pfss::Cost::Row of = pfss::CostOf(alone).total, all = pfss::CostOf(s).total;
  for (size_t p : {0, 1}) EXPECT_EQ(all.online[p], 8 * of.online[p]);
  EXPECT_EQ(all.key[0] + all.key[1], 8 * (of.key[0] + of.key[1]));
  EXPECT_EQ(all.offline, 8 * of.offline);
  std::printf("nodes: %zu for one text, %zu for 8\n", one.nodes().size(), eight.nodes().size());
  EXPECT_LT(double(eight.nodes().size()), 1.03 * double(one.nodes().size()));
}

// With sums of squares of z, of 119 and 67 bits, a layer has four flights fewer. Its norms' keys grow to 1.18 and 1.06
// times.
TEST(Schedule, MiniLmWithSumsOfZ) {
  nn::Plan plan = MiniLm();
  for (auto& op : plan.classes[0].ops) {
    auto* n = dynamic_cast<nn::Norm*>(op.get());
    if (!n || n->unit || n->cut == 0) continue;
    const int bits = n->square + 2 * n->cut;
    n->square_of = nn::SquareOf::kZ;
    n->square = 56;
    n->under = bits - 56;
    for (func::Octave& g : n->rsqrt) g.w += 2 * n->cut - n->under;
  }
  pfss::Trace t;
  nn::Build(t, plan, 32);
  const pfss::Schedule s(t);
  EXPECT_EQ(s.flights(), 206 - 6 * 4);
  grouping::CheckAll(s);
  const pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty());
  EXPECT_EQ(lint.results, 1);
  for (auto& row : pfss::CostOf(s).rows) {
    const int64_t key = row.key[0] + row.key[1], online = row.online[0] + row.online[1];
    if (row.scope.ends_with("/norm1")) {
      EXPECT_EQ(std::pair(key, online), std::pair(int64_t{17370784}, int64_t{1580800}));
    }
    if (row.scope.ends_with("/norm2")) {
      EXPECT_EQ(std::pair(key, online), std::pair(int64_t{10108832}, int64_t{1464768}));
    }
  }
}

}  // namespace
}  // namespace suf::model
