// Expectations come from PyPI `tokenizers` 0.23.3.
#include <gtest/gtest.h>

#include "suf/model/testing.hpp"
#include "suf/model/tokens/parts.hpp"

namespace suf::model {
namespace {

Template TemplateOf(const json& part) {
  const EntryIds entries = {{"[CLS]", 4}, {"[SEP]", 5}, {"<s>", 6}, {"a b", 7}};
  return ReadTemplate(Fields("t.json", {{"post_processor", part}}, ""), "post_processor", entries);
}

// Returns items as "id:type", with A and B for the texts.
std::string ItemsOf(const std::vector<Template::Item>& items) {
  std::string all;
  for (const Template::Item& i : items) {
    const bool token = i.kind == Template::Item::kToken;
    const std::string name = token ? std::to_string(i.id) : i.kind == Template::Item::kText ? "A" : "B";
    all += (all.empty() ? "" : " ") + name + ":" + std::to_string(i.type);
  }
  return all;
}
void ExpectTemplate(const json& part, const std::string& single, const std::string& pair) {
  const Template t = TemplateOf(part);
  EXPECT_EQ(ItemsOf(t.single), single) << part;
  EXPECT_EQ(ItemsOf(t.pair), pair) << part;
}

const json kBert = json::parse(R"({"type": "BertProcessing", "sep": ["[SEP]", 5], "cls": ["[CLS]", 4]})");
const json kRoberta = json::parse(R"({"type": "RobertaProcessing", "sep": ["[SEP]", 5], "cls": ["<s>", 6],
  "trim_offsets": true, "add_prefix_space": false})");
const json kByteLevel = json::parse(R"({"type": "ByteLevel", "trim_offsets": false, "add_prefix_space": true})");
const json kTemplate = json::parse(R"({"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "both", "type_id": 2}}, {"Sequence": {"id": "A", "type_id": 1}}],
  "pair": [{"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
           {"Sequence": {"id": "A", "type_id": 3}}],
  "special_tokens": {"both": {"id": "both", "ids": [6, 7], "tokens": ["<s>", "a b"]},
                     "[SEP]": {"id": "[SEP]", "ids": [5], "tokens": ["[SEP]"]}}})");

json ProcessorsOf(const json& parts) { return {{"type", "Sequence"}, {"processors", parts}}; }

TEST(Template, EqualsHuggingFace) {
  ExpectTemplate(nullptr, "A:0", "A:0 B:1");
  ExpectTemplate(kBert, "4:0 A:0 5:0", "4:0 A:0 5:0 B:1 5:1");
  ExpectTemplate(kRoberta, "6:0 A:0 5:0", "6:0 A:0 5:0 5:0 B:0 5:0");
  ExpectTemplate(kByteLevel, "A:0", "A:0 B:1");
  ExpectTemplate(kTemplate, "6:2 7:2 A:1", "B:0 5:1 A:3");
}

TEST(Template, ASequenceEqualsHuggingFace) {
  ExpectTemplate(ProcessorsOf(json::array()), "A:0", "A:0 B:1");
  ExpectTemplate(ProcessorsOf({kByteLevel, kRoberta}), "6:0 A:0 5:0", "6:0 A:0 5:0 5:0 B:0 5:0");
  ExpectTemplate(ProcessorsOf({kTemplate, kByteLevel}), "6:2 7:2 A:1", "B:0 5:1 A:3");
  ExpectSentence(
      [] {
        TemplateOf(ProcessorsOf({kBert, kBert}));
      },
      "processors[1].type is \"BertProcessing\", only one part besides ByteLevel is supported");
  ExpectSentence([] { TemplateOf(ProcessorsOf(json::array({ProcessorsOf(json::array({kBert}))}))); },
                 "processors[0].type is \"Sequence\", only ");
}

void ExpectNoTemplate(json part, const char* patch, const std::string& sentence) {
  part.merge_patch(json::parse(patch));
  ExpectSentence([&] { (void)TemplateOf(part); }, sentence);
}

TEST(Template, OtherPartsAreRefused) {
  ExpectNoTemplate(kBert, R"({"type": "X"})", "t.json: post_processor.type is \"X\", only \"BertProcessing\", ");
  ExpectNoTemplate(kBert, R"({"x": 1})", "post_processor.\"x\" is \"1\", and its effect is not known here");
  ExpectNoTemplate(kBert, R"({"trim_offsets": false})", "is \"false\", which a BertProcessing does not have");
  ExpectNoTemplate(kBert, R"({"sep": null})", "post_processor.sep is missing, only a list of a token and its id is");
  ExpectNoTemplate(kBert, R"({"sep": ["x", 5]})", "which names no entry of the vocabulary");
  ExpectNoTemplate(kBert, R"({"sep": ["[SEP]", 4]})", "but the id of this entry is 5; save the tokenizer again");
  ExpectNoTemplate(kRoberta, R"({"trim_offsets": null})", "trim_offsets is missing, it must be true or false");
  ExpectNoTemplate(kByteLevel, R"({"use_regex": 1})", "use_regex is \"1\", it must be true or false");
  ExpectSentence([] { TemplateOf(json::array()); }, "post_processor is \"[]\", only an object is supported");
}

TEST(Template, EachTextMustOccurOnce) {
  const auto refused = [](const char* field, const std::string& pieces, const std::string& sentence) {
    json part = kTemplate;
    part[field] = json::parse(pieces);
    ExpectSentence([&] { (void)TemplateOf(part); }, sentence);
  };
  const std::string a = R"({"Sequence": {"id": "A", "type_id": 0}})", b = R"({"Sequence": {"id": "B", "type_id": 0}})";
  refused("single", "[]", "post_processor.single is \"[]\", it must have the text A alone once; save the tokenizer");
  refused("single", "[" + a + "," + a + "]", "it must have the text A alone once");
  refused("single", "[" + a + "," + b + "]", "it must have the text A alone once");
  refused("pair", "[" + a + "]", "it must have each of the texts A and B once");
  refused("pair", "[" + a + "," + b + "," + b + "]", "it must have each of the texts A and B once");
  refused("pair", "{}", "only a list is supported");
  refused("pair", R"(["$A"])", "post_processor.pair[0] is not a JSON object");
  refused("pair", R"([{"Text": {"id": "A", "type_id": 0}}])", "only objects with one Sequence or one SpecialToken");
  refused("single", R"([{"Sequence": {"id": "C", "type_id": 0}}])", "id is \"C\", only \"A\", \"B\" are supported");
  refused("single", R"([{"Sequence": {"id": "A", "type_id": 256}}])", "it must be a whole number from 0 to 255");
  refused("single", R"([{"SpecialToken": {"id": "x", "type_id": 0}}])", "and has no \"x\"");
}

TEST(Template, SpecialTokensMustBeEntries) {
  ExpectNoTemplate(kTemplate, R"({"special_tokens": {"both": {"ids": [6]}}})", "only a list with an id for each of");
  ExpectNoTemplate(kTemplate, R"({"special_tokens": {"both": {"ids": [6, 8]}}})", "but the id of this entry is 7");
  ExpectNoTemplate(kTemplate, R"({"special_tokens": {"both": {"tokens": ["?", "a b"]}}})", "which names no entry");
}

}  // namespace
}  // namespace suf::model
