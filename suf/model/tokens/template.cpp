// The post-processors of a tokenizer.json as templates: special tokens around one text or two.
#include "suf/base/error.hpp"
#include "suf/model/tokens/parts.hpp"
#include "suf/model/tokens/settings.hpp"
#include "suf/model/tokens/word_models.hpp"

namespace suf::model {
namespace {

using TemplateItem = Template::Item;
using TemplateItems = std::vector<TemplateItem>;

constexpr int32_t kTypeLimit = 255;           // the largest token type
constexpr size_t kTemplateTokenLimit = 4096;  // special tokens of a template

// Checks that a special token of the file is an entry with that id, and returns the id.
int32_t TokenOf(const Fields& part, const std::string& field, const json& content, const json& id,
                const EntryIds& entries) {
  const auto entry = content.is_string() ? entries.find(content.get<std::string>()) : entries.end();
  if (entry == entries.end()) part.Refuse(field, "which names no entry of the vocabulary; ", kSaveTokenizer);
  if (id != entry->second) part.Refuse(field, "but the id of this entry is ", entry->second, "; ", kSaveTokenizer);
  return entry->second;
}

// Reads a field with a token and its id.
int32_t TokenAndId(const Fields& part, const char* field, const EntryIds& entries) {
  const json token = part.Value(field);
  if (!token.is_array() || token.size() != 2)
    part.Refuse(field, "only a list of a token and its id is supported; ", kSaveTokenizer);
  return TokenOf(part, field, token[0], token[1], entries);
}

Template ReadBert(const Fields& part, const EntryIds& entries) {
  const int32_t cls = TokenAndId(part, "cls", entries), sep = TokenAndId(part, "sep", entries);
  // `tokenizers` takes a part with these fields for a RobertaProcessing
  for (const char* field : {"trim_offsets", "add_prefix_space"})
    if (part.Named(field)) part.Refuse(field, "which a BertProcessing does not have; ", kSaveTokenizer);
  part.Only({"type", "cls", "sep"});
  const TemplateItem begin{TemplateItem::kToken, cls, 0}, end{TemplateItem::kToken, sep, 0};
  const TemplateItem text, pair{TemplateItem::kPair, 0, 1}, last{TemplateItem::kToken, sep, 1};
  return {{begin, text, end}, {begin, text, end, pair, last}};
}

// All types are 0, and two separators are between the texts. The two flags change offsets only.
Template ReadRoberta(const Fields& part, const EntryIds& entries) {
  const int32_t cls = TokenAndId(part, "cls", entries), sep = TokenAndId(part, "sep", entries);
  for (const char* field : {"trim_offsets", "add_prefix_space"}) (void)ReadFlag(part, field);
  part.Only({"type", "cls", "sep", "trim_offsets", "add_prefix_space"});
  const TemplateItem begin{TemplateItem::kToken, cls, 0}, end{TemplateItem::kToken, sep, 0};
  const TemplateItem text, pair{TemplateItem::kPair, 0, 0};
  return {{begin, text, end}, {begin, text, end, end, pair, end}};
}

// Reads the ids that a special token of a template stands for.
std::vector<int32_t> TokenIds(const Fields& part, const std::string& name, const EntryIds& entries) {
  const json all = part.Value("special_tokens");
  if (!all.is_object() || !all.contains(name))
    part.Refuse("special_tokens", "and has no ", Quoted(name), "; ", kSaveTokenizer);
  const Fields token(part.file(), all[name], "post_processor.special_tokens");
  const json ids = token.Value("ids"), contents = token.Value("tokens");
  if (!ids.is_array() || !contents.is_array() || ids.size() != contents.size())
    token.Refuse("ids", "only a list with an id for each of tokens is supported; ", kSaveTokenizer);
  std::vector<int32_t> out;
  for (size_t i = 0; i < ids.size(); ++i) out.push_back(TokenOf(token, "ids", contents[i], ids[i], entries));
  return out;
}

int32_t TypeOf(const Fields& piece) {
  const json type = piece.Value("type_id");
  if (!type.is_number_integer() || type < 0 || type > kTypeLimit)
    piece.Refuse("type_id", "it must be a whole number from 0 to ", kTypeLimit, "; ", kAnother);
  return type.get<int32_t>();
}

// Reads the pieces of one text, or of a pair. Each text must occur once.
TemplateItems ReadItems(const Fields& part, const char* field, bool pair, const EntryIds& entries) {
  const json list = part.Value(field);
  if (!list.is_array()) part.Refuse(field, "only a list is supported; ", kSaveTokenizer);
  TemplateItems items;
  int texts = 0, pairs = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string path = Str("post_processor.", field, "[", i, "]");
    const Fields piece(part.file(), list[i], path);
    const bool token = piece.Named("SpecialToken");
    if (piece.all().size() != 1 || (!token && !piece.Named("Sequence")))
      part.Refuse(field, "only objects with one Sequence or one SpecialToken are supported; ", kSaveTokenizer);
    const Fields value = piece.Object(token ? "SpecialToken" : "Sequence", "an object", kSaveTokenizer);
    const int32_t type = TypeOf(value);
    if (token) {
      if (!value.Value("id").is_string()) value.Refuse("id", "only a text is supported; ", kSaveTokenizer);
      for (int32_t id : TokenIds(part, value.Text("id"), entries)) items.push_back({TemplateItem::kToken, id, type});
    } else {
      const bool second = value.OneOf("id", nullptr, {"A", "B"}, kSaveTokenizer) == "B";
      ++(second ? pairs : texts);
      items.push_back({second ? TemplateItem::kPair : TemplateItem::kText, 0, type});
    }
    value.Only({"id", "type_id"});
    if (items.size() > kTemplateTokenLimit)
      Fail(Cause::kInput, part.file(), ": post_processor.", field, " adds more than ", kTemplateTokenLimit, " tokens; ",
           kAnother);
  }
  if (texts != 1 || pairs != int(pair))
    part.Refuse(field, "it must have ", pair ? "each of the texts A and B" : "the text A alone", " once; ",
                kSaveTokenizer);
  return items;
}

Template ReadTemplatePart(const Fields& part, const EntryIds& entries) {
  Template out{ReadItems(part, "single", false, entries), ReadItems(part, "pair", true, entries)};
  part.Only({"type", "single", "pair", "special_tokens"});
  return out;
}

// A ByteLevel changes offsets only.
Template ReadByteLevelPart(const Fields& part) {
  for (const char* field : {"trim_offsets", "add_prefix_space"}) (void)ReadFlag(part, field);
  (void)ReadFlag(part, "use_regex", true);
  part.Only({"type", "trim_offsets", "add_prefix_space", "use_regex"});
  return {};
}

Template ReadTemplateOf(const Fields& part, const EntryIds& entries) {
  const std::string type =
      part.OneOf("type", nullptr, {"BertProcessing", "RobertaProcessing", "TemplateProcessing", "ByteLevel"});
  if (type == "BertProcessing") return ReadBert(part, entries);
  if (type == "RobertaProcessing") return ReadRoberta(part, entries);
  return type == "ByteLevel" ? ReadByteLevelPart(part) : ReadTemplatePart(part, entries);
}

// At most one part of a sequence may add tokens. A second template would take those of the first for texts.
Template ReadTemplates(const Fields& sequence, const EntryIds& entries) {
  Template out;
  bool adds = false;
  for (const Fields& part : sequence.List("processors", kSequenceLimit)) {
    const Template next = ReadTemplateOf(part, entries);
    if (part.Text("type") == "ByteLevel") continue;
    if (adds) part.Refuse("type", "only one part besides ByteLevel is supported; ", kSaveTokenizer);
    out = next;
    adds = true;
  }
  sequence.Only({"type", "processors"});
  return out;
}

}  // namespace

Template ReadTemplate(const Fields& file, const char* field, const EntryIds& entries) {
  if (file.Null(field)) return {};
  const Fields part = file.Object(field, "an object");
  return part.Text("type") == "Sequence" ? ReadTemplates(part, entries) : ReadTemplateOf(part, entries);
}

}  // namespace suf::model
