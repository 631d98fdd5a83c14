#include "suf/gates/relu.hpp"

#include <set>
#include <tuple>

#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

using compiler::Kind;
using compiler::Lowering;
using compiler::StepSource;

Lowering Open(StepSource steps) { return {Kind::kOpenSteps, steps, Stages::kOne}; }
// Returns the number of messages under a label; an opening has two.
int Openings(const Rig& g, const std::string& label) {
  int n = 0;
  for (auto& f : g.schedule->frames())
    for (auto& part : f.parts) n += g.t.name(g.t.node(part.node).label) == label;
  return n;
}

// Every x of rings of 2 to 8 bits, under 16 masks each, by three lowerings.
TEST(Relu, Exhaustive) {
  for (int k : {2, 3, 6, 8})
    for (StepSource steps : kAllSteps)
      for (Kind kind : {Kind::kOpenSteps, Kind::kIndex, Kind::kHorner})
        for (int ring : {k, std::max(1, k - 3), k + 5}) {
          Rig g;
          Ints x = Range(0, 1 << k, 16);
          Relu gate{ring, {kind, steps, Stages::kOne}};
          Ints want;
          for (int64_t v : x) want.push_back(Number(v < 1 << (k - 1) ? uint64_t(v) : 0, ring));
          EXPECT_EQ(gate.Spec(x, k), want);
          EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k))), want) << k << " " << ring;
          EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(k)) << k << " " << ring << " " << int(kind);
          EXPECT_EQ(g.sent("steps"), kind == Kind::kOpenSteps ? 2 * int64_t(x.size()) * (ring > k ? 2 : 1) : 0);
        }
}

TEST(Relu, WideRings) {
  for (int k : {31, 32, 33, 63, 64})
    for (StepSource steps : kAllSteps) {
      Rig g;
      Ints x = Some(INT64_MIN, INT64_MAX, 200, uint64_t(k));
      for (int64_t v : {0, 1, -1}) {
        x.push_back(v);
        x.push_back(int64_t(uint64_t(v) + (uint64_t{1} << (k - 1))));
      }
      Relu gate{k, Open(steps)};
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Both(x, k))), gate.Spec(x, k)) << k;
    }
}

// At 32 bits the key of both bundles has a comparison of 31 bits and three words.
TEST(Relu, KnownSizes) {
  const int64_t bits[] = {812 * 8, 403, 214};  // 812, 50.4 and 26.8 bytes
  for (StepSource steps : kAllSteps) {
    Relu gate{32, Open(steps)};
    EXPECT_EQ(gate.KeyBits(32), bits[int(steps)]);
    Rig g;
    Ints x = Some(INT32_MIN, INT32_MAX, 50);
    EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 32))), gate.Spec(x, 32));
    EXPECT_EQ(g.key_bits(), 50 * bits[int(steps)]);
    EXPECT_EQ(g.flights(), steps == StepSource::kParity ? 2 : 4);  // including P1's x and P0's last message
    EXPECT_EQ(g.sent("steps"), 2 * 50);
  }
}

// Every x of 4 and 8 bits, under 16 masks each, with every shift.
TEST(ReluARS, Exhaustive) {
  for (int k : {4, 8})
    for (int s = 1; s <= k - 2; ++s)
      for (Stages stages : {Stages::kTwo, Stages::kThree})
        for (int ring : {1, k - s, k - s + 1, k, 33, 64}) {
          Rig g;
          Ints x = Range(0, 1 << k, 16), want;
          for (int64_t v : x) {
            int64_t u = (v + (1 << (s - 1))) % (1 << k);
            want.push_back(Number(u < 1 << (k - 1) ? uint64_t(u >> s) : 0, ring));
          }
          ReluARS gate{s, ring, stages};
          EXPECT_EQ(gate.Spec(x, k), want);
          EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, k))), want) << k << " " << s << " " << ring;
          EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(k));
          EXPECT_EQ(g.flights(), 4);
          EXPECT_EQ(g.sent("helpers"), 2 * 2 * int64_t(x.size()));
          EXPECT_EQ(Openings(g, "helpers"), 2);
        }
}

TEST(ReluARS, WideRings) {
  for (int k : {31, 32, 33, 63, 64})
    for (int s : {1, 12, k - 2})
      for (int ring : {k - s, k, 64}) {
        Rig g;
        Ints x = Some(INT64_MIN, INT64_MAX, 200, uint64_t(k));
        ReluARS gate{s, ring, Stages::kThree};
        EXPECT_EQ(g.Run(gate.Build(g.t, g.Both(x, k))), gate.Spec(x, k)) << k << " " << s << " " << ring;
      }
}

// A rescale by 12 of 32 bits into 20 bits takes two flights to shares and 423 key bits (53 bytes) of both bundles. Both
// cuts share one set of tables, and the helper bits take one opening.
TEST(ReluARS, KnownSize) {
  Rig g;
  Ints x = Some(-(1 << 30), (1 << 30) - 1, 50);
  ReluARS gate{12, 20, Stages::kTwo};
  EXPECT_EQ(gate.KeyBits(32), 423);
  EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 32))), gate.Spec(x, 32));
  EXPECT_EQ(g.key_bits(), 50 * 423);
  EXPECT_EQ(g.flights(), 4);
  EXPECT_EQ(Openings(g, "bits"), 2);
  EXPECT_EQ(Openings(g, "helpers"), 2);
  EXPECT_EQ(g.sent("helpers"), 2 * 2 * 50);
}

// If w = 1, the correction by a table on (t, d, w) is the linear form -t + d 2^(k-s). Then d is the product of a public
// bit and a dealer's bit. Both are checked for every x, mask and shift.
TEST(ReluARS, EightEntriesAreTheLinearForm) {
  const int k = 7, whole = 1 << k;
  for (int s = 1; s <= k - 2; ++s) {
    int64_t table[8];  // by t + 2 d + 4 w
    for (int i = 0; i < 8; ++i) table[i] = i < 4 ? 0 : (i >> 1 & 1 ? whole >> s : 0) - (i & 1);
    std::set<int> seen;
    for (int r = 0; r < whole; ++r) {
      Ints x = Range(0, whole), want = ReluARS{s, 64, Stages::kTwo}.Spec(x, k);
      for (int64_t v : x) {
        const int64_t h = (v + r + (1 << (s - 1))) % whole, u = (v + (1 << (s - 1))) % whole;
        const int t = h % (1 << s) < r % (1 << s), d = h < r, w = u < whole / 2;
        const int64_t shifted = (h >> s) - (r >> s);
        const int64_t linear = w * (shifted - t + d * (whole >> s));
        ASSERT_EQ(linear, want[size_t(v)]);
        ASSERT_EQ(w * shifted + table[t + 2 * d + 4 * w], linear);
        ASSERT_EQ(w * d, w * (h < whole / 2) * (r >= whole / 2));
        seen.insert(t + 2 * d + 4 * w);
      }
    }
    EXPECT_EQ(seen.size(), 8u) << s;
  }
}

// The table of eight corrections of SUF's protocol (include/proto/reluars_online_complete.hpp) lacks the wrap of x + r.
// Its third bit says that the low bits of the opened value equal those of r. Two inputs with the same three bits then
// need different corrections, so no table is right. Here d is the wrap.
TEST(ReluARS, ATableWithoutTheWrapIsWrong) {
  const int k = 4, s = 1, whole = 1 << k, low = 1 << s;
  struct Case {
    int t, equal, w, wrap, missing;  // missing: the value less the shifted difference and the borrow
  };
  auto at = [&](int x, int r) {
    const int h = (x + r + low / 2) % whole, u = (x + low / 2) % whole, t = h % low < r % low;
    return Case{t, h % low < (r + 1) % low && !t, x < whole / 2, h < r, (u >> s) - ((h >> s) - (r >> s) - t)};
  };
  const Case a = at(0, 0), b = at(2, 14);
  EXPECT_EQ(std::tie(a.w, a.t, a.equal), std::tie(b.w, b.t, b.equal));
  EXPECT_EQ(a.missing, 0);
  EXPECT_EQ(b.missing, whole >> s);
  for (int x = 0; x < whole / 2 - low / 2; ++x)
    for (int r = 0; r < whole; ++r) EXPECT_EQ(at(x, r).missing, at(x, r).wrap * (whole >> s)) << x << " " << r;

  Rig g;
  const Ints x(64, 2);  // under 64 masks
  EXPECT_EQ(g.Run(ReluARS{s, k, Stages::kTwo}.Build(g.t, g.Give(x, k))), Ints(64, 1));
}

}  // namespace
}  // namespace suf::gates
