#include "suf/gates/function.hpp"

#include <algorithm>
#include <bit>

#include "suf/compiler/place.hpp"

namespace suf::gates {

static_assert(Gate<FunctionGate> && Gate<SplitGate>);

namespace {

// Returns the ring in which the entries of a table are opened, with a gap of two bits.
int RingOf(const std::vector<uint64_t>& table) {
  return std::bit_width(*std::max_element(table.begin(), table.end())) + 2;
}

// Returns whether a table is dealt whole, rotated: above 10 bits. A smaller one is read by a one-hot table at the
// index.
bool Whole(const std::vector<uint64_t>& table) { return table.size() > size_t{1} << compiler::kTableBits; }

}  // namespace

Ints FunctionGate::Spec(const Ints& z, int k) const {
  const func::Evaluator at = f.f.pieces.empty() ? func::Evaluator(f.groups, f.f.n, f.f.ring) : func::Evaluator(f.f);
  const int to = std::min(ring, f.f.ring);
  Ints out;
  out.reserve(z.size());
  for (int64_t v : z) out.push_back(Number(at.At(Word(int64_t(uint64_t(v) + entry.offset), k) >> entry.shift), to));
  return out;
}

OwedWord FunctionGate::Build(Trace& t, const Wire<kPub>& z) const {
  return compiler::Lower(t, f, {lowering, {}}, entry, z, ring).numbers.at(0);
}

int64_t FunctionGate::KeyBits(bool shared) const {
  return compiler::NumbersKeyBits(f, lowering, entry, ring) - (shared ? 0 : ring);
}

Ints SplitGate::Spec(const Ints& i, const Ints& j) const {
  Ints out;
  for (size_t n = 0; n < i.size(); ++n) {
    uint64_t a = f.high[Word(i[n], std::countr_zero(f.high.size()))],
             b = f.low[Word(j[n], std::countr_zero(f.low.size()))];
    out.push_back(Number(f.kind == func::Split::kProduct ? a * b : a + b, ring));
  }
  return out;
}

OwedWord SplitGate::Build(Trace& t, const Wire<kPub>& i, const Wire<kPub>& j) const {
  auto read = [&](const Wire<kPub>& at, const std::vector<uint64_t>& table, const char* label) -> compiler::Factors {
    const int bits = std::min(RingOf(table), ring);
    if (Whole(table)) {
      pfss::Const c = t.constant(table, {int64_t(table.size())});
      pfss::Dealt turned = t.deal(Turn(Low(at.r, at.k()), c), bits);
      return compiler::Opened(t.open(pfss::Map(Sh(turned), [&](auto half) { return Take(half, at.hat); }), label),
                              ring);
    }
    pfss::Const c = t.constant(table, {1, int64_t(table.size())});
    compiler::Reading r = compiler::ReadTables(t, at, c);
    Sh one = At(r.values, 0);
    compiler::Factors out = compiler::Opened(t.open(Low(one, bits), label), ring);
    for (compiler::Factor& w : out) w = w * compiler::Factor{1, 0, {}, r.sign, {}};
    return out;
  };
  compiler::Factors low = read(j, f.low, "low");
  compiler::Factors high = read(i, f.high, "high");
  compiler::WordSum y(t, ring);
  if (f.kind == func::Split::kProduct) {
    y.Add(high, low);
  } else {
    y.Add(high);
    y.Add(low);
  }
  return y.Done(i.shape());
}

int64_t SplitGate::KeyBits() const {
  int64_t bits = 0;
  // words of a wire, as lost bits: 1, r, and b if the value is narrower than the ring
  auto lost = [&](const std::vector<uint64_t>& table) {
    std::vector<int> out{0, 0};
    if (RingOf(table) < ring) out.push_back(RingOf(table));
    return out;
  };
  for (auto* table : {&f.high, &f.low})
    bits += int64_t(table->size()) * (Whole(*table) ? std::min(RingOf(*table), ring) : 1);
  if (f.kind == func::Split::kProduct) {
    for (int x : lost(f.high))
      for (int y : lost(f.low)) bits += std::max(0, ring - x - y);
    if (!Whole(f.high) || !Whole(f.low)) return bits;
    // without signs 1 is public, and a mask in the ring itself is shared by its openers
    return bits - ring * (1 + (RingOf(f.high) >= ring) + (RingOf(f.low) >= ring));
  }
  // e and e b for each wire; both masks are one owed word
  bits += ring;
  for (auto* table : {&f.high, &f.low}) {
    if (!Whole(*table)) bits += ring;
    if (RingOf(*table) < ring) bits += ring - RingOf(*table);
  }
  return bits;
}

}  // namespace suf::gates
