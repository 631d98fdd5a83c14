// Lowerings that read tables (docs/mathematics.md#window-lut, #octaves). WindowLut opens the number of a piece on a
// grid and the place in it. WindowBoth and RowLut read two neighbours, between which a borrow selects; RowLut has
// constants on octaves. The window is that of Grotto (ePrint 2023/108).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "suf/compiler/lowerings/lowerings.hpp"
#include "suf/compiler/place.hpp"
#include "suf/compiler/taylor.hpp"
#include "suf/ring/modular.hpp"

namespace suf::compiler {

Reading ReadTables(Trace& t, const Wire<kPub>& i, Const tables) {
  Sec hot = Hot(i.r);
  Dealt table = t.deal(hot);
  Sh values = ToAdditive(table, [&](auto v) { return Select(v, i.hat, tables); });
  Sec point = Point(table.a, i.r);
  return {values, SignOf(point)};
}

namespace internal {

PieceGrid GridOf(const CompiledFunction& c, int ring) {
  PieceGrid g;
  g.a = c.grid();
  g.p = c.f.n - g.a;
  const int width = g.width = g.a > 0 ? c.f.degree + 1 : 1;
  std::vector<double> most(size_t(c.f.outputs * width));
  for (int o = 0; o < c.f.outputs; ++o)
    for (int k = 0; k < width; ++k) g.tables.emplace_back();
  size_t piece = 0;
  for (uint64_t i = 0; i < uint64_t{1} << g.p; ++i) {
    const uint64_t begin = g.a == 64 ? 0 : i << g.a;
    while (piece + 1 < c.pieces() && c.f.pieces[piece + 1].begin <= begin) ++piece;
    for (int o = 0; o < c.f.outputs; ++o) {
      auto global = Coefficients(c, piece, o);
      std::vector<uint64_t> local = Powers({global.begin(), global.end()}, 0 - begin, c.f.ring);
      std::vector<double> number;
      for (uint64_t v : local) number.push_back(double(ring::Signed(v, c.f.ring)));
      for (int k = 0; k < width; ++k) {
        g.tables[size_t(o * width + k)].push_back(uint64_t(ring::Signed(local[size_t(k)], c.f.ring)));
        // bound of the k-th Taylor coefficient at places below 2^(a+1): ends of a line, or the sum of all terms
        double bound = std::abs(number[size_t(k)]), sum = number[size_t(k)];
        for (int q = k + 1; q < width; ++q) {
          double term = double(Binomial(q, k)) * number[size_t(q)] * std::ldexp(1, (g.a + 1) * (q - k));
          sum += term;
          bound = q == k + 1 && q + 1 == width ? std::max(bound, std::abs(sum)) : bound + std::abs(term);
        }
        most[size_t(o * width + k)] = std::max(most[size_t(o * width + k)], bound);
      }
    }
  }
  for (double m : most) {
    int bits = 2;
    while (bits < ring && std::ldexp(1, bits - 2) <= m) ++bits;
    g.bits.push_back(bits);
  }
  return g;
}

namespace {

// The opened number of a piece and, if a piece has several places, the opened place in it.
struct OpenedPiece {
  Wire<kPub> number;
  std::optional<Wire<kPub>> place;
};
OpenedPiece OpenPiece(Trace& t, const PieceGrid& g, const CutReading& entry, const Wire<kPub>& z) {
  const int s = entry.shift;
  const bool placed = g.width > 1;
  Const offset = t.constant(int64_t(entry.offset));
  const std::vector<Cut> cuts = g.Cuts(s, placed);
  if (cuts.empty()) return {{z.hat + offset, z.r}, std::nullopt};
  OpenedPiece out;
  OpenedDigits d(t, z, offset, PlanDigits(cuts, entry.stages));
  std::optional<Borrow> below;
  if (s > 0 && placed) below.emplace(d, s, entry.stages);
  const Borrow above(d, s + g.a, entry.stages);
  if (placed) {
    OwedWord low = Slice(d, s, s + g.a, g.a + 1, below ? &*below : nullptr, &above);
    out.place = OpenDefined(t, low, "low digit");
  }
  OwedWord top = Slice(d, s + g.a, z.k(), g.p, &above, nullptr);
  out.number = OpenDefined(t, top, "piece");
  return out;
}

}  // namespace

std::vector<Factors> SecretPowers(const PieceGrid& grid, const Factors& place) {
  std::vector<Factors> powers{{Factor{}}};
  if (grid.width == 1) return powers;
  const Pub g = *place[2].p;
  const Sec r = *place[1].u, b = *place[2].u;
  std::vector<Sec> r_power{r};
  for (int q = 1; q < grid.width; ++q) {
    Factors f{{q % 2 ? -1 : 1, 0, {}, r_power.back(), {}}};
    for (int n = 1; n <= q; ++n) {  // g and b are bits, and equal their powers
      Pub wraps = g * int64_t(Binomial(q, n));
      Sec u = n == q ? b : r_power[size_t(q - n) - 1] * b;
      f.push_back({(q - n) % 2 ? -1 : 1, (grid.a + 1) * n, wraps, u, {}});
    }
    powers.push_back(std::move(f));
    r_power.push_back(r_power.back() * r);
  }
  return powers;
}

Sh TaylorAt(const Sh& values, int64_t first, int width, int n, Pub place) {
  Sh sum = At(values, first + n);
  Pub power = place;
  for (int q = n + 1; q < width; ++q) {
    Sh term = At(values, first + q) * power;
    sum = sum + term * int64_t(Binomial(q, n));
    if (q + 1 < width) power = power * place;
  }
  return sum;
}

std::vector<OwedWord> WindowLut(Trace& t, const CompiledFunction& c, const CutReading& entry, const Wire<kPub>& z,
                                int ring) {
  const PieceGrid g = GridOf(c, ring);
  const int width = g.width;
  SUF_CHECK(z.k() - entry.shift == c.f.n && g.p >= 1 && g.p <= kTableBits);
  const OpenedPiece piece = OpenPiece(t, g, entry, z);
  std::vector<uint64_t> tables;
  for (auto& column : g.tables) tables.insert(tables.end(), column.begin(), column.end());
  Const columns = t.constant(std::move(tables), {int64_t(g.tables.size()), int64_t{1} << g.p});
  const Reading read = ReadTables(t, piece.number, columns);
  Factors place;  // a public part, and SecretPowers' part
  if (piece.place) place = Lifted(piece.place->hat, piece.place->r, 0);
  const std::vector<Factors> powers = SecretPowers(g, place);
  const Pub public_place = piece.place ? *place[0].p : Pub();
  std::vector<OwedWord> out;
  for (int o = 0; o < c.f.outputs; ++o) {
    std::vector<Wire<kPub>> coefficients;
    for (int n = 0; n < width; ++n) {
      Sh sum = TaylorAt(read.values, int64_t(o) * width, width, n, public_place);
      coefficients.push_back(t.open(Low(sum, g.bits[size_t(o * width + n)]), n ? "V" : "U"));
    }
    WordSum y(t, ring);
    const Factor sign{1, 0, {}, read.sign, {}};
    for (int n = 0; n < width; ++n) y.Add(powers[size_t(n)], Opened(coefficients[size_t(n)], ring), sign);
    out.push_back(y.Done(z.shape()));
  }
  return out;
}

// Adds borrow x word x step, for an opened step to a neighbour's read, except for the step's mask. It adds word x mask
// to `masks`, which the borrow multiplies once.
static void AddStep(WordSum* y, const Borrow& borrow, Sec word, const Wire<kPub>& step, int ring, int sign,
                    std::optional<Sec>* masks) {
  for (const Factor& f : Opened(step, ring)) {
    if (!f.p) {
      Sec mask = word * *f.u;
      *masks = !*masks ? mask : sign < 0 ? **masks - mask : **masks + mask;
    } else if (f.shift < ring) {
      y->Add(borrow.Times(f.u ? word * *f.u : word, ring - f.shift), f.p, sign * f.sign, f.shift);
    }
  }
}

BothReads ReadBoth(Trace& t, const CompiledFunction& c, const PieceGrid& g, const Wire<kPub>& x, int cut, int ring,
                   Openings openings) {
  const int width = g.width;
  // the piece is that of `top`, or with a borrow the one below
  Wire<kPub> top{x.hat >> cut, x.r >> cut};
  std::vector<uint64_t> tables;
  for (size_t below : {0, 1})
    for (auto& column : g.tables)
      for (size_t v = 0; v < column.size(); ++v) tables.push_back(column[(v - below) & (column.size() - 1)]);
  const int64_t columns = int64_t(g.tables.size());
  Reading read = ReadTables(t, top, t.constant(std::move(tables), {2 * columns, int64_t{1} << g.p}));
  // The place is that of x_hat minus that of r, plus 2^a with the borrow. As an integer it does not wrap.
  std::array<Pub, 2> place;
  BothReads out;
  out.power.push_back(read.sign);
  if (width > 1) {
    place[0] = Lift(Low(x.hat, g.a));
    place[1] = place[0] + (int64_t{1} << g.a);
    Sec low = Lift(Low(x.r, g.a));
    for (int n = 1; n < width; ++n) out.power.push_back(out.power.back() * low);
  }
  // returns e times the n-th Taylor coefficient at the public place, in the whole ring
  auto taylor = [&](int o, int n, int64_t below) {
    return Low(TaylorAt(read.values, below * columns + o * width, width, n, place[size_t(below)]), ring);
  };
  for (int o = 0; o < c.f.outputs; ++o)
    for (int n = 0; n < width; ++n) {
      Sh here = taylor(o, n, 0), below = taylor(o, n, 1);
      const ReadRings w = ReadRingsOf(g, o, n, ring, openings);
      Wire<kPub> u = t.open(Low(here, w.here), "U");
      Sh step = below - here;
      out.reads.push_back({u, t.open(Low(step, w.step), "step")});
    }
  return out;
}

std::vector<OwedWord> WindowBoth(Trace& t, const CompiledFunction& c, const CutReading& entry, const Wire<kPub>& z,
                                 int ring, Openings openings) {
  const int s = entry.shift;
  const PieceGrid g = GridOf(c, ring);
  const int width = g.width, cut = s + g.a;
  SUF_CHECK(z.k() - s == c.f.n && g.a >= 1 && g.p >= 1 && g.p <= kTableBits && (s == 0 || width == 1));
  const std::vector<Cut> cuts{{cut, ring}};
  const int readings = entry.stages == Stages::kOne ? BothReadings(c, g) : 1;
  OpenedDigits d(t, z, t.constant(int64_t(entry.offset)), PlanDigits(cuts, entry.stages, readings));
  const BothReads both = ReadBoth(t, c, g, {d.hat(), d.r()}, cut, ring, openings);
  Borrow borrow(d, cut, entry.stages);
  std::vector<OwedWord> out;
  for (int o = 0; o < c.f.outputs; ++o) {
    WordSum y(t, ring);
    std::optional<Sec> masks;
    for (int n = 0; n < width; ++n) {
      const BothReads::Read& w = both.reads[size_t(o * width + n)];
      const int sign = n % 2 ? -1 : 1;
      y.Add(Opened(w.here, ring), Factor{sign, 0, {}, both.power[size_t(n)], {}});
      AddStep(&y, borrow, both.power[size_t(n)], w.step, ring, sign, &masks);
    }
    y.Add(borrow.Times(*masks, ring), std::nullopt, -1);
    out.push_back(y.Done(z.shape()));
  }
  return out;
}

bool ReadsOwnDigits(const CompiledFunction& c, const Lowering& l) {
  // behind a shift the place of a line has its own borrow, and WindowBoth would have to multiply by it
  return l.kind == Kind::kWindowLut || (l.kind == Kind::kWindowBoth && c.f.degree == 0);
}

std::vector<RowRun> RowRuns(std::span<const func::Octave> groups, int shift, int ring, Stages stages) {
  std::vector<Cut> cuts;  // the distinct piece widths
  for (const func::Octave& g : groups)
    if (shift + g.w > (cuts.empty() ? 0 : cuts.back().at)) cuts.push_back({shift + g.w, ring});
  if (cuts.empty()) return {};
  const int base = shift > 0 && stages != Stages::kThree ? std::min(64, cuts[0].at) : 0;
  if (base == 0)
    if (std::optional<DigitPlan> all = FindDigits(cuts, stages)) return {{cuts, *all}};
  // The best runs for the first cuts: key bits, the first cut of the last run, and that run.
  struct Best {
    int64_t bits = std::numeric_limits<int64_t>::max();
    size_t begin = 0;
    RowRun last;
  };
  std::vector<Best> best(cuts.size() + 1);  // by number of cuts
  best[0].bits = 0;
  for (size_t end = 1; end <= cuts.size(); ++end)
    for (size_t begin = end; begin-- > 0;) {
      RowRun run{{cuts.begin() + int64_t(begin), cuts.begin() + int64_t(end)}, {}};
      // In one stage three words take all monomials of a cut. They are e, e times the place's mask, and the owed part.
      const int readings = stages == Stages::kOne ? 3 : 1;
      std::optional<DigitPlan> plan = FindDigits(run.cuts, stages, readings, base);
      if (!plan) break;  // runs with more cuts have no plan either
      run.plan = *plan;
      int64_t bits = best[begin].bits + DigitsKeyBits(*plan, run.cuts, stages, readings);
      if (begin > 0 && plan->widths[0] == base) bits -= DigitKeyBits(base);  // shared with the first run
      if (bits < best[end].bits) best[end] = {bits, begin, std::move(run)};
    }
  std::vector<RowRun> out;
  for (size_t end = cuts.size(); end > 0; end = best[end].begin) {
    if (best[end].last.cuts.empty()) (void)PlanDigits({cuts[end - 1]}, stages);  // throws the reason
    out.push_back(best[end].last);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

ReadRings ReadRingsOf(const func::Octave& g, int n, int ring, Openings openings) {
  if (openings == Openings::kWide) return {ring, ring};
  using Wide = __int128;
  const size_t m = g.values.size();
  const bool whole = Wide(m) == Wide{1} << (n - g.w);
  // reads outside the group are 0; if the group covers the whole ring, its first and last place are neighbours
  Wide most = 0, change = 0, last = whole ? g.values[m - 1] : 0;
  auto see = [&](Wide v) {
    most = std::max(most, v < 0 ? -v : v);
    change = std::max(change, v < last ? last - v : v - last);
    last = v;
  };
  for (int64_t v : g.values) see(v);
  if (!whole) see(0);
  auto bits = [&](Wide x) {
    int b = 2;
    while (b < ring && (Wide{1} << (b - 2)) <= x) ++b;
    return b;
  };
  return {bits(most), bits(change)};
}

OwedWord RowLut(Trace& t, std::span<const func::Octave> groups, const WideWire& x, int shift, int ring,
                const Lowering& l) {
  const std::vector<RowRun> runs = RowRuns(groups, shift, ring, l.stages);
  std::vector<OpenedDigits> digits;
  for (const RowRun& run : runs) digits.emplace_back(t, x, run.plan);
  std::map<int, Borrow> borrows;  // by cut
  auto borrow = [&](int cut) -> const Borrow& {
    size_t run = 0;
    while (runs[run].cuts.back().at < cut) ++run;
    return borrows.try_emplace(cut, digits[run], cut, l.stages).first->second;
  };
  const bool one_tree = l.steps == StepSource::kParity;
  const int finest = groups.front().w;
  std::optional<Trace::Tree> tree;
  if (const int n = x.k() - shift - finest; one_tree && n > kTableBits) tree = t.tree(Field(x.r, shift + finest, n));
  WordSum y(t, ring);
  for (const func::Octave& g : groups) {
    int64_t m = g.hi - g.lo;
    std::vector<uint64_t> reversed(g.values.rbegin(), g.values.rend());
    const Const table = t.constant(reversed, {m});
    const int cut = shift + g.w;
    Sec alpha = Field(x.r, cut, x.k() - cut);
    Pub lo = Field(x.hat, cut, x.k() - cut);
    lo = lo - g.hi;
    Place place = tree ? Place(t, *tree, alpha, g.w - finest) : Place(t, alpha);
    // one window serves both neighbours, unless it would be longer than the table
    bool whole = m == int64_t{1} << alpha.bits();
    Sh bits = place.Read(whole ? lo + 1 : lo, int(whole ? m : m + 1));
    // the value of the piece at x_hat - r without a borrow; r1 below is that of the piece with one
    Sh r0 = ToAdditive(bits, [&](auto v) { return Dot(v, table, whole ? 0 : 1); });
    const ReadRings w = ReadRingsOf(g, x.k() - shift, ring, l.openings);
    Wire<kPub> here = t.open(Low(r0, w.here), "window sums");
    Factors e{{1, 0, {}, place.sign(), {}}};
    y.Add(Opened(here, ring), e);
    if (cut == 0) continue;
    if (whole) bits = place.Read(lo, int(m));
    Sh r1 = ToAdditive(bits, [&](auto v) { return Dot(v, table, 0); });
    Sh step = r1 - r0;
    Wire<kPub> below = t.open(Low(step, w.step), "window sums");
    const Borrow& c = borrow(cut);
    std::optional<Sec> masks;
    AddStep(&y, c, place.sign(), below, ring, 1, &masks);
    y.Add(c.Times(*masks, ring), std::nullopt, -1);
  }
  return y.Done();
}

}  // namespace internal
}  // namespace suf::compiler
