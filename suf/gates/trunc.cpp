#include "suf/gates/trunc.hpp"

#include <algorithm>

namespace suf::gates {

static_assert(Gate<Trunc> && Gate<Extend> && Gate<Slice>);

Ints Trunc::Spec(const Ints& z, int k) const {
  Ints out;
  for (int64_t v : z) {
    __int128 x = ring > k - shift ? __int128{v} : __int128{Word(v, k)};
    x += __int128{1} << (shift - 1);
    if (ring <= k - shift) x &= (__int128{1} << k) - 1;
    out.push_back(Number(uint64_t(x >> shift), ring));
  }
  return out;
}

OwedWord Trunc::Build(Trace& t, const Wire<kPub>& z) const {
  int k = z.k();
  bool wide = ring > k - shift;
  SUF_CHECK(shift >= 1 && shift < k && (!wide || shift <= k - 2));
  int64_t bias = (int64_t{1} << (shift - 1)) + (wide ? int64_t{1} << (k - 2) : 0);
  compiler::WordSum y(t, ring);
  if (stages == Stages::kNone) {
    Pub h = z.hat + t.constant(bias);
    y.Add(compiler::Lifted(h, z.r, bias, shift));
    y.Add(compiler::BorrowByDcf(t, h, z.r, shift, ring), std::nullopt, -1);
    return y.Done();
  }
  compiler::OpenedDigits d(t, z, t.constant(bias), compiler::PlanDigits({{shift, ring}}, stages));
  compiler::Borrow c(d, shift, stages);
  y.Add(compiler::Lifted(d.hat(), d.r(), bias, shift));
  y.Add(c.Share(ring), std::nullopt, -1);
  return y.Done();
}

int64_t Trunc::KeyBits(int k, bool shared) const {
  const int64_t words = std::max(0, ring - (k - shift)) + (shared ? ring : 0);
  if (stages == Stages::kNone) return words + compiler::BorrowByDcfKeyBits(shift, ring);
  std::vector<compiler::Cut> cuts{{shift, ring}};
  int64_t bits = compiler::DigitsKeyBits(compiler::PlanDigits(cuts, stages), cuts, stages);
  if (stages != Stages::kOne) bits += ring;
  return bits + words;
}

Ints Extend::Spec(const Ints& z, int) const {
  Ints out;
  for (int64_t v : z) out.push_back(Number(uint64_t(v), ring));
  return out;
}

// With h = z_hat + 2^(k-2), z = (h - 2^(k-2)) - r + 2^k (1 - MSB h) MSB r. The summand -r is owed.
OwedWord Extend::Build(Trace& t, const Wire<kPub>& z) const {
  SUF_CHECK(z.k() >= 2 && ring > z.k());
  compiler::WordSum y(t, ring);
  y.Add(compiler::Centred(z));
  return y.Done();
}

std::vector<compiler::Cut> Slice::Cuts() const {
  std::vector<compiler::Cut> cuts;
  if (begin > 0) cuts.push_back({begin, ring});
  if (ring > end - begin) cuts.push_back({end, ring - (end - begin)});
  return cuts;
}

Ints Slice::Spec(const Ints& z, int k) const {
  Ints out;
  for (int64_t v : z) {
    uint64_t x = Word(int64_t(uint64_t(v) + uint64_t(offset)), k);
    out.push_back(Number(x >> begin & ring::Mask(end - begin), ring));
  }
  return out;
}

OwedWord Slice::Build(Trace& t, const Wire<kPub>& z) const {
  std::vector<compiler::Cut> cuts = Cuts();
  SUF_CHECK(!cuts.empty());
  compiler::OpenedDigits d(t, z, t.constant(offset), compiler::PlanDigits(cuts, stages));
  std::optional<compiler::Borrow> low, high;
  if (begin > 0) low.emplace(d, begin, stages);
  if (ring > end - begin) high.emplace(d, end, stages);
  return compiler::Slice(d, begin, end, ring, low ? &*low : nullptr, high ? &*high : nullptr);
}

int64_t Slice::KeyBits(int, bool shared) const {
  std::vector<compiler::Cut> cuts = Cuts();
  int64_t bits = compiler::DigitsKeyBits(compiler::PlanDigits(cuts, stages), cuts, stages) + (shared ? ring : 0);
  if (stages != Stages::kOne)
    for (const compiler::Cut& c : cuts) bits += c.ring;
  return bits;
}

}  // namespace suf::gates
