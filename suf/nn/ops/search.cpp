#include "suf/nn/ops/search.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "suf/compiler/bits.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/text.hpp"
#include "suf/nn/ops/linear.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {

using compiler::Factors;
using compiler::OpenedBit;
using compiler::WordSum;
using gates::BitsToCount;
using gates::PlacedInts;
using gates::PlacedWires;
using pfss::Own;
using pfss::Pub;
using pfss::Sec;
using pfss::Sh;
using pfss::Trace;

namespace {

constexpr int64_t kMostHits = 64;
const char* const kTold[] = {"ids", "order", "scores"};
const char* const kSteps[] = {"parity", "digits", "blocks"};

Factors Negated(const OpenedBit& b) {
  Pub in = 1 - b.hat;
  Pub sign = 0 - b.sign;
  return {{1, 0, in, {}, {}}, {1, 0, sign, b.rho, {}}};
}

// Returns places of one bucket after a round of its tournament.
int64_t AfterRound(int64_t places) { return (places + 1) / 2; }

}  // namespace

int Search::Rounds() const {
  int rounds = 0;
  for (int64_t left = places; left > stop; left = AfterRound(left)) ++rounds;
  return rounds;
}

Ints Search::Sizes() const {
  int64_t left = places;
  while (left > stop) left = AfterRound(left);
  Ints sizes;
  if (left > 1) sizes.push_back(left);
  int64_t n = buckets;
  for (const int64_t count : groups) {
    sizes.push_back(n / count);
    n = count * k;
  }
  return sizes;
}

int Search::Planes() const {
  int planes = Rounds();
  for (const int64_t size : Sizes()) planes += BitsToCount(size);
  return planes;
}

int64_t Search::Entries() const { return groups.empty() ? buckets : groups.back() * k; }

// The bits above a place. They are 1; its rank with a 1 below; or its score, moved so that no hit has 0.
int Search::ToldBits() const {
  return told == ToldOfHits::kIds ? 1 : told == ToldOfHits::kOrder ? 1 + RankBits() : ScoreRing();
}

int Search::RankBits() const { return std::min(BitsToCount(Entries()), BitsToCount(kMostRankedHits)); }

int Search::ResultRing() const { return ToldBits() + Planes(); }

RealArray Search::Float(const RealCall& c, std::span<const RealArray* const> x) const {
  RealArray y{{1, rows()}, {}};
  for (int64_t b = 0; b < blocks(); ++b) {
    const Reals& w = c.value(Slots()[size_t(b)].weight);
    for (int64_t i = 0; i < rows_of(b); ++i) {
      double z = 0;
      for (int64_t j = 0; j < columns; ++j) z += x[0]->at[size_t(j)] * w[size_t(j * rows_of(b) + i)];
      y.at.push_back(z);
    }
  }
  return y;
}

void Search::Attributes(Visitor& v) {
  v.Int("columns", columns, 1, 1 << 20);
  v.Int("places", places, 1, kMostIndexRows);
  v.Int("buckets", buckets, 2, kMostIndexRows);
  v.Int("block", block, 1, kMostIndexRows);
  v.Int("stop", stop, 1, kMostIndexRows);
  v.Many("groups", &groups, 8, 1, kMostIndexRows);
  v.Int("k", k, 1, kMostHits);
  v.Int("floor", floor, -kBig, kBig);
  v.Choice("told", &told, kTold, "reveals ");
}

void Search::Fields(Visitor& v) {
  v.Int("f", f, 1, 24);
  v.Int("g", g, 1, 24);
  v.Choice("early", &early, kSteps, "compares early rounds by ");
  v.Choice("late", &late, kSteps, "compares late rounds by ");
  v.Choice("pairs", &pairs, kSteps, "compares pairs by ");
  v.Int("late_from", late_from, 0, kMostIndexRows);
}

void Search::Verify(const std::string& where) const {
  Wanted(rows() <= kMostIndexRows, where, "it has more rows than an index may have");
  Wanted(told != ToldOfHits::kOrder || k <= kMostRankedHits, where, "more than 16 hits have an order");
  int64_t n = buckets;
  for (const int64_t count : groups) {
    Wanted(n % count == 0 && n / count > k, where, "a group has no more members than it keeps, or groups differ");
    n = count * k;
  }
  Wanted(n > k, where, "no more entries than hits are left");
}

void Search::Check(const Edges& in, int, const std::string& where) const {
  Wanted(in[0].dim == columns, where, "its input has another width");
  Wanted(in[0].one_row, where, "its input has more than one row");
  Wanted(in[0].scale == f, where, "its input has another scale");
  Wanted(in[0].ring >= ScoreRing(), where, "it reads more bits than its input has");
  Wanted(ResultRing() < kRing && ring == ResultRing() && scale == 0, where, "its result has another ring or scale");
  const int64_t least = int64_t{1} << (f + g);
  Wanted(-least < floor && floor < least, where, "no score can be at its floor");
}

std::vector<WeightSlot> Search::Slots() const {
  std::vector<WeightSlot> out;
  for (int64_t i = 0; i < blocks(); ++i) {
    const std::string name = Str("rows", i);
    out.push_back({name, Expr::Leaf("index." + name, {columns, rows_of(i)}), g});
  }
  out.push_back({"bias", Expr::Leaf("index.bias", {rows()}), 0, false});
  return out;
}

RowBound Search::Bound(const Facts&, const Edges&, std::vector<Width>*) {
  return {Entries(), std::ldexp(std::sqrt(double(Entries())), ResultRing()), {}, {}, {}};
}

// ---- specification

// Reduces scores (places, buckets) to entries.
PlacedInts Search::BestSpec(PlacedInts x) const {
  int planes = 0;
  int64_t left = places;
  for (; left > stop; left = AfterRound(left), ++planes) x = gates::Duel{early}.Spec(x, ScoreRing(), left, planes);
  PlacedInts by_bucket;
  for (int64_t m = 0; m < buckets; ++m)
    for (int64_t s = 0; s < left; ++s) {
      const size_t at = size_t(s * buckets + m);
      by_bucket.number.push_back(x.number[at]);
      by_bucket.place.push_back(planes ? x.place[at] : 0);
    }
  x = std::move(by_bucket);
  const auto reduce = [&](int64_t size, int64_t keep) {
    x = gates::TopOfGroup{pairs, keep}.Spec(x, ScoreRing(), size, planes);
    planes += BitsToCount(size);
  };
  if (left > 1) reduce(left, 1);
  for (const int64_t count : groups) reduce(int64_t(x.number.size()) / count, k);
  return x;
}

IntArray Search::Spec(const IntCall& c, std::span<const IntArray* const> x) const {
  PlacedInts z;
  for (int64_t b = 0; b < blocks(); ++b) {
    const Ints part = c.times(x[0]->at, Str("rows", b).c_str(), kRing);
    z.number.insert(z.number.end(), part.begin(), part.end());
  }
  const Tensor& bias = c.weight("bias");
  for (size_t i = 0; i < z.number.size(); ++i)
    z.number[i] = gates::Number(uint64_t(WrapAdd(z.number[i], bias[int64_t(i)])), ScoreRing());
  const PlacedInts best = BestSpec(std::move(z));
  const int q = BitsToCount(Entries()), planes = Planes();
  const gates::Ranks gate{pairs, q, floor};
  const Ints ranks = gate.Spec(best.number, ScoreRing(), Entries()), under = gate.SpecUnder(best.number, ScoreRing());
  IntArray y{{1, Entries()}, {}};
  for (size_t i = 0; i < best.number.size(); ++i) {
    const uint64_t rank = gates::Word(ranks[i], q);
    uint64_t top = 1;
    if (told == ToldOfHits::kOrder) top = (rank & ring::Mask(RankBits())) << 1 | 1;
    if (told == ToldOfHits::kScores) top = gates::Word(best.number[i] + (int64_t{1} << (ScoreRing() - 1)), ScoreRing());
    const bool hit = rank < uint64_t(k) && !under[i];
    y.at.push_back(hit ? gates::Number(top << planes | uint64_t(best.place[i]), ring) : 0);
  }
  return y;
}

std::vector<SearchHit> Search::Decode(std::span<const int64_t> y) const {
  const int planes = Planes(), rounds = Rounds();
  const Ints sizes = Sizes();
  const bool within = sizes.size() > groups.size();  // the first size is that of places in a bucket
  std::vector<SearchHit> out;
  for (size_t e = 0; e < y.size(); ++e) {
    const uint64_t word = gates::Word(y[e], ring);
    if (!word) continue;
    const auto bits = [&](int begin, int count) { return int64_t(word >> begin & ring::Mask(count)); };
    int64_t at = int64_t(e), place = bits(0, rounds);
    int bit = planes;
    for (size_t level = sizes.size(); level-- > size_t(within);) {
      bit -= BitsToCount(sizes[level]);
      at = at / k * sizes[level] + bits(bit, BitsToCount(sizes[level]));
    }
    if (within) place |= bits(rounds, BitsToCount(sizes[0])) << rounds;
    SearchHit hit{place * buckets + at, -1, 0};
    if (told == ToldOfHits::kOrder) hit.rank = bits(planes + 1, RankBits());
    if (told == ToldOfHits::kScores) hit.score = bits(planes, ScoreRing()) - (int64_t{1} << (ScoreRing() - 1));
    if (place >= places || at >= buckets || hit.rank >= k)
      Fail(Cause::kPeer, "a hit of the search names row ", hit.row, ", and the index has ", rows(),
           " rows; report it to the operator of the model owner");
    out.push_back(hit);
  }
  std::sort(out.begin(), out.end(), [](const SearchHit& a, const SearchHit& b) {
    return std::tuple(a.rank, -a.score, a.row) < std::tuple(b.rank, -b.score, b.row);
  });
  return out;
}

// ---- trace

PlacedWires Search::Best(Trace& t, const Wire<kPub>& z) const {
  PlacedWires x{z, {}};
  int64_t left = places;
  for (int round = 1; left > stop; left = AfterRound(left), ++round) {
    t.scope("round " + std::to_string(round));
    x = gates::Duel{left / 2 * buckets <= late_from ? late : early}.Build(t, x);
  }
  // (left, M) -> (M left)
  const auto by_bucket = [&](auto v) { return Permute(v, {1, 0}); };
  x.number = pfss::Map(x.number, by_bucket);
  if (x.place) x.place = pfss::Map(*x.place, [](auto v) { return Permute(v, {0, 2, 1}); });
  const auto reduce = [&](int64_t count, int64_t size, int64_t keep) {
    t.scope("groups");
    const auto split = [&](auto v) { return Reshape(v, {count, size}); };
    x.number = pfss::Map(x.number, split);
    const int64_t planes = x.place ? x.place->shape()[0] : 0;
    if (x.place) x.place = pfss::Map(*x.place, [&](auto v) { return Reshape(v, {planes, count, size}); });
    x = gates::TopOfGroup{pairs, keep}.Build(t, x);
  };
  if (left > 1) reduce(buckets, left, 1);
  int64_t n = buckets;
  for (const int64_t count : groups) {
    reduce(count, n / count, k);
    n = count * k;
  }
  x.number = pfss::Map(x.number, [&](auto v) { return Reshape(v, {n}); });
  if (x.place) x.place = pfss::Map(*x.place, [&](auto v) { return Reshape(v, {v.shape()[0], n}); });
  return x;
}

compiler::OwedWord Search::Hits(Trace& t, const PlacedWires& best) const {
  const int q = BitsToCount(Entries()), planes = Planes();
  t.scope("hits");
  const gates::Ranks::RankShares ranked = gates::Ranks{pairs, q, floor}.BuildBoth(t, best.number);
  const Wire<kPub> rank = compiler::OpenDefined(t, ranked.rank, "rank");
  const compiler::CompiledFunction far =
      compiler::Compile(func::Parse(Str("suf far domain ", q, " ring 1 outputs 1 degree 0\npiece 0 : 0\npiece ", k,
                                        " : 1\nend ", gates::PowerText(q), "\n")));
  compiler::WireBits reader(t, rank, far, compiler::StepSource::kParity, far.steps);
  const OpenedBit beyond = compiler::SplitBits(compiler::OpenDefined(t, reader.ReadString(far.steps), "hit"))[0];
  Factors hit;  // (1 - beyond) (1 - under)
  for (const compiler::Factor& a : Negated(beyond))
    for (const compiler::Factor& b : Negated(*ranked.under)) hit.push_back(a * b);
  Factors word;
  if (told == ToldOfHits::kScores) {  // in the highest bits, so that a wrap is cut off
    Pub hat = Lift(best.number.hat + (int64_t{1} << (ScoreRing() - 1)));
    Sec r = Lift(best.number.r);
    word = {{1, planes, hat, {}, {}}, {-1, planes, {}, r, {}}};
  } else {
    word.push_back({1, planes, {}, {}, {}});
  }
  if (told == ToldOfHits::kOrder) {  // likewise in the highest bits
    Pub hat = Lift(rank.hat);
    Sec r = Lift(rank.r);
    word.push_back({1, planes + 1, hat, {}, {}});
    word.push_back({-1, planes + 1, {}, r, {}});
  }
  for (int j = 0; j < planes; ++j) {
    const Wire<kPub> plane = pfss::Map(*best.place, [&](auto v) { return At(v, j); });
    const OpenedBit bit = [&] {
      Pub hat = Lift(plane.hat);
      Pub sign = 1 - hat * 2;
      return OpenedBit{hat, sign, Lift(plane.r)};
    }();
    for (compiler::Factor b : gates::BitFactors(bit)) {
      b.shift = j;
      word.push_back(b);
    }
  }
  WordSum y(t, ring);
  y.Add(hit, word);
  return Map(y.Done(), [&](auto v) { return Reshape(v, {1, Entries()}); });
}

AnyWire Search::Build(const Emission& e, std::span<const AnyWire> in) const {
  Trace& t = e.t;
  SharedWire<kP0> x = AsMap(in[0]);
  const int k_scores = ScoreRing();
  if (x.k() > k_scores) x = pfss::Map(x, [&](auto v) { return Low(v, k_scores); });
  std::vector<Own<0>> a;
  std::vector<Own<1>> b;
  std::vector<Sec> owed;
  const std::vector<WeightSlot> slots = Slots();
  for (int64_t i = 0; i < blocks(); ++i) {
    Linear part(k_scores);
    part.Add(x, e.Masked(slots[size_t(i)], slots[size_t(i)].weight.shape()),
             [](auto u, auto w) { return Matmul(u, w); });
    const compiler::OwedWord z = part.Done();
    a.push_back(z.y.a), b.push_back(z.y.b), owed.push_back(*z.owed);
  }
  Own<0> left = blocks() > 1 ? Concat(a, 1) : a[0];
  Own<1> right = blocks() > 1 ? Concat(b, 1) : b[0];
  Sec word = blocks() > 1 ? Concat(owed, 1) : owed[0];
  left = left + e.Plain(slots.back(), {rows()});
  const compiler::OwedWord scores = Map(compiler::OwedWord{{left, right}, word}, [&](auto v) {
    return Reshape(v, {places, buckets});
  });
  const Wire<kPub> z = compiler::OpenDefined(t, scores, "scores");
  return e.Open(Hits(t, Best(t, z)));
}

}  // namespace suf::nn
