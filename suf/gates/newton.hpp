// Reciprocals and inverse roots by Newton's steps from a coarse table. A finer table costs key, and a step costs
// flights. Every product is rescaled exactly, so the specification takes the same steps on integers
// (docs/mathematics.md#octaves, #rescale).
#pragma once
#include "suf/gates/function.hpp"

namespace suf::gates {

// y = F(x) in Z_{2^ring}, F = 1/x or 1/sqrt(x), with X = x 2^x_scale in [0, 2^(k-2)) and Y = y 2^scale. The first Y is
// that of the table. With f = `one` and round half up, a step is:
//
// * recip: `E = XY / 2^(x_scale + scale - f);  Y = Y (2 2^f - E) / 2^f`
// * rsqrt: `D = XY / 2^cut;  E = DY / 2^(x_scale + 2 scale - cut - f);  Y = Y (3 2^f - E) / 2^(f+1)`
//
// The pieces of the table must have XY < 2 2^(x_scale + scale), or X Y^2 < 2 2^(x_scale + 2 scale). Then every step's Y
// has it, and no product leaves its ring. Build throws Cause::kRefused if the table or the scales do not allow this.
struct Newton {
  static constexpr std::string_view kName = "newton";
  enum class Of : uint8_t { kRecip, kRsqrt };
  Of of = Of::kRecip;
  std::vector<func::Octave> groups;  // the coarse table, of Y >= 0; 0 above its end
  int x_scale = 0, scale = 0, one = 0;
  int cut = 1;  // bits cut from rsqrt's first product
  int steps = 1;
  int ring = 1;
  Stages stages = Stages::kTwo;
  compiler::Lowering table{compiler::Kind::kRowLut, compiler::StepSource::kDigits, Stages::kOne};

  Ints Spec(const Ints& x, int k) const;
  OwedWord Build(Trace& t, const Wire<kPub>& x) const;
  // Returns the key bits of both bundles for an element, with the owed word dealt.
  int64_t KeyBits(int k) const;

 private:
  // The rings in which Y, E, D and the products XY, DY and Y(..) are opened.
  struct Rings {
    int y, e, d, xy, dy, last;
  };
  Rings Plan(int k) const;
  FunctionGate Coarse(int k, int y) const;
  int Shift() const { return of == Of::kRecip ? x_scale + scale - one : x_scale + 2 * scale - cut - one; }
};

}  // namespace suf::gates
