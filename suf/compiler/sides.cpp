#include "suf/compiler/sides.hpp"

#include <algorithm>
#include <bit>

#include "suf/compiler/bits.hpp"
#include "suf/compiler/lowerings/lowerings.hpp"
#include "suf/compiler/place.hpp"
#include "suf/pfss/poly.hpp"

namespace suf::compiler {

namespace {

using func::SideLine;
using internal::PieceGrid;

bool Sloped(const SideLine& l) { return l.rise != 0; }
bool Zero(const SideLine& l) { return l == SideLine{}; }
// Whether any line is not zero, so that the half of x is opened as a bit.
bool HasLines(const SidedFunction& f) { return !Zero(f.below) || !Zero(f.above); }
bool HasSlope(const SidedFunction& f) { return Sloped(f.below) || Sloped(f.above); }

// The bits of x from which on the sides differ, and their number. Pieces are at two values of these bits.
int TopAt(const SidedFunction& f) { return f.core.f.n - 1; }
int TopBits(const SidedFunction& f) { return f.n - TopAt(f); }

// Returns the cuts of the place, of the piece's number and of the top bits.
std::vector<Cut> CutsOf(const SidedFunction& f, const PieceGrid& g, int shift) {
  std::vector<Cut> cuts;
  const bool placed = g.width > 1;
  if (shift > 0 && (placed || HasSlope(f))) cuts.push_back({shift, placed ? g.a + 1 : 1});
  cuts.push_back({shift + g.a, g.p});
  cuts.push_back({shift + TopAt(f), TopBits(f)});
  return cuts;
}

// Returns the tests of the top bits of x: whether x is at the pieces. If `half`, also whether it is in the upper half.
CompiledFunction TestsOf(int bits, bool half) {
  using func::Term;
  const func::U128 middle = func::U128{1} << (bits - 1);
  func::Suf f{"sides", bits, 1, 0, 0, {}, middle * 2, {}, {}};
  f.formulas.push_back(func::Formula{Term{Term::kIn, 0, middle - 1, middle + 1}});
  if (half) f.formulas.push_back(func::Formula{Term{Term::kMsb, 0, 0}});
  return Compile(f);
}

// Returns an opened bit, or its complement, as summands.
Factors Chosen(const OpenedBit& b, bool complement) {
  if (!complement) return {{1, 0, b.hat, {}, {}}, {1, 0, b.sign, b.rho, {}}};
  Pub hat = 1 - b.hat;
  return {{1, 0, hat, {}, {}}, {-1, 0, b.sign, b.rho, {}}};
}

// Joins the summands without a public factor, whose words need not be dealt one by one.
Factors JoinWords(const Factors& sum) {
  Factors out;
  std::optional<Sec> joined;
  for (const Factor& f : sum) {
    if (f.p) {
      out.push_back(f);
      continue;
    }
    Sec word = *f.u << f.shift;
    if (!joined)
      joined = f.sign < 0 ? -word : word;
    else
      joined = f.sign < 0 ? *joined - word : *joined + word;
  }
  if (joined) out.push_back({1, 0, {}, joined, {}});
  return out;
}

// Adds bit x line. The place is floor(u / 2^s) of u = h - r, which is below half the ring if the bit is 1. So its wrap
// follows from top bits, as in a rescale. `borrow` is that at s, if s > 0.
void AddLine(Trace& t, WordSum* y, const SideLine& line, const Factors& bit, Pub h, Sec r, int s, const Borrow* borrow,
             int ring) {
  if (line.offset != 0) {
    Pub offset = t.constant(line.offset);
    y->Add(bit, Factors{{1, 0, offset, {}, {}}});
  }
  if (!Sloped(line)) return;
  const int shift = std::countr_zero(uint64_t(line.rise));
  if (shift >= ring) return;
  const int64_t odd = line.rise >> shift;
  Factors place = Lifted(h, r, 0, s);
  for (Factor& f : place) {
    f.shift += shift;
    f.p = f.p ? *f.p * odd : Pub(t.constant(odd));
  }
  y->Add(bit, place);
  if (s == 0) return;
  for (const Factor& f : bit) {
    Pub by = *f.p * odd;
    Sh word = f.u ? borrow->Times(*f.u, ring - shift) : borrow->Share(ring - shift);
    y->Add(word, by, -f.sign, shift);
  }
}

}  // namespace

SidedFunction SidesOf(const func::Lines& l, const std::string& name) {
  const size_t pieces = l.offset.size();
  const int around = l.a + std::countr_zero(pieces);
  SUF_CHECK(std::has_single_bit(pieces) && pieces >= 2 && l.rise.size() == pieces && around < l.bits && l.bits <= 63);
  const uint64_t half = uint64_t{1} << (l.bits - 1), core = uint64_t{1} << (around - 1);
  SidedFunction f{l.bits, l.below, l.above, {}};
  // the upper line begins behind the pieces; it is continued down to the middle
  f.above.offset = int64_t(uint64_t(l.above.offset) - uint64_t(l.above.rise) * core);
  std::vector<int64_t> offset(pieces), rise(pieces);
  for (size_t i = 0; i < pieces; ++i) {
    const bool upper = i >= pieces / 2;
    const SideLine& line = upper ? f.above : f.below;
    const uint64_t place = (uint64_t(i) << l.a) - core + (upper ? 0 : half);
    // pieces are read at the low bits of their number, which begin with the upper half
    const size_t at = i ^ (pieces / 2);
    offset[at] = int64_t(uint64_t(l.offset[i]) - uint64_t(line.offset) - uint64_t(line.rise) * place);
    rise[at] = int64_t(uint64_t(l.rise[i]) - uint64_t(line.rise));
  }
  f.core = Compile(func::Uniform(name, l.a, offset, rise, 64));
  return f;
}

std::string WhyNotSides(const SidedFunction& f, const Lowering& l) {
  if (l.kind != Kind::kWindowLut || l.openings != Openings::kWide) return "it has lines beside its pieces";
  const int p = f.core.f.n - f.core.grid();
  if (p < 2) return Str("it has 2^", p, " different pieces around zero, and 2^2 are the least");
  return WhyNotNumbers(f.core, l);
}

// The top bits of x tell apart the pieces, the half below and the half above. They are opened beside the number of the
// piece, which is read modulo the number of pieces. A table at their mask gives the bits that choose.
OwedWord LowerSides(Trace& t, const SidedFunction& f, const CutReading& entry, const Wire<kPub>& z, int ring) {
  const PieceGrid g = internal::GridOf(f.core, ring);
  const int s = entry.shift, k = z.k(), top = TopAt(f), width = g.width;
  SUF_CHECK(k - s == f.n && f.core.f.n < f.n && g.p >= 2 && g.p <= kTableBits && width <= 2);
  const bool placed = width > 1, borrows = s > 0 && HasSlope(f);
  Const offset = t.constant(int64_t(entry.offset));
  OpenedDigits d(t, z, offset, PlanDigits(CutsOf(f, g, s), entry.stages));
  // the lines wait for the pieces, so their borrow is opened in a second stage
  std::optional<Borrow> below, later;
  if (s > 0 && placed) below.emplace(d, s, entry.stages);
  if (borrows && (!placed || entry.stages == Stages::kOne)) later.emplace(d, s, std::max(entry.stages, Stages::kTwo));
  const Borrow at_piece(d, s + g.a, entry.stages), at_top(d, s + top, entry.stages);

  std::optional<Wire<kPub>> place;
  if (placed) {
    OwedWord low = Slice(d, s, s + g.a, g.a + 1, below ? &*below : nullptr, &at_piece);
    place = OpenDefined(t, low, "low digit");
  }
  OwedWord number = Slice(d, s + g.a, s + f.core.f.n, g.p, &at_piece, nullptr);
  const Wire<kPub> piece = OpenDefined(t, number, "piece");
  OwedWord high = Slice(d, s + top, k, TopBits(f), &at_top, nullptr);
  const Wire<kPub> top_bits = OpenDefined(t, high, "top digit");

  std::vector<uint64_t> tables;
  for (auto& column : g.tables) tables.insert(tables.end(), column.begin(), column.end());
  Const columns = t.constant(std::move(tables), {int64_t(g.tables.size()), int64_t{1} << g.p});
  const Reading read = ReadTables(t, piece, columns);
  Factors lifted;
  if (placed) lifted = Lifted(place->hat, place->r, 0);
  const std::vector<Factors> powers = internal::SecretPowers(g, lifted);
  const Pub public_place = placed ? *lifted[0].p : Pub();
  std::vector<Wire<kPub>> coefficients;
  for (int n = 0; n < width; ++n) {
    Sh sum = internal::TaylorAt(read.values, 0, width, n, public_place);
    coefficients.push_back(t.open(Low(sum, g.bits[size_t(n)]), n ? "V" : "U"));
  }
  const CompiledFunction tests = TestsOf(TopBits(f), HasLines(f));
  WireBits reader(t, top_bits, tests, StepSource::kParity, tests.bits);
  OwedWord string = reader.ReadString(tests.bits);
  const std::vector<OpenedBit> bits = SplitBits(OpenDefined(t, string, "sides"));

  Factors value;
  for (int n = 0; n < width; ++n)
    for (const Factor& power : powers[size_t(n)])
      for (const Factor& read_at : Opened(coefficients[size_t(n)], ring)) {
        Factor term = power * read_at;
        value.push_back(term * Factor{1, 0, {}, read.sign, {}});
      }
  WordSum y(t, ring);
  y.Add(Chosen(bits[0], false), JoinWords(value));
  for (bool upper : {false, true}) {
    const SideLine& line = upper ? f.above : f.below;
    if (Zero(line)) continue;
    Pub h = d.hat();
    if (upper) h = h + int64_t(uint64_t{1} << (k - 1));
    const Borrow* borrow = later ? &*later : below ? &*below : nullptr;
    AddLine(t, &y, line, Chosen(bits[1], !upper), h, d.r(), s, borrow, ring);
  }
  return y.Done(z.shape());
}

int64_t SidesKeyBits(const SidedFunction& f, const CutReading& e, int ring) {
  const PieceGrid g = internal::GridOf(f.core, ring);
  const std::vector<Cut> cuts = CutsOf(f, g, e.shift);
  const DigitPlan plan = PlanDigits(cuts, e.stages);
  const bool placed = g.width > 1, one = e.stages == Stages::kOne, borrows = e.shift > 0 && HasSlope(f);
  // the widest ring of a word of a line: its slope's powers of two are left out
  int sloped = 0;
  for (const SideLine& l : {f.below, f.above})
    if (Sloped(l)) sloped = std::max(sloped, ring - std::countr_zero(uint64_t(l.rise)));
  const bool constant = f.below.offset != 0 || f.above.offset != 0;
  auto word = [](int bits) { return int64_t(std::max(0, bits)); };

  int64_t bits = (int64_t{1} << g.p) + DigitsKeyBits(plan, cuts, e.stages);
  if (!one) {  // the masks of the borrows
    const int at_shift = std::max(placed ? g.a + 1 : 0, borrows ? sloped : 0);
    bits += (e.shift > 0 ? at_shift : 0) + g.p + TopBits(f);
  } else if (borrows) {  // the borrow of the lines, by bits of the same digits
    for (int j = 0, at = 0; at < e.shift; at += plan.widths[size_t(j++)]) bits += j == 0 ? 0 : pfss::GroupBits(j);
    bits += word(sloped);
  }
  // words of the pieces: each alone and times the bit
  int64_t words = 2 * int64_t(ring);  // e, and e times the masks
  auto lifted = [&](int lost, int read) {
    if (read < ring) words += word(ring - lost - read);
  };
  lifted(0, g.bits[0]);
  if (placed) {
    words += ring + 2 * word(ring - g.a - 1);  // e r, e b, and e b times the mask of V
    lifted(0, g.bits[1]);
    lifted(g.a + 1, g.bits[1]);
  }
  bits += 2 * words;
  // words of the lines: rho, r, its top bit, and rho times both and times the borrow's mask
  if (constant || sloped > 0) bits += constant ? ring : word(sloped);
  if (sloped > 0) bits += 2 * word(sloped) + 2 * word(sloped - f.n) + (borrows ? word(sloped) : 0);
  return bits + PlaceKeyBits(TopBits(f)) + (HasLines(f) ? PlaceKeyBits(TopBits(f) - 1) : 0);
}

}  // namespace suf::compiler
