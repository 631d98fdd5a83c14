#include "suf/func/split.hpp"

#include <algorithm>

#include "suf/ring/modular.hpp"

namespace suf::func {

namespace {

// Returns the bits of the index of `low`.
int LowBits(const Split& f) { return f.kind == Split::kSum ? f.n - f.c + f.a : f.a; }

void VerifyTable(const Split& f, const char* which, int bits, const std::vector<uint64_t>& values) {
  if (bits > 16)
    Fail(Cause::kInput, "the table ", which, " of ", f.name, " is read at ", bits,
         " bits; at most 16 are, so move the cut");
  if (values.size() != size_t{1} << bits)
    Fail(Cause::kInput, "the table ", which, " of ", f.name, " has ", values.size(), " values; give 2^", bits);
  for (uint64_t v : values)
    if (v > ring::Mask(f.ring))
      Fail(Cause::kInput, "a value of the table ", which, " of ", f.name, " has more than ", f.ring,
           " bits; reduce it modulo 2^", f.ring);
}

}  // namespace

void Verify(const Split& f) {
  if (!IsWord(f.name))
    Fail(Cause::kInput, "a function needs a name without spaces, control characters and a # in front, of 1 to ",
         kMostName, " bytes; this one's has ", f.name.size());
  if (f.n < 1 || f.n > 64) Fail(Cause::kInput, "the domain of ", f.name, " has ", f.n, " bits; use 1 to 64");
  if (f.ring < 1 || f.ring > 64) Fail(Cause::kInput, "the ring of ", f.name, " has ", f.ring, " bits; use 1 to 64");
  if (f.a < 0 || f.a > f.n) Fail(Cause::kInput, f.name, " is cut at bit ", f.a, " of ", f.n, "; use 0 to ", f.n);
  if (f.kind == Split::kSum && (f.c < f.a || f.c > f.n))
    Fail(Cause::kInput, "the slope's bits of ", f.name, " begin at bit ", f.c, "; use ", f.a, " to ", f.n);
  VerifyTable(f, "high", f.n - f.a, f.high);
  VerifyTable(f, "low", LowBits(f), f.low);
}

uint64_t Evaluate(const Split& f, uint64_t x) {
  SUF_CHECK(x <= ring::Mask(f.n));
  auto from = [&](int bit) { return bit >= 64 ? 0 : x >> bit; };
  const uint64_t high = f.high[from(f.a)], rest = x & ring::Mask(f.a);
  if (f.kind == Split::kProduct) return high * f.low[rest] & ring::Mask(f.ring);
  return (high + f.low[(f.c < f.n ? from(f.c) << f.a : 0) | rest]) & ring::Mask(f.ring);
}

const std::string& Name(const Function& f) {
  return std::visit([](const auto& g) -> const std::string& { return g.name; }, f);
}

int DomainBits(const Function& f) {
  return std::visit([](const auto& g) { return g.n; }, f);
}

int RingBits(const Function& f) {
  return std::visit([](const auto& g) { return g.ring; }, f);
}

void Verify(const Function& f) {
  std::visit([](const auto& g) { Verify(g); }, f);
}

std::vector<OutputChannel> ChannelsOf(const Function& f) {
  if (const Suf* s = std::get_if<Suf>(&f)) return s->channels;
  return {{OutputChannel::kSigned, std::get<Split>(f).ring, 0, "y"}};
}

std::vector<int64_t> Channels(const Function& f, uint64_t x) {
  if (const Suf* s = std::get_if<Suf>(&f)) return Channels(*s, x);
  const Split& g = std::get<Split>(f);
  return {ring::Signed(Evaluate(g, x), g.ring)};
}

}  // namespace suf::func
