// Llama (Touvron et al. 2023), a pre-LN decoder with RMSNorm, rotary positions, grouped queries and SwiGLU. It gives
// the logits of the last token.
#include "suf/model/families/decoder.hpp"
#include "suf/model/families/list.hpp"

namespace suf::model {

namespace {

DecoderShape ReadShape(const Fields& f) {
  f.Must("model_type", nullptr, "llama");
  DecoderShape s = ReadDecoderShape(f);
  s.serving = f.Has("num_key_value_heads") ? f.Count("num_key_value_heads", 256) : s.heads;
  if (!f.Has("head_dim")) f.Multiple("hidden_size", s.d, s.heads, "attention heads");
  s.head_dim = f.Has("head_dim") ? f.Count("head_dim", 1024) : s.d / s.heads;
  CheckHeads(f, s);
  return s;
}

Graph Build(const std::filesystem::path& dir, bool) {
  const Fields f(dir / "config.json");
  const DecoderShape s = ReadShape(f);
  Graph g;
  Expr words;
  GraphNode* x = DecoderRows(g, s, "model.", false, &words);
  g.Scope("head");
  x = Normalised(g, Pooled(g, x, nn::PoolRows::kLast), "model.norm.weight", s);
  const bool tied = f.True("tie_word_embeddings", false);
  Expr head = tied ? words : g.Tensor("lm_head.weight", {s.vocab, s.d}, Leaf::kProjection);
  g.Add(nn::RevealResult{}, {Linear(g, x, head.Transposed(), {}, "head", "z_head")}, "logits");
  g.Number();
  return g;
}

constexpr Preset kPresets[] = {
    {"tiny-llama",
     R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 32,
  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 128, "num_hidden_layers": 2,
  "max_position_embeddings": 64, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": true})"}};

}  // namespace

const Family kLlama{"llama", "", {}, 1, false, kPresets, Build};

}  // namespace suf::model
