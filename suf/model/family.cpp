#include "suf/model/family.hpp"

#include <algorithm>
#include <charconv>

#include "suf/model/families/blocks.hpp"
#include "suf/model/internal/config.hpp"
#include "suf/model/internal/entries.hpp"
#include "suf/model/internal/heads.hpp"
#include "suf/model/internal/modules.hpp"
#include "suf/model/shards.hpp"

namespace suf::model {

namespace {

// The name of a Dense module's tensors in the graph, before their names in its own file.
const std::string kDense = "dense.";

// Whether every class of auto_map is of a Python module whose code the family's builder computes. A class is
// "modeling_x.ModelClass", behind the name of another repository and "--" if the code is there.
bool IsCodeOf(const Family& family, const json& auto_map) {
  if (family.code.empty() || !auto_map.is_object()) return false;
  return std::all_of(auto_map.begin(), auto_map.end(), [&](const json& name) {
    if (!name.is_string()) return false;
    const std::string text = name.get<std::string>();
    const size_t repository = text.find("--"), begin = repository == text.npos ? 0 : repository + 2;
    return std::string_view(text).substr(begin, text.find('.', begin) - begin).ends_with(family.code);
  });
}

const Family& FamilyOf(const Fields& f) {
  std::string names;
  for (const Family* family : Families()) {
    if (f.Text("model_type") == family->name) {
      if (!IsCodeOf(*family, f.Value("auto_map")))
        f.Empty("auto_map", "remove the field if the model's own code computes the same, else use another model");
      f.Empty("quantization_config", "save the model with weights that are not quantised");
      f.Empty("transformers_weights", "give the file that it names the name model.safetensors and remove the field");
      f.Must("is_encoder_decoder", false, false);
      return *family;
    }
    names += (names.empty() ? "" : ", ") + std::string(family->name);
  }
  f.Refuse("model_type", "only ", names, " are supported; ", kAnother);
}

// The layer of a tensor's name: "encoder.layer." and 3. Number -1: the name has none.
struct TensorLayer {
  std::string_view list = {};
  int64_t number = -1;
};
TensorLayer LayerOf(std::string_view name) {
  for (size_t at = 0; (at = name.find('.', at)) != name.npos; ++at) {
    const char *begin = name.data() + at + 1, *end = name.data() + name.size();
    TensorLayer layer{name.substr(0, at + 1)};
    const auto [stop, error] = std::from_chars(begin, end, layer.number);
    if (error == std::errc{} && stop != end && *stop == '.') return layer;
  }
  return {};
}

// Returns a tensor's name and those that exports may have instead.
std::vector<std::string> NamesOf(const Family& family, const std::string& name) {
  std::vector<std::string> names{name};
  for (const TensorRename& r : family.renamed)
    if (name.ends_with(r.name)) names.push_back(name.substr(0, name.size() - r.name.size()) + std::string(r.older));
  for (size_t i = 0, n = *family.prefix ? names.size() : 0; i < n; ++i) names.push_back(family.prefix + names[i]);
  return names;
}

// Returns the name under which the weights have a tensor, or the tensor's own if they have none.
std::string Stored(const Family& family, const Shards& tensors, const std::string& name) {
  std::string found;
  for (const std::string& n : NamesOf(family, name)) {
    if (!tensors.Has(n)) continue;
    if (!found.empty()) {
      const std::filesystem::path &first = tensors.FileOf(found), &second = tensors.FileOf(n);
      Fail(Cause::kInput, first.string(), " has a tensor ", Quoted(found), " and ",
           first == second ? "" : second.filename().string() + " ", "the same one as ", Quoted(n),
           "; keep one of them");
    }
    found = n;
  }
  return found.empty() ? name : found;
}

// Checks that the weights have no tensors of further layers or of an adapter, which would be left out.
void CheckLeftOut(const Family& family, const nn::Graph& graph, const Shards& tensors) {
  std::map<std::string, int64_t, std::less<>> last;  // number by list of layers
  for (const nn::Leaf& leaf : graph.leaves())
    if (const TensorLayer layer = LayerOf(leaf.name); layer.number >= 0) {
      int64_t& number = last.try_emplace(std::string(layer.list), 0).first->second;
      number = std::max(number, layer.number);
    }
  for (const std::string& name : tensors.Names()) {
    const auto refuse = [&](const auto&... parts) {
      Fail(Cause::kInput, tensors.FileOf(name).string(), " has a tensor ", Quoted(name), " ", parts...);
    };
    if (name.find("lora_") != name.npos)
      refuse("of an adapter, which is not applied; merge it into the weights and save the model again");
    std::string_view plain = name;
    if (plain.starts_with(family.prefix)) plain.remove_prefix(std::string_view(family.prefix).size());
    const TensorLayer layer = LayerOf(plain);
    if (const auto at = last.find(layer.list); at != last.end() && layer.number > at->second)
      refuse("beyond the ", at->second + 1, " layers of config.json; use the files of one model");
  }
}

// Checks that a Dense module's settings name all its tensors.
void CheckDense(const nn::Graph& graph, const Shards& tensors) {
  const std::vector<nn::Leaf>& leaves = graph.leaves();
  for (const std::string& name : tensors.Names())
    if (std::none_of(leaves.begin(), leaves.end(), [&](const nn::Leaf& leaf) { return leaf.name == kDense + name; }))
      Fail(Cause::kInput, tensors.FileOf(name).string(), " has a tensor ", Quoted(name),
           ", which config.json beside it leaves out; use the files of one model");
}

// Checks that there are weights that can be read, and nothing beside them that changes them.
void CheckWeightsFile(const std::filesystem::path& dir) {
  const auto there = [&](const char* name) { return IsThere(dir / name); };
  if (there("adapter_config.json"))
    Fail(Cause::kInput, (dir / "adapter_config.json").string(),
         " names an adapter, which is not applied; merge it into the weights and save the model again");
  if (there(kWeightsFile) || there(kWeightsIndex)) return;
  const std::string missing = Str("there is no file ", (dir / kWeightsFile).string());
  for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack",
                            "model.onnx", "onnx/model.onnx", "openvino/openvino_model.xml"})
    if (there(other))
      Fail(Cause::kInput, missing, ", only ", other,
           ", which is not read; save the model as safetensors, "
           "save_pretrained of Hugging Face's transformers does");
  Fail(Cause::kInput, missing, "; name a model directory that has it");
}

// The description of a model by its directory's files, without the weights.
struct Described {
  const Family& family;
  Modules modules;
  nn::Graph graph;
  nn::About about = {};
};

// Adds the embedding of the rows of the last node, of `width` numbers each.
void AddEmbedding(nn::Graph& g, const EmbeddingSteps& steps, int64_t width) {
  nn::GraphNode* rows = g.nodes().back().get();
  g.Scope("pool");
  const bool mean = steps.pooling == nn::PoolRows::kSum;
  nn::GraphNode* x = Pooled(g, rows, steps.pooling);
  if (const auto& dense = steps.dense) {
    x = NamedLinear(g, x, kDense + "linear", width, dense->outputs, dense->bias, "head", "z_dense");
    x->As<nn::LinearMap>()->by_length = mean;
    if (dense->tanh) x = Activated(g, x, "tanh");
    width = dense->outputs;
  }
  if (!steps.unit) {
    nn::RevealResult result;
    result.key = "vector";
    g.Add(std::move(result), {x}, "vector");
  } else {
    nn::Norm unit;
    unit.dim = width;
    unit.unit = true;
    unit.by_length = mean;
    unit.key = "unit";
    g.Add(std::move(unit), {x}, "unit");
  }
  g.Number();
}

// Adds a classifier of the first row of the last node, of `width` numbers.
void AddClassifier(nn::Graph& g, const ClassifierHead& head, int64_t width, int64_t labels) {
  nn::GraphNode* rows = g.nodes().back().get();
  g.Scope("head");
  nn::GraphNode* x = Pooled(g, rows, nn::PoolRows::kFirst);
  x = NamedLinear(g, x, head.dense, width, width, true, "head", "z_dense");
  x = NamedLinear(g, Activated(g, x, head.activation), head.out, width, labels, true, "head", "z_head");
  nn::RevealResult scores;
  scores.key = "scores";
  g.Add(std::move(scores), {x}, "logits");
  g.Number();
}

Described Describe(const std::filesystem::path& dir) {
  Modules modules = ReadModules(dir);
  const Fields config(modules.transformer / "config.json");
  const Family& family = FamilyOf(config);
  const bool pooled = modules.listed || !modules.pooling.empty();
  const bool classifier = !pooled && IsClassifier(config, family.sentences);
  nn::Graph rows = family.build(modules.transformer, classifier);
  Described d{family, std::move(modules), std::move(rows)};
  nn::Graph& graph = d.graph;
  if (!family.sentences) {
    if (pooled)
      Fail(Cause::kInput, d.modules.listed ? (dir / "modules.json").string() : d.modules.pooling.string(),
           " needs an embedding of the rows, and of a model of type ", Quoted(family.name),
           " the last row's logits are computed; ", kAnother);
    d.about.result = nn::ResultKind::kNextToken;
    return d;
  }
  const int64_t width = graph.node(0).As<nn::Lookup>()->table.cols();
  if (!classifier) {
    AddEmbedding(graph, ReadSteps(dir, d.modules, width, &d.about), width);
    return d;
  }
  if (!family.classifier)
    config.Refuse("architectures", "no classifier of a model of type ", Quoted(family.name), " is supported; ",
                  kAnother);
  if (const auto file = dir / "config_sentence_transformers.json"; IsThere(file))
    Fields(file).Empty("default_prompt_name", "remove the field: the texts of a classifier get no prompt");
  d.about.result = nn::ResultKind::kScores;
  d.about.labels = ReadLabels(config);
  d.about.texts = d.about.labels.size() == 1 ? nn::TextForm::kPair : nn::TextForm::kEither;
  AddClassifier(graph, *family.classifier, width, int64_t(d.about.labels.size()));
  return d;
}

// Returns the vocabulary file of a family whose texts come as ids, of which only the digest is used.
Vocabulary PlainVocabulary(const std::filesystem::path& dir) {
  for (const bool json : {false, true}) {
    const auto file = dir / (json ? "tokenizer.json" : "vocab.txt");
    if (!IsThere(file)) continue;
    const std::string text = ReadText(file, kVocabularyLimit);
    return {file, json, json ? 0 : ParseLines(text, file.string()).size(), {}, file};
  }
  return {};
}

}  // namespace

nn::Graph ReadGraph(const std::filesystem::path& dir, nn::About* about) {
  Described d = Describe(dir);
  if (about) *about = std::move(d.about);
  return std::move(d.graph);
}

LoadedModel Load(const std::filesystem::path& dir) {
  Described d = Describe(dir);
  const std::filesystem::path& folder = d.modules.transformer;
  LoadedModel m{std::move(d.graph), {}, d.family.min_tokens, {}, std::move(d.about)};
  const int64_t words = m.graph.node(0).As<nn::Lookup>()->words();
  m.vocabulary = d.family.sentences ? FindVocabulary(dir) : PlainVocabulary(folder);
  // a table may be padded with rows that no entry has
  if (m.vocabulary.size > size_t(words))
    Fail(Cause::kInput, m.vocabulary.entries.string(), " has ", m.vocabulary.size,
         " entries, config.json says vocab_size ", words, "; use the files of one model");
  if (d.family.sentences) {
    const LongestText longest = ReadLongest(folder);
    m.about.longest = longest.tokens;
    m.longest_said_by = longest.said_by;
  }
  CheckWeightsFile(folder);
  if (d.modules.dense) CheckWeightsFile(*d.modules.dense);
  Shards tensors(folder);
  CheckLeftOut(d.family, m.graph, tensors);
  std::optional<Shards> dense;
  if (d.modules.dense) CheckDense(m.graph, dense.emplace(*d.modules.dense));
  for (const nn::Leaf& leaf : m.graph.leaves()) {
    const bool behind = dense && leaf.name.starts_with(kDense);
    const std::string name = behind ? leaf.name.substr(kDense.size()) : Stored(d.family, tensors, leaf.name);
    Shards& from = behind ? *dense : tensors;
    std::vector<float> values = from.Floats(name, leaf.shape);
    if (leaf.kind == nn::Leaf::kGamma && std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }))
      Fail(Cause::kInput, from.FileOf(name).string(), ": the ", values.size(), " values of tensor ", Quoted(name),
           " are all 0, and a norm of them has one result for every text; use the weights of a trained model");
    m.weights.Set(leaf.name, {leaf.shape, std::move(values)});
  }
  return m;
}

}  // namespace suf::model
