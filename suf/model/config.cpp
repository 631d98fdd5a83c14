#include "suf/model/config.hpp"

#include <nlohmann/json.hpp>

#include "suf/base/error.hpp"
#include "suf/model/internal/files.hpp"

namespace suf::model {
namespace {

using nlohmann::json;

constexpr size_t kFileLimit = 1 << 20;
constexpr int kDepthLimit = 16;

// Fields: a JSON object from a file, its fields read one by one.
class Fields {
 public:
  explicit Fields(std::filesystem::path file) : file_(std::move(file)) {
    // copies of a text that nests to a million would run out of stack
    auto shallow = [this](int depth, json::parse_event_t, json&) {
      if (depth > kDepthLimit)
        Fail(Cause::kInput, file_.string(), " nests deeper than ", kDepthLimit, " levels; fetch it again");
      return true;
    };
    all_ = json::parse(ReadText(file_, kFileLimit), shallow, /*allow_exceptions=*/false);
    if (!all_.is_object()) Fail(Cause::kInput, file_.string(), " is not a JSON object; fetch it again");
  }

  int64_t Count(const char* field, int64_t limit) const {
    const auto v = all_.find(field);
    if (v == all_.end() || !v->is_number_integer() || *v < 1 || *v > limit) {
      Fail(Cause::kInput, file_.string(), ": ", field, " is ", Shown(field), ", it must be a whole number from 1 to ",
           limit, "; use another model");
    }
    return v->get<int64_t>();
  }

  // Must: the field, or `absent` where there is none, equals `supported`.
  void Must(const char* field, const json& absent, const json& supported) const {
    if (all_.value(field, absent) != supported) {
      Fail(Cause::kInput, file_.string(), ": ", field, " is ", Shown(field), ", only ", supported.dump(),
           " is supported; use another model");
    }
  }

  double Epsilon(const char* field, double absent) const {
    const json v = all_.value(field, json(absent));
    if (!v.is_number() || !(v.get<double>() > 0 && v.get<double>() <= 1e-3)) {
      Fail(Cause::kInput, file_.string(), ": ", field, " is ", Shown(field),
           ", it must be above 0 and at most 0.001; use another model");
    }
    return v.get<double>();
  }

  bool Has(const char* field) const { return all_.contains(field); }
  bool Null(const char* field) const { return !Has(field) || all_[field].is_null(); }

 private:
  std::string Shown(const char* field) const {
    if (!Has(field)) return "missing";
    const json& v = all_[field];
    return v.is_string() ? Quoted(v.get<std::string>()) : Quoted(v.dump(-1, ' ', true));
  }

  std::filesystem::path file_;
  json all_;
};

}  // namespace

Config ReadConfig(const std::filesystem::path& dir) {
  const Fields f(dir / "config.json");
  f.Must("model_type", nullptr, "bert");
  f.Must("hidden_act", nullptr, "gelu");
  f.Must("position_embedding_type", "absolute", "absolute");
  f.Must("is_decoder", false, false);
  f.Must("add_cross_attention", false, false);
  Config c;
  c.dims.d = f.Count("hidden_size", 8192);
  c.dims.heads = f.Count("num_attention_heads", 256);
  c.dims.ff = f.Count("intermediate_size", 65536);
  c.dims.vocab = f.Count("vocab_size", 1 << 20);
  c.dims.layers = f.Count("num_hidden_layers", 128);
  c.dims.positions = f.Count("max_position_embeddings", 1 << 16);
  c.dims.eps = f.Epsilon("layer_norm_eps", 1e-12);
  c.types = f.Has("type_vocab_size") ? f.Count("type_vocab_size", 16) : 2;
  if (c.dims.d % c.dims.heads != 0) {
    Fail(Cause::kInput, (dir / "config.json").string(), ": hidden_size is ", c.dims.d,
         ", it must be a multiple of the ", c.dims.heads, " attention heads; use another model");
  }
  std::error_code error;
  if (const auto file = dir / "tokenizer_config.json"; std::filesystem::exists(file, error)) {
    const Fields t(file);
    t.Must("do_lower_case", true, true);
    t.Must("tokenize_chinese_chars", true, true);
    if (!t.Null("strip_accents")) t.Must("strip_accents", nullptr, true);  // null follows do_lower_case
  }
  if (const auto file = dir / "1_Pooling" / "config.json"; std::filesystem::exists(file, error)) {
    const Fields p(file);
    p.Must("pooling_mode_mean_tokens", false, true);
    for (const char* other : {"pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                              "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"}) {
      p.Must(other, false, false);
    }
  }
  return c;
}

}  // namespace suf::model
