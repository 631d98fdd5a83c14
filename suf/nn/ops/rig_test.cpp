#include "suf/nn/ops/rig_test.hpp"

#include "suf/func/text.hpp"
#include "suf/nn/plan/plan.hpp"

namespace suf::nn {

void Recorder::Function(const char* name, func::Suf* x) {
  Item(name, reading ? "" : func::Print(*x), [&](const std::string& s) { *x = func::Parse(s); });
}

void ExpectFields(const Operator& op) {
  auto visit = [](Operator& o, Visitor& v) {
    v.Int("ring", o.ring, 0, kRing);
    v.Int("scale", o.scale, 0, 126);
    o.Attributes(v);
    o.Fields(v);
  };
  auto text = [](const Operator& o) {
    Plan p;
    p.graph.AddNode(o.Clone(), {}, "y");
    p.max_tokens = 9;
    Class& c = p.classes.emplace_back();
    c.max_n = 9;
    c.certificates.resize(1);
    c.ops.push_back(o.Clone());
    return Serialize(p);
  };
  OperatorPtr was = op.Clone(), is = MakeOperator(std::string(op.Name()));
  Recorder first, second;
  visit(*was, first);
  first.reading = true;
  visit(*is, first);
  visit(*is, second);
  EXPECT_EQ(first.items, second.items);
  EXPECT_EQ(text(op), text(*is));
  ++is->scale;
  EXPECT_NE(text(op), text(*is));
}

namespace {

// The recorder sees a difference. Otherwise every round trip would pass.
TEST(Recorder, SeesADifference) {
  Rescale a, b;
  a.shift = 3;
  b.shift = 4;
  Recorder ra, rb;
  a.Fields(ra);
  b.Fields(rb);
  EXPECT_NE(ra.items, rb.items);
  EXPECT_EQ(ra.items[0].first, "shift");
  EXPECT_EQ(ra.items[0].second, "3");
}

TEST(Operators, AreKnownByName) {
  for (const char* name : {"lookup", "map", "norm", "rescale", "scores", "softmax", "weighted_sum", "activation",
                           "product", "add", "pool", "result"})
    EXPECT_EQ(MakeOperator(name)->Name(), name);
  ExpectRefused([] { MakeOperator("rotary"); }, "the plan has an operator rotary, which this program does not know");
  ExpectRefused([] { MakeOperator(std::string(50, 'x')); }, "operator " + std::string(40, 'x') + ",");
}

// A program's own operator takes one struct and one Register. A second one of the same name is a Bug.
struct Negate : OperatorBase<Negate> {
  static constexpr const char* kName = "negate_test";
  RealArray Float(const RealCall&, std::span<const RealArray* const> x) const override {
    RealArray y = *x[0];
    for (double& v : y.at) v = -v;
    return y;
  }
  RowBound Bound(const Facts&, const Edges& in, std::vector<Width>*) override { return in[0].reach; }
  bool Transparent() const override { return true; }
  IntArray Spec(const IntCall&, std::span<const IntArray* const> x) const override {
    IntArray y = *x[0];
    for (int64_t& v : y.at) v = -v;
    return y;
  }
  AnyWire Build(const Emission&, std::span<const AnyWire> x) const override {
    return On(x[0], [](auto v) { return -v; });
  }
};

TEST(Operators, OneOfAProgramsOwn) {
  Register<Negate>();
  EXPECT_THROW(Register<Negate>(), Bug);
  OperatorPtr op = MakeOperator("negate_test");
  op->ring = 8;
  for (OperandForm form : kForms) {
    OpRig rig(1);
    op->form = form;
    rig.Run(*op, {{{{256, 1}, gates::Range(-128, 128)}, 8, form}});
    EXPECT_EQ(rig.key_bits(256), 0);
  }
}

// A wire for a product serves every reader. Any other wire serves its own form alone, and a result serves none.
TEST(Operators, ReadWiresInTheirForm) {
  gates::Rig g;
  const SharedWire<kPub> both = g.Both({1}, 8);
  const AnyWire product = both, open = Wire<kPub>(both), map = g.t.open<kP0>(-pfss::Sh(both.s) + both.hat, "x"), none;
  EXPECT_NO_THROW((void)AsOpen(product));
  EXPECT_NO_THROW((void)AsMap(product));
  EXPECT_NO_THROW((void)AsProduct(product));
  EXPECT_NO_THROW((void)AsOpen(open));
  EXPECT_NO_THROW((void)AsMap(map));
  EXPECT_THROW((void)AsMap(open), Bug);
  EXPECT_THROW((void)AsProduct(open), Bug);
  EXPECT_THROW((void)AsOpen(map), Bug);
  EXPECT_THROW((void)AsProduct(map), Bug);
  EXPECT_THROW((void)RingBits(none), Bug);
  EXPECT_THROW((void)ShapeOf(none), Bug);
  EXPECT_THROW((void)AsOpen(none), Bug);
  EXPECT_EQ(RingBits(map), 8);
}

// Scores are no rows, and packed pairs no square. A plan that says otherwise is refused before it is read so.
TEST(Operators, ReadWhatLiesAsTheyWant) {
  auto refuses = [](Graph g, const char* words) {
    Plan p;
    p.graph = std::move(g);
    p.graph.Number();
    p.min_tokens = 1;
    p.max_tokens = 4;
    Class& c = p.classes.emplace_back();
    c.max_n = 4;
    for (auto& n : p.graph.nodes()) c.ops.push_back(n->op->Clone());
    ExpectRefused([&] { Check(p); }, words);
  };
  const char* lies = "it reads rows as scores, or scores otherwise than they lie";
  Lookup l;
  l.table = Expr::Leaf("words", {5, 4});
  Scores s;
  s.head_dim = 2;
  Softmax e;
  e.causal = true;
  Graph rows, square, scores, view, last;
  rows.Add(RevealResult(), {rows.Add(e, {rows.Add(l, {})})});
  refuses(rows, lies);
  square.Add(RevealResult(), {square.Add(e, {square.Add(s, {square.Add(l, {})})})});
  refuses(square, lies);
  scores.Add(RevealResult(), {scores.Add(s, {scores.Add(l, {})})});
  refuses(scores, lies);
  const char* result = "its result is a view, or no rows";
  view.Add(PoolRows(), {view.Add(l, {})});
  refuses(view, result);
  last.Add(s, {last.Add(l, {})});
  refuses(last, result);
}

}  // namespace
}  // namespace suf::nn
