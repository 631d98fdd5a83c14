// Shows on the real runtime, with a tiny encoder, that the view of a corrupt party is simulatable. The checks of
// views.hpp must also report planted faults. Trees are ideal. The tiny plan's row tables have at most 2^10 places and
// are dealt as one-hot tables, not as DPFs. With DPFs only the order is tested, because their correction words are the
// tree's to hide.
#include <gtest/gtest.h>

#include <algorithm>

#include "suf/backends/all.hpp"
#include "suf/compiler/unopened.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/compose/composition.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/index_plan.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/ops.hpp"
#include "tests/views.hpp"

namespace suf {
namespace {

using namespace views;  // NOLINT: the whole file speaks of them

// ---- the tiny encoder

constexpr model::Small kSmall{.d = 8, .heads = 2, .ff = 8, .vocab = 6, .layers = 1, .positions = 8};

// Replaces a function's groups by two whose places fit one-hot tables.
void Coarse(std::vector<func::Octave>& groups, int ring) {
  auto at = [&](int64_t x) {
    for (const func::Octave& g : groups)
      if (x >> g.w < g.hi) return g.values[size_t(std::max(x >> g.w, g.lo) - g.lo)];
    return int64_t{0};
  };
  std::vector<func::Octave> coarse{{ring - 9, 0, 64, {}}, {ring - 6, 8, 64, {}}};
  for (func::Octave& g : coarse)
    for (int64_t v = g.lo; v < g.hi; ++v) g.values.push_back(at((2 * v + 1) << (g.w - 1)));
  groups = coarse;
}

// How the operators of a plan are emitted.
// * kDcf: rescales without a stage if another borrow exists, and rows by one DCF.
// * kNarrow: rows and lines opened under a gap, the lines at the un-rounded input.
// * kTiles: the text in two tiles, of two rows and of one.
// * kSides: activations with four pieces around zero and a line on each side.
// * kIndex: by default, with an index behind it.
enum class Form { kDefault, kDcf, kNarrow, kTiles, kSides, kIndex };

// Keeps four pieces of an activation around zero, with lines up to the ends of its window.
void SetSides(nn::Activation* a) {
  func::Lines& l = a->lines;
  l.bits = a->window() - a->shift;
  l.offset = {-9, 0, 2, 7};
  l.rise = {1, 0, 3, -2};
  l.below = {-8, 0};
  l.above = {5, 3};
}

void SetForm(nn::Operator* op, Form form) {
  if (form == Form::kDefault || form == Form::kTiles || form == Form::kIndex) return;
  if (form == Form::kSides) {
    if (auto* a = dynamic_cast<nn::Activation*>(op)) SetSides(a);
    return;
  }
  const bool dcf = form == Form::kDcf;
  auto rows = [&](compiler::Lowering* l) {
    if (dcf)
      *l = {compiler::Kind::kStepDcf};
    else
      l->openings = compiler::Openings::kNarrow;
  };
  if (auto* n = dynamic_cast<nn::Norm*>(op)) {
    rows(&n->rows);
    if (dcf) n->last = compiler::Stages::kNone;
  }
  if (auto* w = dynamic_cast<nn::WeightedSum*>(op)) rows(&w->rows);
  auto* r = dynamic_cast<nn::Rescale*>(op);
  if (r && dcf && !r->window) r->stages = compiler::Stages::kNone;
  auto* a = dynamic_cast<nn::Activation*>(op);
  if (a && !dcf) a->lowering.openings = compiler::Openings::kNarrow;
}

model::LoadedModel Encoder(uint64_t seed) { return model::SmallModel(seed, kSmall); }

// Returns a search of two hits. Its width, scales and floor are the caller's.
nn::Search SearchOf(int64_t places, int64_t buckets, int64_t stop = 1, nn::Ints groups = {}) {
  nn::Search op;
  op.places = places;
  op.buckets = buckets;
  op.stop = stop;
  op.groups = std::move(groups);
  op.k = 2;
  op.ring = op.ResultRing();
  return op;
}

// Returns a plan with an index of 18 rows.
nn::Plan Indexed(const nn::Plan& plan) {
  nn::IndexPlan index;
  index.model = nn::PlanHash(plan);
  index.search = SearchOf(3, 6);
  index.search.columns = plan.width();
  return nn::WithIndex(plan, index);
}

// Adds random rows and the bias of deleted ones.
void SetIndex(const nn::Search& search, uint64_t seed, nn::Checkpoint* weights) {
  std::mt19937_64 rng(seed);
  std::vector<float> rows, bias;
  for (int64_t i = 0; i < search.rows() * search.columns; ++i) rows.push_back(float(int64_t(rng() % 201) - 100) / 400);
  for (int64_t i = 0; i < search.rows(); ++i)
    bias.push_back(rng() % 4 ? 0.f : -std::ldexp(1.f, search.f + search.g + 1));
  weights->Set("index.rows0", {{search.columns, search.rows()}, rows});
  weights->Set("index.bias", {{search.rows()}, bias});
}

// Returns a causal encoder of one layer. Heads of its queries and keys have a norm of their own before the rotation.
model::LoadedModel HeadNorms(uint64_t seed) {
  return model::Written({"heads", R"({"model_type": "qwen3", "hidden_size": 4, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 2, "intermediate_size": 4, "vocab_size": 6, "num_hidden_layers": 1,
    "max_position_embeddings": 8, "hidden_act": "silu"})",
                         1, "lasttoken"},
                        seed);
}

// A plan's trace for three tokens, with everything to run it.
struct World {
  model::LoadedModel (*model_of)(uint64_t seed);
  nn::Plan plan;
  pfss::Trace trace;
  std::optional<pfss::Schedule> schedule;
  std::unique_ptr<pfss::Backend> backend;

  // coarse: without trees.
  explicit World(int merge, const std::string& on = "auto", bool coarse = true, Form form = Form::kDefault,
                 model::LoadedModel (*make)(uint64_t) = Encoder)
      : model_of(make), backend(backends::Make(on)) {
    nn::Options policy;
    policy.merge = merge;
    policy.pieces = form == Form::kNarrow;
    plan = model::SmallPlan(model_of(1), int(kSmall.positions), policy);
    if (form == Form::kIndex) plan = Indexed(plan);
    for (nn::Class& c : plan.classes) {
      if (form == Form::kTiles) c.tiles = 2;
      for (nn::OperatorPtr& op : c.ops) {
        SetForm(op.get(), form);
        if (!coarse) continue;
        if (auto* n = dynamic_cast<nn::Norm*>(op.get())) {
          n->square = n->top + 2;
          Coarse(n->rsqrt, n->square);
        }
        if (auto* w = dynamic_cast<nn::WeightedSum*>(op.get())) Coarse(w->recip, w->row_sum);
      }
    }
    nn::Build(trace, plan, 3);
    schedule.emplace(trace);
    pfss::LintReport lint = pfss::Lint(*schedule);
    EXPECT_TRUE(lint.faults.empty());
    EXPECT_EQ(lint.trees == 0, coarse && form != Form::kDcf);
  }

  // Runs with these secrets of P0 and P1. W_hat, W - B, is the same for all, because P1 has it before any secret.
  Run With(uint64_t weights, std::vector<int32_t> ids, uint8_t bundle = 0) const {
    auto in = std::make_shared<std::array<run::Inputs, 3>>();
    std::mt19937_64 rng(7);
    model::LoadedModel model = model_of(weights);
    if (const auto* search = dynamic_cast<const nn::Search*>(plan.classes[0].ops.back().get()))
      SetIndex(*search, weights, &model.weights);
    nn::QuantisedWeights q = nn::Quantise(model.weights, plan);
    model::ForInputs(plan, q, ids, rng, [&](int party, const std::string& name, const std::vector<uint64_t>& words) {
      (*in)[size_t(party)].Set(name, words);
    });
    return RunOf(*schedule, *backend, in, bundle);
  }
  // The sections of `party` that pad messages with this label, in order of the frames.
  std::vector<int> Pads(int party, const std::string& label) const {
    std::vector<int> pads;
    for (const Item& i : ReceivedBy(*schedule, 1 - party).items)
      if (i.frame >= 0 && trace.name(trace.node(i.node).label) == label) pads.push_back(i.pad.second);
    return pads;
  }
};

const std::vector<int32_t> kText{1, 2, 3}, kOtherText{5, 5, 0};

// Expects that the pads of corrupt party p move their own items in order.
OrderReport ExpectOrder(const World& w, int p) {
  OrderReport r = Order(*w.schedule, p, w.With(1, kText), {});
  EXPECT_TRUE(r.ok()) << "corrupt P" << p << ": " << r.stuck << " of " << r.items << " stuck, " << r.cycles
                      << " cycles";
  return r;
}
// Expects the same view of corrupt party p with other weights of P0, or another text of P1.
EquivReport ExpectTheSameView(const World& w, int p) {
  EquivReport r = Equiv(*w.schedule, p, w.With(1, kText), p == 1 ? w.With(9, kText) : w.With(1, kOtherText), {});
  EXPECT_TRUE(r.ok()) << "corrupt P" << p << ": " << r.left << " of " << r.items << " items differ";
  EXPECT_TRUE(r.differs);
  return r;
}

// Every backend, alternating between the plan's two forms of attention, rescaled before W_o or not.
std::vector<std::pair<int, std::string>> Turns() {
  std::vector<std::pair<int, std::string>> out;
  for (const backends::BackendEntry& e : backends::Usable()) out.push_back({out.size() % 2 ? 8 : 0, e.name});
  return out;
}
class Simulatable : public testing::TestWithParam<std::pair<int, std::string>> {
 protected:
  World w{GetParam().first, GetParam().second};
};
INSTANTIATE_TEST_SUITE_P(All, Simulatable, testing::ValuesIn(Turns()),
                         [](auto& p) { return p.param.second + (p.param.first ? "_Merged" : "_Separate"); });

TEST_P(Simulatable, PadsMoveTheirOwnItemsInOrder) {
  for (int p : {0, 1}) {
    const OrderReport r = ExpectOrder(w, p);
    std::printf("corrupt P%d: %d items, %d stuck, %d cycles\n", p, r.items, r.stuck, r.cycles);
  }
}

TEST_P(Simulatable, OtherSecretsGiveTheSameView) {
  for (int p : {0, 1}) {
    const EquivReport r = ExpectTheSameView(w, p);
    std::printf("corrupt P%d: %d items equal after %d iterations\n", p, r.items - r.left, r.iterations);
  }
}

// Two data owners have one W - B. Together they see two bundles and two inferences. Other weights of P0 with the same
// W - B give them the same view, under other pads of both bundles. With one bundle for both, no pads would. Those that
// explain the first text do not explain the second.
TEST(SimulatableOwners, TwoWithOneMaskSeeNoMoreThanOneWithTwoTexts) {
  const World w(0, "packed");
  const auto view = [&](const std::vector<int32_t>& text, uint8_t bundle) {
    return Equiv(*w.schedule, 1, w.With(1, text, bundle), w.With(9, text, bundle), {});
  };
  const EquivReport first = view(kText, 1), second = view(kOtherText, 2);
  EXPECT_TRUE(first.ok() && first.differs);
  EXPECT_TRUE(second.ok() && second.differs);
  const auto differing = [&](const std::vector<int32_t>& text) {
    const run::PairRun a = w.With(1, text, 1)({}), b = w.With(9, text, 1)(first.streams);
    const std::vector<Item> items = ReceivedBy(*w.schedule, 1).items;
    return std::count_if(items.begin(), items.end(),
                         [&](const Item& i) { return !Same(Seen(a, 1, i), Seen(b, 1, i)); });
  };
  EXPECT_EQ(differing(kText), 0);
  EXPECT_GT(differing(kOtherText), 0) << "a bundle that serves twice";
}

TEST(SimulatableWithTrees, PadsMoveTheirOwnItemsInOrder) {
  World w(0, "clear", false);
  for (int p : {0, 1}) {
    EXPECT_GT(ReceivedBy(*w.schedule, p).trees, 0);
    ExpectOrder(w, p);
  }
}

// Without stages: rescales and rows by DCFs with payloads, whose corrections are the tree's to hide. The other openings
// stay in order, and there are fewer.
TEST(SimulatableWithDcf, PadsMoveTheirOwnItemsInOrder) {
  World w(8, "auto", true, Form::kDcf), other(8);
  for (int p : {0, 1}) {
    EXPECT_GT(ReceivedBy(*w.schedule, p).trees, 0);
    ExpectOrder(w, p);
  }
  EXPECT_LT(w.schedule->flights(), other.schedule->flights());
}

// Reads at the un-rounded wire, with both neighbours, and openings under a gap. There are no trees, so both checks run.
TEST(SimulatableNarrow, OrderAndTheSameView) {
  World w(8, "clear", true, Form::kNarrow);
  for (int p : {0, 1}) {
    ExpectOrder(w, p);
    ExpectTheSameView(w, p);
  }
}

// Pieces around zero are read modulo their number, and a table at the top digit gives the side.
TEST(SimulatableSides, OrderAndTheSameView) {
  World w(8, "clear", true, Form::kSides);
  for (int p : {0, 1}) {
    ExpectOrder(w, p);
    ExpectTheSameView(w, p);
  }
}

// Two tiles a tick apart. Values of both (W - B, keys and values of all rows) are joined with their masks. A wait reads
// nothing. Each tile's messages have pads of their own.
TEST(SimulatableTiles, OrderAndTheSameView) {
  World w(8, "auto", true, Form::kTiles);
  auto has = [&](pfss::Op op) {
    return std::any_of(w.trace.nodes().begin(), w.trace.nodes().end(), [&](auto& n) { return n.op == op; });
  };
  EXPECT_TRUE(has(pfss::Op::kConcat) && has(pfss::Op::kWait));
  for (int p : {0, 1}) {
    ExpectOrder(w, p);
    ExpectTheSameView(w, p);
  }
}

// Each head has a sum of squares. Gamma and the rotation follow. The model is causal, and its last row is wanted.
TEST(SimulatableHeads, OrderAndTheSameView) {
  World w(8, "clear", true, Form::kDefault, HeadNorms);
  const auto heads = [](const nn::OperatorPtr& op) {
    const auto* n = dynamic_cast<const nn::Norm*>(op.get());
    return n && n->groups == 2;
  };
  EXPECT_TRUE(std::any_of(w.plan.classes[0].ops.begin(), w.plan.classes[0].ops.end(), heads));
  for (int p : {0, 1}) {
    ExpectOrder(w, p);
    ExpectTheSameView(w, p);
  }
}

// ---- functions: every lowering on shares of both parties, which keep shares of the result

// A function of three numbers of 8 bits, with a bit that is a product.
struct OneFunction {
  pfss::Trace trace;
  std::optional<pfss::Schedule> schedule;
  std::unique_ptr<pfss::Backend> backend = backends::Make("clear");

  explicit OneFunction(const gates::FunctionPlan& plan) {
    gates::Emit(trace, plan, 3);
    schedule.emplace(trace);
    EXPECT_TRUE(pfss::Lint(*schedule).faults.empty());
  }
  Run With(std::vector<uint64_t> p0, std::vector<uint64_t> p1) const {
    auto in = std::make_shared<std::array<run::Inputs, 3>>();
    (*in)[0].Set("share", p0);
    (*in)[1].Set("share", p1);
    return RunOf(*schedule, *backend, in);
  }
};

TEST(SimulatableFunctions, EveryLoweringOfAFunction) {
  const func::Suf pieces = func::Parse(
      "suf pieces domain 8 ring 11 outputs 1 degree 2\npiece 0 : 3 1 0\npiece 64 : 5 2 1\npiece 160 : 9 0 7\n"
      "end 256\nformula lt 40 msb 3 and\nchannel unsigned 11 0 y\nchannel bit 1 0 b\n");
  const func::Suf octaves = func::Parse(
      "suf octaves domain 8 ring 9 outputs 1 degree 0\nrun 0 2 : 1 , 2 , 3 , 4\nrun 16 4 : 5 , 6 , 7\nend 64\n"
      "channel unsigned 9 0 y\n");
  std::vector<gates::FunctionPlan> plans;
  for (const func::Suf& f : {pieces, octaves}) {
    const compiler::CompiledFunction c = compiler::Compile(f);
    std::vector<compiler::Lowering> bits = compiler::AllForBits();
    size_t next = 0;
    for (const compiler::Lowering& l : compiler::AllForNumbers())
      if (compiler::WhyNotNumbers(c, l).empty())
        plans.push_back({f, {l, bits[next++ % bits.size()]}, gates::Origin::kShared, gates::To::kShared});
  }
  EXPECT_GE(plans.size(), 20u);
  for (const gates::FunctionPlan& plan : plans) {
    SCOPED_TRACE(gates::Name(plan));
    const OneFunction f(plan);
    for (int p : {0, 1}) {
      const auto one = f.With({10, 200, 77}, {5, 90, 3});
      const auto other = p == 1 ? f.With({11, 0, 255}, {5, 90, 3}) : f.With({10, 200, 77}, {250, 1, 0});
      OrderReport order = Order(*f.schedule, p, one, {});
      EXPECT_TRUE(order.ok()) << "corrupt P" << p << ": " << order.stuck << " stuck, " << order.cycles << " cycles";
      if (ReceivedBy(*f.schedule, p).trees) continue;  // a comparison's keys are ideal
      EquivReport equiv = Equiv(*f.schedule, p, one, other, {});
      EXPECT_TRUE(equiv.ok()) << "corrupt P" << p << ": " << equiv.left << " of " << equiv.items << " items differ";
      EXPECT_EQ(equiv.differs, p == 0);  // P1's kept result is the same for the same view
    }
  }
}

// ---- compositions: two gates share the opening and the keys of one value, and others read their results

struct OneComposition {
  pfss::Trace trace;
  std::optional<pfss::Schedule> schedule;
  std::unique_ptr<pfss::Backend> backend = backends::Make("clear");

  OneComposition(const gates::Composition& c, const gates::GateChoices& choices) {
    gates::Emit(trace, c, choices, 3);
    schedule.emplace(trace);
    EXPECT_TRUE(pfss::Lint(*schedule).faults.empty());
  }
  Run With(std::vector<uint64_t> p0, std::vector<uint64_t> p1) const {
    auto in = std::make_shared<std::array<run::Inputs, 3>>();
    (*in)[0].Set("k", p0);
    (*in)[1].Set("k", p1);
    return RunOf(*schedule, *backend, in);
  }
};

TEST(SimulatableCompositions, TwoGatesOnOneValue) {
  const gates::Composition c(gates::ParseComposition(
      "k = input shared 8:0:u [n]\ny, b = function(k, \"pieces\") outputs y, b\no = function(k, \"octaves\")\n"
      "z = select(b, o)\np = multiply(z, o)\noutput y -> shared\noutput z -> shared\noutput p -> shared\n"
      "function pieces\nsuf pieces domain 8 ring 11 outputs 1 degree 2\npiece 0 : 3 1 0\npiece 64 : 5 2 1\n"
      "piece 160 : 9 0 7\nend 256\nformula lt 40 msb 3 and\nchannel unsigned 11 0 y\nchannel bit 1 0 b\n"
      "end function\nfunction octaves\nsuf octaves domain 8 ring 9 outputs 1 degree 0\nrun 0 2 : 1 , 2 , 3 , 4\n"
      "run 16 4 : 5 , 6 , 7\nend 64\nchannel unsigned 9 0 y\nend function\n"));
  const auto options = [&](size_t gate) { return c.gates()[gate].gate->Options(c.gates()[gate].use); };
  const std::vector<std::string> first = options(0), second = options(1);
  EXPECT_GE(first.size(), 6u);
  EXPECT_GE(second.size(), 4u);
  int equal = 0;
  for (size_t i = 0; i < std::max(first.size(), second.size()); i += 4) {  // a few seconds
    gates::GateChoices choices = gates::DefaultChoices(c);
    choices[0] = first[i % first.size()];
    choices[1] = second[i % second.size()];
    SCOPED_TRACE(choices[0] + "; " + choices[1]);
    const OneComposition w(c, choices);
    for (int p : {0, 1}) {
      const auto one = w.With({10, 200, 77}, {5, 90, 3});
      const auto other = p == 1 ? w.With({11, 0, 255}, {5, 90, 3}) : w.With({10, 200, 77}, {250, 1, 0});
      OrderReport order = Order(*w.schedule, p, one, {});
      EXPECT_TRUE(order.ok()) << "corrupt P" << p << ": " << order.stuck << " stuck, " << order.cycles << " cycles";
      if (ReceivedBy(*w.schedule, p).trees) continue;  // a comparison's keys are ideal
      EquivReport equiv = Equiv(*w.schedule, p, one, other, {});
      EXPECT_TRUE(equiv.ok()) << "corrupt P" << p << ": " << equiv.left << " of " << equiv.items << " items differ";
      ++equal;
    }
  }
  EXPECT_GT(equal, 2) << "some lowerings have no trees";
}

// A trace of two rows of three numbers, of which each party has a share.
struct OfShares {
  pfss::Trace trace;
  std::optional<pfss::Schedule> schedule;
  std::unique_ptr<pfss::Backend> backend = backends::Make("clear");

  pfss::Sh Shares(int k) {
    pfss::Own<0> a = trace.input<pfss::kP0>("share", {2, 3}, k);
    pfss::Own<1> b = trace.input<pfss::kP1>("share", {2, 3}, k, 0);
    return {a, b};
  }
  // trees: whether the trace reads any.
  void Close(bool trees) {
    trace.close();
    schedule.emplace(trace);
    const pfss::LintReport lint = pfss::Lint(*schedule);
    EXPECT_TRUE(lint.faults.empty());
    EXPECT_EQ(lint.trees > 0, trees);
  }
  Run With(std::vector<uint64_t> p0, std::vector<uint64_t> p1) const {
    auto in = std::make_shared<std::array<run::Inputs, 3>>();
    (*in)[0].Set("share", p0);
    (*in)[1].Set("share", p1);
    return RunOf(*schedule, *backend, in);
  }
};

// ---- wide sums: limbs of few bits and of many, the wrap's term within 64 bits and beyond

// The sums of squares of two rows of three numbers, of which the parties keep shares. With rows also shares of a
// function on octaves of the upper bits, read off one DCF.
struct OneSum : OfShares {
  OneSum(int k, const compiler::SumOfSquares& sum, bool rows = false) {
    pfss::SharedWire<pfss::kPub> z = trace.open(Shares(k), "z");
    const int64_t bias = int64_t{1} << (k - 2);
    const compiler::WideWire v = sum.Open(trace, z.hat + bias, z.r, bias, "sum of squares");
    for (size_t i = 0; i < v.hat.limbs.size(); ++i) {
      pfss::Sh limb = -pfss::Sh(trace.deal(v.r.limbs[i], v.r.limbs[i].bits()));
      trace.keep(limb + v.hat.limbs[i]);
    }
    if (rows) {
      const std::vector<func::Octave> groups{{0, 0, 4, {9, 7, 5, 3}}, {1, 2, 4, {2, 1}}};
      const compiler::CompiledFunction c = compiler::Compile(func::FromGroups("row", groups, 3, 64));
      trace.keep(compiler::LowerRow(trace, c, {compiler::Kind::kStepDcf}, v, sum.bits - 3, 9).y);
    }
    Close(rows);
  }
};

TEST(SimulatableWideSums, ViewsOfBothParties) {
  const std::vector<uint64_t> one{1, 60, 7, 0, 33, 5}, other{63, 2, 0, 9, 31, 14}, fixed{5, 5, 0, 61, 2, 8};
  for (const compiler::SumOfSquares& sum :
       {compiler::SumOfSquares{2, 13, 5, 1}, {3, 14}, {26, 70, 9, 30}, {20, 80}, {26, 128, 3, 60}}) {
    const OneSum w(6, sum);
    for (int p : {0, 1}) {
      const auto first = p == 1 ? w.With(one, fixed) : w.With(fixed, one);
      const auto second = p == 1 ? w.With(other, fixed) : w.With(fixed, other);
      OrderReport order = Order(*w.schedule, p, first, {});
      EXPECT_TRUE(order.ok()) << "corrupt P" << p << ": " << order.stuck << " stuck, " << order.cycles << " cycles";
      EquivReport equiv = Equiv(*w.schedule, p, first, second, {});
      EXPECT_TRUE(equiv.ok()) << "corrupt P" << p << ", " << sum.bits << " bits: " << equiv.left << " of "
                              << equiv.items << " items differ";
    }
  }
}

// A row function read off a DCF on all bits of a sum. Its key is the tree's to hide, and it opens nothing.
TEST(SimulatableWideSums, RowsWithoutAStage) {
  for (const compiler::SumOfSquares& sum : {compiler::SumOfSquares{2, 13, 5, 1}, {26, 71, 9, 30}, {26, 128, 3, 60}}) {
    const OneSum w(6, sum, true), alone(6, sum);
    EXPECT_EQ(w.schedule->flights(), alone.schedule->flights());
    for (int p : {0, 1}) {
      OrderReport order = Order(*w.schedule, p, w.With({1, 60, 7, 0, 33, 5}, {5, 5, 0, 61, 2, 8}), {});
      EXPECT_TRUE(order.ok()) << "corrupt P" << p << ": " << order.stuck << " stuck, " << order.cycles << " cycles";
      const Received now = ReceivedBy(*w.schedule, p), before = ReceivedBy(*alone.schedule, p);
      EXPECT_EQ(now.trees, 1);
      EXPECT_EQ(now.items.size(), before.items.size());
    }
  }
}

// ---- searches: P0's rows and bias, P1's embedding

// The secrets of a search. `bias` is that of deleted rows, or of rows that this data owner may not see.
struct SearchSecrets {
  std::vector<int64_t> rows, bias;  // P0's; (columns, rows) of each block in turn
  std::vector<int64_t> x;           // P1's
};

// A search alone, whose input P0 sees under a mask as it sees a plan's embedding.
struct OneSearch {
  nn::Search op;
  pfss::Trace trace;
  std::optional<pfss::Schedule> schedule;
  std::unique_ptr<pfss::Backend> backend = backends::Make("clear");

  explicit OneSearch(nn::Search search) : op(std::move(search)) {
    op.columns = 3;
    op.block = 8;
    op.f = op.g = 4;
    op.floor = 5;
    op.ring = op.ResultRing();
    op.Verify("here");
    const pfss::Own<1> text = trace.input<pfss::kP1>("x", {1, op.columns}, 64, 0);
    const pfss::SharedWire<pfss::kPub> given = trace.give<1>(text, op.ScoreRing(), "x");
    const nn::AnyWire x = trace.open<pfss::kP0>(-pfss::Sh(given.s) + given.hat, "embedding");
    (void)op.Build({trace, 1, true, op.form, "7", "hits"}, {&x, 1});
    trace.close();
    schedule.emplace(trace);
    const pfss::LintReport lint = pfss::Lint(*schedule);
    EXPECT_TRUE(lint.faults.empty());
    EXPECT_EQ(lint.trees, 0);
  }
  // Returns random secrets; one row of four is deleted.
  SearchSecrets Draw(uint64_t seed) const {
    std::mt19937_64 rng(seed);
    SearchSecrets s;
    for (int64_t i = 0; i < op.rows() * op.columns; ++i) s.rows.push_back(int64_t(rng() % 11) - 5);
    for (int64_t i = 0; i < op.rows(); ++i) s.bias.push_back(rng() % 4 ? 0 : Empty());
    for (int64_t i = 0; i < op.columns; ++i) s.x.push_back(int64_t(rng() % 11) - 5);
    return s;
  }
  int64_t Empty() const { return -(int64_t{1} << (op.f + op.g + 1)); }
  // W - B is the same for all indexes, because P1 has it before any search.
  Run With(const SearchSecrets& s) const {
    auto in = std::make_shared<std::array<run::Inputs, 3>>();
    std::mt19937_64 fixed(7);
    auto next = s.rows.begin();
    for (int64_t b = 0; b < op.blocks(); ++b) {
      std::vector<int64_t> w(next, next + op.rows_of(b) * op.columns), hat, mask;
      next += op.rows_of(b) * op.columns;
      for (const int64_t v : w) {
        hat.push_back(int64_t(fixed() >> 8));
        mask.push_back(v - hat.back());
      }
      const std::string name = Str("7.rows", b);
      (*in)[0].Set("W." + name, w);
      (*in)[1].Set("Wh." + name, hat);
      (*in)[2].Set("B." + name, mask);
    }
    (*in)[0].Set("W.7.bias", s.bias);
    (*in)[1].Set("x", s.x);
    return RunOf(*schedule, *backend, in);
  }
  size_t HitsOf(const SearchSecrets& s) const {
    const run::PairRun run = With(s)({});
    return op.Decode(std::vector<int64_t>(run.result[1].begin(), run.result[1].end())).size();
  }
};

// Returns searches without buckets, with a tournament, one that stops, and groups.
std::vector<nn::Search> Searches() {
  constexpr nn::ToldOfHits kTold[] = {nn::ToldOfHits::kIds, nn::ToldOfHits::kOrder, nn::ToldOfHits::kScores};
  constexpr compiler::StepSource kSteps[] = {compiler::StepSource::kParity, compiler::StepSource::kDigits,
                                             compiler::StepSource::kBlocks};
  std::vector<nn::Search> all{SearchOf(1, 7), SearchOf(3, 6), SearchOf(5, 4, 3), SearchOf(1, 12, 1, {4}),
                              SearchOf(5, 12, 2, {3})};
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].told = kTold[i % 3];
    all[i].early = all[i].late = all[i].pairs = kSteps[i % 3];
  }
  return all;
}

// Other secrets are another text for corrupt P0, and another index with other deleted rows for corrupt P1.
TEST(SimulatableSearch, OrderAndTheSameView) {
  for (const nn::Search& op : Searches()) {
    SCOPED_TRACE(Str(op.places, " places of ", op.buckets, " buckets"));
    const OneSearch w(op);
    const SearchSecrets one = w.Draw(1), other = w.Draw(2);
    for (int p : {0, 1}) {
      const SearchSecrets changed =
          p == 1 ? SearchSecrets{other.rows, other.bias, one.x} : SearchSecrets{one.rows, one.bias, other.x};
      OrderReport order = Order(*w.schedule, p, w.With(one), {});
      EXPECT_TRUE(order.ok()) << "corrupt P" << p << ": " << order.stuck << " stuck, " << order.cycles << " cycles";
      EquivReport equiv = Equiv(*w.schedule, p, w.With(one), w.With(changed), {});
      EXPECT_TRUE(equiv.ok()) << "corrupt P" << p << ": " << equiv.left << " of " << equiv.items << " items differ";
      EXPECT_TRUE(equiv.differs);
    }
  }
}

// P1's frames are the same with or without hits, and P0's with or without deleted and hidden rows.
TEST(SimulatableSearch, FramesDependOnNoHitAndNoDeletedRow) {
  const OneSearch w(Searches().back());
  SearchSecrets one = w.Draw(1), empty = one, none = one;
  std::fill(one.bias.begin(), one.bias.end(), 0);
  std::fill(empty.bias.begin(), empty.bias.end(), w.Empty());
  std::fill(none.x.begin(), none.x.end(), 0);
  EXPECT_EQ(w.HitsOf(one), 2u);
  EXPECT_EQ(w.HitsOf(empty), 0u);
  EXPECT_EQ(w.HitsOf(none), 0u);
  EXPECT_TRUE(Equiv(*w.schedule, 1, w.With(one), w.With(empty), {}).ok());
  EXPECT_TRUE(Equiv(*w.schedule, 0, w.With(one), w.With(none), {}).ok());
}

// A fetch of some rows. W - B stays when the table changes.
struct OneFetch {
  nn::Fetch op{.rows = 6, .words = 3, .k = 2, .block = 4};
  pfss::Trace trace;
  std::unique_ptr<pfss::Schedule> schedule;
  const std::unique_ptr<pfss::Backend> backend = backends::Make("packed");
  OneFetch() {
    op.Build(trace);
    schedule = std::make_unique<pfss::Schedule>(trace);
  }
  Run With(uint64_t table, const std::vector<int64_t>& at) const {
    auto in = std::make_shared<std::array<run::Inputs, 3>>();
    std::mt19937_64 fixed(7), words(table);
    for (int64_t b = 0; b < op.blocks(); ++b) {
      std::vector<uint16_t> w, hat, mask;
      for (int64_t i = 0; i < op.rows_of(b) * op.words; ++i) {
        w.push_back(uint16_t(words()));
        hat.push_back(uint16_t(fixed()));
        mask.push_back(uint16_t(w.back() - hat.back()));
      }
      const std::string name = nn::Fetch::NameOf(b);
      (*in)[0].Set("W." + name, w);
      (*in)[1].Set("Wh." + name, hat);
      (*in)[2].Set("B." + name, mask);
    }
    (*in)[1].Set(nn::Fetch::kRowsInput, at);
    return RunOf(*schedule, *backend, in);
  }
};

// P0 sees the same for any rows. P1 receives its result alone, which explains its view for any table.
TEST(SimulatableFetch, OrderAndTheSameView) {
  const OneFetch w;
  const OrderReport order = Order(*w.schedule, 0, w.With(1, {2, 5}), {});
  EXPECT_TRUE(order.ok()) << order.stuck << " stuck, " << order.cycles << " cycles";
  const EquivReport equiv = Equiv(*w.schedule, 0, w.With(1, {2, 5}), w.With(1, {0, 0}), {});
  EXPECT_TRUE(equiv.ok()) << equiv.left << " of " << equiv.items << " items differ";
  EXPECT_TRUE(equiv.differs);
  const EquivReport result = Equiv(*w.schedule, 1, w.With(1, {2, 5}), w.With(2, {2, 5}), {});
  EXPECT_EQ(result.items, 0);
  EXPECT_TRUE(result.explained && result.differs);
}

// The embedding of the plan's last norm stays shared. P0 alone sees it masked.
TEST(SimulatableSearch, BehindAnEncoder) {
  const World w(8, "clear", true, Form::kIndex);
  for (int p : {0, 1}) ExpectTheSameView(w, p);
}

// ---- values that are never opened, multiplied as they are

// Six numbers through summands of an entry or of a line, times opened numbers. With kPayload: the sums of three
// entries, and their products with the others. A row function's DCF carries the mask of these products.
struct OneGate : OfShares {
  enum Kind { kEntry, kLine, kPayload };
  explicit OneGate(Kind kind) {
    constexpr int k = 7, ring = 20, sum = 6;
    const pfss::Sh shares = Shares(k);
    const pfss::SharedWire<pfss::kPub> z = trace.open(shares, "z"), up = trace.open(shares, "up");
    compiler::Factors e;
    if (kind == kLine) {
      const func::Suf f = func::Parse(
          "suf lines domain 7 ring 20 outputs 1 degree 1\npiece 0 : 3 1\npiece 32 : 5 2\npiece 64 : 1 0\n"
          "piece 96 : 9 7\nend 128\nchannel unsigned 20 0 y\n");
      e = compiler::PieceSummands(trace, compiler::Compile(f), {}, z, ring);
    } else {
      e = compiler::EntrySummands(trace, {2, 0, 5, {1, 3, 9, 4, 2}}, z, ring);
    }
    compiler::WordSum product(trace, ring);
    product.Add(e, compiler::Centred(up));
    if (kind != kPayload) {
      trace.keep(compiler::DealOwed(trace, product.Done()));
    } else {
      auto total = [](const compiler::OwedWord& y) { return compiler::Map(y, [](auto v) { return Sum(v); }); };
      compiler::WordSum alone(trace, sum);
      alone.Add(e);
      const pfss::Wire<pfss::kPub> s = compiler::OpenDefined(trace, total(alone.Done()), "row sum"),
                                   ev = compiler::OpenDefined(trace, total(product.Done()), "eV");
      const std::vector<func::Octave> row{{0, 0, 8, {9, 8, 7, 6, 5, 4, 3, 2}}, {3, 1, 8, {7, 6, 5, 4, 3, 2, 1}}};
      pfss::Sec one = Broadcast(trace.constant(1), {2});
      trace.keep(compiler::IntervalTimes(trace, row, s, Stack(std::vector<pfss::Sec>{one, Lift(ev.r)}), ring));
    }
    Close(kind == kPayload);
  }
};

// The openings beside the DCF of a payload stay in order; its key is the tree's to hide.
TEST(SimulatableUnopened, ViewsOfBothParties) {
  const std::vector<uint64_t> one{1, 60, 7, 0, 33, 5}, other{63, 2, 0, 9, 31, 14}, fixed{5, 5, 0, 61, 2, 8};
  for (auto kind : {OneGate::kEntry, OneGate::kLine, OneGate::kPayload}) {
    const OneGate w(kind);
    for (int p : {0, 1}) {
      const auto first = p == 1 ? w.With(one, fixed) : w.With(fixed, one);
      const auto second = p == 1 ? w.With(other, fixed) : w.With(fixed, other);
      OrderReport order = Order(*w.schedule, p, first, {});
      EXPECT_TRUE(order.ok()) << "corrupt P" << p << ": " << order.stuck << " stuck, " << order.cycles << " cycles";
      EXPECT_EQ(ReceivedBy(*w.schedule, p).trees, kind == OneGate::kPayload ? 1 : 0);
      if (kind == OneGate::kPayload) continue;
      EquivReport equiv = Equiv(*w.schedule, p, first, second, {});
      EXPECT_TRUE(equiv.ok()) << "corrupt P" << p << ": " << equiv.left << " of " << equiv.items << " items differ";
    }
  }
}

// Faults of streams, invisible in the trace: one mask for two messages, a missing half of a mask.
TEST(SimulatableTeeth, BrokenStreamsAreReported) {
  World w(0, "packed");
  for (int q : {0, 1}) {
    Streams reused, missing;
    reused.instead[{q, w.Pads(q, "piece")[0]}] = w.Pads(q, "low digit")[0];
    missing.instead[{q, w.Pads(q, "carry")[0]}] = kZeros;
    for (const Streams& planted : {reused, missing}) {
      OrderReport order = Order(*w.schedule, 1 - q, w.With(1, kText), planted);
      EXPECT_EQ(order.stuck, 1);
      EquivReport equiv =
          Equiv(*w.schedule, 1 - q, w.With(1, kText), q == 0 ? w.With(9, kText) : w.With(1, kOtherText), planted);
      EXPECT_GT(equiv.left, 0);
      std::printf("planted in P%d: order %d stuck; equiv %d items left\n", q, order.stuck, equiv.left);
    }
  }
}

// Faults in the trace itself, which gates cannot emit.
TEST(SimulatableTeeth, BrokenTracesAreReported) {
  for (bool bare : {false, true}) {
    pfss::Trace t;
    pfss::Trace::Raw raw{t};
    pfss::Own<0> x = t.input<pfss::kP0>("x", {4}), y = t.input<pfss::kP0>("y", {4});
    int pad = raw.rand(0, pfss::Add(64), {4});
    pfss::Own<1> a(&t, raw.send(t.fn(Op::kAdd, {x.id(), pad}), 0)),
        b(&t, raw.send(bare ? y.id() : t.fn(Op::kAdd, {y.id(), pad}), 0));
    pfss::Own<1> sum = a + b;
    pfss::Own<0> zero = pfss::Broadcast(t.constant(0), {4});
    t.reveal<1>({zero, sum});
    t.close();
    pfss::Schedule s(t);
    EXPECT_EQ(ReceivedBy(s, 1).faults.size(), 1u);
    EXPECT_EQ(pfss::Lint(s).faults.size(), 1u);
  }
}

}  // namespace
}  // namespace suf
