// The text of a function: what Parse accepts prints as itself, is evaluated alike by both evaluators, and its groups,
// if it has any, make it again.
#include "fuzz/fuzz.hpp"
#include "suf/func/text.hpp"

namespace {

using namespace suf::func;  // NOLINT: the whole file speaks of functions

void SameValues(const Suf& f, const Suf& g) {
  const Evaluator e(f);
  std::vector<uint64_t> points{0, Mask(f.n)};
  for (const Piece& p : f.pieces)
    for (uint64_t x : {uint64_t(p.begin), uint64_t(p.begin) - 1, uint64_t(f.end)}) points.push_back(x & Mask(f.n));
  if (points.size() > 200) points.resize(200);
  for (uint64_t x : points) {
    const Value v = Evaluate(f, x), w = Evaluate(g, x);
    SUF_CHECK(v.poly == w.poly && v.bits == w.bits);
    for (int j = 0; j < f.outputs; ++j) SUF_CHECK(e.At(x, j) == v.poly[size_t(j)]);
    (void)Pack(f, x);
  }
}

}  // namespace

SUF_FUZZ(suf_text) {
  using namespace suf::fuzz;
  const Suf f = Parse(TextOf(input));
  const std::string text = Print(f);
  const Suf g = Parse(text);
  SUF_CHECK(Print(g) == text && g.pieces.size() == f.pieces.size() && g.channels == f.channels &&
            g.formulas == f.formulas);
  SameValues(f, g);
  const std::vector<Group> groups = ToGroups(f);
  const Suf h = FromGroups(f.name, groups, f.n, f.ring);
  SUF_CHECK(h.pieces.size() == f.pieces.size() && h.end == f.end);
  for (size_t i = 0; i < h.pieces.size(); ++i) SUF_CHECK(h.pieces[i].poly == f.pieces[i].poly);
}
