// Softmax and LayerNorm alone, between two parties as threads of this process with keys resident, on 1 x R x C numbers:
// a softmax of R rows of C scores, a norm of R rows of C numbers (a LayerNorm's mean is folded into the weights before
// it).
//   operator_bench [BACKEND] [RUNS]
// Every word of every run is compared with the operator's meaning on whole numbers. A JSON line each: medians of the
// online part in ms; means by role of where it went, from further runs that measure each operator where a device does.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "apps/exit.hpp"
#include "suf/backends/all.hpp"
#include "suf/func/fit.hpp"
#include "suf/gates/gate.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/norm.hpp"
#include "suf/run/pair.hpp"

namespace suf::bench {
namespace {

using nlohmann::ordered_json;
using nn::IntArray;
using nn::Ints;

// Case: an operator, what Spec takes and how that lies in the wire, and what is to come out.
struct Case {
  const char* name;
  int rows, columns, tokens;
  std::unique_ptr<nn::Operator> op;
  int ring;  // of the input's wire
  IntArray whole;
  pfss::Shape shape;
  Ints x;
};

Case SoftmaxOf(int rows, int columns) {
  auto s = std::make_unique<nn::Softmax>();
  s->ring = 20, s->shift = 3, s->low = 4, s->level = 5, s->floor = 2;
  while (1 << s->count_bits <= columns) ++s->count_bits;
  for (int i = 0; i < 16; ++i) s->low_table.push_back(int64_t(std::lround(255 * std::exp(-i / 8.0))));
  for (int i = 0; i < 32; ++i) s->high_table.push_back(int64_t(std::lround(255 * std::exp(-2.0 * i))));
  s->offset.assign(size_t(rows), 0);
  // a head a row, the first one of each text: all of a head's rows are alike to Spec
  Case c{"softmax",          rows, columns, columns, nullptr, s->window(), {{rows, columns, columns}, {}},
         {rows, 1, columns}, {}};
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
  constexpr int kBits = 8;  // of an entry
  const int log = int(std::ceil(std::log2(columns)));
  n->dim = columns, n->cut = 4, n->kz = kBits + n->cut + 2, n->ring = 40, n->stages = compiler::Stages::kTwo;
  n->square = 2 * kBits + log + 1, n->epsilon = 3, n->shift = 7, n->floor = 1, n->top = n->square;
  const int scale = kBits + log + n->shift;
  const auto root = [&](double v) { return std::ldexp(std::sqrt(columns / v), scale); };
  n->rsqrt = func::FitOctaves(root, 1, n->square, 3, 3).f;
  n->product = kBits + scale + log + 3;
  Case c{"layernorm", rows, columns, rows, nullptr, n->kz, {{rows, columns}, {}}, {rows, columns}, {}};
  std::mt19937_64 rng(2);
  const int64_t most = (int64_t{1} << (n->kz - 2)) - (int64_t{1} << n->cut);
  for (int i = 0; i < rows * columns; ++i) c.x.push_back(int64_t(rng() % uint64_t(2 * most)) - most);
  c.whole.at = c.x, c.op = std::move(n);
  return c;
}

ordered_json Spent(const run::Times& t, int runs) {
  pfss::Spent s;
  for (auto& [scope, spent] : t.by) s += spent;
  const auto ms = [&](double seconds) { return std::round(seconds * 1e6 / runs) / 1e3; };
  return {{"compute", ms(s.compute)}, {"key", ms(s.key)},   {"upload", ms(s.upload)},       {"host", ms(s.host)},
          {"wire", ms(s.wire)},       {"wait", ms(s.wait)}, {"launches", s.launches / runs}};
}

struct Unwatched : nn::Watch {
  void See(const char*, std::span<const int64_t>) override {}
  void Leave(const char*, int64_t, int64_t) override {}
};

void Time(const Case& c, std::array<pfss::Backend*, 2> backend, int runs) {
  pfss::Trace t;
  t.scope(c.name);
  const pfss::Own<1> own = t.input<pfss::kP1>("x", c.shape, 64, 0);
  const auto given = t.give<1>(own, c.ring, "x");
  pfss::Sh y = -pfss::Sh(given.s);
  y.a = y.a + given.hat;
  const auto x = t.open(y, "again");
  const nn::AnyWire made =
      c.op->Build({t, c.tokens, false, nn::Form::kOpen, "7", "y", 0, c.name[0] == 's' ? 1 : c.tokens},
                  std::vector<nn::AnyWire>{pfss::Wire<pfss::kPub>(x)});
  const pfss::Wire<pfss::kPub> w = nn::AsOpen(made);
  const pfss::Dealt mask = t.deal(w.r, w.k());
  t.reveal<1>(-pfss::Sh(mask) + w.hat);
  t.close();
  const pfss::Schedule s(t);
  run::Inputs inputs[3];
  inputs[1].Set("x", c.x);
  Unwatched watch;
  const IntArray* const whole = &c.whole;
  const nn::IntCall call{c.tokens, {}, exec::Default(), watch, {}, {}};
  Ints want;
  const Ints meant = c.op->Spec(call, std::span(&whole, 1)).at;
  for (int r = 0; r < c.rows; ++r) {  // of a softmax the first row of each head
    const auto first = meant.begin() + long(r) * c.columns * (c.name[0] == 's' ? c.columns : 1);
    want.insert(want.end(), first, first + c.columns);
  }
  constexpr int kWarm = 2, kMeasured = 3;
  std::vector<double> online;
  run::Times all[2], measured[2];
  for (int run = -kWarm; run < runs + kMeasured; ++run) {
    const pfss::Material m{{Secret::Random(), Secret::Random()}, RandomHash()};
    const auto both = backend[0]->Expand({{Secret(m.key[0]->view()), Secret(m.key[1]->view())}, m.rho});
    const auto bodies = run::DealBodies(s, *backend[0], *both, inputs[2]);
    auto links = run::MakeLinks();
    run::Times times[2];
    std::vector<uint64_t> words;
    const auto party = [&](int p) {
      pfss::Material mine{{}, m.rho};
      mine.key[size_t(p)].emplace(m.key[size_t(p)]->view());
      const auto randomness = backend[size_t(p)]->Expand(std::move(mine));
      store::KeySource keys(std::make_shared<const store::Layout>(run::LayoutOf(s, p)), store::KeySource::kWhole);
      keys.FeedFrom(bodies[size_t(p)]);
      keys.Whole();
      run::PartyJob job{s,        *backend[size_t(p)], p, *randomness, inputs[p], keys, *links[size_t(p)], {}, {}, {},
                        &times[p]};
      job.timed = run >= runs;
      auto out = run::RunParty(job);
      if (p) words = std::move(out);
    };
    std::thread other([&] { party(0); });
    party(1);
    other.join();
    for (size_t i = 0; i < want.size(); ++i)
      if (words.size() != want.size() || gates::Number(words[i], w.k()) != gates::Number(uint64_t(want[i]), w.k()))
        Fail(Cause::kRefused, c.name, " of ", c.rows, " x ", c.columns, " differs from its meaning at number ", i);
    if (run < 0) continue;
    if (run < runs) online.push_back(times[1].total * 1e3);
    for (int p : {0, 1})
      for (auto& [scope, spent] : times[p].by) (run < runs ? all : measured)[p].by[scope] += spent;
  }
  std::sort(online.begin(), online.end());
  std::cout << ordered_json{{"bench", "operator"},
                            {"operator", c.name},
                            {"shape", {1, c.rows, c.columns}},
                            {"backend", backend[0]->name()},
                            {"runs", runs},
                            {"online_ms", online[online.size() / 2]},
                            {"spent_ms", {{"p0", Spent(all[0], runs)}, {"p1", Spent(all[1], runs)}}},
                            {"measured_ms",
                             {{"p0", Spent(measured[0], kMeasured)}, {"p1", Spent(measured[1], kMeasured)}}},
                            {"flights", s.flights()},
                            {"key_bytes", {s.key_bytes(0), s.key_bytes(1)}},
                            {"payload", {s.sent(0, true), s.sent(1, true)}},
                            {"words_compared", want.size() * size_t(runs + kMeasured)}}
                   .dump()
            << std::endl;
}

int Main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "packed";
  const int runs = argc > 2 ? std::atoi(argv[2]) : 9;
  if (runs < 1) Fail(Cause::kInput, "usage: operator_bench [BACKEND] [RUNS]");
  exec::Pool pools[2]{exec::Pool(exec::Cores()), exec::Pool(exec::Cores())};
  const auto p0 = backends::Find(name, true).make(pools[0]), p1 = backends::Find(name, true).make(pools[1]);
  for (const auto& [rows, columns] : {std::pair{2, 8}, {4, 16}, {8, 32}, {12, 64}, {16, 128}}) {
    Time(SoftmaxOf(rows, columns), {p0.get(), p1.get()}, runs);
    Time(NormOf(rows, columns), {p0.get(), p1.get()}, runs);
  }
  return 0;
}

}  // namespace
}  // namespace suf::bench

int main(int argc, char** argv) {
  try {
    return suf::bench::Main(argc, argv);
  } catch (const ::suf::Error& e) {
    std::cerr << "suf: " << e.what() << "\n";
    return suf::apps::ExitCode(e.cause());
  }
}
