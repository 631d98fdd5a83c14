// 04: your own operator, and a model of two nodes. A model is a graph of operators. An operator defines once its reals,
// the bound of its result, its whole numbers and its emission. Float model, calibration, plan, check, specification,
// trace and weights are loops over the graph and know no operator by name. This one is the energy of a token: the sum
// of the squares of its embedding.
#include <cmath>
#include <cstdio>

#include "suf/cpu/packed.hpp"
#include "suf/gates/product.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/compile.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/nn/read/forward.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/run/pair.hpp"

namespace suf::examples {
namespace {

// x (n, d) -> (n, 1). One flight.
struct Energy : nn::OperatorBase<Energy> {
  static constexpr const char* kName = "energy";  // its name in a plan; a program without it refuses the plan by name

  // In reals, for calibration and comparison; in whole numbers, the specification, which never calls Build.
  nn::RealArray Float(const nn::RealCall&, std::span<const nn::RealArray* const> x) const override { return Of(*x[0]); }
  nn::IntArray Spec(const nn::IntCall&, std::span<const nn::IntArray* const> x) const override { return Of(*x[0]); }
  template <class A>
  static A Of(const A& x) {
    A y{{x.rows(), 1}, decltype(x.at)(size_t(x.rows()))};
    for (size_t i = 0; i < x.at.size(); ++i) y.at[i / size_t(x.cols())] += x.at[i] * x.at[i];
    return y;
  }
  // The policy: a number v of the result means v / 2^scale. Its ring is wide enough for every possible result.
  void Choose(const nn::Facts&, const nn::Edges& in) override {
    scale = 2 * in[0].scale;
    ring = nn::RingOf(in[0].reach.length * in[0].reach.length);
  }
  // The bound of the result for every sequence of token ids: the squared length of the longest row.
  nn::RowBound Bound(const nn::Facts&, const nn::Edges& in, std::vector<nn::Width>*) override {
    const double most = in[0].reach.length * in[0].reach.length;
    return {.dim = 1, .length = most, .each = {most}};
  }
  // The ring that the input needs, so that its numbers stay inside the gap that a product requires.
  int Need(int, const nn::Edges& in) const override { return nn::RingOf(in[0].reach.most()); }
  int64_t Dim(const nn::Edges&) const override { return 1; }
  // Refuses an unsound plan of a stranger.
  void Check(const nn::Edges& in, int, const std::string& where) const override {
    nn::Wanted(in[0].ring >= 3 && in[0].ring < 64, where, "its input's ring has no gap");
    nn::Wanted(scale == 2 * in[0].scale, where, "its scale does not follow from its input's");
  }
  // The protocol, by a gate.
  nn::AnyWire Build(const nn::Emission& e, std::span<const nn::AnyWire> x) const override {
    const auto wire = nn::AsOpen(x[0]);
    const compiler::OwedWord squares = gates::Multiply{ring}.Build(e.t, wire, wire);
    return e.Open(compiler::Map(squares, [](auto v) { return Sum(v, -1); }));  // sums of shares cost nothing
  }
};

constexpr int64_t kWords = 50, kWidth = 8;

int Main() {
  nn::Register<Energy>();
  // The graph: its weights, and which node reads which. It has no scale, ring or party.
  nn::Graph graph;
  graph.Scope("tokens");
  nn::Lookup lookup;
  lookup.table = graph.Tensor("words", {kWords, kWidth}, nn::Leaf::kTable);
  nn::GraphNode* x = graph.Add(std::move(lookup), {}, "embedding");
  graph.Add(Energy{}, {x}, "energy");
  graph.Number();

  // The model owner's weights, and calibration texts as token ids, as a tokenizer would give them.
  nn::Checkpoint weights;
  nn::Checkpoint::CheckpointTensor table{{kWords, kWidth}, {}};
  for (int64_t i = 0; i < kWords * kWidth; ++i) table.values.push_back(float(std::sin(double(i * i))));
  weights.Set("words", table);
  const std::vector<std::vector<int32_t>> texts{{1, 2, 3}, {7, 49, 7, 0, 12}};
  const nn::CompileOptions options{.min_tokens = 1, .max_tokens = 8};
  const nn::Plan plan = nn::Parse(nn::Serialize(nn::Compile(graph, weights, texts, options)));
  std::printf("%s", plan.graph.Text().c_str());

  // The trace of five tokens, with its schedule, as for any model.
  const std::vector<int32_t>& ids = texts[1];
  pfss::Trace trace;
  nn::Build(trace, plan, int(ids.size()));
  const pfss::Schedule schedule(trace);
  bool right = pfss::Lint(schedule).faults.empty();

  // W is the model owner's, B the dealer's, W - B the data owner's. roles::ModelOwner does this in real use.
  const nn::QuantisedWeights quantised = nn::Quantise(weights, plan);
  run::Inputs inputs[3];
  inputs[1].Set(nn::kTokensInput, ids);
  for (const auto& [name, tensor] : quantised) {
    std::vector<uint64_t> w = tensor.Words(), b(w.size()), masked(w.size());
    RandomBytes({reinterpret_cast<uint8_t*>(b.data()), b.size() * 8});
    for (size_t i = 0; i < w.size(); ++i) masked[i] = w[i] - b[i];
    inputs[0].Set("W." + name, w);
    inputs[1].Set("Wh." + name, masked);
    inputs[2].Set("B." + name, b);
  }
  const pfss::BundleSecrets keys{{Secret::Random(), Secret::Random()}, RandomHash()};
  const auto backend = cpu::MakePacked(exec::Default());
  pfss::Backend* const each = backend.get();
  const auto got = run::RunPair({schedule, {each, each, each}, {&inputs[0], &inputs[1], &inputs[2]}, keys});
  const nn::Ints want = nn::PlanSimulator(plan, quantised).Run(ids).y;
  const nn::RealArray real = nn::RealModel(plan.graph, weights).Run(ids);
  right &= got.result[1].size() == want.size();
  for (size_t i = 0; right && i < want.size(); ++i) {
    const double y = std::ldexp(double(want[i]), -plan.scale());
    std::printf("token %2d: energy %.5f, in reals %.5f\n", ids[i], y, real.at[i]);
    right = got.result[1][i] == uint64_t(want[i]) && std::abs(y - real.at[i]) < 1e-3;
  }
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
}  // namespace
}  // namespace suf::examples

int main() { return suf::examples::Main(); }
