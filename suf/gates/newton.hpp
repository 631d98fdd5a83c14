// Reciprocals and inverse roots by Newton's steps from a coarse table: a finer table costs key, a step costs flights.
// Every product is rescaled exactly, so the specification is the same steps on integers (docs/mathematics.md#octaves,
// #rescale).
#pragma once
#include "suf/gates/function.hpp"

namespace suf::gates {

// y = F(x) in Z_{2^ring}, F = 1/x or 1/sqrt(x), x 2^x_scale = X of [0, 2^(k-2)) and y 2^scale = Y. From the
// table's Y, with f = `one` and round half up, each step is
//   recip: E = XY / 2^(x_scale + scale - f);  Y = Y (2 2^f - E) / 2^f
//   rsqrt: D = XY / 2^cut;  E = DY / 2^(x_scale + 2 scale - cut - f);  Y = Y (3 2^f - E) / 2^(f+1).
// The table's pieces must have XY < 2 2^(x_scale + scale), or X Y^2 < 2 2^(x_scale + 2 scale): then so has every step's
// Y, and no product leaves its ring. Throws Cause::kRefused for a table or scales that do not allow it.
struct Newton {
  static constexpr std::string_view kName = "newton";
  enum class Of : uint8_t { kRecip, kRsqrt };
  Of of = Of::kRecip;
  std::vector<func::Group> groups;  // the coarse table, of Y >= 0; 0 above its end
  int x_scale = 0, scale = 0, one = 0;
  int cut = 1;  // of rsqrt's first product
  int steps = 1;
  int ring = 1;
  Stages stages = Stages::kTwo;
  compiler::Lowering table{compiler::Kind::kRowLut, compiler::Steps::kDigits, Stages::kOne};

  Ints Spec(const Ints& x, int k) const;
  Owing Build(Trace& t, const Wire<kPub>& x) const;
  // An element of both bundles, the owed word dealt.
  int64_t KeyBits(int k) const;

 private:
  // In which Y, E and D are opened, and the products XY, DY and Y(..).
  struct Rings {
    int y, e, d, xy, dy, last;
  };
  Rings Plan(int k) const;
  Function Coarse(int k, int y) const;
  int Shift() const { return of == Of::kRecip ? x_scale + scale - one : x_scale + 2 * scale - cut - one; }
};

}  // namespace suf::gates
