// All that the roles know of the model family: what they ask of a plan, the weights as inputs of a trace, and the
// settings of its compiler.
#include "suf/roles/model.hpp"

#include "suf/exec/pool.hpp"
#include "suf/model/bert.hpp"
#include "suf/nn/bounds.hpp"
#include "suf/nn/compile.hpp"
#include "suf/nn/forward.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/roles/files.hpp"
#include "suf/roles/internal/parts.hpp"

namespace suf::roles {

struct Model::Weights {
  nn::Weights of;
};

Model::Model(const std::filesystem::path& folder) : folder_(folder), weights_(new Weights{model::LoadBert(folder)}) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

nn::Quantised Model::Quantise(const nn::Plan& plan, const Progress& progress) const {
  if (weights_->of.dims != plan.dims)
    Fail(Cause::kRefused, "the plan is for another shape of model than ", folder_.string(), "; compile a plan for it");
  nn::Quantised weights = nn::Quantise(weights_->of, plan.scales, plan.max_tokens);
  nn::CheckWeights(plan, weights, exec::Default(), [&](double done) {
    if (progress) progress(done, "certificates");
  });
  return weights;
}

std::vector<double> Model::Embed(std::span<const int32_t> ids) const { return nn::FloatForward(weights_->of, ids); }

int64_t ResultWidth(const nn::Plan& plan) { return plan.dims.d; }
int ResultScale(const nn::Plan& plan) { return plan.scales.result; }
int64_t VocabularySize(const nn::Plan& plan) { return plan.dims.vocab; }

std::string ShapeOf(const nn::Plan& plan) {
  const nn::Dims& d = plan.dims;
  return Str("BERT: d ", d.d, ", heads ", d.heads, ", ff ", d.ff, ", layers ", d.layers, ", vocabulary ", d.vocab);
}

std::vector<std::vector<std::string>> RingsOf(const nn::Plan& plan) {
  std::vector<std::vector<std::string>> rows{{"ring (bits)"}};
  for (auto& c : plan.classes) rows[0].push_back(Str("n <= ", c.max_n));
  auto row = [&](const std::string& name, auto bits) {
    std::vector<std::string> r{name};
    for (auto& c : plan.classes) r.push_back(Str(bits(c)));
    rows.push_back(r);
  };
  row("lookup", [](auto& c) { return c.embedding.kz; });
  for (size_t l = 0; l < size_t(plan.dims.layers); ++l) {
    auto ring = [&](const char* name, int nn::Layer::*field) {
      row(Str(l, " ", name), [&](auto& c) { return c.layers[l].*field; });
    };
    ring("z_qk", &nn::Layer::qk), ring("z_v", &nn::Layer::v), ring("score", &nn::Layer::score),
        ring("e V", &nn::Layer::ev), ring("z_o", &nn::Layer::proj);
    ring("z_1", &nn::Layer::ffn1), ring("z_2", &nn::Layer::ffn2);
  }
  row("pooled sum", [](auto& c) { return c.pool; });
  return rows;
}

model::Tokenizer LoadTokenizer(const std::string& vocabulary, const nn::Plan& plan) {
  const std::string text = ReadFile(vocabulary, "the vocabulary ", "it is vocab.txt of the model");
  if (HashOf({AsView(text)}) != plan.tokenizer)
    Fail(Cause::kRefused, vocabulary, " is not the vocabulary that the plan was made for; ask the model owner for it");
  return model::Tokenizer::Load(vocabulary);
}

namespace {

void SetTensor(run::Inputs& inputs, const std::string& name, const nn::Tensor& t) {
  t.Visit([&](const auto* data) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    inputs.Set(name, Wiped<T>(data, data + t.size()));
  });
}

}  // namespace

void ModelInputs(const nn::Quantised& weights, run::Inputs& inputs) {
  for (auto& [name, tensor] : weights)
    if (name != "pos" && name != "bp") SetTensor(inputs, "W." + name, tensor);
}

void LengthInputs(const nn::Quantised& weights, const nn::Plan& plan, int n, run::Inputs& inputs) {
  Wiped<int64_t> rows, bias;
  for (int64_t r = 0; r < n; ++r) {
    auto row = weights.at("pos").Row(r);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  for (int64_t j = 0; j < plan.dims.d; ++j) bias.push_back(weights.at("bp")[j] * n);
  inputs.Set("W.pos", std::move(rows));
  inputs.Set("W.bp", std::move(bias));
}

namespace {

// Field: where a setting lies in the options.
using Field = int& (*)(nn::CompileOptions&);

struct Known {
  const char *name, *meaning;
  Field field;
  int least, largest;
};

#define SUF_AT(member) [](nn::CompileOptions& o) -> int& { return o.member; }
const Known kKnown[] = {
    {"activations", "scale of activations", SUF_AT(scales.f), 4, 20},
    {"embedding", "scale of the embedding tables", SUF_AT(scales.embedding), 4, 20},
    {"gamma", "scale of the LayerNorms' gamma", SUF_AT(scales.gamma), 4, 20},
    {"weights_qk", "scale of the query and key weights", SUF_AT(scales.w_qk), 4, 20},
    {"weights_v", "scale of the value weights", SUF_AT(scales.w_v), 4, 20},
    {"weights_o", "scale of the attention's output map", SUF_AT(scales.w_o), 4, 20},
    {"weights_1", "scale of the first feed-forward map", SUF_AT(scales.w_1), 4, 20},
    {"weights_2", "scale of the second feed-forward map", SUF_AT(scales.w_2), 4, 20},
    {"qk", "scale of queries and keys", SUF_AT(scales.qk), 4, 20},
    {"v", "scale of values", SUF_AT(scales.v), 4, 20},
    {"attention", "scale of the attention's result", SUF_AT(scales.o), 4, 24},
    {"gelu_input", "scale of GELU's input", SUF_AT(scales.x), 4, 16},
    {"gelu_slope", "scale of GELU's slopes", SUF_AT(scales.gelu), 2, 16},
    {"layernorm", "scale of what a LayerNorm squares", SUF_AT(norm), 4, 20},
    {"final_norm", "scale of what the last norm squares", SUF_AT(pool), 4, 20},
    {"exp_high", "scale of the exponential's table of high digits", SUF_AT(exp_high), 4, 20},
    {"exp_low", "scale of the exponential's table of low digits", SUF_AT(exp_low), 2, 20},
    {"slice", "fractional bits of a score that the exponential sees", SUF_AT(slice), 0, 10},
    {"gelu_piece", "log2 of the width of a piece of GELU, in units of its input", SUF_AT(gelu_piece), 1, 12},
};
#undef SUF_AT

}  // namespace

const std::vector<Setting>& Compiler::Settings() {
  static const std::vector<Setting> all = [] {
    nn::CompileOptions o;
    std::vector<Setting> settings;
    for (const Known& k : kKnown) settings.push_back({k.name, k.meaning, k.field(o), k.least, k.largest});
    return settings;
  }();
  return all;
}

Compiler::Compiler(const Model& model, int max_tokens)
    : model_(model), max_tokens_(max_tokens), settings_(Settings()) {}

void Compiler::Set(const std::string& name, int value) {
  for (Setting& s : settings_) {
    if (s.name != name) continue;
    if (value < s.least || value > s.largest)
      Fail(Cause::kInput, "the setting ", name, " is ", value, "; it may be ", s.least, " to ", s.largest);
    s.value = value;
    return;
  }
  std::string names;
  for (const Setting& s : settings_) names += (names.empty() ? "" : ", ") + s.name;
  Fail(Cause::kInput, name, " is no setting of the compiler; take one of ", names);
}

nn::Plan Compiler::Compile(const std::vector<std::string>& texts, std::string calibration, const Progress& progress,
                           size_t* used) const {
  const std::string vocabulary = (model_.folder() / "vocab.txt").string();
  const auto tokenizer = model::Tokenizer::Load(vocabulary);
  std::vector<std::vector<int32_t>> ids;
  Sha256 hash;
  for (const std::string& text : texts) {
    hash.Add(text).Add(std::string_view("\n"));
    try {
      model::Ids all = tokenizer.Encode(text);
      const size_t n = model::CheckLength(all.size(), size_t(max_tokens_), true);
      all = model::Shorten(std::move(all), n);
      ids.emplace_back(all.begin(), all.end());
    } catch (const Error&) {  // not UTF-8, or empty: one bad line is no reason to compile nothing
    }
  }
  if (ids.empty())
    Fail(Cause::kInput, "none of ", texts.size(),
         " calibration texts can be used; write some lines that are like the texts to come");
  nn::CompileOptions options;
  for (size_t i = 0; i < settings_.size(); ++i) kKnown[i].field(options) = settings_[i].value;
  options.max_tokens = max_tokens_;
  options.tokenizer = HashOf({AsView(ReadFile(vocabulary, "the vocabulary ", "it is vocab.txt of the model"))});
  options.calibration = calibration.empty() ? Hex(hash.Done()) : std::move(calibration);
  options.progress = [&](const std::string& stage, double done) {
    if (progress) progress(done, stage);
  };
  if (used) *used = ids.size();
  return nn::Compile(model_.weights_->of, ids, options);
}

}  // namespace suf::roles
