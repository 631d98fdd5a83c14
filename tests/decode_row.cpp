// One row of a decoder with a cache, as a trace: a Llama layer's operators on a text's last row. The k and v of the
// rows before it are given wires. Small sizes run, and must equal the specification of the whole text. The sizes of a
// real model are only scheduled; their flights, keys and bytes a layer are printed.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "suf/compiler/choose.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/model/rig_test.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/knob_search.hpp"
#include "suf/nn/read/forward.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/ops.hpp"
#include "suf/reference/clear.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf {
namespace {

using nn::AnyWire;
using pfss::kDealer;
using pfss::kP0;
using pfss::kP1;
using pfss::kPub;
using pfss::SharedWire;

// The columns of a node's rows that attention reads in all rows of the text.
struct Cached {
  int node = 0;
  int64_t begin = 0, end = 0;
  std::string name() const { return Str("cache.", node, ".", begin); }
};

// The columns that an operator of attention reads in all rows: k for scores, v for a weighted sum. Empty for others.
std::optional<Cached> CachedOf(const nn::GraphNode& node, const nn::Ops& ops) {
  if (node.in.empty()) return std::nullopt;
  const nn::GraphNode& last = *node.in.back();
  const int64_t dim = ops[size_t(last.index)]->dim;
  if (const auto* s = node.As<nn::Scores>()) return Cached{last.index, dim - s->serving * s->head_dim, dim};
  if (node.As<nn::WeightedSum>()) return Cached{last.index, 0, dim};
  return std::nullopt;
}

// Puts the new row into the last row of the cache, which is empty: (n, columns).
SharedWire<kPub> Joined(pfss::Trace& t, const Cached& c, SharedWire<kPub> row, int n) {
  row = pfss::Map(row, [&](auto v) { return Between(v, 1, c.begin, c.end); });
  const pfss::Shape shape{n, c.end - c.begin};
  const int bits = row.k();
  const auto hat = t.input<kPub>(c.name() + ".hat", shape, bits);
  const auto a = t.input<kDealer | kP0>(c.name() + ".a", shape, bits);
  const auto b = t.input<kDealer | kP1>(c.name() + ".b", shape, bits);
  std::vector<uint64_t> unit(size_t(n), 0);
  unit.back() = 1;
  const pfss::Const last = t.constant(unit, {n, 1});
  row = pfss::Map(row, [&](auto v) { return v * last; });
  pfss::Sec r = a + b;
  pfss::Sec mask = r + row.r;
  pfss::Pub sum = hat + row.hat;
  pfss::Rnd<0> left = a + row.s.a;
  pfss::Rnd<1> right = b + row.s.b;
  return {{sum, mask}, {left, right}};
}

int HatOf(const AnyWire& w) {
  if (const auto* open = std::get_if<pfss::Wire<kPub>>(&w)) return open->hat.id();
  return nn::AsMap(w).hat.id();
}

// Emits the last of n rows, beginning with the embedding, which both parties' shares give. `streams` receives the nodes
// of the residual stream in its own ring, before the first layer and after each.
void EmitRow(pfss::Trace& t, const nn::Plan& plan, int n, std::vector<int>* streams = nullptr) {
  const nn::Ops& ops = plan.For(n).ops;
  const nn::GraphNode* last = plan.graph.nodes().back().get();
  nn::Forward<AnyWire>(plan.graph, [&](const nn::GraphNode& node, std::span<const AnyWire* const> in) -> AnyWire {
    const nn::Operator& op = *ops[size_t(node.index)];
    if (op.unused) return {};
    t.scope(node.scope);
    AnyWire y;
    if (node.As<nn::Lookup>()) {
      const auto a = t.input<kP0>("x.a", {1, op.dim}, op.ring, 0);  // P0 has the row at an even tick, as after a layer
      const auto b = t.input<kP1>("x.b", {1, op.dim}, op.ring);
      y = t.open(pfss::Sh{a, b}, "x");
    } else {
      std::vector<AnyWire> x;
      for (const AnyWire* w : in) x.push_back(*w);
      if (const auto c = CachedOf(node, ops)) {
        if (x.size() == 1) x.push_back(x[0]);
        if (node.As<nn::Scores>() && node.in.size() == 1) {
          const auto* s = node.As<nn::Scores>();
          const int64_t q = s->heads * s->head_dim;
          x[0] = pfss::Map(nn::AsProduct(x[0]), [&](auto v) { return Between(v, 1, 0, q); });
        }
        x[1] = Joined(t, *c, nn::AsProduct(x[1]), n);
      }
      y = op.Build({t, n, &node == last, op.form, std::to_string(node.index), node.label, n - 1, 1}, x);
    }
    const auto* r = node.As<nn::Rescale>();
    const bool stream = (r && r->kind == nn::Rescale::kExtend) || (node.As<nn::Add>() && node.scope.ends_with("/ffn2"));
    if (streams && stream) streams->push_back(HatOf(y));
    return y;
  });
  t.close();
}

// The settings with the fewest flights; q and k are narrow enough for scores without truncation after a rotation.
constexpr std::pair<const char*, int> kSettings[] = {
    {"softmax", 1},          {"scores", 1},   {"square", 1},  {"pieces", 1},
    {"weight.query_key", 8}, {"rotation", 5}, {"weight", 12}, {"slope", 4}};
constexpr const char* kProfiles[] = {"lan", "wan,keys=ahead"};  // a decoder's keys are dealt ahead

// A decoder with its plan for n tokens. A search may set its last class for one row.
struct Compiled {
  model::LoadedModel model;
  nn::Plan plan;

  Compiled(const std::string& config, int n, int texts, int longest)
      : model(model::Written(model::Preset{"decoder", config.c_str()}, 1)) {
    nn::CompileOptions o;
    for (auto [name, value] : kSettings) o.policy.Set(name, value);
    o.min_tokens = model.min_tokens;
    o.max_tokens = n;
    nn::Shifts shifts;
    plan = nn::Compile(model.graph, model.weights, model::Texts(2, texts, longest / 2, longest), o, exec::Default(),
                       &shifts);
    for (const nn::ShiftFit& f : shifts.fits) EXPECT_TRUE(f.fits) << f.where << " " << f.low << " to " << f.high;
    for (auto& [name, tensor] : shifts.weights.tensors()) model.weights.Set(name, tensor);
  }

  // Starts from the fewest flights and keeps changes that pay under the profile's prices. The options `held` stay.
  void Choose(const char* profile, std::initializer_list<const char*> held = {}) {
    const int n = plan.max_tokens;
    model::Prefer(&plan, model::kFewestFlights);
    nn::SearchKnobs(&plan, plan.classes.size() - 1, compiler::ParseProfile(profile).prices, nn::Effort::kNear, nullptr,
               [n](pfss::Trace& t, const nn::Plan& p) { EmitRow(t, p, n); });
    model::Prefer(&plan, held);
    nn::Check(plan);
  }
};

// The flights of every layer; the other numbers are those of the first layer.
struct Measured {
  std::vector<int> flights;  // of each layer
  std::array<int64_t, 2> key{}, online{};
  int64_t offline = 0;
};
Measured MeasureRow(const nn::Plan& plan, int n) {
  pfss::Trace t;
  std::vector<int> streams;
  EmitRow(t, plan, n, &streams);
  const pfss::Schedule s(t);
  Measured m;
  for (size_t i = 1; i < streams.size(); ++i) m.flights.push_back(s.at(streams[i], 0) - s.at(streams[i - 1], 0));
  for (const pfss::Cost::Row& row : pfss::CostOf(s).rows)
    if (row.scope.starts_with("0/")) {
      for (size_t p : {0, 1}) {
        m.key[p] += row.key[p] / 8;
        m.online[p] += row.online[p] / 8;
      }
      m.offline += row.offline / 8;
    }
  return m;
}

std::string Config(int d, int heads, int serving, int ff, int layers, int positions) {
  return Str(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": )",
             d, R"(, "num_attention_heads": )", heads, R"(, "num_key_value_heads": )", serving,
             R"(, "intermediate_size": )", ff, R"(, "vocab_size": 128, "num_hidden_layers": )", layers,
             R"(, "max_position_embeddings": )", positions,
             R"(, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": true})");
}

// Gives each party a share of the last row of an embedding.
void ShareLastRow(const nn::IntArray& y, std::mt19937_64& rng, run::Inputs in[3]) {
  std::vector<uint64_t> a, b;
  for (auto x = y.at.end() - y.cols(); x != y.at.end(); ++x) {
    a.push_back(rng());
    b.push_back(uint64_t(*x) - a.back());
  }
  in[0].Set("x.a", a);
  in[1].Set("x.b", b);
}

// Sets the given wire of a cache: the rows of y, of which the last one is empty.
void SetCache(const Cached& c, const nn::IntArray& y, int ring, std::mt19937_64& rng, run::Inputs in[3]) {
  const uint64_t mask = ring::Mask(ring);
  std::vector<uint64_t> hat, a, b;
  for (int64_t i = 0; i < y.rows(); ++i)
    for (int64_t j = c.begin; j < c.end; ++j) {
      const bool old = i + 1 < y.rows();
      a.push_back(old ? rng() & mask : 0);
      b.push_back(old ? rng() & mask : 0);
      const uint64_t x = old ? uint64_t(y.at[size_t(i * y.cols() + j)]) : 0;
      hat.push_back((x + a.back() + b.back()) & mask);
    }
  for (int p : {0, 1}) in[p].Set(c.name() + ".hat", hat);
  for (int role : {0, 2}) in[role].Set(c.name() + ".a", a);
  for (int role : {1, 2}) in[role].Set(c.name() + ".b", b);
}

// Computes the logits of the last token by the protocol. The masks of the cache's wires depend on `serial`.
nn::Ints RunRow(const nn::Plan& plan, const nn::QuantisedWeights& q, const nn::PlanSimulator& simulator,
                const model::Text& ids, pfss::Backend& backend, uint8_t serial) {
  const int n = int(ids.size());
  const nn::Ops& ops = plan.For(n).ops;
  pfss::Trace t;
  EmitRow(t, plan, n);
  const pfss::Schedule s(t);
  std::mt19937_64 rng(serial);
  run::Inputs in[3];
  model::SetInputs(plan, q, ids, rng, in);
  std::vector<Cached> caches;
  for (auto& node : plan.graph.nodes())
    if (const auto c = CachedOf(*node, ops)) caches.push_back(*c);
  const auto set = [&](const nn::GraphNode& node, const nn::IntArray& y) {
    if (node.As<nn::Lookup>()) ShareLastRow(y, rng, in);
    for (const Cached& c : caches)
      if (c.node == node.index) SetCache(c, y, ops[size_t(node.index)]->ring, rng, in);
  };
  nn::Ints want = simulator.Run(ids, set).y;
  const run::PairRun run = model::RunCounted(s, in, backend, serial);
  nn::Ints got;
  for (uint64_t v : run.result[1]) got.push_back(ring::Signed(v, ops.back()->ring));
  for (int64_t& v : want) v = ring::Signed(uint64_t(v) & ring::Mask(ops.back()->ring), ops.back()->ring);
  EXPECT_EQ(got, want) << n << " tokens";
  return got;
}

// The row must equal the last one of the whole text's specification, word for word, with either tail and gate.
TEST(DecodeRow, EqualsTheSpecification) {
  exec::Pool pool(2);
  auto packed = cpu::MakePacked(pool), clear = reference::MakeClear();
  Compiled c(Config(32, 4, 2, 48, 2, 64), 16, 200, 16);
  const nn::QuantisedWeights q = nn::Quantise(c.model.weights, c.plan);
  for (const char* profile : kProfiles)
    for (auto [tail, gate] : {std::pair{"e", "opened"}, {"payload", "summands"}}) {
      c.Choose(profile, {tail, gate});
      const nn::PlanSimulator simulator(c.plan, q);
      uint8_t serial = 1;
      nn::Ints before;
      for (const model::Text& ids : model::Texts(5, 4, 9, 16)) {
        const nn::Ints y = RunRow(c.plan, q, simulator, ids, serial % 2 ? *packed : *clear, serial);
        EXPECT_NE(y, before);
        before = y;
        ++serial;
      }
      for (int flights : MeasureRow(c.plan, 16).flights) EXPECT_LE(flights, 24) << profile << " " << tail;
    }
}

// The sizes of SmolLM2-135M with a context of 256 tokens. One layer, because a fit of more layers needs more texts.
TEST(DecodeRow, RealSizes) {
  Compiled c(Config(576, 9, 3, 1536, 1, 256), 256, 60, 56);
  struct Case {
    const char *profile, *tail;
    int most;  // limit of a layer's flights
  };
  for (auto [profile, tail, most] :
       {Case{"lan", "", 20}, {"wan,keys=ahead", "", 18}, {"wan,keys=ahead", "payload", 16}}) {
    c.Choose(profile, {tail});
    const Measured m = MeasureRow(c.plan, 256);
    std::printf("%s %s: %d flights a layer; key %lld and %lld bytes; sent online %lld and %lld, before by P1 %lld\n",
                profile, tail, m.flights.at(0), (long long)m.key[0], (long long)m.key[1], (long long)m.online[0],
                (long long)m.online[1], (long long)m.offline);
    for (const nn::Chosen& x : c.plan.classes.back().choices)
      std::printf("  %s: %s\n", x.what.c_str(), x.choice.c_str());
    EXPECT_LE(m.flights.at(0), most) << profile;
  }
}

}  // namespace
}  // namespace suf
