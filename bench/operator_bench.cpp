// Times softmax and LayerNorm alone, between two parties as threads of this process, with keys resident. A size is
// 1 x R x C: R rows of C scores, or R norms of C numbers. A model's softmax operator leaves out the division by the row
// sum, and so does its row here. The row "softmax" is a composition of gates that divides (examples/gates). A
// LayerNorm's mean is folded into the weights.
//
//    operator_bench [BACKEND] [RUNS] [operators|cut]
//
// With cut: instead times a 12-bit cut of 393216 and 2^24 words of 32 bits, kernel by kernel as a device runs it.
// Compares every word of every run with the specification. Prints one JSON line each: medians of the online part in ms,
// and means by role. Further runs measure each operator, where a device does.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "bench/run_main.hpp"
#include "suf/backends/all.hpp"
#include "suf/base/cores.hpp"
#include "suf/compiler/digits.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/func/fit.hpp"
#include "suf/gates/compose/composition.hpp"
#include "suf/gates/gate.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/norm.hpp"
#include "suf/pfss/watch.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::bench {
namespace {

using nlohmann::ordered_json;
using nn::IntArray;
using nn::Ints;

// An operator with its input: `whole` is for Spec, `x` and `shape` are for the wire.
struct Case {
  const char* name;
  int rows, columns, tokens;
  std::unique_ptr<nn::Operator> op;
  int ring;  // the ring of the input's wire
  IntArray whole;
  pfss::Shape shape;
  Ints x;
};

Case SoftmaxOf(int rows, int columns) {
  auto s = std::make_unique<nn::Softmax>();
  s->ring = 20;
  s->shift = 3;
  s->maximum.low = 4;
  s->maximum.level = 5;
  s->maximum.floor = 2;
  while (1 << s->maximum.count_bits <= columns) ++s->maximum.count_bits;
  for (int i = 0; i < 16; ++i) s->maximum.low_table.push_back(int64_t(std::lround(255 * std::exp(-i / 8.0))));
  for (int i = 0; i < 32; ++i) s->maximum.high_table.push_back(int64_t(std::lround(255 * std::exp(-2.0 * i))));
  s->offset.assign(size_t(rows), 0);
  // Each row is the first row of a head in a text. All rows of a head are alike to Spec.
  Case c{"softmax without division", rows, columns, columns, nullptr, s->window(), {{rows, columns, columns}, {}},
         {rows, 1, columns},         {}};
  std::mt19937_64 rng(1);
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) c.x.push_back(int64_t(rng() % (1 << s->window())) - (1 << (s->window() - 1)));
    for (int i = 0; i < columns; ++i) c.whole.at.insert(c.whole.at.end(), c.x.end() - columns, c.x.end());
  }
  c.op = std::move(s);
  return c;
}

Case NormOf(int rows, int columns) {
  auto n = std::make_unique<nn::Norm>();
  constexpr int kBits = 8;  // of an entry of the input
  const int log = int(std::ceil(std::log2(columns)));
  n->dim = columns;
  n->cut = 4;
  n->kz = kBits + n->cut + 2;
  n->ring = 40;
  n->stages = compiler::Stages::kTwo;
  n->square = 2 * kBits + log + 1;
  n->epsilon = 3;
  n->shift = 7;
  n->floor = 1;
  n->top = n->square;
  const int scale = kBits + log + n->shift;
  const auto root = [&](double v) { return std::ldexp(std::sqrt(columns / v), scale); };
  n->rsqrt = func::FitOctaves(root, 1, n->square, 3, 3).f;
  n->product = kBits + scale + log + 3;
  Case c{"layernorm", rows, columns, rows, nullptr, n->kz, {{rows, columns}, {}}, {rows, columns}, {}};
  std::mt19937_64 rng(2);
  const int64_t most = (int64_t{1} << (n->kz - 2)) - (int64_t{1} << n->cut);
  for (int i = 0; i < rows * columns; ++i) c.x.push_back(int64_t(rng() % uint64_t(2 * most)) - most);
  c.whole.at = c.x;
  c.op = std::move(n);
  return c;
}

ordered_json Spent(const run::Times& t, int runs) {
  pfss::TimeUse s;
  for (auto& [scope, spent] : t.by) s += spent;
  const auto ms = [&](double seconds) { return std::round(seconds * 1e6 / runs) / 1e3; };
  return {{"compute", ms(s.compute)}, {"key", ms(s.key)},   {"upload", ms(s.upload)},       {"host", ms(s.host)},
          {"wire", ms(s.wire)},       {"wait", ms(s.wait)}, {"launches", s.launches / runs}};
}

struct Unwatched : nn::RangeObserver {
  void See(const char*, std::span<const int64_t>) override {}
  void Leave(const char*, int64_t, int64_t) override {}
};

constexpr int kWarm = 2, kMeasured = 3;  // runs before the timed ones; runs after them that measure each operator

// The times of a schedule's runs between two threads.
struct Timing {
  double online_ms = 0;  // P1's, median
  std::array<run::Times, 2> all, measured;
};

// Runs a schedule, each time with fresh keys. `check` receives the results of both parties.
Timing Runs(const pfss::Schedule& s, std::array<run::Inputs, 3>& inputs, std::array<pfss::Backend*, 2> backend,
            int runs, const std::function<void(const std::array<std::vector<uint64_t>, 2>&)>& check) {
  Timing out;
  std::vector<double> online;
  for (int run = -kWarm; run < runs + kMeasured; ++run) {
    const pfss::BundleSecrets m{{Secret::Random(), Secret::Random()}, RandomHash()};
    const auto both = backend[0]->Expand({{Secret(m.key[0]->view()), Secret(m.key[1]->view())}, m.rho});
    const auto bodies = run::DealBodies(s, *backend[0], *both, inputs[2]);
    auto links = run::MakeLinks();
    std::array<run::Times, 2> times;
    std::array<std::vector<uint64_t>, 2> words;
    const auto party = [&](size_t p) {
      pfss::BundleSecrets mine{{}, m.rho};
      mine.key[p].emplace(m.key[p]->view());
      const auto randomness = backend[p]->Expand(std::move(mine));
      store::KeySource keys(std::make_shared<const store::BodyLayout>(run::LayoutOf(s, int(p))),
                            store::KeySource::kWhole);
      keys.FeedFrom(bodies[p]);
      keys.AwaitAll();
      words[p] = run::RunParty({.schedule = s,
                                .backend = *backend[p],
                                .party = int(p),
                                .randomness = *randomness,
                                .inputs = inputs[p],
                                .keys = keys,
                                .link = *links[p],
                                .times = &times[p],
                                .timed = run >= runs});
    };
    std::thread other([&] { party(0); });
    party(1);
    other.join();
    check(words);
    if (run < 0) continue;
    if (run < runs) online.push_back(times[1].total * 1e3);
    for (size_t p : {0, 1})
      for (auto& [scope, spent] : times[p].by) (run < runs ? out.all : out.measured)[p].by[scope] += spent;
  }
  std::sort(online.begin(), online.end());
  out.online_ms = online[online.size() / 2];
  return out;
}

// P1's words as a public wire.
pfss::Wire<pfss::kPub> Given(pfss::Trace& t, const pfss::Shape& shape, int ring) {
  const pfss::Own<1> own = t.input<pfss::kP1>("x", shape, 64, 0);
  const auto given = t.give<1>(own, ring, "x");
  pfss::Sh y = -pfss::Sh(given.s);
  y.a = y.a + given.hat;
  return t.open(y, "again");
}

// Times a schedule whose result P1 learns, in words of `bits` bits, and prints its line.
void Report(const std::string& name, int rows, int columns, const pfss::Schedule& s, std::array<run::Inputs, 3>& inputs,
            const Ints& want, int bits, std::array<pfss::Backend*, 2> backend, int runs) {
  const Timing timing = Runs(s, inputs, backend, runs, [&](const auto& words) {
    for (size_t i = 0; i < want.size(); ++i)
      if (words[1].size() != want.size() || gates::Number(words[1][i], bits) != gates::Number(uint64_t(want[i]), bits))
        Fail(Cause::kRefused, name, " of ", rows, " x ", columns, " differs from its meaning at number ", i);
  });
  std::cout << ordered_json{{"bench", "operator"},
                            {"operator", name},
                            {"shape", {1, rows, columns}},
                            {"backend", backend[0]->name()},
                            {"runs", runs},
                            {"online_ms", timing.online_ms},
                            {"spent_ms", {{"p0", Spent(timing.all[0], runs)}, {"p1", Spent(timing.all[1], runs)}}},
                            {"measured_ms",
                             {{"p0", Spent(timing.measured[0], kMeasured)},
                              {"p1", Spent(timing.measured[1], kMeasured)}}},
                            {"flights", s.flights()},
                            {"key_bytes", {s.key_bytes(0), s.key_bytes(1)}},
                            {"payload", {s.sent(0, true), s.sent(1, true)}},
                            {"words_compared", want.size() * size_t(runs + kMeasured)}}
                   .dump()
            << std::endl;
}

void Time(const Case& c, std::array<pfss::Backend*, 2> backend, int runs) {
  pfss::Trace t;
  t.scope(c.name);
  const auto x = Given(t, c.shape, c.ring);
  const nn::AnyWire made =
      c.op->Build({t, c.tokens, false, nn::OperandForm::kOpen, "7", "y", 0, c.name[0] == 's' ? 1 : c.tokens},
                  std::vector<nn::AnyWire>{x});
  const pfss::Wire<pfss::kPub> w = nn::AsOpen(made);
  const pfss::Dealt mask = t.deal(w.r, w.k());
  t.reveal<1>(-pfss::Sh(mask) + w.hat);
  t.close();
  const pfss::Schedule s(t);
  std::array<run::Inputs, 3> inputs;
  inputs[1].Set("x", c.x);
  Unwatched watch;
  const IntArray* const whole = &c.whole;
  const nn::IntCall call{c.tokens, {}, exec::Default(), watch, {}, {}};
  Ints want;
  const Ints meant = c.op->Spec(call, std::span(&whole, 1)).at;
  for (int r = 0; r < c.rows; ++r) {  // of a softmax only the first row of each head
    const auto first = meant.begin() + long(r) * c.columns * (c.name[0] == 's' ? c.columns : 1);
    want.insert(want.end(), first, first + c.columns);
  }
  Report(c.name, c.rows, c.columns, s, inputs, want, w.k(), backend, runs);
}

// Times the softmax of examples/gates/softmax.gates. The sum of a row's terms is at most `columns`.
void TimeSoftmax(int rows, int columns, std::array<pfss::Backend*, 2> backend, int runs) {
  constexpr const char* kExp =
      "split exp domain 8 ring 18 product 4\n"
      "high 256 94 35 13 5 2 1 0 0 0 0 0 0 0 0 0\n"
      "low 256 240 226 212 199 187 176 165 155 146 137 129 121 114 107 100\n"
      "end\n";
  const std::string text = Str(
      "x = input p1 8:4 [n, ", columns, "] range -64..63\n", "m = maximum(x)\n", "f = column(m)\n", "d = sub(f, x)\n",
      "e = function(d, \"exp\", finer=12)\n", "s = sum(e)\n", "b = clamp(s, low=65536, high=", columns << 16, ")\n",
      "r = newton(b, of=recip, scale=14)\n", "q = rowproduct(e, r)\n", "y = trunc(q, shift=22)\n", "output y -> p1\n",
      "function exp\n", kExp, "end function\n");
  const gates::Composition c(gates::ParseComposition(text));
  pfss::Trace t;
  gates::Emit(t, c, gates::Choose(c, compiler::Profiles()[0].prices, rows), rows);
  const pfss::Schedule s(t);
  std::mt19937_64 rng(3);
  Ints x;
  for (int64_t i = 0; i < gates::CountOf(c, c.value("x"), rows); ++i) x.push_back(int64_t(rng() % 128) - 64);
  std::array<run::Inputs, 3> inputs;
  inputs[1].Set("x", x);
  const auto y = size_t(c.value("y"));
  const std::vector<Ints> meant = gates::Evaluate(c, {x}, rows);
  Report("softmax", rows, columns, s, inputs, meant[y], c.values()[y].type.bits, backend, runs);
}

// Adds up the time of one step. A kernel may compute nodes of two scopes, so the kernels of a measuring backend are
// separated by step.
class StepTimer : public pfss::Forward {
 public:
  StepTimer(pfss::Io& host, pfss::TimeUse* to) : Forward(host), to_(to) {}
  void ReportTime(uint16_t scope, const pfss::TimeUse& s) override {
    *to_ += s;
    io.ReportTime(scope, s);
  }

 private:
  pfss::TimeUse* const to_;
};

// A cut of a word: the ring of the word, the bits that go, and the bits that stay.
constexpr int kCutRing = 32, kCutBits = 12, kCutLeft = kCutRing - kCutBits;
constexpr int64_t kCutHalf = int64_t{1} << (kCutBits - 1);  // for rounding

// Emits the cut of `count` words that P1 gives.
void EmitCut(pfss::Trace& t, int64_t count) {
  t.scope("give");
  const auto x = Given(t, {count}, kCutRing);
  t.scope("bits");
  const compiler::OpenedDigits d(t, x, t.constant(kCutHalf),
                                 compiler::PlanDigits({{kCutBits, kCutLeft}}, compiler::Stages::kOne));
  t.scope("finish");
  const compiler::Borrow borrow(d, kCutBits, compiler::Stages::kOne);
  compiler::WordSum y(t, kCutLeft);
  y.Add(compiler::Lifted(d.hat(), d.r(), kCutHalf, kCutBits));
  y.Add(borrow.Share(kCutLeft), std::nullopt, -1);
  t.keep(compiler::DealOwed(t, y.Done()));
  t.close();
}

// A party's two steps of a cut: the one that sends its bits, and its last one.
struct CutSteps {
  size_t bits = 0, finish = 0;
};
CutSteps StepsOfCut(const pfss::Schedule& s, int p) {
  const pfss::Trace& t = s.trace();
  const auto leaves = [&](const pfss::FrameField& part) { return t.name(t.node(part.node).scope) == "bits"; };
  const auto& steps = s.steps(p);
  CutSteps out{0, steps.size() - 1};
  for (size_t k = 0; k < steps.size(); ++k)
    if (const int f = steps[k].send; f >= 0) {
      const auto& parts = s.frames()[size_t(f)].parts;
      if (std::any_of(parts.begin(), parts.end(), leaves)) out.bits = k;
    }
  return out;
}

// Returns the bytes of a party's step that must move: messages, words of the PRG and key sections.
int64_t BytesMoved(const pfss::Schedule& s, int p, const pfss::Step& step) {
  int64_t bytes = 0;
  for (int f : {step.receive, step.send})
    for (const pfss::FrameField& part : f < 0 ? std::vector<pfss::FrameField>{} : s.frames()[size_t(f)].parts)
      bytes += part.bytes;
  for (int i : step.nodes)
    if (const pfss::Node& n = s.trace().node(i); n.op == pfss::Op::kRand)
      bytes += pfss::Size(n.shape) * int64_t(fss::ElementBytes(n.ring.bits));
  for (const pfss::FrameField& part : s.key(p))
    bytes += std::count(step.nodes.begin(), step.nodes.end(), part.node) ? part.bytes : 0;
  return bytes;
}

// Times the kernels of an exact 12-bit cut of 32-bit words by tables of digits, at one party. One kernel makes the bits
// to be opened, the other finishes with shares of the quotient. Only bytes that must move are counted: the opened word,
// words of the PRG, key sections, messages, and the share.
void TimeCut(int64_t count, std::array<pfss::Backend*, 2> backend, int runs) {
  pfss::Trace t;
  EmitCut(t, count);
  const pfss::Schedule s(t);
  std::array<run::Inputs, 3> inputs;
  std::mt19937_64 rng(1);
  std::vector<int64_t> words(size_t(count), 0);
  for (int64_t& w : words) w = int64_t(uint32_t(rng()));
  inputs[1].Set("x", words);
  // the party that sends its bits first finishes in a step of its own
  const int p = StepsOfCut(s, 0).bits < StepsOfCut(s, 0).finish ? 0 : 1;
  const CutSteps steps = StepsOfCut(s, p);
  std::vector<pfss::TimeUse> took(s.steps(p).size());  // of the runs that measure each scope
  pfss::WatchedBackend party(*backend[size_t(p)],
                             [&](Role role, size_t step, pfss::Io& host) -> std::unique_ptr<pfss::Io> {
                               if (role == Role::kDealer || !host.NeedsScopeTimes())
                                 return std::make_unique<pfss::Forward>(host);
                               return std::make_unique<StepTimer>(host, &took[step]);
                             });
  backend[size_t(p)] = &party;
  (void)Runs(s, inputs, backend, runs, [&](const auto& shares) {
    for (size_t i = 0; i < words.size(); ++i)
      if (((shares[0].at(i) + shares[1].at(i)) ^ (uint64_t(words[i] + kCutHalf) >> kCutBits)) & ring::Mask(kCutLeft))
        Fail(Cause::kRefused, "the cut differs from its meaning at word ", i);
  });
  for (const auto& [stage, at] : {std::pair{"bits", steps.bits}, {"finish", steps.finish}}) {
    // the opened word, which the first step keeps; and the share
    const int64_t bytes = count * 4 * (stage[0] == 'f' ? 2 : 1) + BytesMoved(s, p, s.steps(p)[at]);
    const double us = took[at].compute * 1e6 / kMeasured;
    std::cout << ordered_json{{"bench", "cut"},
                              {"stage", stage},
                              {"count", count},
                              {"backend", party.name()},
                              {"us", us},
                              {"launches", took[at].launches / kMeasured},
                              {"g_per_s", double(count) / us * 1e-3},
                              {"bytes", bytes},
                              {"gb_per_s", double(bytes) / us * 1e-3}}
                     .dump()
              << std::endl;
  }
}

int Main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "packed";
  const int runs = argc > 2 ? std::atoi(argv[2]) : 9;
  const std::string what = argc > 3 ? argv[3] : "operators";
  if (runs < 1 || (what != "operators" && what != "cut"))
    Fail(Cause::kInput, "usage: operator_bench [BACKEND] [RUNS] [operators|cut]");
  exec::Pool pools[2]{exec::Pool(Cores()), exec::Pool(Cores())};
  const auto make = [&](size_t p) {  // on a device every group becomes a kernel, even of a small operator
    return name == "cuda" ? gpu::MakeCuda(0, true) : backends::Find(name, true).make(pools[p]);
  };
  const auto p0 = make(0), p1 = make(1);
  if (what == "cut")
    for (int64_t count : {int64_t{393216}, int64_t{1} << 24}) TimeCut(count, {p0.get(), p1.get()}, runs);
  else
    for (const auto& [rows, columns] : {std::pair{2, 8}, {4, 16}, {8, 32}, {12, 64}, {16, 128}}) {
      Time(SoftmaxOf(rows, columns), {p0.get(), p1.get()}, runs);
      TimeSoftmax(rows, columns, {p0.get(), p1.get()}, runs);
      Time(NormOf(rows, columns), {p0.get(), p1.get()}, runs);
    }
  return 0;
}

}  // namespace
}  // namespace suf::bench

int main(int argc, char** argv) { return suf::bench::RunMain(suf::bench::Main, argc, argv); }
