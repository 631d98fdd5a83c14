// 07: your own backend. If you have a library or a device for keys, implement two batch entry points and declare their
// capabilities.
//
// The rest of a trace runs on clear's executor. The compiler reads the capabilities: lowerings that need a DPF, which
// this backend lacks, are no candidates.
#include <atomic>
#include <cstdio>

#include "examples/two_parties.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/fss/dcf.hpp"
#include "suf/func/text.hpp"
#include "suf/reference/clear.hpp"

namespace suf::examples {
namespace {

std::atomic<size_t> generated{0}, evaluated{0};

// Makes and evaluates DCFs, and counts both. It calls the library's own DCFs here; replace them by yours.
class Counting : public pfss::Kernels {
 public:
  void DcfGen(const pfss::KeyBatch& b, const uint64_t* alpha, const uint64_t* beta, const Roots& roots,
              uint8_t* key) const override {
    fss::DcfGen({b.tree_key, b.program, b.n, b.words, b.bits}, alpha, beta, roots[0], roots[1], b.count, key);
    generated += b.count;
  }
  void DcfEval(const pfss::KeyBatch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
               uint64_t* out) const override {
    fss::DcfEval({b.tree_key, b.program, b.n, b.words, b.bits}, party, root, key, x, b.count, m, out);
    evaluated += b.count * size_t(m);
  }
};

std::unique_ptr<pfss::Backend> MakeCounting() {
  pfss::Capabilities can{"counting", "DCFs on up to 32 bits, counted"};
  can = can.Without({pfss::Op::kDpfGen, pfss::Op::kDpfWindow, pfss::Op::kDpfParity, pfss::Op::kDpfDense});
  can.largest = 32;
  const uint32_t prg = 77;  // in key headers: bundles of other generators are refused
  return reference::MakeClear(can, prg, std::make_shared<const Counting>());
}

bool Main() {
  const auto relu = compiler::Compile(func::Parse(
      "suf relu domain 32 ring 32 outputs 1 degree 1\npiece 0 : 0 1\npiece 2147483648 : 0 0\nend 4294967296\n"));
  // Prices every lowering of the function for this backend.
  auto emit = [&](pfss::Trace& t, const compiler::Choice& choice) {
    auto x = t.give<1>(pfss::Own<1>(t.input<pfss::kP1>("z", {1}, 32, 0)), 32, "z");
    t.reveal<1>(compiler::DealOwed(t, compiler::Lower(t, relu, choice, x, 32).numbers[0]));
    t.close();
  };
  const auto backend = MakeCounting();
  const auto all = compiler::Price(relu, compiler::ParseProfile("wan").prices, backend->capabilities(), emit);
  for (const auto& c : all)
    if (c.why_not.empty())
      std::printf("%-16s %8.3f s\n", c.name.c_str(), c.seconds);
    else
      std::printf("%-16s %s\n", c.name.c_str(), c.why_not.c_str());

  // Runs the lowering by DCFs between two parties.
  const std::vector<int64_t> x{5, -5, 0, 1 << 30, -1};
  TwoParties two(MakeCounting());
  const auto wire = two.Give(x, 32);
  const compiler::Choice choice{*compiler::NumbersNamed("StepDcf"), {}};
  const std::vector<int64_t> y = two.Run(compiler::Lower(two.t, relu, choice, wire, 32).numbers[0]);
  std::printf("%zu keys made, %zu read\n", generated.load(), evaluated.load());
  bool right = generated == x.size() && evaluated > 2 * x.size();
  for (size_t i = 0; i < x.size(); ++i) right = right && y[i] == std::max<int64_t>(x[i], 0);
  return right;
}

}  // namespace
}  // namespace suf::examples

int main() {
  const bool right = suf::examples::Main();
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
