#include "suf/gates/cubic.hpp"

#include "suf/gates/rig_test.hpp"

namespace suf::gates {
namespace {

using compiler::Kind;
using compiler::StepSource;

Cubic Random(int k, int pieces, int ring, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Cubic gate{{}, ring};
  for (int i = 0; i < pieces; ++i) {
    Cubic::CubicPiece p{(ring::Mask(k) / uint64_t(pieces) + 1) * uint64_t(i) + (i ? 1 + rng() % 2 : 0), {}};
    for (int64_t& c : p.c) c = int64_t(rng());
    gate.pieces.push_back(p);
  }
  return gate;
}

// Every x of 6 bits under 16 masks each, with two to five pieces.
TEST(Cubic, Exhaustive) {
  for (int pieces = 2; pieces <= 5; ++pieces)
    for (StepSource steps : kAllSteps)
      for (int ring : {3, 6, 9, 64}) {
        Rig g;
        Ints x = Range(0, 64, 16);
        Cubic gate = Random(6, pieces, ring, uint64_t(pieces * ring));
        gate.lowering.steps = steps;
        EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 6))), gate.Spec(x, 6)) << pieces << " " << int(steps) << " " << ring;
        EXPECT_EQ(g.key_bits(), int64_t(x.size()) * gate.KeyBits(6)) << pieces << " " << int(steps) << " " << ring;
        EXPECT_EQ(g.sent("coefficient"), 2 * 4 * ring * int64_t(x.size()));
        EXPECT_EQ(g.sent("Horner"), 2 * 3 * ring * int64_t(x.size()));
      }
}

TEST(Cubic, WideRings) {
  for (int k : {31, 32, 33, 63, 64})
    for (int ring : {k - 7, k, 64}) {
      Rig g;
      Ints x = Some(INT64_MIN, INT64_MAX, 100, uint64_t(k));
      Cubic gate = Random(k, 16, ring, uint64_t(k));
      for (const Cubic::CubicPiece& p : gate.pieces) {
        x.push_back(int64_t(p.begin));
        x.push_back(int64_t(p.begin) - 1);
      }
      gate.lowering.steps = k == 33 ? StepSource::kParity : StepSource::kBlocks;
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Both(x, k))), gate.Spec(x, k)) << k << " " << ring;
    }
}

// With 16 pieces at 32 bits, Horner's rule and Index compute the same numbers. Index takes fewer flights.
TEST(Cubic, HornerIsTheIndex) {
  const int horner[] = {6, 8, 8}, index[] = {4, 4, 6};
  const int64_t bits[] = {6832, 1216, 576};  // of Index: 854, 152 and 72 bytes
  for (StepSource steps : kAllSteps) {
    int flights[2];
    int64_t index_bits = 0;
    for (Kind kind : {Kind::kHorner, Kind::kIndex}) {
      Rig g;
      Ints x = Some(0, (int64_t{1} << 32) - 1, 60);
      Cubic gate = Random(32, 16, 32, 9);
      gate.lowering = {kind, steps, Stages::kOne};
      EXPECT_EQ(g.Run(gate.Build(g.t, g.Give(x, 32))), gate.Spec(x, 32));
      EXPECT_EQ(g.key_bits(), 60 * gate.KeyBits(32));
      flights[kind == Kind::kIndex] = g.flights();
      if (kind == Kind::kIndex) index_bits = gate.KeyBits(32);
    }
    EXPECT_EQ(flights[0], horner[int(steps)]) << int(steps);
    EXPECT_EQ(flights[1], index[int(steps)]) << int(steps);
    EXPECT_EQ(index_bits, bits[int(steps)]) << int(steps);
  }
}

}  // namespace
}  // namespace suf::gates
