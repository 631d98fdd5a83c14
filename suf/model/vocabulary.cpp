#include "suf/model/vocabulary.hpp"

#include <algorithm>
#include <optional>

#include "suf/model/internal/config.hpp"
#include "suf/model/internal/entries.hpp"
#include "suf/model/internal/modules.hpp"
#include "suf/model/internal/separate_files.hpp"

namespace suf::model {

namespace {

struct Known {
  std::string_view sha256, name;
};

// Compare with: sha256sum vocab.txt, or tokenizer.json. tools/models.json has the sources of these files.
constexpr Known kKnown[] = {
    // 30522 tokens. all-MiniLM-L6-v2, which tools/fetch_model.py fetches, has the same file.
    {"07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", "bert-base-uncased"},
    {"b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842", "all-mpnet-base-v2"},
    {"0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39", "multilingual-e5-small"},
};

constexpr const char* kSaveAgain =
    "save the tokenizer again with Hugging Face's transformers, so that tokenizer.json has every added token";
constexpr const char* kFilesOfOne = "use the files of one model";

// Compares the added tokens that files beside the vocabulary state with those that it matches.
class Declared {
 public:
  // `has_json`: the directory has a tokenizer.json. Then the flags of named tokens come from there alone.
  Declared(const TokenizerParts& parts, const Vocabulary& vocabulary, bool has_json)
      : parts_(parts), name_(vocabulary.entries.filename().string()), has_json_(has_json) {}

  // Checks a token that a field names by a text, or by an object with flags. `special` is its only content, or null.
  void Token(const Fields& f, const std::string& field, const json& v, const char* special = nullptr) const {
    if (v.is_null()) return;
    const json content = v.is_object() ? v.value("content", json()) : v;
    if (special && content != special) f.Refuse(field, "only \"", special, "\" is supported; ", kAnother);
    const AddedToken* token = content.is_string() ? parts_.Added(content.get<std::string>()) : nullptr;
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
      const AddedToken* token = content.is_string() ? parts_.Added(content.get<std::string>()) : nullptr;
      if (!token || id != Str(token->id) || !Agrees(v, *token))
        tokens.Refuse(id, name_, " does not match this token so; ", kSaveAgain);
    }
  }

  // Checks added_tokens.json, which has contents and ids.
  void AddedTokensFile(const std::filesystem::path& file) const {
    const Fields f(file);
    for (const auto& [content, id] : f.all().items())
      if (const AddedToken* token = parts_.Added(content); !token || id != token->id)
        Fail(Cause::kInput, file.string(), ": ", Quoted(content), " is an added token with the id ", Quoted(id.dump()),
             ", which ", name_, " does not have; ", kSaveAgain);
  }

 private:
  static bool Agrees(const json& v, const AddedToken& token) {
    const auto flag = [&](const char* name) { return v.value(name, json(false)) == json(true); };
    return flag("single_word") == token.single_word && flag("lstrip") == token.lstrip &&
           flag("rstrip") == token.rstrip && flag("normalized") == token.normalized;
  }

  const TokenizerParts& parts_;
  std::string name_;
  bool has_json_;
};

// The fields that name kSpecials.
constexpr std::pair<const char*, const char*> kRoles[] = {{"pad_token", "[PAD]"},
                                                          {"unk_token", "[UNK]"},
                                                          {"cls_token", "[CLS]"},
                                                          {"sep_token", "[SEP]"},
                                                          {"mask_token", "[MASK]"}};

// Checks the special tokens that fields name. For a vocab.txt they are kSpecials.
void CheckTokens(const Fields& f, const Declared& declared, bool is_json) {
  for (const auto& [field, v] : f.all().items()) {
    const auto role =
        std::find_if(std::begin(kRoles), std::end(kRoles), [&, &name = field](auto& r) { return name == r.first; });
    if (role != std::end(kRoles))
      declared.Token(f, field, v, is_json ? nullptr : role->second);
    else if (field == "additional_special_tokens" || field == "extra_special_tokens")
      for (const auto& [key, token] : v.items()) declared.Token(f, field, token);
    else if (field.ends_with("_token") && (v.is_string() || v.is_object()))
      declared.Token(f, field, v);
  }
}

// Returns the content of the token that a field names, or "".
std::string Named(const Fields& f, const char* field) {
  const json v = f.Value(field), content = v.is_object() ? v.value("content", json()) : v;
  return content.is_string() ? content.get<std::string>() : "";
}

// Checks that the special tokens around a text are those that tokenizer_config.json names. `transformers` puts those
// there again.
void CheckAround(const Fields& t, const TokenizerParts& parts) {
  const std::vector<Template::Item>& items = parts.around.single;
  const auto check = [&](const Template::Item& item, const char* a, const char* b, const char* add) {
    const std::string is = item.kind == Template::Item::kToken ? parts.Content(item.id) : "";
    if (t.Value(add).is_boolean() && t.True(add, false) != !is.empty())
      t.Refuse(add, "and tokenizer.json has ", is.empty() ? "no special token" : Quoted(is), " there; ", kFilesOfOne);
    const std::string first = Named(t, a), second = Named(t, b);
    if (!is.empty() && first != is && second != is && !(first + second).empty())
      t.Refuse(first.empty() ? b : a, "and tokenizer.json has ", Quoted(is), " around a text; ", kFilesOfOne);
  };
  check(items.front(), "cls_token", "bos_token", "add_bos_token");
  check(items.back(), "sep_token", "eos_token", "add_eos_token");
}

// Checks that the class of tokenizer_config.json, by its own settings, gives the normalizer and the pre-tokenizer of
// tokenizer.json. `transformers` builds them again.
void CheckClass(const Fields& t, const TokenizerParts& parts) {
  const TokenizerRules rules = RulesOf(t);
  const auto part = [&](const char* field) { return parts.settings.value(field, json()); };
  const auto type = [](const json& p) { return p.is_object() ? p.value("type", json()) : json(); };
  const json normalizer = part("normalizer"), words = part("pre_tokenizer");
  const bool bert = type(normalizer) == "BertNormalizer", any = t.Null("tokenizer_class");
  const bool by_words = rules == TokenizerRules::kWordPiece || rules == TokenizerRules::kSWordPiece;
  const bool bytes = rules == TokenizerRules::kBytes || rules == TokenizerRules::kSBytes;
  if (by_words ? !bert || type(words) != "BertPreTokenizer" || type(part("model")) != "WordPiece"
               : bytes && (!normalizer.is_null() || type(words) != "ByteLevel"))
    t.Refuse("tokenizer_class", "and tokenizer.json has other parts; ", kFilesOfOne);
  // a setting counts if it is stated, or if the class has it
  const auto agree = [&](const char* field, bool absent, bool is) {
    if ((t.Has(field) || by_words || bytes || any) && t.True(field, absent) != is)
      t.Refuse(field, "and tokenizer.json does otherwise; ", kFilesOfOne);
  };
  const auto flag = [&](const json& p, const char* field) { return p.value(field, json(false)) == json(true); };
  if (bert) {
    const bool lower = flag(normalizer, "lowercase"), strip = normalizer.value("strip_accents", json()).is_null();
    agree("do_lower_case", true, lower);
    agree("tokenize_chinese_chars", true, flag(normalizer, "handle_chinese_chars"));
    agree("strip_accents", t.True("do_lower_case", true), strip ? lower : flag(normalizer, "strip_accents"));
  }
  if (type(words) == "ByteLevel") agree("add_prefix_space", false, flag(words, "add_prefix_space"));
}

// Checks that tokenizer_config.json requests no other rules.
void CheckTokenizerConfig(const Fields& t) {
  for (const char* field : {"do_basic_tokenize", "clean_text"}) t.Must(field, true, true);
  for (const char* field : {"do_lower_case", "tokenize_chinese_chars", "strip_accents", "add_prefix_space"})
    if (t.Has(field) && !t.Value(field).is_boolean()) t.Refuse(field, "only true or false is supported; ", kAnother);
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

// Returns whether a vocab.txt is the whole tokenizer, by the settings beside it.
bool IsOfLines(const std::optional<Fields>& config) {
  if (!config) return true;
  const TokenizerRules rules = RulesOf(*config);
  if (rules == TokenizerRules::kUnknown && config->Has("tokenizer_class"))
    config->Refuse("tokenizer_class", "which reads tokenizer.json, and there is none; fetch the whole directory");
  return (rules == TokenizerRules::kWordPiece || rules == TokenizerRules::kUnknown) && IsUncased(*config);
}

// Returns whether a vocab.txt of the same entries is equivalent to this tokenizer.json.
bool Plain(const TokenizerParts& json_file) {
  const auto special = [&](const char* s) {
    const AddedToken* token = json_file.Added(s);
    return token && *token == AddedToken{.content = s, .id = token->id};
  };
  if (json_file.added.size() != std::size(kSpecials) ||
      !std::all_of(std::begin(kSpecials), std::end(kSpecials), special))
    return false;
  const auto same = [&](const char* field, std::initializer_list<json> wanted) {
    const json v = json_file.settings.value(field, json());
    return std::find(wanted.begin(), wanted.end(), v) != wanted.end();
  };
  using Item = Template::Item;
  const Item begin{Item::kToken, json_file.Added("[CLS]")->id, 0}, text{}, second{Item::kPair, 0, 1};
  const int32_t sep = json_file.Added("[SEP]")->id;
  const auto equal = [](const std::vector<Item>& a, const std::vector<Item>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Item& x, const Item& y) {
      return x.kind == y.kind && x.id == y.id && x.type == y.type;
    });
  };
  return same("normalizer", {BertNormalizerJson(), BertNormalizerJson(true, true, true)}) &&
         same("pre_tokenizer", {{{"type", "BertPreTokenizer"}}}) &&
         same("model", {{{"type", "WordPiece"},
                         {"unk_token", "[UNK]"},
                         {"continuing_subword_prefix", "##"},
                         {"max_input_chars_per_word", 100}}}) &&
         equal(json_file.around.single, {begin, text, {Item::kToken, sep, 0}}) &&
         equal(json_file.around.pair, {begin, text, {Item::kToken, sep, 0}, second, {Item::kToken, sep, 1}});
}

// Checks that each file has the entries of the other. A vocab.txt may also list added tokens.
void CheckSame(const EntryIds& lines, const TokenizerParts& json_file, const std::filesystem::path& dir) {
  const EntryIds& entries = json_file.words->entries();
  const auto differ = [&](const std::string& entry) {
    Fail(Cause::kInput, (dir / "vocab.txt").string(), " and tokenizer.json differ in the entry ", Quoted(entry), "; ",
         kFilesOfOne);
  };
  for (const auto& [entry, id] : entries)
    if (const auto at = lines.find(entry); at == lines.end() || at->second != id) differ(entry);
  for (const auto& [entry, id] : lines)
    if (const AddedToken* token = json_file.Added(entry); !entries.contains(entry) && (!token || token->id != id))
      differ(entry);
}

// Refuses a tokenizer that keeps capital letters beside a vocabulary that has none.
void CheckCase(const TokenizerParts& parts, const Vocabulary& found) {
  const json normalizer = parts.settings.value("normalizer", json());
  if (!normalizer.is_object() || normalizer.value("type", json()) != "BertNormalizer" ||
      normalizer.value("lowercase", json()) != json(false))
    return;
  const auto capital = [&](const auto& entry) {
    const std::string& text = entry.first;
    return !parts.Added(text) && text[0] != '[' &&
           std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  };
  const EntryIds& entries = parts.words->entries();
  if (std::none_of(entries.begin(), entries.end(), capital))
    Fail(Cause::kInput, found.entries.string(), ": the tokenizer keeps capital letters, and none of its ",
         entries.size(), " entries has one; ", kFilesOfOne);
}

}  // namespace

Vocabulary FindVocabulary(const std::filesystem::path& root) {
  const std::filesystem::path dir = ReadModules(root).transformer, lines_file = dir / "vocab.txt",
                              json_file = dir / "tokenizer.json", config_file = dir / "tokenizer_config.json";
  const bool has_lines = IsThere(lines_file), has_json = IsThere(json_file);
  std::optional<Fields> config;
  if (IsThere(config_file)) config.emplace(config_file);
  if (config) CheckTokenizerConfig(*config);
  if (!has_lines && !has_json && !IsThere(dir / "vocab.json")) {
    if (IsThere(dir / "merges.txt"))
      Fail(Cause::kInput, "there is no file ", (dir / "vocab.json").string(), ", which belongs to merges.txt; ",
           "fetch it too");
    Fail(Cause::kInput, "there is no file ", lines_file.string(), ", no tokenizer.json and no vocab.json; ",
         "name a model directory that has one of them");
  }
  Vocabulary found;
  std::optional<TokenizerParts> parts;
  const auto use = [&](const std::filesystem::path& file, const std::string& text, bool is_json,
                       const std::filesystem::path& entries) {
    found.file = file;
    found.json = is_json;
    found.entries = entries;
    parts = ParseTokenizer(text, entries.string());
  };
  if (has_json) use(json_file, ReadText(json_file, kVocabularyLimit), true, json_file);
  const std::string text = has_lines ? ReadText(lines_file, kVocabularyLimit) : "";
  if (has_json && has_lines) CheckSame(ParseLines(text, lines_file.string()), *parts, dir);
  if (!has_json && has_lines && IsOfLines(config)) use(lines_file, text, false, lines_file);
  if (has_json && has_lines && Plain(*parts)) use(lines_file, text, false, lines_file);
  if (!parts) {
    BuiltTokenizer built = BuildTokenizerJson(dir);
    found.built = std::move(built.text);
    use(json_file, found.built, true, built.entries);
  }
  found.size = size_t(parts->size);
  CheckCase(*parts, found);
  const Declared declared(*parts, found, has_json);
  if (config) {
    CheckTokens(*config, declared, found.json);
    declared.AddedTokensDecoder(*config);
    if (has_json) CheckClass(*config, *parts);
    // a Qwen2Tokenizer takes the tokens around a text from tokenizer.json, whatever its other settings are
    if (found.json && RulesOf(*config) != TokenizerRules::kSplitBytes) CheckAround(*config, *parts);
  }
  if (const auto file = dir / "special_tokens_map.json"; IsThere(file)) CheckTokens(Fields(file), declared, found.json);
  if (const auto file = dir / "added_tokens.json"; IsThere(file)) declared.AddedTokensFile(file);
  return found;
}

std::string VocabularyText(const Vocabulary& vocabulary) {
  return vocabulary.built.empty() ? ReadText(vocabulary.file, kVocabularyLimit) : vocabulary.built;
}

std::string TokenizerJson(const std::filesystem::path& dir) {
  return BuildTokenizerJson(ReadModules(dir).transformer).text;
}

std::string_view KnownVocabulary(const Hash& sha256) {
  const std::string hex = Hex(sha256);
  const auto* at = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.sha256 == hex; });
  return at == std::end(kKnown) ? std::string_view() : at->name;
}

}  // namespace suf::model
