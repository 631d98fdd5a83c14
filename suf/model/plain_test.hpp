// The families again, by hand: plain forwards on a checkpoint's tensors, without graph, operator or expression.
// Builders and passes are measured against them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suf/nn/graph/expr.hpp"

namespace suf::model {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

// A tiny preset's shapes and tensors.
struct Plain {
  const nn::Checkpoint& w;
  int layers = 2, heads = 4, serving = 4;
  double eps = 1e-5;

  // Returns row i of a tensor.
  Row RowOf(const std::string& name, size_t i) const {
    const auto& t = w.Get(name);
    const auto at = t.values.begin() + int64_t(i) * t.shape.back();
    return {at, at + t.shape.back()};
  }
  // Returns number i of a tensor.
  double At(const std::string& name, size_t i) const { return double(w.Get(name).values[i]); }

  // Returns x W^T + b for W (outputs, inputs), as most checkpoints store it. An empty `bias` means none.
  Rows Linear(const Rows& x, const std::string& weight, const std::string& bias) const {
    Rows y;
    for (const Row& r : x) {
      Row& out = y.emplace_back(size_t(w.Get(weight).shape[0]));
      for (size_t o = 0; o < out.size(); ++o) {
        out[o] = bias.empty() ? 0 : At(bias, o);
        for (size_t i = 0; i < r.size(); ++i) out[o] += r[i] * At(weight, o * r.size() + i);
      }
    }
    return y;
  }
  // Returns x W + b for W (inputs, outputs), columns [begin, end).
  Rows Conv(const Rows& x, const std::string& at, size_t begin, size_t end) const {
    const size_t cols = size_t(w.Get(at + ".weight").shape[1]);
    Rows y;
    for (const Row& r : x) {
      Row& out = y.emplace_back();
      for (size_t o = begin; o < end; ++o) {
        out.push_back(At(at + ".bias", o));
        for (size_t i = 0; i < r.size(); ++i) out.back() += r[i] * At(at + ".weight", i * cols + o);
      }
    }
    return y;
  }
  // Returns LayerNorm with a bias or if `centre`, RMSNorm otherwise.
  Rows Norm(Rows x, const std::string& gamma, const std::string& beta, bool centre = false) const {
    for (Row& r : x) {
      double mean = 0, square = 0;
      for (double v : r) mean += beta.empty() && !centre ? 0 : v / double(r.size());
      for (double& v : r) {
        v -= mean;
        square += v * v / double(r.size());
      }
      for (size_t i = 0; i < r.size(); ++i)
        r[i] = r[i] / std::sqrt(square + eps) * At(gamma, i) + (beta.empty() ? 0 : At(beta, i));
    }
    return x;
  }
  // `bias`, if set, gives what is added to the score of head h, query i and key j.
  using Bias = std::function<double(size_t h, size_t i, size_t j)>;
  Rows Attention(const Rows& q, const Rows& k, const Rows& v, bool causal, const Bias& bias = {}) const {
    const size_t n = q.size(), d = q[0].size(), of = d / size_t(heads);
    Rows y(n, Row(d, 0.0));
    for (size_t h = 0; h < size_t(heads); ++h) {
      const size_t from = h / size_t(heads / serving) * of;
      for (size_t i = 0; i < n; ++i) {
        const size_t count = causal ? i + 1 : n;
        Row p(count, 0.0);
        for (size_t j = 0; j < count; ++j) {
          for (size_t c = 0; c < of; ++c) p[j] += q[i][h * of + c] * k[j][from + c] / std::sqrt(double(of));
          if (bias) p[j] += bias(h, i, j);
        }
        double most = *std::max_element(p.begin(), p.end()), sum = 0;
        for (double& s : p) {
          s = std::exp(s - most);
          sum += s;
        }
        for (size_t j = 0; j < count; ++j)
          for (size_t c = 0; c < of; ++c) y[i][h * of + c] += p[j] / sum * v[j][from + c];
      }
    }
    return y;
  }
  // Returns RMSNorm of each head of `of` numbers.
  Rows HeadNorm(const Rows& x, const std::string& gamma, size_t of) const {
    Rows y;
    for (const Row& r : x) {
      Row& out = y.emplace_back();
      for (size_t h = 0; h < r.size(); h += of) {
        const Row head(r.begin() + int64_t(h), r.begin() + int64_t(h + of));
        const Row n = Norm({head}, gamma, "")[0];
        out.insert(out.end(), n.begin(), n.end());
      }
    }
    return y;
  }
  // Turns pairs (c, c + half) of every head by the angle i base^(-c / half).
  static Rows Turned(Rows x, size_t of, double base = 10000) {
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t h = 0; h < x[i].size(); h += of)
        for (size_t c = 0; c < of / 2; ++c) {
          const double angle = double(i) / std::pow(base, 2.0 * double(c) / double(of));
          const double a = x[i][h + c], b = x[i][h + c + of / 2];
          x[i][h + c] = a * std::cos(angle) - b * std::sin(angle);
          x[i][h + c + of / 2] = b * std::cos(angle) + a * std::sin(angle);
        }
    return x;
  }
};

inline Rows Plus(Rows a, const Rows& b) {
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].size(); ++j) a[i][j] += b[i][j];
  return a;
}
template <class F>
Rows Each(Rows x, F f) {
  for (Row& r : x)
    for (double& v : r) v = f(v);
  return x;
}

inline Rows Times(Rows a, const Rows& b) {
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].size(); ++j) a[i][j] *= b[i][j];
  return a;
}
inline double PlainGelu(double v) { return v * std::erfc(-v / std::sqrt(2.0)) / 2; }
inline double PlainSilu(double v) { return v / (1 + std::exp(-v)); }

// Returns the last rows. An id has its token's type inside: type vocabulary + entry. (n, d)
inline Rows PlainBertRows(const nn::Checkpoint& w, std::span<const int32_t> ids, double eps,
                          const Plain::Bias& bias = {}) {
  const Plain p{w, 2, 4, 4, eps};
  const size_t words = size_t(w.Get("embeddings.word_embeddings.weight").shape[0]);
  Rows x;
  for (size_t i = 0; i < ids.size(); ++i) {
    Row& r = x.emplace_back(p.RowOf("embeddings.word_embeddings.weight", size_t(ids[i]) % words));
    const Row position = p.RowOf("embeddings.position_embeddings.weight", i),
              type = p.RowOf("embeddings.token_type_embeddings.weight", size_t(ids[i]) / words);
    for (size_t j = 0; j < r.size(); ++j) r[j] += position[j] + type[j];
  }
  auto norm = [&](Rows v, const std::string& at) { return p.Norm(std::move(v), at + ".weight", at + ".bias"); };
  auto linear = [&](const Rows& v, const std::string& at) { return p.Linear(v, at + ".weight", at + ".bias"); };
  x = norm(x, "embeddings.LayerNorm");
  for (int l = 0; l < p.layers; ++l) {
    const std::string at = "encoder.layer." + std::to_string(l) + ".", self = at + "attention.self.";
    const Rows o =
        p.Attention(linear(x, self + "query"), linear(x, self + "key"), linear(x, self + "value"), false, bias);
    x = norm(Plus(linear(o, at + "attention.output.dense"), x), at + "attention.output.LayerNorm");
    const Rows h = Each(linear(x, at + "intermediate.dense"), PlainGelu);
    x = norm(Plus(linear(h, at + "output.dense"), x), at + "output.LayerNorm");
  }
  return x;
}

// Returns the mean of rows, over its length. (d)
inline Row PlainUnit(const Rows& x) {
  Row y(x[0].size(), 0.0);
  double square = 0;
  for (const Row& r : x)
    for (size_t j = 0; j < y.size(); ++j) y[j] += r[j];
  for (double v : y) square += v * v;
  for (double& v : y) v /= std::sqrt(square);
  return y;
}
// Returns the mean of the last rows, or with `first` the first of them, over its length. (d)
inline Row PlainBert(const nn::Checkpoint& w, std::span<const int32_t> ids, double eps, const Plain::Bias& bias = {},
                     bool first = false) {
  Rows x = PlainBertRows(w, ids, eps, bias);
  if (first) x.resize(1);
  return PlainUnit(x);
}
inline Row PlainBert(const nn::Checkpoint& w, std::span<const int32_t> ids) { return PlainBert(w, ids, 1e-12); }
inline Row PlainBertFirst(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  return PlainBert(w, ids, 1e-12, {}, true);
}

// The names of other families and those of BERT.
inline constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"transformer.layer.", "encoder.layer."},
    {"attention.q_lin", "attention.self.query"},
    {"attention.k_lin", "attention.self.key"},
    {"attention.v_lin", "attention.self.value"},
    {"attention.out_lin", "attention.output.dense"},
    {"sa_layer_norm", "attention.output.LayerNorm"},
    {"ffn.lin1", "intermediate.dense"},
    {"ffn.lin2", "output.dense"},
    {"output_layer_norm", "output.LayerNorm"},
    {"attention.attn.q.", "attention.self.query."},
    {"attention.attn.k.", "attention.self.key."},
    {"attention.attn.v.", "attention.self.value."},
    {"attention.attn.o.", "attention.output.dense."},
    {"attention.LayerNorm", "attention.output.LayerNorm"}};

// Returns the tensors of a model under BERT's names. `first` positions are cut off, and token types added as zeros if
// there are none.
inline nn::Checkpoint AsBert(const nn::Checkpoint& weights, size_t first) {
  nn::Checkpoint out;
  for (const auto& [name, tensor] : weights.tensors()) {
    std::string as = name;
    for (const auto& [own, of_bert] : kOtherNames)
      if (const size_t at = as.find(own); at != as.npos) as.replace(at, std::string_view(own).size(), of_bert);
    nn::Checkpoint::CheckpointTensor t = tensor;
    if (name == "embeddings.position_embeddings.weight") {
      t.values.erase(t.values.begin(), t.values.begin() + int64_t(first) * t.shape[1]);
      t.shape[0] -= int64_t(first);
    }
    out.Set(as, std::move(t));
  }
  if (!out.tensors().contains("embeddings.token_type_embeddings.weight"))
    out.Set("embeddings.token_type_embeddings.weight", {{1, 32}, std::vector<float>(32, 0.0f)});
  return out;
}
inline Row PlainRoberta(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  return PlainBert(AsBert(w, 2), ids, 1e-5);
}
// Returns the logits of a classifier: f of a map of the first row, and another map. (labels)
inline Row PlainScores(const nn::Checkpoint& w, Rows x, const std::string& dense, double (*f)(double),
                       const std::string& out) {
  const Plain p{w};
  x.resize(1);
  x = Each(p.Linear(x, dense + ".weight", dense + ".bias"), f);
  return p.Linear(x, out + ".weight", out + ".bias")[0];
}
inline double PlainTanh(double v) { return std::tanh(v); }
inline double PlainRelu(double v) { return std::max(v, 0.0); }
inline Row PlainReranker(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  return PlainScores(w, PlainBertRows(w, ids, 1e-12), "pooler.dense", PlainTanh, "classifier");
}
inline Row PlainRobertaLabels(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  return PlainScores(w, PlainBertRows(AsBert(w, 2), ids, 1e-5), "classifier.dense", PlainTanh, "classifier.out_proj");
}
inline Row PlainDistilBertLabels(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  return PlainScores(w, PlainBertRows(AsBert(w, 0), ids, 1e-12), "pre_classifier", PlainRelu, "classifier");
}
inline Row PlainDistilBert(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  return PlainBert(AsBert(w, 0), ids, 1e-12);
}
// Distances have buckets of one below 8, then of growing width up to 128; those ahead have buckets of their own.
inline Plain::Bias PlainBuckets(const nn::Checkpoint& w) {
  const auto& table = w.Get("encoder.relative_attention_bias.weight");
  return [&](size_t h, size_t i, size_t j) {
    const double d = std::abs(double(i) - double(j));
    const double b = d < 8 ? d : std::min(15.0, 8 + std::floor(std::log(d / 8) / std::log(16.0) * 8 + 1e-9));
    return double(table.values[(size_t(b) + (j > i ? 16 : 0)) * size_t(table.shape[1]) + h]);
  };
}
inline Row PlainMpnet(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  return PlainBert(AsBert(w, 2), ids, 1e-5, PlainBuckets(w));
}
inline Row PlainMpnetLabels(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  return PlainScores(w, PlainBertRows(AsBert(w, 2), ids, 1e-5, PlainBuckets(w)), "classifier.dense", PlainTanh,
                     "classifier.out_proj");
}

// Returns columns [begin, end).
inline Rows Columns(Rows x, size_t begin, size_t end) {
  for (Row& r : x) r = Row(r.begin() + int64_t(begin), r.begin() + int64_t(end));
  return x;
}
// Returns attention of rows by one tensor of queries, keys and values, of which the first two are turned.
inline Rows PlainPackedAttention(const Plain& p, const Rows& x, const std::string& at, double base) {
  const size_t d = x[0].size(), of = d / size_t(p.heads);
  const Rows all = p.Linear(x, at + ".weight", "");
  const auto turned = [&](size_t i) { return Plain::Turned(Columns(all, i * d, (i + 1) * d), of, base); };
  return p.Attention(turned(0), turned(1), Columns(all, 2 * d, 3 * d), false);
}
inline Row PlainNomicBert(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  const Plain p{w, 2, 4, 4, 1e-12};
  auto norm = [&](const Rows& v, const std::string& at) { return p.Norm(v, at + ".weight", at + ".bias"); };
  const Row type = p.RowOf("embeddings.token_type_embeddings.weight", 0);
  Rows x;
  for (int32_t id : ids) {
    Row& r = x.emplace_back(p.RowOf("embeddings.word_embeddings.weight", size_t(id)));
    for (size_t j = 0; j < r.size(); ++j) r[j] += type[j];
  }
  x = norm(x, "emb_ln");
  for (int l = 0; l < p.layers; ++l) {
    const std::string at = "encoder.layers." + std::to_string(l) + ".", mlp = at + "mlp.";
    const Rows o = PlainPackedAttention(p, x, at + "attn.Wqkv", 1000);
    x = norm(Plus(p.Linear(o, at + "attn.out_proj.weight", ""), x), at + "norm1");
    const Rows h = Times(p.Linear(x, mlp + "fc11.weight", ""), Each(p.Linear(x, mlp + "fc12.weight", ""), PlainSilu));
    x = norm(Plus(p.Linear(h, mlp + "fc2.weight", ""), x), at + "norm2");
  }
  return PlainUnit(x);
}

// Layers 0 and 3 have other angles than 1 and 2. All tokens of the tests' texts attend to each other.
inline Row PlainModernBert(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  const Plain p{w, 4, 4, 4, 1e-5};
  auto norm = [&](const Rows& v, const std::string& at) { return p.Norm(v, at + ".weight", "", true); };
  Rows x;
  for (int32_t id : ids) x.push_back(p.RowOf("embeddings.tok_embeddings.weight", size_t(id)));
  x = norm(x, "embeddings.norm");
  for (int l = 0; l < p.layers; ++l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    const Rows n = l == 0 ? x : norm(x, at + "attn_norm");
    const Rows o = PlainPackedAttention(p, n, at + "attn.Wqkv", l % 3 == 0 ? 160000 : 10000);
    x = Plus(x, p.Linear(o, at + "attn.Wo.weight", ""));
    const Rows both = p.Linear(norm(x, at + "mlp_norm"), at + "mlp.Wi.weight", "");
    const size_t ff = both[0].size() / 2;
    const Rows h = Times(Each(Columns(both, 0, ff), PlainGelu), Columns(both, ff, 2 * ff));
    x = Plus(x, p.Linear(h, at + "mlp.Wo.weight", ""));
  }
  return PlainUnit(norm(x, "final_norm"));
}

// Returns the logits of the last token. (vocabulary)
inline Row PlainGpt2(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  const Plain p{w};
  Rows x;
  for (size_t i = 0; i < ids.size(); ++i) {
    Row& r = x.emplace_back(p.RowOf("wte.weight", size_t(ids[i])));
    const Row position = p.RowOf("wpe.weight", i);
    for (size_t j = 0; j < r.size(); ++j) r[j] += position[j];
  }
  const size_t d = x[0].size();
  const double root = std::sqrt(2 / std::acos(-1.0));
  auto norm = [&](const Rows& v, const std::string& at) { return p.Norm(v, at + ".weight", at + ".bias"); };
  for (int l = 0; l < p.layers; ++l) {
    const std::string at = "h." + std::to_string(l) + ".", all = at + "attn.c_attn";
    Rows n = norm(x, at + "ln_1");
    const Rows o = p.Attention(p.Conv(n, all, 0, d), p.Conv(n, all, d, 2 * d), p.Conv(n, all, 2 * d, 3 * d), true);
    x = Plus(x, p.Conv(o, at + "attn.c_proj", 0, d));
    n = norm(x, at + "ln_2");
    const Rows h = Each(p.Conv(n, at + "mlp.c_fc", 0, 4 * d),
                        [&](double v) { return 0.5 * v * (1 + std::tanh(root * (v + 0.044715 * v * v * v))); });
    x = Plus(x, p.Conv(h, at + "mlp.c_proj", 0, d));
  }
  return p.Linear(norm({x.back()}, "ln_f"), "wte.weight", "")[0];
}

// Returns the rows behind the last layer of a decoder like Llama, whose heads may have norms. (n, d)
inline Rows PlainLlamaRows(const Plain& p, std::span<const int32_t> ids, const std::string& begin, double base,
                           bool head_norms) {
  Rows x;
  for (int32_t id : ids) x.push_back(p.RowOf(begin + "embed_tokens.weight", size_t(id)));
  for (int l = 0; l < p.layers; ++l) {
    const std::string at = begin + "layers." + std::to_string(l) + ".", self = at + "self_attn.", mlp = at + "mlp.";
    Rows n = p.Norm(x, at + "input_layernorm.weight", "");
    Rows q = p.Linear(n, self + "q_proj.weight", ""), k = p.Linear(n, self + "k_proj.weight", "");
    const size_t of = q[0].size() / size_t(p.heads);
    if (head_norms) {
      q = p.HeadNorm(q, self + "q_norm.weight", of);
      k = p.HeadNorm(k, self + "k_norm.weight", of);
    }
    const Rows o = p.Attention(Plain::Turned(q, of, base), Plain::Turned(k, of, base),
                               p.Linear(n, self + "v_proj.weight", ""), true);
    x = Plus(x, p.Linear(o, self + "o_proj.weight", ""));
    n = p.Norm(x, at + "post_attention_layernorm.weight", "");
    const Rows gate = Each(p.Linear(n, mlp + "gate_proj.weight", ""), PlainSilu);
    const Rows h = Times(gate, p.Linear(n, mlp + "up_proj.weight", ""));
    x = Plus(x, p.Linear(h, mlp + "down_proj.weight", ""));
  }
  return x;
}

// Returns the logits of the last token. (vocabulary)
inline Row PlainLlama(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  const Plain p{w, 2, 4, 2, 1e-5};
  const Rows x = PlainLlamaRows(p, ids, "model.", 10000, false);
  return p.Linear(p.Norm({x.back()}, "model.norm.weight", ""), "model.embed_tokens.weight", "")[0];
}

// Returns the last row over its length. (d)
inline Row PlainQwen3(const nn::Checkpoint& w, std::span<const int32_t> ids) {
  const Plain p{w, 2, 4, 2, 1e-6};
  Row y = p.Norm({PlainLlamaRows(p, ids, "", 1e6, true).back()}, "norm.weight", "")[0];
  double square = 0;
  for (double v : y) square += v * v;
  for (double& v : y) v /= std::sqrt(square);
  return y;
}

}  // namespace suf::model
