// Qwen 3 (Yang et al. 2025) as an encoder. It has Llama's layers. Each head of queries and keys has a norm of its own
// before the rotation. The result are the rows behind the last norm.
#include "suf/model/families/decoder.hpp"
#include "suf/model/families/list.hpp"

namespace suf::model {

namespace {

// Refuses layers that see only a window of the text.
void CheckWholeAttention(const Fields& f, const DecoderShape& s) {
  f.Must("use_sliding_window", false, false);
  if (!f.Has("layer_types")) return;
  const json whole(size_t(s.layers), "full_attention");
  if (f.Value("layer_types") != whole)
    f.Refuse("layer_types", "only \"full_attention\" for each of the ", s.layers, " layers is supported; ", kAnother);
}

Graph Build(const std::filesystem::path& dir, bool) {
  const Fields f(dir / "config.json");
  DecoderShape s = ReadDecoderShape(f);
  s.serving = f.Count("num_key_value_heads", 256);
  s.head_dim = f.Count("head_dim", 1024);
  CheckHeads(f, s);
  CheckWholeAttention(f, s);
  Graph g;
  Expr words;
  GraphNode* x = DecoderRows(g, s, "", true, &words);
  g.Scope("norm");
  Normalised(g, x, "norm.weight", s);
  g.Number();
  return g;
}

constexpr Preset kPresets[] = {
    {"tiny-qwen3",
     R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu", "hidden_size": 32,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12, "intermediate_size": 48, "vocab_size": 128,
  "num_hidden_layers": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0})",
     1, "lasttoken"}};

}  // namespace

const Family kQwen3{"qwen3", "model.", {}, 2, true, kPresets, Build};

}  // namespace suf::model
