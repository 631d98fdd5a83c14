// The schedule of MiniLM's shapes at 32 tokens, against the numbers of the executable specification in Python (its
// layer 1 for every layer): an independent statement of every gate's cost.
#include <gtest/gtest.h>

#include <map>

#include "suf/nn/build.hpp"
#include "suf/pfss/lint.hpp"

namespace suf::nn {
namespace {

// Groups: {w, lo, hi}; the schedule does not look at values.
std::vector<Group> Shape(std::vector<std::array<int, 3>> groups) {
  std::vector<Group> out;
  for (auto [w, lo, hi] : groups) out.push_back({w, lo, hi, std::vector<int64_t>(size_t(hi - lo), 1)});
  return out;
}

Plan MiniLm() {
  Class c{.max_n = 32};
  c.embedding = {.kz = 16,
                 .square = 30,
                 .eps = 1,
                 .rsqrt = Shape({{13, 0, 2048}, {17, 128, 2048}, {21, 128, 256}}),
                 .product = 26,
                 .shift = 9,
                 .out = 33};
  Layer y;
  y.qk = 29, y.v = 28, y.shift_qk = y.shift_v = 14;
  y.score = 25, y.shift_score = 12, y.low = 7, y.level = 6, y.floor = 30;
  y.offset.assign(12, 1 << 24);
  y.elo_bits = 11, y.ehi_bits = 16, y.elo.assign(128, 1), y.ehi.assign(64, 1);
  y.row_sum = 27, y.ev = 41, y.count_bits = 6;
  y.recip = Shape({{12, 0, 1024}, {16, 64, 1024}, {20, 64, 128}});
  y.o = y.proj = 61, y.diag_o = 32, y.mean_o = 4;
  y.attention = {.kz = 61,
                 .cut = 44,
                 .square = 32,
                 .eps = 1,
                 .rsqrt = Shape({{15, 0, 2048}, {19, 128, 2048}, {23, 128, 256}}),
                 .product = 27,
                 .shift = 10,
                 .out = 35};
  y.ffn1 = 28, y.shift_ffn1 = 14, y.piece_width = 5, y.piece = 9;
  y.gelu_a.assign(512, 1), y.gelu_b = y.gelu_a, y.gelu_u = 20, y.gelu_v = 7;
  y.ffn2 = 35, y.diag_2 = y.mean_2 = 2;
  y.output = {.kz = 35,
              .cut = 14,
              .square = 40,
              .eps = 1,
              .rsqrt = Shape({{15, 0, 2048}, {19, 128, 2048}, {23, 128, 2048}, {27, 128, 2048}, {31, 128, 256}}),
              .product = 31,
              .shift = 14,
              .out = 33};
  c.layers.assign(6, y);
  c.pool = 33;
  c.result = {.kz = 33,
              .cut = 14,
              .square = 39,
              .rsqrt = Shape({{13, 0, 2048}, {17, 128, 2048}, {21, 128, 2048}, {25, 128, 2048}, {29, 128, 512}}),
              .product = 31,
              .shift = 14,
              .out = 18};
  Plan p;
  p.dims = {.d = 384, .heads = 12, .ff = 1536, .vocab = 30522, .layers = 6, .positions = 512};
  p.max_tokens = 32;
  p.classes = {c};
  return p;
}

TEST(Schedule, MiniLmAt32Tokens) {
  pfss::Trace t;
  Build(t, MiniLm(), 32);
  pfss::Schedule s(t);
  EXPECT_EQ(s.flights(), 206);
  pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty());
  EXPECT_EQ(lint.results, 1);
  struct Bits {
    int64_t key, online, offline;
  };
  // A norm's word R is dealt one bit narrower than there when the variance's ring is the widest: 12288 bits.
  const std::map<std::string, Bits> want = {{"attention", {39316608, 8636928, 1056768}},
                                            {"proj", {0, 749568, 749568}},
                                            {"norm1", {14769824 - 12288, 1575168, 0}},
                                            {"gelu", {51609600, 7913472, 1376256}},
                                            {"ffn2", {0, 430080, 430080}},
                                            {"norm2", {9590432 - 12288, 1462784, 0}}};
  int seen = 0;
  for (auto& row : pfss::CostOf(s).rows) {
    size_t slash = row.scope.find('/');
    if (slash == std::string::npos) continue;
    const Bits& bits = want.at(row.scope.substr(slash + 1));
    EXPECT_EQ(row.key[0] + row.key[1], bits.key) << row.scope;
    EXPECT_EQ(row.online[0] + row.online[1], bits.online) << row.scope;
    EXPECT_EQ(row.offline, bits.offline) << row.scope;
    ++seen;
  }
  EXPECT_EQ(seen, 36);
  // both bundles are equally heavy, within one percent
  EXPECT_LT(std::abs(s.key_bits(0) - s.key_bits(1)), s.key_bits(0) / 100);
}

}  // namespace
}  // namespace suf::nn
