// A rig for tests of lowerings. It runs a function on a wire between two parties, on any backend, under masks that the
// test chooses. It also has random functions, and an evaluator that is independent of those of func and the compiler.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "suf/backends/every_test.hpp"
#include "suf/compiler/lower.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/func/text.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/reference/clear.hpp"
#include "suf/reference/myl7.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::compiler {

// The outputs and bits of a function at one x.
struct Meaning {
  std::vector<uint64_t> numbers;
  std::vector<bool> bits;
};
// Evaluates a function by its definition.
inline Meaning MeaningOf(const func::Suf& f, uint64_t x, int ring) {
  using func::Term;
  using Wide = unsigned __int128;
  const Wide whole = Wide{1} << f.n, cut = Wide{1} << ring;
  Meaning m;
  size_t piece = f.pieces.size();
  for (size_t i = 0; i < f.pieces.size(); ++i)
    if (f.pieces[i].begin <= x && x < f.end) piece = i;
  for (int o = 0; o < f.outputs; ++o) {
    uint64_t y = 0, power = 1;
    if (piece < f.pieces.size())
      for (uint64_t c : f.pieces[piece].poly[size_t(o)]) {
        y += c * power;
        power *= x - uint64_t(f.pieces[piece].begin);
      }
    m.numbers.push_back(uint64_t(Wide{y} % cut));
  }
  for (const func::Formula& g : f.formulas) {
    std::vector<bool> stack;
    for (const Term& t : g) {
      auto pop = [&] {
        bool b = stack.back();
        stack.pop_back();
        return b;
      };
      switch (t.kind) {
        case Term::kLt:
          stack.push_back(x < t.value);
          break;
        case Term::kLtLow:
          stack.push_back(Wide{x} % (Wide{1} << t.f) < t.value);
          break;
        case Term::kMsb:
          stack.push_back((Wide{x} + t.value) % whole >= whole / 2);
          break;
        case Term::kIn:
          stack.push_back(t.value <= x && x < t.upper);
          break;
        case Term::kTrue:
          stack.push_back(true);
          break;
        case Term::kFalse:
          stack.push_back(false);
          break;
        case Term::kNot:
          stack.back() = !stack.back();
          break;
        default: {
          bool b = pop(), a = pop();
          stack.push_back(t.kind == Term::kAnd ? a && b : t.kind == Term::kOr ? a || b : a != b);
        }
      }
    }
    m.bits.push_back(stack.back());
  }
  return m;
}

// Randomness in which P1's first section, the mask of its wire, has chosen words.
class ChosenMasks : public pfss::Randomness {
 public:
  ChosenMasks(std::unique_ptr<pfss::Randomness> rest, std::vector<uint64_t> words, int bits)
      : rest_(std::move(rest)),
        bytes_(bits <= 8    ? 1
               : bits <= 16 ? 2
               : bits <= 32 ? 4
                            : 8) {
    for (uint64_t w : words)
      for (size_t i = 0; i < bytes_; ++i) data_.push_back(uint8_t(w >> (8 * i)));
    data_.resize(data_.size() + 64);
  }
  std::unique_ptr<SectionReader> SectionAt(int party, int section) const override {
    if (party == 1 && section == 0) return std::make_unique<Chosen>(data_);
    return rest_->SectionAt(party, section);
  }
  std::array<uint8_t, 16> TreeKey() const override { return rest_->TreeKey(); }

 private:
  struct Chosen : SectionReader {
    explicit Chosen(const std::vector<uint8_t>& d) : data(d) {}
    void Fill(uint64_t offset, std::span<uint8_t> out) const override {
      std::copy_n(data.begin() + int64_t(offset), out.size(), out.begin());
    }
    const std::vector<uint8_t>& data;
  };
  std::unique_ptr<pfss::Randomness> rest_;
  size_t bytes_;
  std::vector<uint8_t> data_;
};

// Returns choices in which every lowering that applies occurs.
inline std::vector<Choice> Choices(const CompiledFunction& c) {
  std::vector<Choice> out;
  std::vector<Lowering> numbers, bits;
  for (const Lowering& l : AllForNumbers())
    if (WhyNotNumbers(c, l).empty()) numbers.push_back(l);
  for (const Lowering& l : AllForBits())
    if (WhyNotBits(c, l).empty()) bits.push_back(l);
  size_t most = std::max(numbers.size(), bits.size());
  for (size_t i = 0; i < most; ++i)
    out.push_back({numbers.empty() ? Lowering{} : numbers[i % numbers.size()],
                   bits.empty() ? Lowering{} : bits[i % bits.size()]});
  return out;
}

// The result of a run.
struct Ran {
  std::vector<Meaning> at;  // by element
  int64_t key_bits = 0;     // both bundles, all elements
  int flights = 0;
  Hash digest{};
  std::array<Bytes, 2> key;  // both bundles
};

// Emits a function at a wire.
using EmitShares = std::function<FunctionShares(Trace&, const Wire<kPub>&)>;

// Runs `emit` on x_i in Z_{2^k} under masks r_i, or random ones if r is empty. If `shared`, the wire is first opened
// again under masks of both parties.
inline Ran RunShares(const EmitShares& emit, int k, const std::vector<uint64_t>& x, const std::vector<uint64_t>& r,
                     pfss::Backend& backend, bool shared = false) {
  Trace t(backend.capabilities());
  run::Inputs inputs[3];
  inputs[1].Set("x", x);
  const int64_t n = int64_t(x.size());
  pfss::Own<1> v = t.input<pfss::kP1>("x", {n}, 64, 0);
  SharedWire<kPub> w = t.give<1>(v, k, "x");
  if (shared) {
    Sh again = -Sh(w.s) + w.hat;
    w = t.open(again, "again");
  }
  FunctionShares y = emit(t, w);
  const size_t outputs = y.numbers.size(), formulas = y.bits ? size_t(y.bits->y.bits()) : 0;
  if (!y.numbers.empty()) {
    std::vector<pfss::Own<0>> a;
    std::vector<pfss::Own<1>> b;
    for (const OwedWord& o : y.numbers) {
      Sh s = DealOwed(t, o);
      a.push_back(s.a);
      b.push_back(s.b);
    }
    pfss::Own<0> a0 = Stack(a);
    pfss::Own<1> b0 = Stack(b);
    t.reveal<1>({a0, b0});
  }
  if (y.bits) {
    Sh s = DealOwed(t, *y.bits);
    t.reveal<0>(pfss::Map(s, [](auto half) { return Unbits(half); }));
  }
  t.close();
  pfss::Schedule s(t);
  pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
  pfss::BundleSecrets secrets{{Secret(Hash{1, 2}), Secret(Hash{3, 4})}, Hash{5}};
  run::PairJob job{s, {&backend, &backend, &backend}, {&inputs[0], &inputs[1], &inputs[2]}, secrets};
  if (!r.empty())
    job.wrap = [&](Role, std::unique_ptr<pfss::Randomness> p) -> std::unique_ptr<pfss::Randomness> {
      return std::make_unique<ChosenMasks>(std::move(p), r, k);
    };
  run::PairRun run = run::RunPair(job);
  for (int p : {0, 1}) {
    EXPECT_EQ(run.online[size_t(p)], s.sent(p, true));
    EXPECT_EQ(int64_t(run.key[size_t(p)].size()), s.key_bytes(p));
  }
  Ran out{std::vector<Meaning>(x.size()), s.key_bits(0) + s.key_bits(1), s.flights(), t.digest(), run.key};
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t o = 0; o < outputs; ++o) out.at[i].numbers.push_back(run.result[1][o * x.size() + i]);
    for (size_t j = 0; j < formulas; ++j) out.at[i].bits.push_back(run.result[0][j * x.size() + i] != 0);
  }
  return out;
}

// Runs the function on x_i by a choice of lowerings, as RunShares.
inline Ran RunOn(const func::Suf& f, const Choice& choice, const std::vector<uint64_t>& x,
                 const std::vector<uint64_t>& r, int ring, pfss::Backend& backend, bool shared = false,
                 const CutReading& entry = {}, int k = 0) {
  const CompiledFunction c = Compile(f);
  const auto emit = [&](Trace& t, const Wire<kPub>& w) { return Lower(t, c, choice, entry, w, ring); };
  return RunShares(emit, k ? k : f.n, x, r, backend, shared);
}

// Compares every element with MeaningOf.
inline void ExpectMeaning(const func::Suf& f, const Ran& got, const std::vector<uint64_t>& x, int ring,
                          const std::string& what) {
  for (size_t i = 0; i < x.size(); ++i) {
    Meaning want = MeaningOf(f, x[i], ring);
    ASSERT_EQ(got.at[i].numbers, want.numbers) << what << " at " << x[i];
    ASSERT_EQ(got.at[i].bits, want.bits) << what << " at " << x[i];
  }
}

// The shape of a random function.
struct Shape {
  int n = 8, ring = 8, pieces = 3, degree = 1, outputs = 1, formulas = 1, depth = 3;
};
// Random parts of a function on n bits. Thresholds favour the ends and the middle of the domain.
struct RandomParts {
  int n;
  std::mt19937_64& rng;
  func::U128 whole = func::U128{1} << n;

  func::U128 Below(func::U128 m) { return func::U128(rng()) % m; }
  func::U128 Threshold() {
    const func::U128 special[] = {0, 1, whole / 2, whole, whole - 1, whole / 2 + 1};
    return rng() % 3 ? Below(whole + 1) : special[rng() % 6];
  }
  // Returns a comparison or a constant.
  func::Term Leaf() {
    using func::Term;
    switch (rng() % 6) {
      case 0:
      case 1:
        return {Term::kLt, 0, Threshold()};
      case 2: {
        int low = int(rng() % uint64_t(n)) + 1;
        return {Term::kLtLow, low, Below((func::U128{1} << low) + 1)};
      }
      case 3:
        return {Term::kMsb, 0, Below(whole)};
      case 4: {
        func::U128 a = Threshold(), b = Threshold();
        return {Term::kIn, 0, std::min(a, b), std::max(a, b)};
      }
      default:
        return {rng() % 2 ? Term::kTrue : Term::kFalse};
    }
  }
  // Appends a formula of at most `depth` levels of operators.
  void Append(func::Formula* g, int depth) {
    if (depth == 0 || rng() % 4 == 0) return g->push_back(Leaf());
    Append(g, depth - 1);
    if (rng() % 4 == 0) return g->push_back({func::Term::kNot});
    Append(g, depth - 1);
    const func::Term::Kind kinds[] = {func::Term::kAnd, func::Term::kOr, func::Term::kXor};
    g->push_back({kinds[rng() % 3]});
  }
};

// Returns a random function.
inline func::Suf RandomSuf(const Shape& s, std::mt19937_64& rng) {
  RandomParts random{s.n, rng};
  func::Suf f;
  f.name = "random";
  f.n = s.n;
  f.ring = s.ring;
  f.outputs = s.outputs;
  f.degree = s.degree;
  std::set<func::U128> begins{0};
  for (int i = 1; i < s.pieces; ++i) {
    func::U128 b = random.Threshold();
    if (b < random.whole) begins.insert(b);
    if (rng() % 4 == 0 && b + 1 < random.whole) begins.insert(b + 1);  // a piece of one element
  }
  for (func::U128 b : begins) {
    func::Piece p{b, {}};
    for (int o = 0; o < s.outputs; ++o) {
      p.poly.emplace_back();
      for (int i = 0; i <= s.degree; ++i)
        p.poly.back().push_back(s.ring == 64 ? rng() : rng() & ((uint64_t{1} << s.ring) - 1));
    }
    f.pieces.push_back(std::move(p));
  }
  f.end = rng() % 3 ? random.whole : std::max<func::U128>(f.pieces.back().begin + 1, random.Threshold());
  for (int i = 0; i < s.formulas; ++i) {
    f.formulas.emplace_back();
    random.Append(&f.formulas.back(), s.depth);
  }
  return f;
}

}  // namespace suf::compiler
