// Both parties and the dealer against the specification, every word, for every family. Covers lengths, plans of both
// attended outputs, wrapping streams, and windows that are far too narrow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suf/compiler/choose.hpp"
#include "suf/model/rig_test.hpp"

namespace suf::model {
namespace {

// Returns a text of every length from the least to 12 tokens.
std::vector<Text> Lengths(int least) {
  std::vector<Text> texts;
  for (int n = least; n <= 12; ++n) texts.push_back(Texts(uint64_t(100 + n), 1, n, n)[0]);
  return texts;
}

nn::Rescale* Optional(const nn::Plan& plan, int n) {
  for (auto& op : plan.For(n).ops)
    if (auto* r = dynamic_cast<nn::Rescale*>(op.get()); r && r->kind == nn::Rescale::kOptional) return r;
  return nullptr;
}

// Returns the flights of `layers` layers, with those before (to the first stream or normalised rows) and behind them. A
// layer has query-key 1, rescale 2, scores 1, softmax 6, weighted sum 3, output 1. Then it has norm 8, linear 1,
// activation 4, linear 1, norm 8. Each of its four maps behind a nonlinear operator saves one flight, because P0 alone
// sees a map's input.
int EncoderFlights(int layers, bool merged) {
  return 6 + (1 + 2 + 1 + 6 + 3 + 1 + 8 + 1 + 4 + 1 + 8 - 4) * layers + (merged ? 0 : 2 * layers) + 8;
}
// A decoder's attended output always has its own rescale. A gate of two stages and a product take two flights more.
int DecoderFlights(int layers, bool gated) {
  return 14 + (1 + 2 + 1 + 6 + 3 + 2 + 1 + 8 + 1 + 4 + 1 + 8 - 4) * layers + (gated ? 2 * layers : 0);
}

TEST(Protocol, EncoderWithBothAttendedOutputs) {
  for (int layers : {1, 2})
    for (int merge : {0, 8}) {
      nn::Options policy;
      policy.merge = merge;
      const std::string config = Replaced(FindPreset("tiny").config, "num_hidden_layers", "2", std::to_string(layers));
      const Compiled c = CompileFor(RandomModel("tiny", uint64_t(layers), config), 16, policy);
      for (int n : {3, 8, 9, 16}) EXPECT_EQ(Optional(c.plan, n)->shift == 0, n <= merge);
      const std::vector<Text> texts = layers == 2 ? Lengths(3) : Texts(3, 3, 3, 12);
      ExpectSameWords(c.plan, c.q, texts, [&](int n) { return EncoderFlights(layers, n <= merge); });
    }
}

TEST(Protocol, EncodersWithOtherNames) {
  nn::Options policy;
  policy.merge = 8;
  for (const char* preset : {"tiny-roberta", "tiny-distilbert", "tiny-mpnet"}) {
    const Compiled c = CompileFor(RandomModel(preset, 3), 12, policy);
    ExpectSameWords(c.plan, c.q, Texts(3, 3, 3, 12), [&](int n) { return EncoderFlights(2, n <= policy.merge); });
  }
}

// A gate takes two flights more. Norms before the branches are as many as norms behind them.
TEST(Protocol, EncodersWithGatedLayers) {
  nn::Options policy;
  policy.merge = 8;
  const Compiled behind = CompileFor(RandomModel("tiny-nomic", 3), 12, policy);
  ExpectSameWords(behind.plan, behind.q, Texts(3, 3, 3, 12),
                  [&](int n) { return EncoderFlights(2, n <= policy.merge) + 2 * 2; });
  const Compiled before = CompileFor(RandomModel("tiny-modernbert", 3), 12, policy);
  ExpectSameWords(before.plan, before.q, Texts(3, 3, 3, 12), [&](int) { return EncoderFlights(4, false) + 2 * 4; });
}

// P0, P1 and the dealer each on each backend: the same bundles, the same frames, the same result.
TEST(Protocol, AnyRoleOnAnyBackend) {
  const Compiled c = CompileFor(RandomModel("tiny", 1), 16);
  const Text ids = Texts(4, 1, 5, 5)[0];
  pfss::Trace t;
  nn::Build(t, c.plan, int(ids.size()));
  const pfss::Schedule s(t);
  std::mt19937_64 rng(1);
  run::Inputs in[3];
  SetInputs(c.plan, c.q, ids, rng, in);
  const pfss::BundleSecrets secrets{{Secret(Hash{1}), Secret(Hash{2})}, Hash{3}};
  exec::Pool pool(2);
  const auto every = backends::Every(pool);
  EXPECT_GE(every.size(), 3u);  // packed, clear, rows
  std::optional<run::PairRun> want;
  for (const auto& p0 : every)
    for (const auto& p1 : every)
      for (const auto& dealer : every) {
        SCOPED_TRACE(Str("P0 on ", p0->name(), ", P1 on ", p1->name(), ", the dealer on ", dealer->name()));
        run::PairRun got = run::RunPair({s, {p0.get(), p1.get(), dealer.get()}, {&in[0], &in[1], &in[2]}, secrets});
        if (!want)
          want = std::move(got);
        else {
          EXPECT_EQ(got.result, want->result);
          EXPECT_TRUE(got.key == want->key && got.frame == want->frame) << "a bundle or a frame differs";
        }
      }
  ASSERT_EQ(want->result[1].size(), 32u);
  const std::vector<int64_t> y = nn::PlanSimulator(c.plan, c.q).Run(ids).y;
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(ring::Signed(want->result[1][i], c.plan.For(5).ops.back()->ring), y[i]);
}

// Corrections to P0: the same words, flights and frames. P1's bundle has fewer bytes, and both together have as many.
TEST(Protocol, KeysToP0) {
  for (const char* preset : {"tiny", "tiny-llama"}) {
    Compiled c = CompileFor(RandomModel(preset, 3), 16);
    const auto schedule = [&](pfss::KeysTo to) {
      c.plan.variants[0].keys_to = to;
      pfss::Trace t;
      nn::Build(t, c.plan, 7);
      const pfss::Schedule s(t);
      EXPECT_EQ(compiler::BillOf(s).key_bits, (std::array{s.key_bits(0), s.key_bits(1)}));
      return std::tuple(s.flights(), std::array{s.sent(0, true), s.sent(1, true), s.sent(1, false)},
                        std::array{s.key_bits(0), s.key_bits(1)});
    };
    const auto [flights, sent, key] = schedule(pfss::KeysTo::kBalanced);
    const auto [flights_p0, sent_p0, key_p0] = schedule(pfss::KeysTo::kP0);
    EXPECT_EQ(flights, flights_p0);
    EXPECT_EQ(sent, sent_p0);
    EXPECT_EQ(key[0] + key[1], key_p0[0] + key_p0[1]);
    EXPECT_NEAR(double(key[0]) / double(key[1]), 1, 0.02);
    EXPECT_LT(2 * key_p0[1], key[1]);
    ExpectSameWords(c.plan, c.q, Texts(6, 3, 3, 12), [&](int) {
      return preset == std::string("tiny") ? EncoderFlights(2, true) : DecoderFlights(2, true);
    });
  }
}

TEST(Protocol, Decoders) {
  for (const char* preset : {"tiny-gpt2", "tiny-llama"}) {
    const bool gated = std::string(preset) == "tiny-llama";
    const Compiled c = CompileFor(RandomModel(preset, 3), 16);
    EXPECT_EQ(DecoderFlights(2, gated), gated ? 86 : 82);
    ExpectSameWords(c.plan, c.q, Lengths(1), [&](int) { return DecoderFlights(2, gated); });
    for (int layers : {1, 3}) {
      const std::string config =
          Replaced(FindPreset(preset).config, gated ? "num_hidden_layers" : "n_layer", "2", std::to_string(layers));
      const Compiled other = CompileFor(RandomModel(preset, 4, config), 8);
      ExpectSameWords(other.plan, other.q, Texts(5, 2, 1, 8), [&](int) { return DecoderFlights(layers, gated); });
    }
  }
}

// Queries and keys have a norm more before their rotation, which takes eight flights, and a map behind it. This map
// saves one. A norm ends the model, of four flights more than a result.
TEST(Protocol, NormsOfHeads) {
  const Compiled c = CompileFor(RandomModel("tiny-qwen3", 3), 12);
  ExpectSameWords(c.plan, c.q, Lengths(2), [&](int) { return DecoderFlights(2, true) + 2 * 8 + 4; });
  nn::Options policy;
  policy.square = 1;
  policy.clamp = 1;
  const Compiled other = CompileFor(RandomModel("tiny-qwen3", 4), 8, policy);
  ExpectSameWords(other.plan, other.q, Texts(5, 2, 2, 8), [&](int n) {
    pfss::Trace t;
    nn::Build(t, other.plan, n);
    return pfss::Schedule(t).flights();
  });
}

// A softmax has three openings instead of six. Queries and keys that stay un-truncated need none to be rescaled.
TEST(Protocol, PredictedShifts) {
  for (const char* preset : {"tiny", "tiny-gpt2", "tiny-llama"})
    for (int scores : {0, 1})
      for (bool own : {false, true}) {
        nn::Options policy;
        policy.Set("softmax", 1);
        policy.Set("scores", scores);
        const bool encoder = std::string(preset) == "tiny", gated = std::string(preset) == "tiny-llama";
        const Compiled c = CompileFor(Shifted(RandomModel(preset, 3), own), 12, policy);
        // A layer's flights come in pairs. A rotation's queries and keys are always rescaled.
        const int less = 2 * (gated ? 2 : 2 + 2 * scores);
        ExpectSameWords(c.plan, c.q, Texts(5, 3, 3, 12),
                        [&](int) { return (encoder ? EncoderFlights(2, true) : DecoderFlights(2, gated)) - less; });
      }
}

// A maximum of un-truncated scores, whose slices have too many digits for one stage: two flights fewer a layer.
TEST(Protocol, UntruncatedScores) {
  nn::Options policy;
  policy.Set("scores", 1);
  const Compiled c = CompileFor(RandomModel("tiny", 3), 12, policy);
  ExpectSameWords(c.plan, c.q, Texts(5, 3, 3, 12), [&](int) { return EncoderFlights(2, true) - 4; });
}

// The activation is data: every function that a configuration may name, in every family.
TEST(Protocol, EveryActivation) {
  for (const auto& [preset, field, own] : {std::tuple{"tiny", "hidden_act", "gelu"},
                                           {"tiny-gpt2", "activation_function", "gelu_new"},
                                           {"tiny-llama", "hidden_act", "silu"}})
    for (const char* name : {"gelu", "gelu_new", "relu", "silu", "tanh"}) {
      const std::string config = Replaced(FindPreset(preset).config, field, Str('"', own, '"'), Str('"', name, '"'));
      const Compiled c = CompileFor(RandomModel(preset, 6, config), 8);
      int named = 0;
      for (auto& op : c.plan.For(4).ops)
        if (auto* a = dynamic_cast<nn::Activation*>(op.get())) named += a->function == name;
      EXPECT_EQ(named, 2) << preset << " " << name;
      const int flights = std::string(preset) == "tiny" ? EncoderFlights(2, true)
                                                        : DecoderFlights(2, std::string(preset) == "tiny-llama");
      ExpectSameWords(c.plan, c.q, Texts(7, 1, 4, 5), [&](int) { return flights; });
    }
}

// Every choice that the search has, one at a time: the same words, at any cost.
TEST(Protocol, EveryChoiceOfEveryOperator) {
  for (const char* preset : {"tiny", "tiny-llama"}) {
    const Compiled c = CompileFor(RandomModel(preset, 8), 8);
    int tried = 0;
    for (size_t node = 0; node < c.plan.graph.size(); ++node) {
      nn::Plan plan = c.plan;
      auto op = [&]() -> nn::Operator& { return *plan.classes[0].ops[node]; };
      const size_t knobs = op().Knobs().size();
      for (size_t k = 0; k < knobs; ++k)
        for (size_t option = 0; option < op().Knobs()[k].options.size(); ++option) {
          const size_t own = op().Knobs()[k].at;
          if (option == own) continue;
          op().Knobs()[k].set(option);
          auto flights = [&](int n) {
            pfss::Trace t;
            nn::Build(t, plan, n);
            return pfss::Schedule(t).flights();
          };
          SCOPED_TRACE(Str(preset, ", ", nn::Graph::Where(plan.graph.node(node)), ", ", option));
          try {
            (void)flights(5);
          } catch (const Error& e) {  // more digits than one stage has
            EXPECT_NE(std::string(e.what()).find("digits"), std::string::npos) << e.what();
            op().Knobs()[k].set(own);
            continue;
          }
          ExpectSameWords(plan, c.q, Texts(9, 1, 5, 5), flights);
          op().Knobs()[k].set(own);
          ++tried;
        }
    }
    EXPECT_GT(tried, 30) << preset;
  }
}

// Sums of squares of the norms' inputs: every norm behind a rescale of its own takes two flights fewer. The norm of one
// row, which cut in one stage, takes one fewer. In an encoder the parity of flights hides this one.
TEST(Protocol, SumsOfSquaresOfInputs) {
  for (auto [preset, plain, saved] : {std::tuple{"tiny", EncoderFlights(2, true), 8},
                                      {"tiny-gpt2", DecoderFlights(2, false), 10},
                                      {"tiny-llama", DecoderFlights(2, true), 10}}) {
    nn::Options policy;
    policy.square = 1;
    const Compiled c = CompileFor(RandomModel(preset, 3), 12, policy);
    int wide = 0;
    for (auto& op : c.plan.For(12).ops)
      if (auto* n = dynamic_cast<nn::Norm*>(op.get())) {
        EXPECT_EQ(n->square_of, nn::SquareOf::kZ);
        wide += n->under > 0;
      }
    EXPECT_GE(wide, 4) << preset;
    ExpectSameWords(c.plan, c.q, Lengths(3), [flights = plain - saved](int) { return flights; });
  }
}

// A slice in two stages takes four flights to its opening. Its norm cuts nothing and takes two fewer.
constexpr int kClamp = 2;

// Returns how many streams a plan reads by wrapping slices.
int Clamped(const nn::Class& c) {
  int count = 0;
  for (auto& op : c.ops)
    if (auto* r = dynamic_cast<nn::Rescale*>(op.get())) count += r->window > 0;
  return count;
}

TEST(Protocol, StreamsReadByWrappingSlices) {
  for (const char* preset : {"tiny-gpt2", "tiny-llama"}) {
    nn::Options policy;
    policy.clamp = 1;
    const Compiled c = CompileFor(RandomModel(preset, 3), 12, policy), plain = CompileFor(RandomModel(preset, 3), 12);
    EXPECT_EQ(Clamped(c.plan.For(12)), 4) << preset;
    EXPECT_EQ(Clamped(plain.plan.For(12)), 0) << preset;
    const int flights = DecoderFlights(2, preset == std::string("tiny-llama")) + kClamp * 4;
    ExpectSameWords(c.plan, c.q, Lengths(1), [&](int) { return flights; });
  }
}

// Makes every calibrated window `bits` bits narrower: activations, scores, clamped streams. The rings of the wires that
// they read shrink as well. The norms' tables are fine only in a range without values.
void Narrow(nn::Plan& plan, int bits) {
  const auto middle = [&](nn::Ints& t) {
    const size_t keep = t.size() >> bits, drop = (t.size() - keep) / 2;
    t = {t.begin() + int64_t(drop), t.begin() + int64_t(drop + keep)};
  };
  for (nn::Class& c : plan.classes)
    for (auto& n : plan.graph.nodes()) {
      nn::Operator* op = c.ops[size_t(n->index)].get();
      const auto window = [&](int was) {
        nn::Operator& wire = *c.ops[size_t(n->in[0]->index)];
        EXPECT_EQ(wire.ring, was);
        wire.ring -= bits;
        for (nn::Certificate& x : c.certificates[size_t(n->index)])
          if (!x.hard) x.bits -= bits;
      };
      if (auto* a = dynamic_cast<nn::Activation*>(op)) {
        window(a->window());
        middle(a->lines.offset);
        middle(a->lines.rise);
      } else if (auto* s = dynamic_cast<nn::Softmax*>(op)) {
        window(s->window());
        s->maximum.low -= bits;
        s->maximum.low_table.resize(size_t{1} << s->maximum.low);
        s->maximum.floor = (int64_t{1} << s->maximum.level) - 2;
      } else if (auto* r = dynamic_cast<nn::Rescale*>(op); r && r->window) {
        r->window -= bits;
      } else if (auto* norm = dynamic_cast<nn::Norm*>(op)) {
        norm->top = norm->floor + 1;
      }
    }
}

TEST(Protocol, WindowsEightTimesTooNarrow) {
  for (const char* preset : {"tiny", "tiny-gpt2", "tiny-llama"})
    for (int clamp : {0, 1}) {
      nn::Options policy;
      policy.clamp = clamp;
      policy.piece = 4;  // more pieces than the default, so that an eighth is left
      const Compiled c = CompileFor(RandomModel(preset, 6), 12, policy);
      nn::Plan plan = c.plan;
      Narrow(plan, 3);
      nn::Check(plan);
      nn::CheckWeights(plan, c.q);
      const nn::Plan back = nn::Parse(nn::Serialize(plan));
      const bool encoder = preset == std::string("tiny");
      const int flights = encoder ? EncoderFlights(2, true)
                                  : DecoderFlights(2, preset == std::string("tiny-llama")) + clamp * kClamp * 4;
      std::set<std::string> named;
      for (const nn::Simulation& s : ExpectSameWords(back, c.q, Texts(7, 4, 3, 12), [&](int) { return flights; }))
        for (const nn::Outside& o : s.outside) {
          EXPECT_FALSE(o.hard) << preset << ": " << nn::Sentence(o);
          named.insert(o.wire.substr(o.wire.rfind('.') + 1));
        }
      EXPECT_THAT(named, testing::IsSupersetOf({"input", "score", "row_max", "square"})) << preset;
    }
}

// Returns a decoder whose channel 3 of the stream is 60 times the others, like trained models. The norms' gains for it
// are small.
LoadedModel Loud(const char* preset) {
  LoadedModel m = RandomModel(preset, 7);
  const bool llama = preset == std::string("tiny-llama");
  nn::Checkpoint all;
  for (auto& [name, tensor] : m.weights.tensors()) {
    nn::Checkpoint::CheckpointTensor t = tensor;
    const auto ends = [&, of = name](const char* what) { return of.ends_with(what); };
    const size_t d = 32, out = t.values.size() / d;
    if (llama ? ends("o_proj.weight") || ends("down_proj.weight") : false)
      for (size_t i = 0; i < out; ++i) t.values[3 * out + i] *= 60;  // row 3 of (outputs, inputs)
    if (ends("c_proj.weight") || ends("c_proj.bias"))
      for (size_t i = 0; i < out; ++i) t.values[i * d + 3] *= 60;  // column 3 of (inputs, outputs)
    if (ends("norm.weight") || ends("layernorm.weight") || ends("ln_1.weight") || ends("ln_2.weight") ||
        ends("ln_f.weight"))
      t.values[3] = 0.02f;
    all.Set(name, t);
  }
  m.weights = all;
  return m;
}

TEST(Protocol, OneLoudChannel) {
  for (const char* preset : {"tiny-gpt2", "tiny-llama"})
    for (int clamp : {0, 1}) {
      nn::Options policy;
      policy.clamp = clamp;
      policy.Set("result.logits", 16);
      const Compiled c = CompileFor(Loud(preset), 8, policy);
      const std::vector<Text> texts = Texts(9, 2, 4, 8);
      const int flights = DecoderFlights(2, preset == std::string("tiny-llama")) + clamp * kClamp * 4;
      const std::vector<nn::Simulation> runs = ExpectSameWords(c.plan, c.q, texts, [&](int) { return flights; });
      const nn::RealModel real(c.model.graph, c.model.weights);
      for (size_t i = 0; i < texts.size(); ++i) {
        for (const nn::Outside& o : runs[i].outside) EXPECT_FALSE(o.hard) << nn::Sentence(o);
        const nn::Reals want = real.Run(texts[i]).at, got(runs[i].y.begin(), runs[i].y.end());
        EXPECT_GT(nn::Cosine(got, want), 0.999) << preset << " clamp " << clamp;
      }
    }
}

TEST(Protocol, OutlierChannels) {
  const Compiled c = CompileFor(RandomModel("tiny-outliers", 3), 12);
  const std::vector<Text> texts = Texts(3, 3, 3, 12);
  const std::vector<nn::Simulation> runs =
      ExpectSameWords(c.plan, c.q, texts, [](int) { return EncoderFlights(2, true); });
  const nn::RealModel real(c.model.graph, c.model.weights);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(runs[i].outside.empty()) << nn::Sentence(runs[i].outside[0]);
    EXPECT_GT(nn::Cosine(nn::Reals(runs[i].y.begin(), runs[i].y.end()), real.Run(texts[i]).at), 0.999);
  }
}

TEST(Protocol, SameNodesEveryTime) {
  const Compiled c = CompileFor(RandomModel("tiny"), 16);
  pfss::Trace a, b, d;
  nn::Build(a, c.plan, 7);
  nn::Build(b, c.plan, 7);
  nn::Build(d, c.plan, 8);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), d.digest());
}

}  // namespace
}  // namespace suf::model
