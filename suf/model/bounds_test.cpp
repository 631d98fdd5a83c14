// Hard bounds under attack: every text of a few tokens, then hill climbing over texts; and the check of weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/model/rig_test.hpp"
#include "suf/nn/plan/measure.hpp"

namespace suf::model {
namespace {

// Returns the reaches of every node of one class, from the plan and the quantised weights alone.
std::vector<nn::RowBound> Reaches(const nn::Plan& plan, const nn::QuantisedWeights& q, const nn::Class& c) {
  nn::Measures measures(exec::Default());
  const nn::Options policy;
  nn::Class own = c;
  std::vector<nn::RowBound> reaches(plan.graph.size());
  for (auto& n : plan.graph.nodes()) {
    nn::Operator& op = *own.ops[size_t(n->index)];
    nn::Facts facts{policy, n->index, plan.min_tokens, c.max_n, nullptr, nullptr, true, {}};
    for (const nn::WeightSlot& s : op.Slots()) measures.Set(*n, s, q.at(nn::SlotName(plan, c, *n, s)));
    if (!op.Slots().empty()) facts.weights = &measures.Of(*n);
    nn::Edges in = nn::EdgesOf(*n, own.ops);
    for (size_t k = 0; k < in.size(); ++k) in[k].reach = reaches[size_t(n->in[k]->index)];
    std::vector<nn::Width> widths;
    reaches[size_t(n->index)] = op.Bound(facts, in, &widths);
  }
  return reaches;
}

// A compiled model whose every run is checked against its reaches and certificates.
class Prey {
 public:
  explicit Prey(Compiled c) : c_(std::move(c)), simulator_(c_.plan, c_.q), most_(c_.plan.graph.size(), 0.0) {
    for (const nn::Class& x : c_.plan.classes) reaches_[x.max_n] = Reaches(c_.plan, c_.q, x);
  }
  // Returns the largest |value| of every node.
  std::vector<double> Run(const Text& ids) {
    const nn::Class& c = c_.plan.For(int(ids.size()));
    std::vector<double> most(c_.plan.graph.size(), 0.0);
    const nn::Simulation s = simulator_.Run(ids, [&](const nn::GraphNode& n, const nn::IntArray& y) {
      const nn::RowBound& r = reaches_.at(c.max_n)[size_t(n.index)];
      double& top = most[size_t(n.index)];
      for (int64_t v : y.at) top = std::max(top, std::abs(double(v)));
      if (r.dim == 0 || c.ops[size_t(n.index)]->wrapped) return;
      const size_t cols = size_t(y.cols());
      for (size_t row = 0; row < y.at.size(); row += cols) {
        double square = 0;
        for (size_t j = 0; j < cols; ++j) {
          const double v = std::abs(double(y.at[row + j]));
          const double limit = r.each.empty() ? r.length : r.each[r.each.size() == 1 ? 0 : j];
          if (v > limit * (1 + 1e-9)) Left(n, v, limit);
          square += v * v;
        }
        if (std::sqrt(square) > r.length * (1 + 1e-9)) Left(n, std::sqrt(square), r.length);
      }
      most_[size_t(n.index)] = std::max(most_[size_t(n.index)], top / r.most());
    });
    for (const nn::Outside& o : s.outside)
      if (o.hard) ADD_FAILURE() << nn::Sentence(o);
    return most;
  }
  const nn::Plan& plan() const { return c_.plan; }
  // Returns the largest part of its bound that a node has reached.
  double near(size_t node) const { return most_[node]; }

 private:
  static void Left(const nn::GraphNode& n, double value, double limit) {
    ADD_FAILURE() << nn::Graph::Where(n) << " reached " << value << ", its bound is " << limit;
  }
  Compiled c_;
  nn::PlanSimulator simulator_;
  std::map<int, std::vector<nn::RowBound>> reaches_;
  std::vector<double> most_;
};

const char* const kPresets[] = {"tiny",       "tiny-roberta", "tiny-distilbert", "tiny-mpnet", "tiny-modernbert",
                                "tiny-nomic", "tiny-gpt2",    "tiny-llama",      "tiny-qwen3"};

// Returns a preset's model with the first `count` rows of its table.
LoadedModel FewTokens(const char* preset, int64_t count) {
  LoadedModel m = RandomModel(preset, 11);
  const ModelFolder folder;
  folder.Write("config.json", Replaced(FindPreset(preset).config, "vocab_size", "128", std::to_string(count)));
  if (const std::string pooling = FindPreset(preset).pooling; !pooling.empty()) {
    std::filesystem::create_directory(folder.path() / "1_Pooling");
    folder.Write("1_Pooling/config.json", Str(R"({"pooling_mode": ")", pooling, R"("})"));
  }
  m.graph = ReadGraph(folder.path());
  const nn::Leaf table = m.graph.leaves().at(0);
  nn::Checkpoint::CheckpointTensor t = m.weights.Get(table.name);
  t.shape = table.shape;
  t.values.resize(size_t(nn::Size(table.shape)));
  nn::Checkpoint few;
  for (auto& [name, tensor] : m.weights.tensors()) few.Set(name, name == table.name ? t : tensor);
  m.weights = few;
  return m;
}

TEST(Bounds, HoldForEveryTextOfAFewTokens) {
  constexpr int kTokens = 5, kLongest = 4;
  for (const char* preset : kPresets) {
    Prey prey(CompileFor(FewTokens(preset, kTokens), kLongest));
    int texts = 0;
    for (int n = prey.plan().min_tokens; n <= kLongest; ++n) {
      int count = 1;
      for (int i = 0; i < n; ++i) count *= kTokens;
      for (int which = 0; which < count; ++which, ++texts) {
        Text ids;
        for (int i = 0, rest = which; i < n; ++i, rest /= kTokens) ids.push_back(rest % kTokens);
        prey.Run(ids);
      }
    }
    constexpr int kTexts[] = {0, 5 + 25 + 125 + 625, 25 + 125 + 625, 125 + 625};  // by the least length
    EXPECT_EQ(texts, kTexts[prey.plan().min_tokens]);
    EXPECT_GT(prey.near(0), 0.9)
        << preset;  // a lookup's bound is a table's: some text reaches it, up to a position's sign
    for (size_t i = 0; i < prey.plan().graph.size(); ++i) EXPECT_LE(prey.near(i), 1) << preset;
  }
}

// Changes one token at a time, towards the largest |value| of a node.
void Climb(Prey& prey, size_t node, std::mt19937_64& rng, int starts, int steps) {
  for (int start = 0; start < starts; ++start) {
    Text ids = Texts(rng(), 1, 8, 8)[0];
    double best = prey.Run(ids)[node];
    for (int step = 0; step < steps; ++step) {
      Text other = ids;
      other[rng() % other.size()] = int32_t(rng() % 128);
      if (const double now = prey.Run(other)[node]; now >= best) {
        best = now;
        ids = other;
      }
    }
  }
}

TEST(Bounds, HoldUnderHillClimbing) {
  for (const char* preset : kPresets)
    for (int clamp : {0, 1}) {
      if (clamp && preset == kPresets[0]) continue;  // it has no stream
      nn::Options policy;
      policy.clamp = clamp;
      Prey prey(CompileFor(RandomModel(preset, 12), 8, policy));
      std::mt19937_64 rng(13);
      for (size_t node = 0; node < prey.plan().graph.size(); ++node) Climb(prey, node, rng, 1, clamp ? 8 : 25);
    }
}

// The simulator reports weights that are 64 times those of the plan.
TEST(Bounds, ABrokenBoundIsSeen) {
  Compiled c = CompileFor(RandomModel("tiny-gpt2", 12), 8);
  nn::Tensor& table = c.q.at("0.table");
  nn::Ints loud = table.Row(0);
  for (int64_t i = 1; i < table.rows(); ++i)
    for (int64_t v : table.Row(i)) loud.push_back(v);
  for (int64_t& v : loud) v *= 64;
  table = nn::Tensor(table.shape(), loud);
  bool hard = false;
  for (const nn::Outside& o : nn::PlanSimulator(c.plan, c.q).Run(Text{1, 2, 3}).outside)
    hard = hard || (o.hard && o.wire == "8/embed/z_embed");
  EXPECT_TRUE(hard);
}

// Returns a weight times f.
nn::Tensor Scaled(const nn::Tensor& t, double f) {
  nn::Ints v;
  for (int64_t i = 0; i < t.size(); ++i) v.push_back(int64_t(std::trunc(double(t[i]) * f)));
  return {t.shape(), v};
}

TEST(CheckWeights, RefusesAWeightTimes64AndNamesTheWire) {
  for (const char* preset : kPresets) {
    const Compiled c = CompileFor(RandomModel(preset, 14), 12);
    EXPECT_NO_THROW(nn::CheckWeights(c.plan, c.q)) << preset;
    int tried = 0;
    for (auto& n : c.plan.graph.nodes()) {
      const nn::Operator& op = *c.plan.classes[0].ops[size_t(n->index)];
      if (op.wrapped) continue;  // its bound need not fit
      for (const nn::WeightSlot& s : op.Slots()) {
        if (s.name != "full" && s.name != "table") continue;
        const std::string name = nn::SlotName(c.plan, c.plan.classes[0], *n, s);
        nn::QuantisedWeights q = c.q;
        for (double f : {0.9, -1.0}) {
          if (f < 0 && s.name == "table") continue;  // its rows meet the positions with another sign
          q[name] = Scaled(c.q.at(name), f);
          EXPECT_NO_THROW(nn::CheckWeights(c.plan, q)) << preset << " " << name << " times " << f;
        }
        q[name] = Scaled(c.q.at(name), 64);
        try {
          nn::CheckWeights(c.plan, q);
          ADD_FAILURE() << preset << ": accepted 64 times " << nn::Graph::Where(*n);
        } catch (const Error& e) {
          EXPECT_EQ(e.cause(), Cause::kRefused);
          EXPECT_THAT(e.what(), testing::HasSubstr("wire 8/" + nn::Graph::Where(*n))) << preset;
          EXPECT_THAT(e.what(), testing::HasSubstr("with these weights; the plan allows 2^"));
          EXPECT_THAT(e.what(), testing::EndsWith("; compile a plan from this model"));
        }
        ++tried;
      }
    }
    EXPECT_GE(tried, 9) << preset;
  }
}

TEST(CheckWeights, WantsEveryHardCertificate) {
  const Compiled c = CompileFor(RandomModel("tiny", 14), 8);
  int hard = 0;
  for (size_t i = 0; i < c.plan.graph.size(); ++i)
    for (size_t k = 0; k < c.plan.classes[0].certificates[i].size(); ++k) {
      nn::Plan other = c.plan;
      nn::Certificate& x = other.classes[0].certificates[i][k];
      if (!x.hard || i % 5) continue;
      const std::string wire =
          "wire 8/" + nn::Graph::Where(c.plan.graph.node(i)) + (x.width.empty() ? "" : "." + x.width);
      const auto expect = [&](const std::string& sentence) {
        try {
          nn::CheckWeights(other, c.q);
          ADD_FAILURE() << "accepted " << wire;
        } catch (const Error& e) {
          EXPECT_THAT(e.what(), testing::HasSubstr(sentence));
        }
      };
      x.hard = false;
      expect("the plan has no hard certificate of " + wire + ";");
      x.hard = true;
      --x.bits;
      expect(wire + " can reach 2^" + std::to_string(x.bits + 1) + " with these weights; the plan allows 2^" +
             std::to_string(x.bits));
      ++hard;
    }
  EXPECT_GE(hard, 6);
}

}  // namespace
}  // namespace suf::model
