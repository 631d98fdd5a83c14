// Wide sums, and row functions behind a shift, against 128-bit arithmetic. Small rings have every value under every
// mask, and limbs of a few bits, so that every carry occurs. Rings of up to 128 bits have random values. Each run
// passes the lint, and its sent bits and key bits are checked.
#include "suf/compiler/wide.hpp"

#include "suf/compiler/rig_test.hpp"
#include "suf/func/fit.hpp"
#include "suf/pfss/sent_test.hpp"

namespace suf::compiler {
namespace {

using U128 = unsigned __int128;
using Values = std::vector<uint64_t>;

U128 MaskOf(int bits) { return bits == 128 ? ~U128{0} : (U128{1} << bits) - 1; }

// A trace in which P1 gives a wire of k bits under chosen masks, and its run.
struct Bench {
  Trace t;
  run::Inputs inputs[3];
  std::optional<pfss::Schedule> schedule;
  Values masks;
  int k = 0;

  SharedWire<kPub> Give(const Values& x, const Values& r, int bits, pfss::Shape shape) {
    masks = r;
    k = bits;
    inputs[1].Set("x", x);
    pfss::Own<1> v = t.input<pfss::kP1>("x", std::move(shape), 64, 0);
    return t.give<1>(v, k, "x");
  }
  Values Run(pfss::Backend& backend, uint8_t serial = 1) {
    t.close();
    schedule.emplace(t);
    pfss::LintReport lint = pfss::Lint(*schedule);
    EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
    pfss::BundleSecrets secrets{{Secret(Hash{1, serial}), Secret(Hash{3, serial})}, Hash{serial}};
    run::PairJob job{*schedule, {&backend, &backend, &backend}, {&inputs[0], &inputs[1], &inputs[2]}, secrets};
    if (!masks.empty())
      job.wrap = [&](Role, std::unique_ptr<pfss::Randomness> p) -> std::unique_ptr<pfss::Randomness> {
        return std::make_unique<ChosenMasks>(std::move(p), masks, k);
      };
    run::PairRun run = run::RunPair(job);
    for (int p : {0, 1}) EXPECT_EQ(run.online[size_t(p)], schedule->sent(p, true));
    return run.result[1];
  }
  int64_t key_bits() const { return schedule->key_bits(0) + schedule->key_bits(1); }
  int64_t sent(const std::string& label) const { return pfss::SentUnder(*schedule, label); }
};

// Reveals all limbs of a wide wire and of its mask, as words of 64 bits.
void Reveal(Trace& t, const WideWire& v) {
  std::vector<pfss::Own<0>> a;
  std::vector<pfss::Own<1>> b;
  auto push = [&](const Sh& s) {
    a.push_back(s.a);
    b.push_back(s.b);
  };
  for (const Pub& limb : v.hat.limbs) push(Zeros(t, limb.shape(), 64) + Lift(limb));
  for (const Sec& limb : v.r.limbs) push(t.deal(Lift(limb), 64));
  pfss::Own<0> a0 = Stack(a);
  pfss::Own<1> b0 = Stack(b);
  t.reveal<1>({a0, b0});
}
// Returns the numbers of the words that Reveal revealed.
std::vector<U128> Opened(const Values& words, const WideWire& v, size_t count) {
  const size_t limbs = v.hat.limbs.size();
  std::vector<U128> out(count);
  for (size_t i = 0; i < limbs; ++i)
    for (size_t j = 0; j < count; ++j) {
      EXPECT_EQ(words[i * count + j] >> LimbBits(v.hat.radix, v.k(), int(i)), 0u);
      out[j] += U128(words[i * count + j]) << (v.hat.radix * int(i));
      out[j] -= U128(words[(limbs + i) * count + j]) << (v.hat.radix * int(i));
    }
  for (U128& x : out) x &= MaskOf(v.k());
  return out;
}

std::vector<U128> Squares(const Values& x, size_t d, const SumOfSquares& s) {
  std::vector<U128> out(x.size() / d, U128(uint64_t(s.extra)) << s.shift);
  for (size_t i = 0; i < x.size(); ++i) {
    const __int128 v = int64_t(x[i]);
    out[i / d] += U128(v * v);
  }
  for (U128& v : out) v &= MaskOf(s.bits);
  return out;
}

// Checks rows of d numbers under masks r.
void ExpectSquares(const Values& x, const Values& r, int64_t d, int k, const SumOfSquares& s, pfss::Backend& backend,
                   uint8_t serial = 1) {
  Bench b;
  const int64_t rows = int64_t(x.size()) / d;
  const SharedWire<kPub> z = b.Give(x, r, k, {rows, d});
  const int64_t bias = int64_t{1} << (k - 2);
  const WideWire v = s.Open(b.t, z.hat + bias, z.r, bias, "squares");
  EXPECT_EQ(v.k(), s.bits);
  Reveal(b.t, v);
  const Values words = b.Run(backend, serial);
  ASSERT_EQ(Opened(words, v, size_t(rows)), Squares(x, size_t(d), s)) << k << " " << s.bits << " " << s.radix;
  EXPECT_EQ(b.key_bits(), int64_t(x.size()) * s.KeyBits(k) + rows * 64 * int64_t(v.hat.limbs.size()));
  EXPECT_EQ(b.sent("squares"), 2 * rows * s.bits);
  EXPECT_EQ(b.schedule->flights(), 2);  // P1 sends x and its share of the sum; P0 sends its share
}

// Every z in the gap under every mask, in limbs of one bit and more, alone and in rows.
TEST(Wide, SquaresExhaustive) {
  for (auto& backend : backends::Every())
    for (int k : {3, 4, 5})
      for (int64_t d : {1, 4})
        for (int radix : {1, 2, 3, 5})
          for (int bits : {k + 1, k + 2, 2 * k, 2 * k + 3}) {
            Values x, r;
            for (int64_t v = -(int64_t{1} << (k - 2)); v < int64_t{1} << (k - 2); ++v)
              for (uint64_t m = 0; m < uint64_t{1} << k; ++m) {
                x.push_back(uint64_t(v));
                r.push_back(m);
              }
            if (d > 1)  // so that rows do not have the same value under consecutive masks
              for (size_t i = 0, j; i < x.size(); i += 3) {
                j = i * 7919 % x.size();
                std::swap(x[i], x[j]);
                std::swap(r[i], r[j]);
              }
            for (uint8_t serial : {1, 2})
              ExpectSquares(x, r, d, k, {radix, bits, radix > 1 ? 3 : 0, 1}, *backend, serial);
          }
}

// Rings of up to 128 bits. Limbs are the widest for rows of `d`, and terms of the wrap are below and above 64 bits.
TEST(Wide, SquaresToHundredTwentyEightBits) {
  std::mt19937_64 rng(5);
  auto backend = cpu::MakePacked(exec::Default());
  for (int bits : {65, 96, 121, 127, 128})
    for (int k : {33, 47, 60, 62, 63}) {
      if (bits <= k) continue;
      for (int64_t d : {3, 100}) {
        Values x, r;
        const int64_t top = (int64_t{1} << (k - 2)) - 1;
        for (int64_t i = 0; i < 4 * d; ++i) {
          const int64_t v = i < d ? (i % 2 ? top : -top - 1) : int64_t(rng() % uint64_t(2 * top + 2)) - top - 1;
          x.push_back(uint64_t(v));
          r.push_back(i % 5 ? rng() & ring::Mask(k) : ring::Mask(k) * (i % 2));
        }
        const int radix = SumOfSquares::Radix(d, k);
        ExpectSquares(x, r, d, k, {radix, bits, 12345, bits - 40}, *backend);
      }
    }
}

// With the widest limbs a column of the longest row stays below 2^64.
TEST(Wide, Radix) {
  EXPECT_EQ(SumOfSquares::Radix(384, 60), 26);
  EXPECT_EQ(SumOfSquares::Radix(768, 60), 25);
  EXPECT_EQ(SumOfSquares::Radix(4096, 60), 24);
  EXPECT_EQ(SumOfSquares::Radix(1 << 20, 60), 20);
  for (int64_t d : {1, 384, 409, 410, 1638, 4096, 1 << 20}) {
    const int radix = SumOfSquares::Radix(d, 63);
    const U128 limb = (U128{1} << radix) - 1;
    EXPECT_LT(3 * Limbs(radix, 64) * limb * limb * U128(d) + (U128{1} << (64 - radix)) + 8 * limb, U128{1} << 64);
  }
}

// Returns the value of a function on octaves.
uint64_t RowAt(const std::vector<func::Octave>& groups, uint64_t u) {
  for (const func::Octave& g : groups)
    if (u >> g.w < uint64_t(g.hi)) return uint64_t(g.values[size_t(int64_t(u >> g.w) - g.lo)]);
  return 0;
}
// Splits an ordinary wire into limbs of a few bits.
WideWire InLimbs(const Wire<kPub>& x, int radix) {
  WideWire out;
  out.hat = {radix, x.k(), {}};
  out.r = {radix, x.k(), {}};
  for (int at = 0; at < x.k(); at += radix) {
    const int bits = std::min(radix, x.k() - at);
    Pub hat = Low(x.hat >> at, bits);
    Sec r = Low(x.r >> at, bits);
    out.hat.limbs.push_back(hat);
    out.r.limbs.push_back(r);
  }
  return out;
}

std::vector<Lowering> RowReads() {
  std::vector<Lowering> out{{Kind::kStepDcf}};
  for (StepSource trees : {StepSource::kDigits, StepSource::kParity})
    for (Stages stages : {Stages::kOne, Stages::kTwo, Stages::kThree}) out.push_back({Kind::kRowLut, trees, stages});
  return out;
}

CompiledFunction RowOf(const std::vector<func::Octave>& groups, int n, const Lowering& l) {
  return l.kind == Kind::kRowLut ? OnOctaves("row", groups, n, 64) : Compile(func::FromGroups("row", groups, n, 64));
}

void ExpectRow(const Values& x, const Values& r, int k, int radix, int shift, const std::vector<func::Octave>& groups,
               const Lowering& l, pfss::Backend& backend) {
  Bench b;
  const SharedWire<kPub> z = b.Give(x, r, k, {int64_t(x.size())});
  const CompiledFunction c = RowOf(groups, k - shift, l);
  const int ring = 20;
  b.t.reveal<1>(DealOwed(b.t, LowerRow(b.t, c, l, InLimbs(z, radix), shift, ring)));
  const Values got = b.Run(backend);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(got[i] & ring::Mask(ring), RowAt(groups, x[i] >> shift) & ring::Mask(ring))
        << x[i] << " under " << (r.empty() ? 0 : r[i]) << ", shift " << shift << ", " << Name(l);
  EXPECT_EQ(b.key_bits(), int64_t(x.size()) * RowKeyBits(c, l, shift, ring)) << shift << " " << Name(l);
  EXPECT_EQ(b.schedule->flights(), l.stages == Stages::kOne ? 2 : 4) << Name(l);  // one is that of P1's x
}

// Every x under every mask behind every shift, read at the wire itself.
TEST(Wide, RowsExhaustive) {
  auto backend = reference::MakeClear();
  for (int shift : {1, 2, 3}) {
    const int k = 4 + shift;
    const auto groups = func::FitOctaves([](double v) { return 900 / (v + 1); }, 2, 4, 1, 1).f;
    Values x, r;
    for (uint64_t v = 0; v < uint64_t{1} << k; ++v)
      for (uint64_t m = 0; m < uint64_t{1} << k; ++m) {
        x.push_back(v);
        r.push_back(m);
      }
    for (const Lowering& l : RowReads())
      for (int radix : {2, 64}) ExpectRow(x, r, k, radix, shift, groups, l, *backend);
  }
}

// Shifts that are read by a tree: x near every cut and at random.
TEST(Wide, RowsBehindTrees) {
  std::mt19937_64 rng(11);
  auto backend = cpu::MakePacked(exec::Default());
  for (auto [k, shift] : {std::pair{24, 9}, {40, 20}, {60, 31}, {62, 3}, {64, 48}}) {
    const int n = k - shift;
    const auto groups =
        func::FitOctaves([&](double v) { return std::ldexp(1, n) / (v + 1); }, n / 3, n, 2, 3, func::Measure::kNone).f;
    Values x, r;
    for (const func::Octave& g : groups)
      for (int d = -2; d <= 2; ++d)
        for (uint64_t m : {uint64_t{0}, ring::Mask(k), uint64_t(rng()) & ring::Mask(k)}) {
          x.push_back(((uint64_t(g.lo) << (g.w + shift)) + uint64_t(d)) & ring::Mask(k));
          r.push_back(m);
        }
    while (x.size() < 200) {
      x.push_back(rng() & ring::Mask(k) >> rng() % uint64_t(n));
      r.push_back(rng() & ring::Mask(k));
    }
    for (const Lowering& l : RowReads()) ExpectRow(x, r, k, 26, shift, groups, l, *backend);
  }
}

// At commit 5973ede, bits that a number lacks were read past its limbs.
TEST(Wide, AFieldOutsideItsNumberIsRefused) {
  Trace t;
  const Wide<kPub> x{26, 40, {t.constant(1), t.constant(2)}};
  EXPECT_NO_THROW(Field(x, 20, 20));
  for (auto [begin, bits] : {std::pair{20, 21}, {40, 1}, {63, 2}, {-1, 3}, {0, 0}, {0, 65}}) try {
      Field(x, begin, bits);
      ADD_FAILURE() << begin << " " << bits;
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kRefused);
      EXPECT_EQ(std::string(e.what()),
                Str("bits ", begin, " to ", begin + bits - 1, " are read of a number of 40 bits; make ",
                    "a plan whose wires are as wide as what reads them"));
    }
}

// Compares 1[(h - t) mod 2^n < r] for every h and every r, in halves of few bits, on every backend.
TEST(Wide, ComparisonsOfHalvesExhaustive) {
  const auto every = backends::Every();
  for (int half : {1, 3, 4}) {
    const int n = 2 * half;
    const uint64_t all = uint64_t{1} << n, mask = all - 1;
    Values x, r, thresholds, pairs;
    for (uint64_t v = 0; v < all; ++v)
      for (uint64_t m = 0; m < all; ++m) {
        x.push_back(v);
        r.push_back(m);
      }
    for (uint64_t v : {uint64_t{0}, uint64_t{1}, mask >> half, (mask >> half) + 1, mask, uint64_t{37} & mask}) {
      thresholds.push_back(v);
      pairs.push_back(v >> half);
      pairs.push_back(v & mask >> half);
    }
    for (auto& backend : every) {
      Bench b;
      const int64_t count = int64_t(x.size());
      const SharedWire<kPub> z = b.Give(x, r, n, {count});
      auto halves = [&](auto v) { return Stack(std::vector{v >> half, Low(v, half)}); };
      Sec one = Broadcast(b.t.constant(1), {count});
      const Trace::Comparison key = b.t.comparison(halves(z.r), Stack(std::vector{one}), 20);
      b.t.reveal<1>(b.t.below(key, halves(z.hat), pairs));
      const Values got = b.Run(*backend);
      ASSERT_EQ(got.size(), x.size() * thresholds.size());
      for (size_t i = 0; i < got.size(); ++i) {
        const uint64_t h = x[i % x.size()] + r[i % x.size()], t = thresholds[i / x.size()];
        ASSERT_EQ(got[i], ((h - t) & mask) < r[i % x.size()]) << half << " " << h << " " << t;
      }
      EXPECT_EQ(b.key_bits(), 2 * count * int64_t(fss::DcfKeyBits(n, 1, 20)));
    }
  }
}

// A row function of a sum of squares with more than 64 bits. Some of its digits are trees.
TEST(Wide, RowsOfWideSums) {
  std::mt19937_64 rng(3);
  auto backend = cpu::MakePacked(exec::Default());
  for (int bits : {65, 96, 121, 127, 128})
    for (const Lowering& l : RowReads()) {
      if (l.stages == Stages::kThree && bits > 100) continue;
      const int k = 60, n = 30, shift = bits - n;
      const auto groups =
          func::FitOctaves([&](double v) { return std::ldexp(1, n) / (v + 1); }, 12, n, 3, 4, func::Measure::kNone).f;
      const SumOfSquares s{SumOfSquares::Radix(3, k), bits, 7, shift};
      Values x;
      for (int i = 0; i < 90; ++i) x.push_back(uint64_t(int64_t(rng()) >> (6 + i % 50)));
      Bench b;
      const SharedWire<kPub> z = b.Give(x, {}, k, {30, 3});
      const int64_t bias = int64_t{1} << (k - 2);
      const WideWire v = s.Open(b.t, z.hat + bias, z.r, bias, "squares");
      const CompiledFunction c = RowOf(groups, n, l);
      b.t.reveal<1>(DealOwed(b.t, LowerRow(b.t, c, l, v, shift, 40)));
      const Values got = b.Run(*backend);
      const std::vector<U128> sums = Squares(x, 3, s);
      for (size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(got[i], RowAt(groups, uint64_t(sums[i] >> shift))) << bits << " " << Name(l);
      EXPECT_EQ(b.key_bits(), 90 * s.KeyBits(k) + 30 * RowKeyBits(c, l, shift, 40)) << bits << " " << Name(l);
    }
}

}  // namespace
}  // namespace suf::compiler
