#include "suf/gates/cubic.hpp"

#include "suf/func/text.hpp"
#include "suf/gates/function.hpp"
#include "suf/gates/text.hpp"

namespace suf::gates {

static_assert(Gate<Cubic>);

static FunctionGate Of(const Cubic& g, int k) {
  std::string text = Str("suf cubic domain ", k, " ring ", g.ring, " outputs 1 degree 3\n");
  for (const Cubic::CubicPiece& p : g.pieces) {
    text += Str("piece ", p.begin, " :");
    for (int64_t c : p.c) text += Str(" ", Number(uint64_t(c), g.ring));
    text += "\n";
  }
  return {compiler::Compile(func::Parse(text + "end " + PowerText(k) + "\n")), g.lowering, {}, g.ring};
}

Ints Cubic::Spec(const Ints& x, int k) const {
  Ints out;
  for (int64_t v : x) {
    const uint64_t word = Word(v, k);
    const CubicPiece* piece = &pieces[0];
    for (const CubicPiece& p : pieces)
      if (p.begin <= word) piece = &p;
    uint64_t u = word - piece->begin, y = 0;
    for (int i = 3; i >= 0; --i) y = y * u + uint64_t(piece->c[size_t(i)]);
    out.push_back(Number(y, ring));
  }
  return out;
}

OwedWord Cubic::Build(Trace& t, const Wire<kPub>& x) const { return Of(*this, x.k()).Build(t, x); }

int64_t Cubic::KeyBits(int k) const { return Of(*this, k).KeyBits(true); }

}  // namespace suf::gates
