// Every combination of a layer's segments, each with a pairwise covering set of the choices inside it. The real
// protocol of both parties gives the simulator's words, and the channel's counters equal the schedule's.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "suf/model/rig_test.hpp"
#include "suf/nn/plan/knob_search.hpp"

namespace suf::model {
namespace {

// One choice for every operator of a plan that has it.
struct Inside {
  const char* borrow;  // stages of every cut; "dcf": no stage
  const char* rows;
  const char* tail;
  bool narrow;
};
constexpr const char* kBorrows[] = {"1", "2", "3", "dcf"};
constexpr const char* kRowMaxima[] = {"StepDcf", "RowLut", "RowLut/tree"};
constexpr const char* kTails[] = {"e", "payload"};

// Returns choices in which every two options of two kinds occur together.
std::vector<Inside> Covering() {
  std::vector<Inside> out;
  for (size_t b = 0; b < 4; ++b)
    for (size_t r = 0; r < 3; ++r)
      out.push_back({kBorrows[b], kRowMaxima[r], kTails[(b + r) % 2], (b / 2 + r) % 2 == 1});
  return out;
}

TEST(Covering, HasEveryPair) {
  std::set<std::string> pairs;
  for (const Inside& x : Covering()) {
    const std::string of[] = {x.borrow, x.rows, x.tail, x.narrow ? "narrow" : "wide"};
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = i + 1; j < 4; ++j) pairs.insert(of[i] + " " + of[j]);
  }
  EXPECT_EQ(pairs.size(), 4u * 3 + 4 * 2 + 4 * 2 + 3 * 2 + 3 * 2 + 2 * 2);
}

// Returns the option that a knob takes: that of the stages, the end of a lowering's name, or itself. Empty if it has
// none.
std::optional<size_t> Wish(const nn::Knob& k, const Inside& x) {
  const std::string stages = x.borrow == std::string("dcf") ? "1" : x.borrow, narrow = x.narrow ? "/narrow" : "";
  std::vector<std::string> names{x.borrow, x.tail};
  if (k.name.starts_with("rows")) names = {x.rows};
  for (const char* kind : {"WindowLut/", "WindowBoth/"}) names.push_back(kind + stages + narrow);
  names.push_back("RowLut" + (stages == "1" ? "" : "/" + stages) + narrow);
  for (const std::string& name : names)
    if (auto at = std::find(k.options.begin(), k.options.end(), name); at != k.options.end())
      return size_t(at - k.options.begin());
  return std::nullopt;
}

// Puts a choice into every operator of a plan's one class.
class Chooser {
 public:
  // A cut with too many digits for one stage keeps its own stages.
  void Set(nn::Plan* plan, const Inside& x) {
    const auto each = [&](bool alone) {
      nn::Ops& ops = plan->classes.at(0).ops;
      for (size_t node = 0; node < ops.size(); ++node)
        for (size_t i = 0, count = ops[node]->Knobs().size(); i < count; ++i) {
          nn::Knob k = ops[node]->Knobs().at(i);
          const auto wish = Wish(k, x);
          if (!wish || *wish == k.at || never_.count({node, i, *wish})) continue;
          k.set(*wish);
          if (alone && !Builds(*plan)) never_.insert({node, i, *wish});
          if (alone) k.set(k.at);
        }
    };
    const nn::Plan before = *plan;
    each(false);
    if (!Builds(*plan)) {
      *plan = nn::Plan(before);
      each(true);
      each(false);
    }
    nn::Derive(plan->graph, plan->classes.at(0).ops);
    nn::Check(*plan);
  }

 private:
  static bool Builds(nn::Plan& plan) {
    nn::Derive(plan.graph, plan.classes.at(0).ops);
    try {
      pfss::Trace t;
      nn::Build(t, plan, 3);
      return true;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("digits"), std::string::npos) << e.what();
      return false;
    }
  }
  std::set<std::tuple<size_t, size_t, size_t>> never_;  // node, knob, option: of these segments
};

// Returns a decoder's configuration with one layer. An encoder's norms lie behind a layer, so it has two.
std::string OneLayer(const std::string& preset) {
  if (preset == "tiny") return "";
  return Replaced(FindPreset(preset.c_str()).config, preset == "tiny-gpt2" ? "n_layer" : "num_hidden_layers", "2", "1");
}

// Returns a plan of these segments, with the shifts that were fitted for it.
Compiled Segmented(const char* preset, int segments) {
  Compiled c{RandomModel(preset, 3, OneLayer(preset)), {}, {}};
  nn::CompileOptions o;
  for (size_t i = 0; i < nn::Segments().size(); ++i) o.policy.*nn::Segments()[i].field = segments >> i & 1;
  if (preset == std::string("tiny-llama")) {
    o.policy.Set("weight.query_key", 8);
    o.policy.Set("rotation", 5);
  }
  o.min_tokens = c.model.min_tokens;
  o.max_tokens = 12;
  nn::Shifts shifts;
  c.plan = nn::Compile(c.model.graph, c.model.weights, Texts(2, 160, 4, 12), o, exec::Default(), &shifts);
  for (const nn::ShiftFit& f : shifts.fits) EXPECT_TRUE(f.fits) << f.where;
  for (auto& [name, tensor] : shifts.weights.tensors()) c.model.weights.Set(name, tensor);
  c.q = nn::Quantise(c.model.weights, c.plan);
  return c;
}

// A shift that fails on a text. It is 15 nats too high for one head, whose sums are too small. It is as much too low
// for another, whose entries are at the cap. Both are named, row by row, and the parties still compute the
// specification's words.
TEST(Shift, ThatFailsIsNamedAndStaysExact) {
  for (int segments : {1, 15}) {
    Compiled c = Segmented("tiny", segments);
    const std::string bias = "shift.0.attention.bias";
    nn::Checkpoint::CheckpointTensor t = c.model.weights.tensors().at(bias);
    int64_t head_dim = 0;
    for (auto& op : c.plan.classes[0].ops)
      if (auto* s = dynamic_cast<nn::Softmax*>(op.get())) head_dim = s->head_dim;
    const float far = 15 * std::sqrt(float(head_dim));
    t.values.at(0) += far;
    t.values.at(1) -= far;
    c.model.weights.Set(bias, t);
    c.q = nn::Quantise(c.model.weights, c.plan);
    const auto flights = [&](int n) {
      pfss::Trace trace;
      nn::Build(trace, c.plan, n);
      return pfss::Schedule(trace).flights();
    };
    const std::vector<Text> texts = Texts(5, 2, 5, 12);
    const std::vector<nn::Simulation> runs = ExpectSameWords(c.plan, c.q, texts, flights);
    for (size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(nn::PlanSimulator(c.plan, c.q).Run(texts[i]).y, runs[i].y);
      std::set<std::string> named;
      for (const nn::Outside& o : runs[i].outside) {
        EXPECT_FALSE(o.hard) << nn::Sentence(o);
        named.insert(o.wire);
      }
      const std::string at = Str(c.plan.For(int(texts[i].size())).max_n, "/0/attention/");
      for (size_t row = 0; row < texts[i].size(); ++row) {
        EXPECT_TRUE(named.count(Str(at, "eV*recip.row_sum of head 0 row ", row))) << row;
        EXPECT_TRUE(named.count(Str(at, "e.head 1 row ", row))) << row;
      }
    }
  }
}

class Segments : public testing::TestWithParam<const char*> {};

TEST_P(Segments, SegmentWithEveryPairOfChoicesInside) {
  const char* preset = GetParam();
  exec::Pool pool(2);
  const auto every = backends::Every(pool);
  std::set<Hash> traces;
  std::set<int> flights;
  const std::vector<Text> texts{Texts(5, 1, 5, 5)[0], Texts(6, 1, 12, 12)[0]};
  for (int segments = 0; segments < 16; ++segments) {
    const Compiled c = Segmented(preset, segments);
    Chooser chooser;
    uint8_t serial = 0;
    for (const Inside& x : Covering()) {
      SCOPED_TRACE(Str(preset, ", segments ", segments, ", ", x.borrow, ", ", x.rows, ", ", x.tail, ", ",
                       x.narrow ? "narrow" : "wide"));
      nn::Plan plan = c.plan;
      chooser.Set(&plan, x);
      const Text& ids = texts[serial % 2];
      pfss::Trace t;
      nn::Build(t, plan, int(ids.size()));
      ++serial;
      if (!traces.insert(t.digest()).second) continue;  // no operator has this choice
      const Outcome got = RunProtocol(plan, c.q, ids, *every[serial / 2 % every.size()], serial);
      EXPECT_EQ(got.y, nn::PlanSimulator(plan, c.q).Run(ids).y);
      flights.insert(got.flights);
    }
  }
  std::printf("%s: %zu traces, of %d to %d flights\n", preset, traces.size(), *flights.begin(), *flights.rbegin());
  EXPECT_GE(traces.size(), 110u);
}

INSTANTIATE_TEST_SUITE_P(Presets, Segments, testing::Values("tiny", "tiny-gpt2", "tiny-llama"));

}  // namespace
}  // namespace suf::model
