// The facts of a plan for the roles, the weights as inputs of a trace, and the compiler.
#include "suf/roles/model.hpp"

#include <algorithm>
#include <cstring>

#include "suf/base/plural.hpp"
#include "suf/exec/pool.hpp"
#include "suf/model/family.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/nn/plan/compile.hpp"
#include "suf/nn/plan/fold.hpp"
#include "suf/nn/read/forward.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/roles/files.hpp"
#include "suf/roles/internal/parts.hpp"

namespace suf::roles {

struct Model::State {
  explicit State(model::LoadedModel m) : of(std::move(m)), floats(of.graph, of.weights), all(&of.weights) {}
  model::LoadedModel of;
  nn::RealModel floats;
  nn::Checkpoint all;  // the model's weights, and shifts
};

Model::Model(const std::filesystem::path& folder) : folder_(folder), state_(new State(model::Load(folder))) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

nn::QuantisedWeights Model::Quantise(const nn::Plan& plan, const Progress& progress) const {
  nn::Graph own = state_->of.graph;
  nn::SetPublicTable(own, plan.public_table());
  if (nn::Fold(own).Text() != nn::RemoveShifts(plan.graph).Text())
    Fail(Cause::kRefused, "the plan is for another shape of model than ", folder_.string(), "; compile a plan for it");
  auto tell = [&](double done, const char* what) {
    if (progress) progress(done, what);
  };
  tell(0, "quantising the weights");
  nn::QuantisedWeights weights = nn::Quantise(state_->all, plan);
  auto check = [&](double done) { tell(0.1 + 0.9 * done, "checking the certificates for these weights"); };
  check(0);
  nn::CheckWeights(plan, weights, exec::Default(), check);
  return weights;
}

void Model::UseShifts(const nn::Shifts& shifts) {
  for (auto& [name, t] : shifts.weights.tensors()) state_->all.Set(name, t);
}

namespace {

// The name of the tensor with the plan's hash.
constexpr const char* kOf = "plan";
// Returns a plan's hash as four words, so that shifts are not taken for those of another plan.
std::vector<int64_t> HashWords(const nn::Plan& plan) {
  const Hash hash = nn::PlanHash(plan);
  std::vector<int64_t> words(hash.size() / sizeof(int64_t));
  std::memcpy(words.data(), hash.data(), hash.size());
  return words;
}

}  // namespace

void Model::ReadShifts(const std::filesystem::path& file, const nn::Plan& plan) {
  const std::map<std::string, nn::Shape> leaves = nn::ShiftLeaves(plan.graph);
  if (leaves.empty()) return;
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    Fail(Cause::kInput,
         "this plan's softmaxes have shifts, which are weights of the model owner, and there is no file ",
         file.string(), "; it was written beside the plan when that was made");
  model::Safetensors tensors(file);
  const std::vector<int64_t> want = HashWords(plan);
  if (!tensors.Has(kOf) || tensors.Integers(kOf, {int64_t(want.size())}) != want)
    Fail(Cause::kInput, file.string(), " has the shifts of another plan; take the file that was written with this one");
  for (auto& [name, shape] : leaves) state_->all.Set(name, {shape, tensors.Floats(name, shape)});
}

namespace {

std::filesystem::path BesidePlan(std::filesystem::path plan, const char* extension) {
  if (plan.extension() == ".json") plan.replace_extension();
  return plan += extension;
}

}  // namespace

std::filesystem::path ShiftsFile(const std::filesystem::path& plan) { return BesidePlan(plan, ".shifts.safetensors"); }
std::filesystem::path TokenizerFile(const std::filesystem::path& plan) { return BesidePlan(plan, ".tokenizer.json"); }
std::filesystem::path TableFile(const std::filesystem::path& plan) { return BesidePlan(plan, ".table.safetensors"); }

void WriteShifts(const std::filesystem::path& file, const nn::Shifts& shifts, const nn::Plan& plan) {
  if (shifts.weights.tensors().empty()) return;
  const std::vector<int64_t> of = HashWords(plan);
  std::vector<model::NewTensor> all{{kOf, {int64_t(of.size())}, std::span<const int64_t>(of)}};
  for (auto& [name, t] : shifts.weights.tensors()) all.push_back({name, t.shape, std::span<const float>(t.values)});
  model::WriteSafetensors(file, all, model::Readers::kOwner);
}

std::vector<double> Model::Embed(std::span<const int32_t> ids) const {
  std::vector<double> y = state_->floats.Run(ids).at;
  const double divisor = nn::DivisorOf(state_->of.graph, about(), int(ids.size()));
  for (double& v : y) v /= divisor;
  return y;
}

TextRules Model::rules() const { return RulesOf(state_->of.graph, state_->of.about); }
const nn::About& Model::about() const { return state_->of.about; }
int Model::min_tokens() const { return state_->of.min_tokens; }
int Model::most_tokens() const {
  constexpr int64_t kMost = 256;
  const int64_t limit = nn::LongestOf(state_->of.graph).tokens;
  return int(limit ? std::min(limit, kMost) : kMost);
}
const std::filesystem::path& Model::vocabulary_file() const { return state_->of.vocabulary.file; }
bool Model::vocabulary_built() const { return !state_->of.vocabulary.built.empty(); }

std::string Model::vocabulary_text() const {
  if (vocabulary_file().empty())
    Fail(Cause::kInput, "there is no file ", (folder_ / "vocab.txt").string(),
         " and no tokenizer.json, by which a plan names its vocabulary; put the one that belongs to the model there");
  return model::VocabularyText(state_->of.vocabulary);
}

model::Tokenizer Model::tokenizer() const {
  return model::Tokenizer::Of(vocabulary_text(), state_->of.vocabulary.entries.string());
}

const std::string& Model::longest_said_by() const { return state_->of.longest_said_by; }

int64_t ResultWidth(const nn::Plan& plan) { return plan.width(); }
int ResultScale(const nn::Plan& plan) { return plan.scale(); }
int64_t VocabularySize(const nn::Plan& plan) { return plan.vocabulary(); }

std::string ShapeOf(const nn::Plan& plan) {
  int64_t weights = 0;
  for (const nn::MaskedWeight& w : nn::MaskedWeights(plan)) weights += w.size();
  return Str(plan.graph.size(), " operators, ", weights, " masked weights, vocabulary ", plan.vocabulary(),
             ", result of ", plan.width(), " numbers");
}

CertificateCounts CertifiedOf(const nn::Plan& plan) {
  CertificateCounts out;
  for (auto& c : plan.classes)
    for (auto& node : c.certificates)
      for (auto& x : node) (x.hard ? out.hard : out.calibrated)++;
  return out;
}

std::vector<std::vector<std::string>> ChoicesOf(const nn::Plan& plan) {
  std::vector<std::vector<std::string>> rows{{"tokens", "what", "chosen", "runner-up", "slower by us"}};
  for (const nn::Class& c : plan.classes)
    for (const nn::Chosen& x : c.choices)
      rows.push_back({std::to_string(c.max_n), x.what, x.choice, x.runner_up,
                      x.runner_up.empty() ? "" : std::to_string(x.microseconds)});
  return rows;
}

std::vector<std::vector<std::string>> RingsOf(const nn::Plan& plan) {
  std::vector<std::vector<std::string>> rows{{"ring (bits)"}};
  for (auto& c : plan.classes) rows[0].push_back(Str("n <= ", c.max_n, c.tiles == 2 ? ", in two tiles" : ""));
  for (auto& n : plan.graph.nodes()) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(nn::Graph::Where(*n));
    for (auto& c : plan.classes) row.push_back(Str(c.ops[size_t(n->index)]->ring));
  }
  return rows;
}

model::Tokenizer LoadTokenizer(const std::string& vocabulary, const nn::Plan& plan) {
  const std::string text = ReadFile(vocabulary, "the vocabulary ", "it is vocab.txt or tokenizer.json of the model");
  model::RefuseStandIn(text, vocabulary);
  if (HashOf({AsView(text)}) != plan.tokenizer)
    Fail(Cause::kRefused, vocabulary, " is not the vocabulary that the plan was made for; ask the model owner for it");
  return model::Tokenizer::Of(text, vocabulary);
}

namespace {

void SetTensor(run::Inputs& inputs, const std::string& name, const nn::Tensor& t) {
  t.Visit([&](const auto* data) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    inputs.Set(name, WipedVector<T>(data, data + t.size()));
  });
}

}  // namespace

void ModelInputs(const nn::Plan& plan, const nn::QuantisedWeights& weights, run::Inputs& inputs) {
  nn::ModelInputs(plan, weights, [&](const std::string& name, const nn::Tensor& t) { SetTensor(inputs, name, t); });
}

void LengthInputs(const nn::Plan& plan, const nn::QuantisedWeights& weights, int n, run::Inputs& inputs) {
  nn::LengthInputs(plan, weights, n, [&](const std::string& name, const nn::Tensor& t) { SetTensor(inputs, name, t); });
}

Compiler::Compiler(const Model& model, std::optional<int> max_tokens)
    : model_(model), max_tokens_(max_tokens.value_or(model.most_tokens())) {}

void Compiler::Set(const std::string& name, int value) {
  // a program's own operators may have other keys; those of the model families have these
  const std::string key = name.substr(std::min(name.find('.'), name.size()));
  if (!key.empty() &&
      std::none_of(Settings().begin(), Settings().end(), [&](const Setting& s) { return s.name.ends_with(key); }))
    Fail(Cause::kInput, Quoted(name), " is no setting of the compiler; no operator has the key ",
         Quoted(key.substr(1)));
  options_.Set(name, value);
}

namespace {

// Adds a text that cannot be used. Errors that differ only in their numbers are one reason.
void Add(const std::string& error, size_t text, Unusable* to) {
  const auto kind = [](const std::string& s) {
    std::string out;
    for (char c : s)
      if (c < '0' || c > '9') out += c;
    return out;
  };
  for (Unusable::Reason& r : to->reasons)
    if (kind(r.error) == kind(error)) return void(++r.count);
  to->reasons.push_back({error, 1, text});
}

}  // namespace

nn::Plan Compiler::Compile(const std::vector<std::string>& texts, std::string calibration, const Progress& progress,
                           size_t* used) {
  const model::Tokenizer tokenizer = model_.tokenizer();
  const nn::About& about = model_.about();
  const std::string prompt = about.default_prompt.empty() ? "" : about.PromptNamed(about.default_prompt);
  std::vector<std::vector<int32_t>> ids;
  Sha256 hash;
  unusable_ = {};
  for (size_t i = 0; i < texts.size(); ++i) {
    hash.Add(texts[i]).Add(std::string_view("\n"));
    try {
      TextInput text = SplitLine(texts[i], model_.rules());
      text.prompt = prompt;
      bool cut = false;
      const model::Ids all = Encode(tokenizer, model_.rules(), text, size_t(max_tokens_), true, &cut);
      unusable_.cut += cut;
      ids.emplace_back(all.begin(), all.end());
    } catch (const Error& e) {  // not UTF-8, or empty: one bad line does not stop the compiler
      Add(e.what(), i, &unusable_);
    }
  }
  if (ids.empty())
    Fail(Cause::kInput, "none of ", Plural(texts.size(), "calibration text"), " can be used",
         unusable_.reasons.empty() ? "" : Str(" (the first: ", unusable_.reasons[0].error, ")"),
         "; write some lines that are like the texts to come");
  if (used) *used = ids.size();
  return CompileIds(ids, calibration.empty() ? Hex(hash.Done()) : std::move(calibration), progress);
}

nn::Plan Compiler::CompileIds(const std::vector<std::vector<int32_t>>& ids, std::string calibration,
                              const Progress& progress) {
  nn::CompileOptions options;
  options.policy = options_;
  options.variants = variants_;
  options.min_tokens = model_.state_->of.min_tokens;
  options.max_tokens = max_tokens_;
  options.tokenizer = HashOf({AsView(model_.vocabulary_text())});
  options.calibration = std::move(calibration);
  options.about = model_.about();
  options.progress = [&](const std::string& stage, double done) {
    if (progress) progress(done, stage);
  };
  shifts_ = {};
  table_.reset();
  nn::Graph graph = model_.state_->of.graph;
  nn::SetPublicTable(graph, publish_);
  nn::Plan plan = nn::Compile(graph, model_.state_->of.weights, ids, options, exec::Default(), &shifts_);
  if (!publish_) return plan;
  nn::Checkpoint all(&model_.state_->of.weights);
  for (auto& [name, t] : shifts_.weights.tensors()) all.Set(name, t);
  table_.emplace(plan, nn::Quantise(all, plan));
  plan.table = table_->digest();
  return plan;
}

}  // namespace suf::roles
