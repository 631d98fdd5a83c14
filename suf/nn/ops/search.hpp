// The nearest rows of P0's index to a text's embedding, which nobody learns (docs/mathematics.md#index-search). It is
// the last node of a plan with an index, behind a unit norm.
#pragma once
#include "suf/gates/ranking.hpp"
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// P1 learns the row of a hit: alone, with its rank, or with its score.
enum class ToldOfHits : uint8_t { kIds, kOrder, kScores };

// The rows that an index may have at most.
inline constexpr int64_t kMostIndexRows = int64_t{1} << 24;
// The most hits that have an order.
inline constexpr int64_t kMostRankedHits = 16;

// A hit, as P1 reads it from the result.
struct SearchHit {
  int64_t row = 0;
  int64_t rank = -1;  // kOrder: from 0 on
  int64_t score = 0;  // kScores: at the scale of x times that of the rows
  bool operator==(const SearchHit&) const = default;
};

// Scores z = x W^T + bias modulo 2^(f + g + 3), for x at scale f and rows at scale g. A score of a live row
// is below 2^(f + g) in absolute value. P0's bias is 0, or -2^(f + g + 1) for an empty row. So every difference has its
// sign. Row s M + m is place s of bucket m of M.
//
// * A tournament in each bucket leaves `stop` places or fewer; ranks among these give the best one.
// * Groups, level by level, keep the k best of each.
// * Ranks of the remaining `entries` give hit = [rank < k] [z >= floor].
//
// The result (1, entries) has a word for each hit, its place and above it 1, its rank or its score. Otherwise it has 0.
// Without buckets (M = rows) and with all groups it is exact. Otherwise a hit is lost if a better one is in its bucket.
// After x every step is exact for every word. Ties: the lower place, then the lower position.
struct Search : OperatorBase<Search> {
  static constexpr const char* kName = "search";
  int64_t columns = 0;              // of x and of the rows
  int64_t places = 1, buckets = 0;  // rows = places buckets
  int64_t block = 4096;             // rows of a weight; the last one may have fewer
  int64_t stop = 1;                 // places of a bucket at which its tournament ends
  Ints groups;                      // number of groups, level by level
  int64_t k = 10, floor = 0;        // most hits; the least score of a hit
  ToldOfHits told = ToldOfHits::kOrder;
  int f = 10, g = 10;  // scales of x and of the rows
  compiler::StepSource early = compiler::StepSource::kDigits, late = compiler::StepSource::kDigits,
                       pairs = compiler::StepSource::kDigits;
  int64_t late_from = 0;  // rounds with at most this many comparisons are `late`

  int64_t rows() const { return places * buckets; }
  int64_t blocks() const { return (rows() + block - 1) / block; }
  // Returns the rows of block i.
  int64_t rows_of(int64_t i) const { return std::min(block, rows() - i * block); }
  int ScoreRing() const { return f + g + 3; }
  // Returns the sizes of groups, level by level. The first level is that within a bucket, if its tournament stops
  // early.
  Ints Sizes() const;
  int Rounds() const;  // of the tournament
  int Planes() const;  // bits of a place
  int64_t Entries() const;
  int ResultRing() const;
  // Returns the hits of a result, the best one first. Hits that P1 cannot order come by row. Throws Cause::kPeer for a
  // word that no honest P0 can cause.
  std::vector<SearchHit> Decode(std::span<const int64_t> y) const;

  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void Attributes(Visitor& v) override;
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  int Need(int, const Edges&) const override { return ScoreRing(); }
  OperandForm Reads(int) const override { return OperandForm::kMap; }
  int64_t Dim(const Edges&) const override { return Entries(); }
  bool OneRow(const Edges&) const override { return true; }
  void Verify(const std::string& where) const override;
  void Fields(Visitor& v) override;
  void Check(const Edges& in, int max_n, const std::string& where) const override;
  std::vector<WeightSlot> Slots() const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;

 private:
  int ToldBits() const;
  int RankBits() const;
  gates::PlacedInts BestSpec(gates::PlacedInts x) const;
  gates::PlacedWires Best(pfss::Trace& t, const Wire<kPub>& z) const;
  compiler::OwedWord Hits(pfss::Trace& t, const gates::PlacedWires& best) const;
};

}  // namespace suf::nn
