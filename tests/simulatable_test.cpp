// What a corrupt party sees is simulatable, shown on the real runtime with a tiny encoder. Its view: its key bundle and
// the other party's messages. Each item of it is a value under a pad, a PRG section of the honest party. Order: a pad
// moves its own item by exactly its own step, other items only along an acyclic graph: so pads -> view is a bijection
// for every secret. Equiv: pads are found under which other secrets give the same view, byte for byte. Both must report
// planted faults. (docs/mathematics.md#lint; the lint proves the same from the trace alone.) Trees are ideal: the tiny
// plan's row tables have at most 2^10 places, which are dealt as one-hot tables, not as DPFs. With DPFs, whose
// correction words are the tree's to hide, only the order is tested.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "suf/backends/clear.hpp"
#include "suf/backends/packed.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/nn/build.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/simulate.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/ops.hpp"
#include "suf/ring/words.hpp"
#include "suf/run/pair.hpp"

namespace suf {
namespace {

using pfss::Op;
using pfss::Ring;

// ---- words of a PRG section or a packed tensor

// Words: `count` elements of a ring in PRG storage, ElementBytes each.
struct Words {
  Ring ring;
  Bytes bytes;
  size_t element() const { return fss::ElementBytes(ring.bits); }
};

Words Unpacked(View packed, int64_t count, Ring ring) {
  Words w{ring, Bytes(size_t(count) * fss::ElementBytes(ring.bits))};
  for (size_t i = 0; i < size_t(count); ++i)
    for (size_t b = 0; b < size_t(ring.bits); ++b) {
      size_t from = i * size_t(ring.bits) + b;
      w.bytes[i * w.element() + b / 8] |= uint8_t((packed[from / 8] >> from % 8 & 1) << b % 8);
    }
  return w;
}

// AddTo: a += sign b in b's ring, elements of `element` bytes; exclusive or for bit strings.
void AddTo(std::span<uint8_t> a, std::span<const uint8_t> b, Ring::Kind kind, size_t element, int sign = 1) {
  if (kind == Ring::kXor) {
    for (size_t i = 0; i < a.size(); ++i) a[i] ^= b[i];
    return;
  }
  for (size_t i = 0; i + element <= a.size(); i += element) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, &a[i], element), std::memcpy(&y, &b[i], element);
    x = sign > 0 ? x + y : x - y;
    std::memcpy(&a[i], &x, element);
  }
}

// Reduced: the same elements modulo 2^bits.
Words Reduced(Words w) {
  if (w.ring.kind == Ring::kAdd)
    for (size_t i = 0; i < w.bytes.size(); i += w.element()) {
      uint64_t x = 0;
      std::memcpy(&x, &w.bytes[i], w.element());
      x &= ring::Mask(w.ring.bits);
      std::memcpy(&w.bytes[i], &x, w.element());
    }
  return w;
}

Words Plus(Words a, const Words& b, int sign = 1) {
  AddTo(a.bytes, b.bytes, a.ring.kind, a.element(), sign);
  return Reduced(std::move(a));
}

// ---- streams that can be moved and broken

using Section = std::pair<int, int>;  // party, section
constexpr int kZeros = -1;

struct Streams {
  std::map<Section, Words> moved;  // added to the section
  std::map<Section, int> instead;  // planted: another section of the party, or zeros, is read
};

class Moved : public pfss::Randomness {
 public:
  Moved(std::unique_ptr<pfss::Randomness> real, const Streams& streams) : real_(std::move(real)), streams_(streams) {}
  std::unique_ptr<Section> Open(int party, int section) const override {
    auto instead = streams_.instead.find({party, section});
    bool zeros = instead != streams_.instead.end() && instead->second == kZeros;
    if (instead != streams_.instead.end() && !zeros) section = instead->second;
    auto by = streams_.moved.find({party, section});
    return std::make_unique<Shifted>(real_->Open(party, section), zeros,
                                     by == streams_.moved.end() || zeros ? nullptr : &by->second);
  }
  std::array<uint8_t, 16> TreeKey() const override { return real_->TreeKey(); }

 private:
  class Shifted : public Section {
   public:
    Shifted(std::unique_ptr<Section> real, bool zeros, const Words* by)
        : real_(std::move(real)), zeros_(zeros), by_(by) {}
    void Fill(uint64_t offset, std::span<uint8_t> out) const override {
      if (zeros_) return void(std::memset(out.data(), 0, out.size()));
      real_->Fill(offset, out);
      if (!by_ || offset >= by_->bytes.size()) return;
      size_t n = std::min(out.size(), by_->bytes.size() - size_t(offset));
      AddTo(out.first(n), std::span(by_->bytes).subspan(size_t(offset), n), by_->ring.kind, by_->element());
    }

   private:
    std::unique_ptr<Section> real_;
    bool zeros_;
    const Words* by_;
  };
  std::unique_ptr<pfss::Randomness> real_;
  const Streams& streams_;
};

// ---- the view

// Item: one tensor that the corrupt party receives, and the honest party's section that pads it.
struct Item {
  int node, frame;  // frame: -1 for a key section
  int64_t at, bytes, size;
  Ring ring;
  int pad_bits;
  Section pad;
  int sign;  // item = value + sign pad
  std::string label;
};

struct Received {
  std::vector<Item> items;
  std::vector<std::string> faults;  // items without a pad of their own
  int trees = 0;                    // correction words, left out
  int result = -1;                  // the frame with the result message
  pfss::Part result_part{};
};

// ReceivedBy: everything that party p receives, except the result.
Received ReceivedBy(const pfss::Schedule& s, int p) {
  const pfss::Trace& t = s.trace();
  Received v;
  std::map<Section, int> used;
  auto add = [&](int frame, const pfss::Part& part) {
    const pfss::Node& m = t.node(part.node);
    int payload = m.args[0];
    while (t.node(payload).op == Op::kLow) payload = t.node(payload).args[0];
    const pfss::Node& sum = t.node(payload);
    std::string label =
        Str(frame < 0 ? "key section " : "message ", part.node, " ", t.name(m.label), " of ", t.name(m.scope));
    if (sum.op == Op::kDpfGen || sum.op == Op::kDcfGen) return void(++v.trees);
    if ((sum.op != Op::kAdd && sum.op != Op::kSub) || t.node(sum.args[1]).op != Op::kRand)
      return v.faults.push_back(label + " has no pad");
    const pfss::Node& pad = t.node(sum.args[1]);
    Section section{int(pad.attrs[0]), int(pad.attrs[1])};
    if (section.first == p) return v.faults.push_back(label + " is padded by its reader");
    if (!used.emplace(section, part.node).second) return v.faults.push_back(label + " has a pad that is used twice");
    v.items.push_back({part.node, frame, part.at, part.bytes, pfss::Size(m.shape), m.ring, pad.ring.bits, section,
                       sum.op == Op::kAdd ? 1 : -1, label});
  };
  for (auto& part : s.key(p)) add(-1, part);
  for (size_t f = 0; f < s.frames().size(); ++f)
    for (auto& part : s.frames()[f].parts) {
      if (s.frames()[f].sender == p) continue;
      if (t.name(t.node(part.node).label) == "result")
        v.result = int(f), v.result_part = part;
      else
        add(int(f), part);
    }
  return v;
}

// Seen: an item's bytes in a run.
View Seen(const run::PairRun& run, int p, const Item& i) {
  const Bytes& from = i.frame < 0 ? run.key[size_t(p)] : run.frame[size_t(i.frame)];
  return View(from).subspan(size_t(i.at), size_t(i.bytes));
}
bool Same(View a, View b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// InPadStorage: an item's elements as its pad's section stores them, so that they can be added to it.
Words InPadStorage(View packed, const Item& i) {
  Words w = Unpacked(packed, i.size, i.ring);
  if (fss::ElementBytes(i.pad_bits) == w.element()) return w;
  SUF_CHECK(i.ring.kind == Ring::kAdd);
  Words wide{Ring{Ring::kAdd, i.pad_bits}, Bytes(size_t(i.size) * fss::ElementBytes(i.pad_bits))};
  for (size_t e = 0; e < size_t(i.size); ++e)
    std::memcpy(&wide.bytes[e * wide.element()], &w.bytes[e * w.element()], w.element());
  return wide;
}

// ---- the two tests

using Run = std::function<run::PairRun(const Streams&)>;

struct OrderReport {
  int items = 0, stuck = 0, cycles = 0;  // stuck: items that did not move by exactly their pad's step
  std::vector<std::string> faults;
  bool ok() const { return items > 0 && !stuck && !cycles && faults.empty(); }
};

// Cycles: back edges of the graph.
int Cycles(const std::vector<std::vector<size_t>>& to) {
  std::vector<int> state(to.size());
  int cycles = 0;
  std::function<void(size_t)> visit = [&](size_t v) {
    state[v] = 1;
    for (size_t o : to[v])
      if (state[o] == 1)
        ++cycles;
      else if (!state[o])
        visit(o);
    state[v] = 2;
  };
  for (size_t v = 0; v < to.size(); ++v)
    if (!state[v]) visit(v);
  return cycles;
}

OrderReport Order(const pfss::Schedule& s, int p, const Run& run, Streams streams) {
  Received view = ReceivedBy(s, p);
  OrderReport report{int(view.items.size()), 0, 0, view.faults};
  run::PairRun before = run(streams);
  std::mt19937_64 rng(1);
  std::vector<std::vector<size_t>> moves(view.items.size());
  for (size_t k = 0; k < view.items.size(); ++k) {
    const Item& item = view.items[k];
    Bytes random(size_t(item.bytes));
    for (uint8_t& b : random) b = uint8_t(rng());
    streams.moved[item.pad] = InPadStorage(random, item);
    run::PairRun after = run(streams);
    streams.moved.clear();
    Words want =
        Plus(Unpacked(Seen(before, p, item), item.size, item.ring), Unpacked(random, item.size, item.ring), item.sign);
    report.stuck += Unpacked(Seen(after, p, item), item.size, item.ring).bytes != want.bytes;
    for (size_t o = 0; o < view.items.size(); ++o)
      if (o != k && !Same(Seen(before, p, view.items[o]), Seen(after, p, view.items[o]))) moves[k].push_back(o);
  }
  report.cycles = Cycles(moves);
  return report;
}

struct EquivReport {
  int items = 0, iterations = 0, left = 0;  // left: items that still differ
  bool differs = false, explained = false;  // the results; and their difference is that of the result messages
  bool ok() const { return items > 0 && !left && explained; }
};

// Equiv: `a` and `b` run with different secrets of party 1 - p.
EquivReport Equiv(const pfss::Schedule& s, int p, const Run& a, const Run& b, Streams streams) {
  constexpr int kMost =
      200;  // a pad is settled once the pads before it are: at most one iteration a flight and dealt product
  Received view = ReceivedBy(s, p);
  EquivReport report{int(view.items.size())};
  run::PairRun want = a(streams), got;
  do {
    got = b(streams);
    report.left = 0;
    for (const Item& i : view.items) {
      View w = Seen(want, p, i), g = Seen(got, p, i);
      if (Same(w, g)) continue;
      ++report.left;
      Words step = InPadStorage(w, i);
      AddTo(step.bytes, InPadStorage(g, i).bytes, i.ring.kind, step.element(), -1);
      auto [it, fresh] = streams.moved.try_emplace(i.pad, Words{{i.ring.kind, i.pad_bits}, Bytes(step.bytes.size())});
      AddTo(it->second.bytes, step.bytes, i.ring.kind, step.element(), i.sign);
    }
  } while (++report.iterations < kMost && report.left);
  report.differs = want.result[1] != got.result[1];
  report.explained = true;
  if (view.result < 0) return report;
  auto message = [&](const run::PairRun& r) {
    const pfss::Node& m = s.trace().node(view.result_part.node);
    return Unpacked(
        View(r.frame[size_t(view.result)]).subspan(size_t(view.result_part.at), size_t(view.result_part.bytes)),
        pfss::Size(m.shape), m.ring);
  };
  Words m_want = message(want), m_got = message(got);
  for (size_t i = 0; i < want.result[1].size(); ++i) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, &m_want.bytes[i * m_want.element()], m_want.element()),
        std::memcpy(&y, &m_got.bytes[i * m_got.element()], m_got.element());
    report.explained &= ((want.result[1][i] - got.result[1][i] - (x - y)) & ring::Mask(m_want.ring.bits)) == 0;
  }
  return report;
}

// RunOf: of a schedule with these inputs, all roles by one backend; both outlive it.
Run RunOf(const pfss::Schedule& schedule, pfss::Backend& backend, std::shared_ptr<std::array<run::Inputs, 3>> in) {
  return [&schedule, &backend, in](const Streams& streams) {
    pfss::Material material{{Secret(Hash{1}), Secret(Hash{2})}, Hash{3}};
    auto wrap = [&](Role, std::unique_ptr<pfss::Randomness> real) {
      return std::make_unique<Moved>(std::move(real), streams);
    };
    return run::RunPair({schedule, {&backend, &backend, &backend}, {&(*in)[0], &(*in)[1], &(*in)[2]}, material, wrap});
  };
}

// ---- the tiny encoder

constexpr model::Small kSmall{.d = 8, .heads = 2, .ff = 8, .vocab = 6, .layers = 1, .positions = 8};

// Coarse: the same function in two groups whose places fit one-hot tables.
void Coarse(std::vector<func::Group>& groups, int ring) {
  auto at = [&](int64_t x) {
    for (const func::Group& g : groups)
      if (x >> g.w < g.hi) return g.values[size_t(std::max(x >> g.w, g.lo) - g.lo)];
    return int64_t{0};
  };
  std::vector<func::Group> coarse{{ring - 9, 0, 64, {}}, {ring - 6, 8, 64, {}}};
  for (func::Group& g : coarse)
    for (int64_t v = g.lo; v < g.hi; ++v) g.values.push_back(at((2 * v + 1) << (g.w - 1)));
  groups = coarse;
}

// World: a plan's trace for three tokens and what a run of it needs.
struct World {
  nn::Plan plan;
  pfss::Trace trace;
  std::optional<pfss::Schedule> schedule;
  std::unique_ptr<pfss::Backend> backend;

  // coarse: without trees.
  explicit World(int merge, bool packed = true, bool coarse = true)
      : backend(packed ? backends::MakePacked(exec::Default()) : backends::MakeClear()) {
    nn::Options policy;
    policy.merge = merge;
    plan = model::SmallPlan(model::SmallModel(1, kSmall), int(kSmall.positions), policy);
    for (nn::Class& c : plan.classes)
      for (nn::OperatorPtr& op : c.ops) {
        if (!coarse) break;
        if (auto* n = dynamic_cast<nn::Norm*>(op.get())) n->square = n->top + 2, Coarse(n->rsqrt, n->square);
        if (auto* w = dynamic_cast<nn::WeightedSum*>(op.get())) Coarse(w->recip, w->row_sum);
      }
    nn::Build(trace, plan, 3);
    schedule.emplace(trace);
    pfss::LintReport lint = pfss::Lint(*schedule);
    EXPECT_TRUE(lint.faults.empty());
    EXPECT_EQ(lint.trees == 0, coarse);
  }

  // With: a run with these secrets of P0 and P1. W_hat, W - B, is the same for all: P1 has it before it meets any
  // secret.
  Run With(uint64_t weights, std::vector<int32_t> ids) const {
    auto in = std::make_shared<std::array<run::Inputs, 3>>();
    std::mt19937_64 rng(7);
    nn::Quantised q = nn::Quantise(model::SmallModel(weights, kSmall).weights, plan);
    model::ForInputs(plan, q, ids, rng, [&](int party, const std::string& name, const std::vector<uint64_t>& words) {
      (*in)[size_t(party)].Set(name, words);
    });
    return RunOf(*schedule, *backend, in);
  }
  // Pads: sections of `party` that pad messages with this label, in order of the frames.
  std::vector<int> Pads(int party, const std::string& label) const {
    std::vector<int> pads;
    for (const Item& i : ReceivedBy(*schedule, 1 - party).items)
      if (i.frame >= 0 && trace.name(trace.node(i.node).label) == label) pads.push_back(i.pad.second);
    return pads;
  }
};

const std::vector<int32_t> kText{1, 2, 3}, kOtherText{5, 5, 0};

// The plan's two forms of attention (rescaled before W_o, or not), each with one of the backends.
class Simulatable : public testing::TestWithParam<std::pair<int, bool>> {
 protected:
  World w{GetParam().first, GetParam().second};
};
INSTANTIATE_TEST_SUITE_P(All, Simulatable, testing::Values(std::pair{0, true}, std::pair{8, false}), [](auto& p) {
  return std::string(p.param.first ? "Merged" : "Separate") + (p.param.second ? "Packed" : "Clear");
});

TEST_P(Simulatable, PadsMoveTheirOwnItemsInOrder) {
  for (int p : {0, 1}) {
    OrderReport r = Order(*w.schedule, p, w.With(1, kText), {});
    EXPECT_TRUE(r.ok()) << "corrupt P" << p << ": " << r.stuck << " of " << r.items << " stuck, " << r.cycles
                        << " cycles";
    std::printf("corrupt P%d: %d items, %d stuck, %d cycles\n", p, r.items, r.stuck, r.cycles);
  }
}

TEST_P(Simulatable, OtherSecretsGiveTheSameView) {
  for (int p : {0, 1}) {
    EquivReport r = Equiv(*w.schedule, p, w.With(1, kText), p == 1 ? w.With(9, kText) : w.With(1, kOtherText), {});
    EXPECT_TRUE(r.ok()) << "corrupt P" << p << ": " << r.left << " of " << r.items << " items differ";
    EXPECT_TRUE(r.differs);
    std::printf("corrupt P%d: %d items equal after %d iterations\n", p, r.items - r.left, r.iterations);
  }
}

TEST(SimulatableWithTrees, PadsMoveTheirOwnItemsInOrder) {
  World w(0, false, false);
  for (int p : {0, 1}) {
    OrderReport r = Order(*w.schedule, p, w.With(1, kText), {});
    EXPECT_GT(ReceivedBy(*w.schedule, p).trees, 0);
    EXPECT_TRUE(r.ok()) << "corrupt P" << p << ": " << r.stuck << " of " << r.items << " stuck, " << r.cycles
                        << " cycles";
  }
}

// ---- functions: every lowering on shares of both parties, which keep theirs of the result

// OneFunction: three numbers of 8 bits, with a bit that is a product.
struct OneFunction {
  pfss::Trace trace;
  std::optional<pfss::Schedule> schedule;
  std::unique_ptr<pfss::Backend> backend = backends::MakeClear();

  explicit OneFunction(const gates::FunctionPlan& plan) {
    gates::Emit(trace, plan, 3);
    schedule.emplace(trace);
    EXPECT_TRUE(pfss::Lint(*schedule).faults.empty());
  }
  Run With(std::vector<uint64_t> p0, std::vector<uint64_t> p1) const {
    auto in = std::make_shared<std::array<run::Inputs, 3>>();
    (*in)[0].Set("share", p0), (*in)[1].Set("share", p1);
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
    const compiler::Compiled c = compiler::Compile(f);
    std::vector<compiler::Lowering> bits = compiler::AllForBits();
    size_t next = 0;
    for (const compiler::Lowering& l : compiler::AllForNumbers())
      if (compiler::WhyNotNumbers(c, l).empty())
        plans.push_back({f, {l, bits[next++ % bits.size()]}, gates::From::kShared, gates::To::kShared});
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
      EXPECT_EQ(equiv.differs, p == 0);  // what P1 keeps: the same with the same view
    }
  }
}

// Streams that the trace cannot see: one mask for two messages, a half of a mask that is missing.
TEST(SimulatableTeeth, BrokenStreamsAreReported) {
  World w(0);
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
