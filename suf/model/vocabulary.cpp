#include "suf/model/vocabulary.hpp"

#include <algorithm>
#include <optional>

#include "suf/model/internal/config.hpp"
#include "suf/model/internal/entries.hpp"
#include "suf/model/internal/modules.hpp"

namespace suf::model {

namespace {

struct Known {
  std::string_view sha256, name;
};

// Compare with: sha256sum vocab.txt
constexpr Known kKnown[] = {
    // 30522 tokens. all-MiniLM-L6-v2, which tools/fetch_model.py fetches, has the same file.
    {"07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", "bert-base-uncased"},
};

constexpr const char* kSaveAgain =
    "save the tokenizer again with Hugging Face's transformers, so that tokenizer.json has every added token";

// Compares the added tokens that files beside the vocabulary state with those that it matches.
class Declared {
 public:
  // `has_json`: the directory has a tokenizer.json. Then the flags of named tokens come from there alone.
  Declared(const Entries& entries, const Vocabulary& vocabulary, bool has_json)
      : entries_(entries), name_(vocabulary.file.filename().string()), has_json_(has_json) {}

  // Checks a token that a field names by a text, or by an object with flags. `special` is its only content, or null.
  void Token(const Fields& f, const std::string& field, const json& v, const char* special = nullptr) const {
    if (v.is_null()) return;
    const json content = v.is_object() ? v.value("content", json()) : v;
    if (special && content != special) f.Refuse(field, "only \"", special, "\" is supported; ", kAnother);
    const AddedToken* token = content.is_string() ? entries_.Added(content.get<std::string>()) : nullptr;
    if (!token || (!has_json_ && v.is_object() && !Agrees(v, *token)))
      f.Refuse(field, name_, " does not match this token whole; ", kSaveAgain);
  }

  // Checks the list of tokenizer_config.json, whose flags count.
  void AddedTokensDecoder(const Fields& f) const {
    const json list = f.Value("added_tokens_decoder");
    if (list.is_null()) return;
    const Fields tokens = f.Object("added_tokens_decoder", "an object");
    for (const auto& [id, v] : list.items()) {
      const json content = v.is_object() ? v.value("content", json()) : json();
      const AddedToken* token = content.is_string() ? entries_.Added(content.get<std::string>()) : nullptr;
      if (!token || id != Str(token->id) || !Agrees(v, *token))
        tokens.Refuse(id, name_, " does not match this token so; ", kSaveAgain);
    }
  }

  // Checks added_tokens.json, which has contents and ids.
  void AddedTokensFile(const std::filesystem::path& file) const {
    const Fields f(file);
    for (const auto& [content, id] : f.all().items())
      if (const AddedToken* token = entries_.Added(content); !token || id != token->id)
        Fail(Cause::kInput, file.string(), ": ", Quoted(content), " is an added token with the id ", Quoted(id.dump()),
             ", which ", name_, " does not have; ", kSaveAgain);
  }

 private:
  static bool Agrees(const json& v, const AddedToken& token) {
    const auto flag = [&](const char* name) { return v.value(name, json(false)) == json(true); };
    return flag("single_word") == token.single_word && flag("lstrip") == token.lstrip &&
           flag("rstrip") == token.rstrip && flag("normalized") == token.normalized;
  }

  const Entries& entries_;
  std::string name_;
  bool has_json_;
};

// The fields that name kSpecials.
constexpr std::pair<const char*, const char*> kRoles[] = {{"pad_token", "[PAD]"},
                                                          {"unk_token", "[UNK]"},
                                                          {"cls_token", "[CLS]"},
                                                          {"sep_token", "[SEP]"},
                                                          {"mask_token", "[MASK]"}};

void CheckTokens(const Fields& f, const Declared& declared) {
  for (const auto& [field, v] : f.all().items()) {
    const auto role =
        std::find_if(std::begin(kRoles), std::end(kRoles), [&, &name = field](auto& r) { return name == r.first; });
    if (role != std::end(kRoles))
      declared.Token(f, field, v, role->second);
    else if (field == "additional_special_tokens" || field == "extra_special_tokens")
      for (const auto& [key, token] : v.items()) declared.Token(f, field, token);
    else if (field.ends_with("_token") && (v.is_string() || v.is_object()))
      declared.Token(f, field, v);
  }
}

// Checks that tokenizer_config.json requests no other rules.
void CheckTokenizerConfig(const Fields& t, bool json_file) {
  if (t.Has("tokenizer_class")) {
    // these read vocab.txt, or build the same tokenizer from the entries of tokenizer.json
    const std::string name =
        t.OneOf("tokenizer_class", nullptr,
                {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast",
                 "ElectraTokenizer", "ElectraTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend"});
    if ((name == "PreTrainedTokenizerFast" || name == "TokenizersBackend") && !json_file)
      t.Refuse("tokenizer_class", "which reads tokenizer.json, and there is none; fetch the whole directory");
  }
  for (const char* field : {"do_lower_case", "tokenize_chinese_chars", "do_basic_tokenize", "clean_text"})
    t.Must(field, true, true);
  if (!t.Null("strip_accents")) t.Must("strip_accents", nullptr, true);  // null follows do_lower_case
  t.Must("wordpieces_prefix", "##", "##");
  t.Must("truncation_side", "right", "right");
  t.Must("split_special_tokens", false, false);
  t.Empty("auto_map");
  const json kept = t.Value("never_split");
  const bool specials = std::all_of(kept.begin(), kept.end(), [](const json& word) {
    return std::any_of(std::begin(kSpecials), std::end(kSpecials), [&](const char* s) { return word == s; });
  });
  if (!specials) t.Empty("never_split");
}

Entries Parse(const std::filesystem::path& file) {
  return ParseEntries(ReadText(file, kVocabularyLimit), file.string());
}

// Returns whether a vocab.txt of the same entries is equivalent to this tokenizer.json.
bool Plain(const Entries& json_file) {
  return json_file.added.size() == std::size(kSpecials) &&
         std::all_of(std::begin(kSpecials), std::end(kSpecials), [&](const char* s) {
           const AddedToken* token = json_file.Added(s);
           return token && *token == AddedToken{.content = s, .id = token->id};
         });
}

// Checks that each file has the entries of the other. A vocab.txt may also list added tokens.
void CheckSame(const Entries& lines, const Entries& json_file, const std::filesystem::path& dir) {
  const auto differ = [&](const std::string& entry) {
    Fail(Cause::kInput, (dir / "vocab.txt").string(), " and tokenizer.json differ in the entry ", Quoted(entry),
         "; use the files of one model");
  };
  for (const auto& [entry, id] : json_file.ids)
    if (const auto at = lines.ids.find(entry); at == lines.ids.end() || at->second != id) differ(entry);
  for (const auto& [entry, id] : lines.ids)
    if (const AddedToken* token = json_file.Added(entry); !json_file.ids.contains(entry) && (!token || token->id != id))
      differ(entry);
}

}  // namespace

Vocabulary FindVocabulary(const std::filesystem::path& root) {
  const std::filesystem::path dir = ReadModules(root).transformer, lines_file = dir / "vocab.txt",
                              json_file = dir / "tokenizer.json";
  std::optional<Entries> lines, object;
  if (IsThere(lines_file)) lines = Parse(lines_file);
  if (IsThere(json_file)) object = Parse(json_file);
  if (!lines && !object)
    Fail(Cause::kInput, "there is no file ", lines_file.string(),
         " and no tokenizer.json; name a model directory that has one of them");
  if (lines && object) CheckSame(*lines, *object, dir);
  const bool is_json = !lines || (object && !Plain(*object));
  const Entries& entries = is_json ? *object : *lines;
  const Vocabulary found{is_json ? json_file : lines_file, is_json, size_t(entries.size)};
  const Declared declared(entries, found, object.has_value());
  if (const auto file = dir / "tokenizer_config.json"; IsThere(file)) {
    const Fields t(file);
    CheckTokenizerConfig(t, object.has_value());
    CheckTokens(t, declared);
    declared.AddedTokensDecoder(t);
  }
  if (const auto file = dir / "special_tokens_map.json"; IsThere(file)) CheckTokens(Fields(file), declared);
  if (const auto file = dir / "added_tokens.json"; IsThere(file)) declared.AddedTokensFile(file);
  return found;
}

std::string_view KnownVocabulary(const Hash& sha256) {
  const std::string hex = Hex(sha256);
  const auto* at = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.sha256 == hex; });
  return at == std::end(kKnown) ? std::string_view() : at->name;
}

}  // namespace suf::model
