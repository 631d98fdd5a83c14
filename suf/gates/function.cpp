#include "suf/gates/function.hpp"

#include <algorithm>
#include <bit>

namespace suf::gates {

static_assert(Gate<Function> && Gate<Split>);

namespace {

// OpenedBits: the ring in which a table's entries are opened: a gap of two bits about them.
int RingOf(const std::vector<uint64_t>& table) {
  return std::bit_width(*std::max_element(table.begin(), table.end())) + 2;
}

}  // namespace

Ints Function::Spec(const Ints& z, int k) const {
  const func::Evaluator at(f);
  Ints out;
  out.reserve(z.size());
  for (int64_t v : z)
    out.push_back(Number(at.At(Word(int64_t(uint64_t(v) + entry.offset), k) >> entry.shift), std::min(ring, f.ring)));
  return out;
}

Owing Function::Build(Trace& t, const Wire<kPub>& z) const {
  return compiler::Lower(t, compiler::Compile(f), {lowering, {}}, entry, z, ring).numbers.at(0);
}

int64_t Function::KeyBits(bool shared) const {
  return compiler::NumbersKeyBits(compiler::Compile(f), lowering, entry, ring) - (shared ? 0 : ring);
}

Ints Split::Spec(const Ints& i, const Ints& j) const {
  Ints out;
  for (size_t n = 0; n < i.size(); ++n) {
    uint64_t a = f.high[Word(i[n], std::countr_zero(f.high.size()))],
             b = f.low[Word(j[n], std::countr_zero(f.low.size()))];
    out.push_back(Number(f.kind == func::Split::kProduct ? a * b : a + b, ring));
  }
  return out;
}

Owing Split::Build(Trace& t, const Wire<kPub>& i, const Wire<kPub>& j) const {
  struct Read {
    compiler::Factors value;
    pfss::Sec sign;
  };
  auto read = [&](const Wire<kPub>& at, const std::vector<uint64_t>& table, const char* label) -> Read {
    pfss::Const c = t.constant(table, {1, int64_t(table.size())});
    compiler::Reading r = compiler::ReadTables(t, at, c);
    Sh one = At(r.values, 0);
    const int bits = RingOf(table);
    Wire<kPub> w = t.open(Low(one, std::min(bits, ring)), label);
    return {bits < ring ? compiler::Signed(w) : compiler::Factors{{1, 0, w.hat, {}, {}}, {-1, 0, {}, w.r, {}}}, r.sign};
  };
  Read low = read(j, f.low, "low");
  Read high = read(i, f.high, "high");
  compiler::Words y(t, ring);
  if (f.kind == func::Split::kProduct) {
    y.Add(high.value, low.value, {1, 0, {}, high.sign * low.sign, {}});
  } else {
    y.Add(high.value, {1, 0, {}, high.sign, {}});
    y.Add(low.value, {1, 0, {}, low.sign, {}});
  }
  return y.Done(i.shape());
}

int64_t Split::KeyBits() const {
  int64_t bits = int64_t(f.high.size() + f.low.size());
  // by wire: 1, r, and b where the value is narrower than the ring
  auto lost = [&](const std::vector<uint64_t>& table) {
    std::vector<int> out{0, 0};
    if (RingOf(table) < ring) out.push_back(RingOf(table));
    return out;
  };
  if (f.kind == func::Split::kProduct) {
    for (int x : lost(f.high))
      for (int y : lost(f.low)) bits += std::max(0, ring - x - y);
    return bits;
  }
  // e and its b by wire; both masks are one owed word
  bits += ring;
  for (auto* table : {&f.high, &f.low}) {
    bits += ring;
    if (RingOf(*table) < ring) bits += ring - RingOf(*table);
  }
  return bits;
}

}  // namespace suf::gates
