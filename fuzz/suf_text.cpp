// Fuzzes the text of a function. A text that Parse accepts prints as itself, and both evaluators agree on it. If it has
// groups, they produce the same function.
#include "fuzz/fuzz.hpp"
#include "suf/func/text.hpp"
#include "suf/ring/modular.hpp"

namespace {

using namespace suf::func;  // NOLINT: the whole file speaks of functions
namespace ring = suf::ring;

void SameValues(const Suf& f, const Suf& g) {
  const Evaluator e(f);
  std::vector<uint64_t> points{0, ring::Mask(f.n)};
  for (const Piece& p : f.pieces)
    for (uint64_t x : {uint64_t(p.begin), uint64_t(p.begin) - 1, uint64_t(f.end)})
      points.push_back(x & ring::Mask(f.n));
  if (points.size() > 200) points.resize(200);
  for (uint64_t x : points) {
    const Value v = Evaluate(f, x), w = Evaluate(g, x);
    SUF_CHECK(v.poly == w.poly && v.bits == w.bits);
    for (int j = 0; j < f.outputs; ++j) SUF_CHECK(e.At(x, j) == v.poly[size_t(j)]);
    for (size_t i = 0; i < v.bits.size(); ++i) SUF_CHECK(e.Bit(x, int(i)) == v.bits[i]);
    const std::vector<int64_t> channels = Channels(f, x);
    SUF_CHECK(e.Channels(x) == channels && Unpack(f.channels, Pack(f, x)) == channels);
  }
}

}  // namespace

SUF_FUZZ(suf_text) {
  using namespace suf::fuzz;
  const Function any = ParseFunction(TextOf(input));
  const std::string text = Print(any);
  const Function again = ParseFunction(text);
  SUF_CHECK(again == any && Print(again) == text);
  if (const Split* s = std::get_if<Split>(&any)) {
    for (uint64_t x : {uint64_t{0}, ring::Mask(s->n), ring::Mask(s->a), ring::Mask(s->n) ^ ring::Mask(s->a)})
      SUF_CHECK(Evaluate(*s, x) <= ring::Mask(s->ring) && !Channels(any, x).empty());
    return;
  }
  const Suf& f = std::get<Suf>(any);
  SameValues(f, std::get<Suf>(again));
  const std::vector<Octave> groups = ToGroups(f);
  const Suf h = FromGroups(f.name, groups, f.n, f.ring);
  SUF_CHECK(h.pieces.size() == f.pieces.size() && h.end == f.end);
  for (size_t i = 0; i < h.pieces.size(); ++i) SUF_CHECK(h.pieces[i].poly == f.pieces[i].poly);
}
