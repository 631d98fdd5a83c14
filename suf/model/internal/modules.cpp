#include "suf/model/internal/modules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

#include "suf/base/printable.hpp"
#include "suf/model/internal/config.hpp"

namespace suf::model {
namespace {

using std::filesystem::path;

// The modules in their order; the first two must be there.
constexpr std::array<const char*, 4> kOrder = {"Transformer", "Pooling", "Dense", "Normalize"};
constexpr size_t kNeeded = 2;
constexpr const char* kSupported =
    "only Transformer, Pooling, Dense and Normalize of sentence-transformers, in this order, are supported";

// Returns the class that a module's type names, in any file of sentence-transformers; "" for another package.
std::string ClassOf(const std::string& type) {
  return type.starts_with("sentence_transformers.") ? type.substr(type.rfind('.') + 1) : "";
}

// Returns a module's folder in `dir`.
path Inside(const path& dir, const Fields& entry) {
  const std::string text = entry.Text("path");
  if (!entry.Value("path").is_string() || !StaysInside(text))
    entry.Refuse("path", "it must be the name of a folder in the directory, or \"\"; fetch the file again");
  return text.empty() ? dir : dir / text;
}

// Reads a directory without modules.json, which may still have folders of modules.
Modules Unlisted(const path& dir) {
  Modules m{.transformer = dir};
  std::set<path> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error))
    if (entry.is_directory(error)) folders.insert(entry.path());
  for (const path& folder : folders) {
    const std::string name = folder.filename().string();
    const size_t digits = size_t(
        std::find_if_not(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); }) - name.begin());
    if (digits == 0 || digits >= name.size() || name[digits] != '_') continue;
    const std::string module = name.substr(digits + 1);
    if (module == "Pooling" && m.pooling.empty())
      m.pooling = folder / "config.json";
    else if (module != "Transformer" && module != "Normalize")
      Fail(Cause::kInput, dir.string(), " has a folder ", Quoted(name), " of a module and no modules.json; ",
           kSupported, "; fetch the whole directory, or use another model");
  }
  return m;
}

// A pooling by its name in newer files, and the flag of older ones.
struct PoolingMode {
  const char *name, *flag;
  nn::PoolRows::Kind kind;
};
constexpr PoolingMode kPoolingModes[] = {{"mean", "pooling_mode_mean_tokens", nn::PoolRows::kSum},
                                         {"cls", "pooling_mode_cls_token", nn::PoolRows::kFirst},
                                         {"lasttoken", "pooling_mode_lasttoken", nn::PoolRows::kLast}};

// Returns the mode that the settings name or flag.
const PoolingMode& ModeOf(const Fields& p) {
  const bool named = p.Named("pooling_mode");
  json name = p.Value("pooling_mode");
  if (name.is_array() && name.size() == 1) name = json(name[0]);
  const PoolingMode* found = nullptr;
  for (const PoolingMode& mode : kPoolingModes) {
    if (p.Named(mode.flag) && !p.Value(mode.flag).is_boolean())
      p.Refuse(mode.flag, "it must be true or false; fetch the file again");
    if (named ? name != mode.name : !p.True(mode.flag, false)) continue;
    if (found) p.Refuse(mode.flag, "and ", found->flag, " too; only one pooling is supported; ", kAnother);
    found = &mode;
  }
  if (!found && !named)
    for (const auto& [field, v] : p.all().items())
      if (field.starts_with("pooling_mode_") && v == json(true))
        p.Refuse(field, "only the flags ", kPoolingModes[0].flag, ", ", kPoolingModes[1].flag, " and ",
                 kPoolingModes[2].flag, " are supported; ", kAnother);
  if (!found) p.Refuse("pooling_mode", "only \"mean\", \"cls\" and \"lasttoken\" are supported; ", kAnother);
  for (const PoolingMode& mode : kPoolingModes)
    if (p.Named(mode.flag)) p.Must(mode.flag, nullptr, &mode == found);
  return *found;
}

nn::PoolRows::Kind PoolingOf(const path& file, int64_t width) {
  if (!IsThere(file))
    Fail(Cause::kInput, "there is no file ", file.string(),
         ", so how rows are pooled is not known; fetch the whole directory");
  const Fields p(file);
  const PoolingMode& mode = ModeOf(p);
  for (const char* other :
       {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens"})
    p.Must(other, false, false);
  p.Must("include_prompt", true, true);
  for (const char* dimension : {"embedding_dimension", "word_embedding_dimension"})
    if (p.Named(dimension) && p.Value(dimension) != width)
      p.Refuse(dimension, "the model has ", width, " columns; use the files of one model");
  p.Only({"pooling_mode", "pooling_mode_mean_tokens", "pooling_mode_cls_token", "pooling_mode_lasttoken",
          "include_prompt", "embedding_dimension", "word_embedding_dimension"});
  return mode.kind;
}

void CheckNormalize(const path& file) {
  if (!IsThere(file)) return;
  const Fields n(file);
  constexpr const char* kEmbedding = "sentence_embedding";
  n.Must("module_input_name", kEmbedding, kEmbedding);
  if (n.Has("module_output_name")) n.Must("module_output_name", kEmbedding, kEmbedding);
  n.Only({"module_input_name", "module_output_name"});
}

// Reads the settings of a Dense module behind rows of `width` numbers.
DenseModule DenseOf(const path& folder, int64_t width, nn::PoolRows::Kind pooling) {
  const path file = folder / "config.json";
  if (!IsThere(file)) Fail(Cause::kInput, "there is no file ", file.string(), "; fetch the whole directory");
  const Fields f(file);
  constexpr const char *kTanh = "torch.nn.modules.activation.Tanh", *kEmbedding = "sentence_embedding";
  DenseModule d{f.Count("in_features", 8192), f.Count("out_features", 8192), f.True("bias", true), false};
  if (d.inputs != width)
    f.Refuse("in_features", "the rows before it have ", width, " columns; use the files of one model");
  d.tanh = f.OneOf("activation_function", kTanh, {kTanh, "torch.nn.modules.linear.Identity"}) == kTanh;
  if (d.tanh && pooling == nn::PoolRows::kSum)
    f.Refuse("activation_function", "and the rows are averaged, where only Identity is supported; ", kAnother);
  for (const char* field : {"module_input_name", "module_output_name"})
    if (f.Has(field)) f.Must(field, nullptr, kEmbedding);
  f.Only({"in_features", "out_features", "bias", "activation_function", "module_input_name", "module_output_name"});
  return d;
}

// Reads the prompts and the name of the one that texts get without a choice.
void ReadPrompts(const Fields& c, nn::About* about) {
  const json prompts = c.Has("prompts") ? c.Value("prompts") : json::object();
  if (!prompts.is_object()) c.Refuse("prompts", "it must be an object of names and texts; write it so");
  if (prompts.size() > nn::About::kMostPrompts)
    Fail(Cause::kInput, c.file(), ": prompts has ", prompts.size(), " texts, the limit is ", nn::About::kMostPrompts,
         "; remove some");
  for (const auto& [name, text] : prompts.items()) {
    const std::string place = Str(c.file(), ": the prompt ", Quoted(name));
    if (!IsPrintable(name) || name.empty() || name.size() > nn::About::kNameBytes)
      Fail(Cause::kInput, place, " has no name of up to ", nn::About::kNameBytes, " visible characters; rename it");
    if (text.is_null()) continue;
    if (!text.is_string()) Fail(Cause::kInput, place, " is no text; write one or remove it");
    const std::string words = text.get<std::string>();
    if (words.size() > nn::Prompt::kMostBytes)
      Fail(Cause::kInput, place, " has ", words.size(), " bytes, the limit is ", nn::Prompt::kMostBytes,
           "; shorten or remove it");
    if (const size_t at = words.find('\0'); at != words.npos)
      Fail(Cause::kInput, place, " has a NUL byte, byte ", at + 1, " of ", words.size(), "; remove it");
    about->prompts.push_back({name, words});
  }
  if (!c.Has("default_prompt_name")) return;
  const json name = c.Value("default_prompt_name");
  if (!name.is_string() || !prompts.contains(name.get<std::string>()))
    c.Refuse("default_prompt_name", "and prompts has no such prompt; name one of them or remove the field");
  if (!prompts[name.get<std::string>()].is_null()) about->default_prompt = name.get<std::string>();
}

// Reads the settings of the whole list. Embeddings have `width` numbers.
void ReadRoot(const path& file, int64_t width, nn::About* about) {
  if (!IsThere(file)) return;
  const Fields c(file);
  c.Must("model_type", "SentenceTransformer", "SentenceTransformer");
  const json cut = c.Value("truncate_dim");
  if (!cut.is_null() && !(cut.is_number_integer() && cut >= width))
    c.Refuse("truncate_dim", "only all ", width,
             " columns are supported; remove the field and cut the embeddings afterwards");
  ReadPrompts(c, about);
  if (c.Has("similarity_fn_name"))
    about->similarity = c.OneOf("similarity_fn_name", nullptr, {"cosine", "dot", "euclidean", "manhattan"});
  c.Only({"__version__", "prompts", "default_prompt_name", "similarity_fn_name", "model_type", "truncate_dim"});
}

// The names that the file with the Transformer's settings may have.
constexpr std::array<const char*, 7> kTransformerFiles = {
    "sentence_bert_config.json",      "sentence_roberta_config.json", "sentence_distilbert_config.json",
    "sentence_camembert_config.json", "sentence_albert_config.json",  "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

std::vector<path> TransformerFiles(const path& dir) {
  std::vector<path> files;
  for (const char* name : kTransformerFiles)
    if (IsThere(dir / name)) files.push_back(dir / name);
  return files;
}

void CheckTransformer(const path& file) {
  const Fields t(file);
  t.Must("do_lower_case", false, false, "set it to false if the tokenizer makes letters small, else use another model");
  t.Must("transformer_task", "feature-extraction", "feature-extraction");
  t.Must("module_output_name", "token_embeddings", "token_embeddings");
  const json text = {{"text", {{"method", "forward"}, {"method_output_name", "last_hidden_state"}}}};
  t.Must("modality_config", text, text);
  for (const char* field :
       {"model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs",
        "processing_kwargs", "tokenizer_name_or_path", "query_length", "document_length", "query_expansion"})
    t.Empty(field);
  t.Only(
      {"max_seq_length", "do_lower_case", "transformer_task", "module_output_name", "modality_config", "unpad_inputs"});
}

}  // namespace

Modules ReadModules(const path& dir) {
  const path file = dir / "modules.json";
  if (!IsThere(file)) return Unlisted(dir);
  const json list = ReadJsonFile(file);
  if (!list.is_array()) Fail(Cause::kInput, file.string(), " is not a JSON list; fetch it again");
  std::array<path, kOrder.size()> folders;
  std::array<bool, kOrder.size()> there{};
  std::set<std::string> names;
  size_t next = 0;  // the first module of kOrder that may follow
  for (size_t i = 0; i < list.size(); ++i) {
    const Fields entry(file.string(), list[i], Str("[", i, "]"));
    const std::string name = ClassOf(entry.Text("type"));
    while (next >= kNeeded && next < kOrder.size() && name != kOrder[next]) ++next;
    if (next == kOrder.size() || name != kOrder[next]) entry.Refuse("type", kSupported, "; ", kAnother);
    if (entry.Named("idx")) entry.Must("idx", nullptr, i, "fetch the file again");
    if (!names.insert(entry.Text("name")).second)
      entry.Refuse("name", "as that of a module before it; fetch the file again");
    entry.Empty("kwargs");
    entry.Only({"idx", "name", "path", "type"});
    folders[next] = Inside(dir, entry);
    there[next++] = true;
  }
  if (next < kNeeded)
    Fail(Cause::kInput, file.string(), " has no module ", kOrder[next], "; ", kSupported, "; ", kAnother);
  return {folders[0],
          folders[1] / "config.json",
          there[2] ? std::optional(folders[2]) : std::nullopt,
          folders[3] / "config.json",
          there[3],
          true};
}

EmbeddingSteps ReadSteps(const path& dir, const Modules& modules, int64_t width, nn::About* about) {
  EmbeddingSteps e;
  e.pooling = modules.pooling.empty() ? nn::PoolRows::kSum : PoolingOf(modules.pooling, width);
  if (modules.dense) {
    e.dense = DenseOf(*modules.dense, width, e.pooling);
    width = e.dense->outputs;
  }
  e.unit = modules.normalised;
  if (modules.listed && e.unit) CheckNormalize(modules.normalize);
  about->result = e.unit ? nn::ResultKind::kUnit : nn::ResultKind::kVector;
  ReadRoot(dir / "config_sentence_transformers.json", width, about);
  for (const path& file : TransformerFiles(modules.transformer)) CheckTransformer(file);
  return e;
}

LongestText ReadLongest(const path& transformer) {
  std::vector<path> files = TransformerFiles(transformer);
  if (const path file = transformer / "tokenizer_config.json"; IsThere(file)) files.push_back(file);
  for (const path& file : files) {
    const Fields f(file);
    const char* field = file.filename() == "tokenizer_config.json" ? "model_max_length" : "max_seq_length";
    if (f.Null(field)) continue;
    const json v = f.Value(field);
    constexpr double kAny = 1 << 20;  // transformers writes 1e30 if no limit is known
    if (v.is_number_float() && v > kAny) continue;
    if (v.is_number_integer() && v > int64_t(kAny)) continue;
    return {f.Count(field, 1 << 20), file.filename().string() + ": " + field};
  }
  return {};
}

}  // namespace suf::model
