#include "suf/model/internal/entries.hpp"

#include <algorithm>

#include "suf/model/tokenizer.hpp"
#include "suf/model/tokens/text.hpp"
#include "suf/model/tokens/word_models.hpp"

namespace suf::model {
namespace {

// Reads the added tokens. `tokenizers` ignores the ids in the file: a token has its entry's id, otherwise the next one.
void ReadAdded(const Fields& file, TokenizerParts* parts) {
  const json list = file.Value("added_tokens");
  if (!list.is_array()) file.Refuse("added_tokens", "only a list is supported; ", kSaveTokenizer);
  const EntryIds& entries = parts->words->entries();
  for (size_t i = 0; i < list.size(); ++i) {
    const Fields t(file.file(), list[i], Str("added_tokens[", i, "]"));
    AddedToken token{.content = t.Text("content")};
    if (token.content.empty()) t.Refuse("content", "only a text is supported; ", kSaveTokenizer);
    if (parts->Added(token.content)) t.Refuse("content", "as of a token before it; ", kSaveTokenizer);
    for (const auto& [field, at] : {std::pair{"single_word", &AddedToken::single_word},
                                    {"lstrip", &AddedToken::lstrip},
                                    {"rstrip", &AddedToken::rstrip},
                                    {"normalized", &AddedToken::normalized}}) {
      if (!t.Value(field).is_boolean()) t.Refuse(field, "only true or false is supported; ", kSaveTokenizer);
      token.*at = t.True(field, false);
    }
    const auto entry = entries.find(token.content);
    token.id = entry != entries.end() ? entry->second : parts->size++;
    if (t.Value("id") != token.id) t.Refuse("id", "its place in the vocabulary is ", token.id, "; ", kSaveTokenizer);
    t.Only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    if (size_t(parts->size) > kEntryLimit)
      Fail(Cause::kInput, file.file(), " has more than ", kEntryLimit, " entries; ", kAnother);
    parts->added[token.content] = token;
  }
}

// A decoder changes no ids.
void CheckDecoder(const Fields& file) {
  if (file.Null("decoder")) return;
  file.Object("decoder", "an object", kAnother)
      .OneOf("type", nullptr,
             {"BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Sequence", "Strip",
              "WordPiece"});
}

// Checks that the file has these added tokens, by which special tokens in a text stay whole.
void CheckSpecials(const TokenizerParts& parts, const std::string& name) {
  for (const auto& items : {parts.around.single, parts.around.pair})
    for (const Template::Item& item : items) {
      const std::string content = item.kind == Template::Item::kToken ? parts.Content(item.id) : "";
      if (!content.empty() && !parts.Added(content))
        Fail(Cause::kInput, name, ": added_tokens has no ", content, ", which would be cut into pieces; ",
             kSaveTokenizer);
    }
}

// Parses the object of a tokenizer.json.
TokenizerParts FromJson(json object, const std::string& name) {
  const Fields file(name, std::move(object), "");
  file.Must("version", "1.0", "1.0");
  if (file.Null("model") || !file.all().at("model").is_object())  // large, so not copied
    file.Refuse("model", "only a WordPiece, BPE or Unigram model is supported; ", kAnother);
  for (const char* field : {"normalizer", "pre_tokenizer", "post_processor"})  // `tokenizers` always writes these
    if (!file.Named(field)) file.Refuse(field, "only an object or null is supported; ", kSaveTokenizer);
  TokenizerParts parts;
  parts.words = ReadWordModel(file, "model");
  parts.size = int32_t(parts.words->entries().size());
  parts.normalizer = ReadNormalizer(file, "normalizer");
  parts.pre_tokenizer = ReadPreTokenizer(file, "pre_tokenizer");
  ReadAdded(file, &parts);
  EntryIds ids = parts.words->entries();
  for (const auto& [content, token] : parts.added) ids[content] = token.id;
  parts.around = ReadTemplate(file, "post_processor", ids);
  CheckSpecials(parts, name);
  CheckDecoder(file);
  // truncation and padding are ignored: transformers sets both for each text
  file.Only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"});
  for (const auto& [field, v] : file.all().items())
    if (field != "added_tokens" && field != "model") parts.settings[field] = v;
  for (const auto& [field, v] : file.all().at("model").items())
    if (field != "vocab" && field != "merges") parts.settings["model"][field] = v;
  return parts;
}

// Returns the tokenizer.json of uncased BERT with standard settings and these entries.
json UncasedJson(const json& vocab, const std::string& name) {
  json added = json::array();
  for (const char* special : kSpecials) {
    const auto at = vocab.find(special);
    if (at == vocab.end())
      Fail(Cause::kInput, name, " has no entry ", special, "; use the vocabulary of an uncased BERT model");
    added.push_back({{"id", *at}, {"content", special}, {"special", true}});
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) added.back()[flag] = false;
  }
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", BertNormalizerJson()},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor",
           {{"type", "BertProcessing"},
            {"sep", json::array({"[SEP]", vocab["[SEP]"]})},
            {"cls", json::array({"[CLS]", vocab["[CLS]"]})}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", vocab}}}};
}

json FromLines(std::string_view text, const std::string& name) {
  json vocab = json::object();
  for (const auto& [entry, id] : ParseLines(text, name)) {
    (void)Decode(entry, Str("line ", id + 1, " of ", name));
    vocab[entry] = uint32_t(id);  // as JSON text gives it
  }
  return UncasedJson(vocab, name);
}

// Completes a file that has a model alone, which is equivalent to a vocab.txt. `tokenizers` always writes all four
// fields.
json Completed(json object, const std::string& name) {
  const auto rules = {"normalizer", "pre_tokenizer", "post_processor", "added_tokens"};
  if (!object.is_object() || std::any_of(rules.begin(), rules.end(), [&](const char* f) { return object.contains(f); }))
    return object;
  const json model = object.value("model", json());
  if (!model.is_object() || model.value("type", json("WordPiece")) != "WordPiece" ||
      !model.value("vocab", json()).is_object())
    return object;
  json whole = UncasedJson(model["vocab"], name);
  whole["model"] = model;
  for (const auto& [field, v] : object.items()) whole[field] = v;
  return whole;
}

}  // namespace

const AddedToken* TokenizerParts::Added(const std::string& content) const {
  const auto at = added.find(content);
  return at == added.end() ? nullptr : &at->second;
}

std::string TokenizerParts::Content(int32_t id) const {
  for (const auto& [content, token] : added)
    if (token.id == id) return content;
  for (const auto& [entry, entry_id] : words->entries())
    if (entry_id == id) return entry;
  return "";
}

EntryIds ParseLines(std::string_view text, const std::string& name) {
  EntryIds entries;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view entry = text.substr(0, end);
    if (entry.ends_with('\r')) entry.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto line = int32_t(entries.size() + 1);
    if (size_t(line) > kEntryLimit) Fail(Cause::kInput, name, " has more than ", kEntryLimit, " entries; ", kAnother);
    if (entry.empty()) Fail(Cause::kInput, name, ": line ", line, " is empty; fetch the vocabulary again");
    if (const auto [first, fresh] = entries.try_emplace(std::string(entry), line - 1); !fresh)
      Fail(Cause::kInput, name, ": line ", line, " repeats line ", first->second + 1, "; fetch the vocabulary again");
  }
  return entries;
}

bool IsTokenizerJson(std::string_view text, const std::string& name) {
  const size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return (first != text.npos && text[first] == '{') || name.ends_with(".json");
}

TokenizerParts ParseTokenizer(std::string_view text, const std::string& name) {
  RefuseStandIn(text, name);
  if (!IsTokenizerJson(text, name)) return FromJson(FromLines(text, name), name);
  return FromJson(Completed(ReadJson(text, {name, "fetch it again"}), name), name);
}

json BertNormalizerJson(bool lowercase, bool chinese, const json& strip_accents) {
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", chinese},
          {"strip_accents", strip_accents},
          {"lowercase", lowercase}};
}

}  // namespace suf::model
