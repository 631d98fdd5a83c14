// 02: a function as a SUF (structured unary function): written, evaluated, fitted, lowered, run.
//
// A nonlinear function is data: pieces of polynomials with integer coefficients over Z_{2^n}. Its meaning is exact
// (Evaluate). A lowering turns it into reads of one-hot tables at masked places. A gate joins both.
#include <cmath>
#include <cstdio>

#include "examples/two_parties.hpp"
#include "suf/func/fit.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/function.hpp"

namespace suf::examples {
namespace {

constexpr int kShift = 3;          // the wire has this many bits more than the function's argument
constexpr int kBits = 8 + kShift;  // the ring of the wire

// Runs the gate of f between two parties on every number of the wire's ring. Checks it against f's definition.
bool Agree(const gates::FunctionGate& gate) {
  std::vector<int64_t> z;
  for (int64_t v = -(1 << (kBits - 1)); v < 1 << (kBits - 1); ++v) z.push_back(v);
  TwoParties two;
  const auto wire = two.Give(z, kBits);
  const std::vector<int64_t> y = two.Run(gate.Build(two.t, wire));
  std::printf("%s: %zu inputs, %d flights, %ld bits of key each (%ld by the closed form)\n", gate.f.f.name.c_str(),
              z.size(), two.schedule->flights(), long(two.KeyBits() / int64_t(z.size())), long(gate.KeyBits(true)));
  return y == gate.Spec(z, kBits) && two.KeyBits() == int64_t(z.size()) * gate.KeyBits(true);
}

bool Main() {
  // By hand: max(x, 0) for x in [-128, 128). The domain is unsigned, so x + 128 is the argument; each piece counts from
  // its own begin. The lowering below needs four pieces of equal width.
  const auto relu = func::Parse(R"(suf relu domain 8 ring 32 outputs 1 degree 1
piece 0 : 0 0
piece 64 : 0 0
piece 128 : 0 1
piece 192 : 64 1
end 256
channel signed 32 0 y
)");
  std::printf("%s", func::Print(relu).c_str());
  std::printf("relu(5) = %ld, relu(-5) = %ld\n\n", long(func::Channels(relu, 128 + 5)[0]),
              long(func::Channels(relu, 128 - 5)[0]));

  // Lowered: the wire z holds x with kShift bits more. The compiler lists the lowerings that can compute f. Each gives
  // the same function at another price. Here the parties open x's piece and its place in the piece, both under masks.
  // Then they read offset and slope off a table at the piece's mask.
  const compiler::CompiledFunction compiled = compiler::Compile(relu);
  for (const auto& way : compiler::AllForNumbers()) {
    const std::string why = compiler::WhyNotNumbers(compiled, way);
    if (why.empty())
      std::printf("  %-14s %6ld bits of key\n", compiler::Name(compiled, way).c_str(),
                  long(compiler::NumbersKeyBits(compiled, way, {}, 20)));
  }
  gates::FunctionGate gate{compiled, {compiler::Kind::kWindowLut}, gates::SignedEntry(kBits, kShift), 20};
  bool right = Agree(gate);

  // Fitted: a real function, here tanh on [-4, 4), with 5 fractional bits in and 5 + 6 out. The error is measured over
  // the whole domain, not estimated.
  const auto fit = func::FitLines([](double x) { return std::tanh(x); }, 3, 5, 5, 6);
  gate.f = compiler::Compile(func::ToSuf(fit.f, "tanh", 32));
  std::printf("tanh by 32 lines: largest error %.4f\n", fit.error);
  right = Agree(gate) && right && fit.error < 0.01;

  return right;
}

}  // namespace
}  // namespace suf::examples

int main() {
  const bool right = suf::examples::Main();
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
