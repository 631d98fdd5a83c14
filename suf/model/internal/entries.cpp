#include "suf/model/internal/entries.hpp"

#include <algorithm>

#include "suf/model/internal/config.hpp"
#include "suf/model/tokenizer.hpp"

namespace suf::model {
namespace {

constexpr const char* kSaveAgain = "save the tokenizer of an uncased model again with Hugging Face's transformers";

// Adds kSpecials as added tokens, for a file that has no list of added tokens.
void AddSpecials(Entries* entries) {
  for (const char* special : kSpecials)
    if (const auto at = entries->ids.find(special); at != entries->ids.end())
      entries->added[special] = {.content = special, .id = at->second};
}

void ReadModel(const Fields& model, Entries* entries) {
  model.Must("type", "WordPiece", "WordPiece");
  model.Must("unk_token", nullptr, "[UNK]");
  model.Must("continuing_subword_prefix", nullptr, "##");
  model.Must("max_input_chars_per_word", nullptr, 100);
  const json vocab = model.Value("vocab");
  if (!vocab.is_object()) model.Refuse("vocab", "only an object of entries and ids is supported; ", kSaveAgain);
  if (vocab.size() > kEntryLimit)
    Fail(Cause::kInput, model.file(), " has more than ", kEntryLimit, " entries; ", kAnother);
  std::vector<bool> seen(vocab.size());
  for (const auto& [entry, id] : vocab.items()) {
    if (!id.is_number_unsigned() || id >= vocab.size() || seen[id.get<size_t>()] || entry.empty())
      Fail(Cause::kInput, model.file(), ": model.vocab gives the entry ", Quoted(entry), " the id ", Quoted(id.dump()),
           ", ids must be 0 to ", vocab.size() - 1, ", each once; ", kSaveAgain);
    seen[id.get<size_t>()] = true;
    entries->ids[entry] = id.get<int32_t>();
  }
  entries->size = int32_t(vocab.size());
}

void CheckWordRules(const Fields& file) {
  const Fields n = file.Object("normalizer", "a BertNormalizer", kSaveAgain);
  n.Must("type", nullptr, "BertNormalizer");
  for (const char* field : {"clean_text", "handle_chinese_chars", "lowercase"}) n.Must(field, nullptr, true);
  if (!n.Null("strip_accents")) n.Must("strip_accents", nullptr, true);  // null follows lowercase
  n.Only({"type", "clean_text", "handle_chinese_chars", "lowercase", "strip_accents"});
  const Fields p = file.Object("pre_tokenizer", "a BertPreTokenizer", kSaveAgain);
  p.Must("type", nullptr, "BertPreTokenizer");
  p.Only({"type"});
}

// Reads the added tokens. `tokenizers` ignores the ids in the file: a token has its entry's id, otherwise the next one.
void ReadAdded(const Fields& file, Entries* entries) {
  const json list = file.Value("added_tokens");
  if (!list.is_array()) file.Refuse("added_tokens", "only a list is supported; ", kSaveAgain);
  for (size_t i = 0; i < list.size(); ++i) {
    const Fields t(file.file(), list[i], Str("added_tokens[", i, "]"));
    AddedToken token{.content = t.Text("content")};
    if (token.content.empty()) t.Refuse("content", "only a text is supported; ", kSaveAgain);
    if (entries->Added(token.content)) t.Refuse("content", "as of a token before it; ", kSaveAgain);
    for (const auto& [field, at] : {std::pair{"single_word", &AddedToken::single_word},
                                    {"lstrip", &AddedToken::lstrip},
                                    {"rstrip", &AddedToken::rstrip},
                                    {"normalized", &AddedToken::normalized}}) {
      if (!t.Value(field).is_boolean()) t.Refuse(field, "only true or false is supported; ", kSaveAgain);
      token.*at = t.True(field, false);
    }
    const auto entry = entries->ids.find(token.content);
    token.id = entry != entries->ids.end() ? entry->second : entries->size++;
    if (t.Value("id") != token.id) t.Refuse("id", "its place in the vocabulary is ", token.id, "; ", kSaveAgain);
    t.Only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    if (size_t(entries->size) > kEntryLimit)
      Fail(Cause::kInput, file.file(), " has more than ", kEntryLimit, " entries; ", kAnother);
    entries->added[token.content] = token;
  }
  for (const char* special : kSpecials)
    if (!entries->Added(special))
      Fail(Cause::kInput, file.file(), ": added_tokens has no ", special, ", which would be cut into pieces; ",
           kSaveAgain);
}

// Checks that the template puts a text between [CLS] and [SEP].
void CheckTemplate(const Fields& file, const Entries& entries) {
  constexpr const char* kWanted = "a template of [CLS], the text and [SEP]";
  const Fields p = file.Object("post_processor", kWanted, kSaveAgain);
  const int32_t begin = entries.Added("[CLS]")->id, end = entries.Added("[SEP]")->id;
  if (p.Text("type") == "BertProcessing") {
    p.Must("cls", nullptr, {"[CLS]", begin}, kSaveAgain);
    p.Must("sep", nullptr, {"[SEP]", end}, kSaveAgain);
    return;
  }
  p.Must("type", nullptr, "TemplateProcessing");
  const auto special = [](const char* name) { return json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  if (p.Value("single") != json::array({special("[CLS]"), text, special("[SEP]")}))
    p.Refuse("single", "only ", kWanted, " is supported; ", kSaveAgain);
  const Fields tokens = p.Object("special_tokens", "an object with [CLS] and [SEP]", kSaveAgain);
  for (const auto& [name, id] : {std::pair{"[CLS]", begin}, {"[SEP]", end}})
    tokens.Object(name, "an object", kSaveAgain).Must("ids", nullptr, json::array({id}), kSaveAgain);
}

// Whether a text is a tokenizer.json, by its first character.
bool IsTokenizerJson(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != text.npos && text[first] == '{';
}

Entries FromTokenizerJson(std::string_view text, const std::string& name) {
  const Fields file(name, ReadJson(text, {name, "fetch it again"}), "");
  file.Must("version", "1.0", "1.0");
  Entries entries;
  ReadModel(file.Object("model", "a WordPiece model", kAnother), &entries);
  // A file with a model alone is equivalent to a vocab.txt; `tokenizers` always writes all four fields.
  const auto rules = {"normalizer", "pre_tokenizer", "post_processor", "added_tokens"};
  if (std::none_of(rules.begin(), rules.end(), [&](const char* field) { return file.Named(field); })) {
    AddSpecials(&entries);
    return entries;
  }
  CheckWordRules(file);
  ReadAdded(file, &entries);
  CheckTemplate(file, entries);
  // truncation and padding are ignored: transformers sets both for each text
  file.Only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"});
  return entries;
}

}  // namespace

const AddedToken* Entries::Added(const std::string& content) const {
  const auto at = added.find(content);
  return at == added.end() ? nullptr : &at->second;
}

Entries ParseLines(std::string_view text, const std::string& name) {
  Entries entries;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view entry = text.substr(0, end);
    if (entry.ends_with('\r')) entry.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    const int32_t line = entries.size + 1;
    if (size_t(line) > kEntryLimit) Fail(Cause::kInput, name, " has more than ", kEntryLimit, " entries; ", kAnother);
    if (entry.empty()) Fail(Cause::kInput, name, ": line ", line, " is empty; fetch the vocabulary again");
    if (const auto [first, fresh] = entries.ids.try_emplace(std::string(entry), entries.size); !fresh)
      Fail(Cause::kInput, name, ": line ", line, " repeats line ", first->second + 1, "; fetch the vocabulary again");
    ++entries.size;
  }
  return entries;
}

Entries ParseEntries(std::string_view text, const std::string& name) {
  RefuseStandIn(text, name);
  const bool object = IsTokenizerJson(text);
  Entries entries = object ? FromTokenizerJson(text, name) : ParseLines(text, name);
  if (!object) AddSpecials(&entries);
  for (const char* special : kSpecials)
    if (!entries.Added(special) || (special == std::string_view("[UNK]") && !entries.ids.contains(special)))
      Fail(Cause::kInput, name, " has no entry ", special, "; use the vocabulary of an uncased BERT model");
  return entries;
}

}  // namespace suf::model
