#include "suf/model/vocabulary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "suf/model/testing.hpp"
#include "suf/model/tokenizer.hpp"

namespace suf::model {
namespace {

using nlohmann::json;

const std::string kLines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncovid-19\n";

json Token(int id, const std::string& content, bool special = false) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

// Returns the tokenizer.json of kLines with `added` tokens.
json Json(const std::vector<json>& added = {}) {
  json j = json::parse(R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "decoder": null,
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {}}})");
  int32_t id = 0;
  for (const char* entry : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "covid-19"}) {
    if (id < 5) j["added_tokens"].push_back(Token(id, entry, true));
    j["model"]["vocab"][entry] = id++;
  }
  for (const json& t : added) j["added_tokens"].push_back(t);
  return j;
}

// Returns kLines' tokenizer.json with another value at a place.
std::string Changed(const char* place, const json& value) {
  json j = Json();
  j[json::json_pointer(place)] = value;
  return j.dump();
}

using Files = std::vector<std::pair<std::string, std::string>>;  // names and contents

void Write(const ModelFolder& folder, const Files& files) {
  for (auto& [name, text] : files) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    folder.Write(name, text);
  }
}

TEST(FindVocabulary, VocabTxtWhereThatSaysAllElseTokenizerJson) {
  const std::string txt = "vocab.txt", plain = Json().dump(), covid = Json({Token(6, "covid-19")}).dump(),
                    email = Json({Token(7, "[EMAIL]")}).dump();
  const std::string t = "tokenizer.json", config = "tokenizer_config.json", map = "special_tokens_map.json",
                    added = "added_tokens.json";
  struct Good {
    Files files;
    std::string file;
    size_t size;
  };
  const Good cases[] = {
      {{{txt, kLines}}, txt, 7},
      {{{txt, kLines}, {t, plain}}, txt, 7},
      {{{t, plain}}, t, 7},
      {{{t, json{{"model", Json()["model"]}}.dump()}}, t, 7},
      {{{txt, kLines}, {t, covid}}, t, 7},
      {{{txt, kLines}, {t, email}}, t, 8},
      {{{txt, kLines + "[EMAIL]\n"}, {t, email}}, t, 8},  // a vocab.txt may list added tokens
      {{{txt, kLines}, {t, covid}, {added, R"({"covid-19": 6, "[CLS]": 2})"}}, t, 7},
      {{{txt, kLines}, {added, R"({"[MASK]": 4})"}}, txt, 7},
      {{{txt, kLines},
        {map,
         R"({"unk_token": "[UNK]", "cls_token": {"content": "[CLS]", "single_word": false}, "additional_special_tokens": []})"}},
       txt,
       7},
      {{{txt, kLines},
        {t, email},
        {map, R"({"additional_special_tokens": ["[EMAIL]"], "sep_token": {"content": "[SEP]", "lstrip": true}})"}},
       t,
       8},
      {{{txt, kLines},
        {config,
         R"({"do_lower_case": true, "strip_accents": null, "never_split": ["[CLS]"], "tokenizer_class": "BertTokenizer",
          "model_max_length": 1e30, "do_basic_tokenize": true, "padding_side": "left", "added_tokens_decoder": {"2": {"content": "[CLS]", "special": true}}})"}},
       txt,
       7},
      {{{t, email},
        {config,
         R"({"tokenizer_class": "PreTrainedTokenizerFast", "extra_special_tokens": {"mail_token": "[EMAIL]"}, "mail_token": "[EMAIL]"})"}},
       t,
       8},
      // settings that no vocab.txt has: a tokenizer.json is built
      {{{txt, kLines}, {config, R"({"strip_accents": false})"}}, t, 7},
      {{{txt, kLines}, {config, R"({"tokenize_chinese_chars": false})"}}, t, 7},
      {{{txt, kLines + "The\n"}, {config, R"({"do_lower_case": false, "tokenizer_class": "BertTokenizerFast"})"}},
       t,
       8},
      {{{txt, kLines}, {t, Changed("/normalizer/strip_accents", false)}, {config, R"({"strip_accents": false})"}},
       t,
       7},
      {{{txt, kLines}, {t, Changed("/post_processor/sep", {"[MASK]", 4})}}, t, 7},
      {{{"0_Transformer/vocab.txt", kLines},
        {"modules.json",
         R"([{"idx": 0, "name": "0", "path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
          {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
          {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])"}},
       "0_Transformer/vocab.txt",
       7},
  };
  for (const Good& c : cases) {
    const ModelFolder folder;
    Write(folder, c.files);
    const Vocabulary v = FindVocabulary(folder.path());
    EXPECT_EQ(v.file, folder.path() / c.file);
    EXPECT_EQ(v.json, c.file.ends_with(".json"));
    EXPECT_EQ(v.size, c.size);
    EXPECT_EQ(v.built.empty(), std::filesystem::exists(v.file));
    EXPECT_EQ(Tokenizer::Of(VocabularyText(v), "v").size(), c.size);
  }
}

TEST(FindVocabulary, FilesThatDisagreeOrSayWhatIsNotOursAreRefused) {
  const std::string txt = "vocab.txt", plain = Json().dump(), covid = Json({Token(6, "covid-19")}).dump();
  const std::string t = "tokenizer.json", config = "tokenizer_config.json", map = "special_tokens_map.json",
                    added = "added_tokens.json";
  const std::string again =
      "; save the tokenizer again with Hugging Face's transformers, so that tokenizer.json has every added token";
  const std::pair<Files, std::string> cases[] = {
      {{}, "vocab.txt, no tokenizer.json and no vocab.json; name a model directory that has one of them"},
      {{{"merges.txt", "a b\n"}}, "vocab.json, which belongs to merges.txt; fetch it too"},
      {{{t, ""}}, "tokenizer.json is not JSON text: it ends too early; fetch it again"},
      {{{t, kLines}}, "tokenizer.json is not JSON text at line 1, column "},
      {{{txt, kLines}, {added, R"({"covid-19": 6})"}},
       "added_tokens.json: \"covid-19\" is an added token with the id \"6\", which vocab.txt does not have" + again},
      {{{txt, kLines}, {t, plain}, {added, R"({"[EMAIL]": 7})"}}, "which vocab.txt does not have" + again},
      {{{t, covid}, {added, R"({"covid-19": 9})"}}, "with the id \"9\", which tokenizer.json does not have" + again},
      {{{txt, kLines + "more\n"}, {t, plain}},
       "vocab.txt and tokenizer.json differ in the entry \"more\"; use the files of one model"},
      {{{txt, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncovid-19\nthe\n"}, {t, plain}},
       "vocab.txt and tokenizer.json differ in the entry"},
      {{{txt, kLines}, {map, R"({"sep_token": "[EOS]"})"}},
       "special_tokens_map.json: sep_token is \"[EOS]\", only \"[SEP]\" is supported"},
      {{{txt, kLines}, {map, R"({"sep_token": {"content": "[SEP]", "single_word": true}})"}},
       "vocab.txt does not match this token whole" + again},
      {{{txt, kLines}, {map, R"({"bos_token": "<s>"})"}},
       "bos_token is \"<s>\", vocab.txt does not match this token whole" + again},
      {{{txt, kLines}, {config, R"({"additional_special_tokens": ["covid-19"]})"}},
       "tokenizer_config.json: additional_special_tokens"},
      {{{txt, kLines}, {config, R"({"extra_special_tokens": {"a": "covid-19"}})"}},
       "tokenizer_config.json: extra_special_tokens"},
      {{{txt, kLines}, {t, plain}, {config, R"({"added_tokens_decoder": {"6": {"content": "covid-19"}}})"}},
       "added_tokens_decoder.6 is "},
      {{{t, covid}, {config, R"({"added_tokens_decoder": {"6": {"content": "covid-19", "normalized": true}}})"}},
       "added_tokens_decoder.6 is "},
      {{{txt, kLines}, {config, R"({"do_lower_case": false})"}},
       "vocab.txt: the tokenizer keeps capital letters, and none of its 7 entries has one; use the files of one model"},
      {{{t, plain}, {config, R"({"do_lower_case": false})"}},
       "do_lower_case is \"false\", and tokenizer.json does otherwise"},
      {{{t, plain}, {config, R"({"strip_accents": false})"}}, "strip_accents is \"false\", and tokenizer.json does"},
      {{{t, plain}, {config, R"({"tokenize_chinese_chars": false})"}}, "tokenize_chinese_chars is \"false\""},
      {{{t, plain}, {config, R"({"do_lower_case": "no"})"}}, "do_lower_case is \"no\", only true or false"},
      {{{t, Changed("/normalizer/lowercase", false)}, {config, R"({"tokenizer_class": "BertTokenizer"})"}},
       "keeps capital letters"},
      {{{t, plain}, {config, R"({"tokenizer_class": "GPT2Tokenizer"})"}},
       "tokenizer_class is \"GPT2Tokenizer\", and tokenizer.json has other parts"},
      {{{t, plain}, {config, R"({"cls_token": "[MASK]"})"}},
       "cls_token is \"[MASK]\", and tokenizer.json has \"[CLS]\""},
      {{{t, plain}, {config, R"({"add_bos_token": false})"}}, "add_bos_token is \"false\", and tokenizer.json has"},
      {{{txt, kLines}, {config, R"({"do_basic_tokenize": false})"}}, "do_basic_tokenize is \"false\""},
      {{{txt, kLines}, {config, R"({"never_split": ["the"]})"}}, "never_split"},
      {{{txt, kLines}, {config, R"({"split_special_tokens": true})"}}, "split_special_tokens is \"true\""},
      {{{txt, kLines}, {config, R"({"truncation_side": "left"})"}}, "truncation_side is \"left\", only \"right\""},
      {{{txt, kLines}, {config, R"({"auto_map": {"AutoTokenizer": ["x.X", null]}})"}}, "auto_map"},
      {{{txt, kLines}, {config, R"({"tokenizer_class": "OtherTokenizer"})"}},
       "tokenizer_class is \"OtherTokenizer\", only \"BertTokenizer\""},
      {{{txt, kLines}, {config, R"({"tokenizer_class": "XLMRobertaTokenizer"})"}}, "there is none; fetch the whole"},
      {{{txt, kLines}, {config, R"({"tokenizer_class": "RobertaTokenizer"})"}}, "there is no file"},
      {{{"vocab.json", "{}"}}, "tokenizer_config.json and no tokenizer.json"},
      {{{txt, kLines}, {config, R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}},
       "which reads tokenizer.json, and there is none"},
      {{{txt, kLines}, {t, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"}},
       "tokenizer.json is a git-lfs pointer"},
      {{{txt, "<!DOCTYPE html>"}}, "vocab.txt is an HTML page"},
      {{{txt, kLines}, {map, "<html>"}}, "special_tokens_map.json is an HTML page"},
  };
  for (const auto& [files, sentence] : cases) {
    const ModelFolder folder;
    Write(folder, files);
    ExpectSentence([&] { (void)FindVocabulary(folder.path()); }, sentence);
  }
}

// Splits a tokenizer.json of testdata/kinds into the separate files of its class.
Files SeparateFiles(const std::string& kind, const std::string& config) {
  std::ifstream in("suf/model/testdata/kinds/" + kind + ".json");
  const json whole = json::parse(in), &model = whole["model"];
  json settings = json::parse(config);
  for (json t : whole["added_tokens"]) {
    const std::string id = t["id"].dump();
    t.erase("id");
    settings["added_tokens_decoder"][id] = t;
  }
  Files files = {{"tokenizer_config.json", settings.dump()}};
  if (!model.contains("merges")) {
    std::vector<std::string> entries(model["vocab"].size());
    for (const auto& [entry, id] : model["vocab"].items()) entries[id.get<size_t>()] = entry;
    std::string lines;
    for (const std::string& e : entries) lines += e + "\n";
    files.emplace_back("vocab.txt", lines);
    return files;
  }
  std::string merges = "#version: 0.2\n";
  for (const json& m : model["merges"]) merges += m[0].get<std::string>() + " " + m[1].get<std::string>() + "\n";
  files.emplace_back("vocab.json", model["vocab"].dump());
  files.emplace_back("merges.txt", merges);
  return files;
}

// Qwen3-Embedding ends a text with another token than tokenizer_config.json names as the end. The ids are those of
// `transformers` 5.24.
TEST(TokenizerJson, TheTemplateOfAQwen2TokenizerCounts) {
  std::ifstream in("suf/model/testdata/kinds/qwen2.json");
  json whole = json::parse(in);
  const json end = {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}},
             a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, b = {{"Sequence", {{"id", "B"}, {"type_id", 0}}}};
  const json around = {{"type", "TemplateProcessing"},
                       {"single", json::array({a, end})},
                       {"pair", json::array({a, end, b, end})},
                       {"special_tokens",
                        {{"<|endoftext|>", {{"id", "<|endoftext|>"}, {"ids", {620}}, {"tokens", {"<|endoftext|>"}}}}}}};
  whole["post_processor"] = {{"type", "Sequence"}, {"processors", json::array({whole["post_processor"], around})}};
  const ModelFolder folder;
  Write(folder, {{"tokenizer.json", whole.dump()},
                 {"tokenizer_config.json",
                  R"({"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
                      "add_bos_token": false, "bos_token": null, "add_prefix_space": false})"}});
  const Vocabulary v = FindVocabulary(folder.path());
  EXPECT_EQ(v.file.filename(), "tokenizer.json");
  EXPECT_EQ(Tokenizer::Load(v.file).Encode("hello Tokyo"), (Ids{256, 270, 78, 584, 74, 88, 78, 620}));
}

// The ids are also those of `transformers` 5.24 for these folders.
TEST(TokenizerJson, SeparateFilesGiveTheIdsOfOneFile) {
  const std::pair<const char*, const char*> kinds[] = {
      {"bert_cased", R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})"},
      {"mpnet", R"({"tokenizer_class": "MPNetTokenizer", "do_lower_case": true})"},
      {"roberta", R"({"tokenizer_class": "RobertaTokenizer", "mask_token": "<mask>"})"},
      {"qwen2", R"({"tokenizer_class": "Qwen2Tokenizer"})"}};
  std::vector<std::string> texts;
  std::ifstream in("suf/model/testdata/kinds/texts.jsonl");
  for (std::string line; std::getline(in, line) && texts.size() < 300;) texts.push_back(json::parse(line));
  for (const auto& [kind, config] : kinds) {
    const ModelFolder folder;
    Write(folder, SeparateFiles(kind, config));
    const Vocabulary v = FindVocabulary(folder.path());
    EXPECT_EQ(v.built, TokenizerJson(folder.path()));
    const Tokenizer built = Tokenizer::Of(v.built, kind);
    const Tokenizer one = Tokenizer::Load("suf/model/testdata/kinds/" + std::string(kind) + ".json");
    EXPECT_EQ(built.size(), one.size());
    size_t empty = 0;
    for (const std::string& text : texts) try {
        EXPECT_EQ(built.Encode(text), one.Encode(text)) << kind << ": " << text;
      } catch (const Error&) {
        ++empty;
      }
    EXPECT_LT(empty, 20u);
    // the folder may have the file, too
    folder.Write("tokenizer.json", v.built);
    EXPECT_TRUE(FindVocabulary(folder.path()).built.empty());
  }
}

// The ids are those of `transformers` 5.24.
TEST(TokenizerJson, ClassesHaveTheirSpecialTokens) {
  const auto entries = [](std::vector<std::string> all) {
    json vocab;
    for (const std::string& e : all) vocab[e] = vocab.size();
    return vocab.dump();
  };
  const std::string merges = "#version: 0.2\nt h\r\nth e\n", config = "tokenizer_config.json";
  const std::pair<Files, Ids> cases[] = {
      {{{"vocab.json", entries({"t", "h", "e", "th", "the", "\u0120", "<|endoftext|>"})},
        {"merges.txt", merges},
        {config, R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true})"}},
       {6, 4, 5, 4}},
      {{{"vocab.json", entries({"t", "h", "e", "th", "the", "\u0120", "<|endoftext|>"})},
        {"merges.txt", merges},
        {config, R"({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true})"}},
       {5, 4, 5, 4}},
      {{{"vocab.json", entries({"<s>", "<pad>", "</s>", "<unk>", "t", "h", "e", "th", "the", "\u0120", "<mask>"})},
        {"merges.txt", merges},
        {config, R"({"tokenizer_class": "RobertaTokenizerFast"})"}},
       {0, 8, 9, 8, 2}},
      {{{"vocab.txt", "<s>\n<pad>\n</s>\n[UNK]\nthe\n<mask>\n"}, {config, R"({"tokenizer_class": "MPNetTokenizer"})"}},
       {0, 4, 4, 2}}};
  for (const auto& [files, ids] : cases) {
    const ModelFolder folder;
    Write(folder, files);
    EXPECT_EQ(Tokenizer::Of(VocabularyText(FindVocabulary(folder.path())), "v").Encode("the the"), ids);
  }
}

TEST(TokenizerJson, BadSeparateFilesAreRefused) {
  const std::string config = "tokenizer_config.json", gpt = R"({"tokenizer_class": "GPT2Tokenizer"})";
  const std::string vocab = R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})";
  const std::pair<Files, std::string> cases[] = {
      {{{config, gpt}, {"vocab.json", vocab}}, "there is no file"},
      {{{config, gpt}, {"vocab.json", R"({"a": 0, "b": 2})"}, {"merges.txt", ""}},
       "vocab.json gives the entry \"b\" the id \"2\", ids must be 0 to 1, each once"},
      {{{config, gpt}, {"vocab.json", R"({"a": 0, "b": 0})"}, {"merges.txt", ""}},
       "gives the entry \"b\" the id \"0\""},
      {{{config, gpt}, {"vocab.json", R"({"a": 0})"}, {"merges.txt", ""}},
       "the special token \"<|endoftext|>\" (bos_token) is no entry of the vocabulary"},
      {{{config, gpt}, {"vocab.json", vocab}, {"merges.txt", "a b\nab\n"}}, "merges.txt: line 2 must be two entries"},
      {{{config, gpt}, {"vocab.json", vocab}, {"merges.txt", "a b c\n"}}, "merges.txt: line 1 must be two entries"},
      {{{config, gpt}, {"vocab.json", vocab}, {"merges.txt", "a \xff\n"}}, "merges.txt is not UTF-8 at byte 2"},
      {{{config, gpt}, {"vocab.json", vocab}, {"merges.txt", "#version: 0.2\na c\n"}},
       "merges.txt: line 2 joins \"a\" and \"c\", and \"c\" is no entry of vocab.json; use the files of one model"},
      {{{config, gpt}, {"vocab.json", vocab}, {"merges.txt", "b a\n"}},
       "line 1 joins \"b\" and \"a\", and \"ba\" is no entry of vocab.json"},
      {{{config, gpt}, {"vocab.json", vocab}, {"merges.txt", "a b\na b\n"}},
       "merges.txt: line 2 repeats line 1; remove one of them"},
      {{{config, R"({"tokenizer_class": "GPT2Tokenizer", "sep_token": {"content": "ab"}})"},
        {"vocab.json", vocab},
        {"merges.txt", "a b\n"},
        {"special_tokens_map.json", R"({"sep_token": {"content": "ab", "lstrip": true}})"}},
       "sep_token is \"{\\\"content\\\":\\\"ab\\\",\\\"lstrip\\\":true}\", vocab.json does not match this token whole"},
      {{{config,
         R"({"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {"9": {"content": "<|endoftext|>"}}})"},
        {"vocab.json", R"({"a": 0, "b": 1, "ab": 2})"},
        {"merges.txt", "a b\n"}},
       "added_tokens_decoder.9 is"},
      {{{config, R"({"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {"x": {"content": "c"}}})"},
        {"vocab.json", vocab},
        {"merges.txt", "a b\n"}},
       "added_tokens_decoder.x is"}};
  for (const auto& [files, sentence] : cases) {
    const ModelFolder folder;
    Write(folder, files);
    ExpectSentence([&] { (void)FindVocabulary(folder.path()); }, sentence);
  }
}

TEST(Vocabulary, OnlyAWholeDigestIsKnown) {
  const Bytes digest = FromHex("07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", 32, "a digest");
  Hash bert{};
  std::copy(digest.begin(), digest.end(), bert.begin());
  EXPECT_EQ(KnownVocabulary(bert), "bert-base-uncased");
  EXPECT_EQ(KnownVocabulary(Hash{}), "");
  for (size_t bit = 0; bit < 8 * bert.size(); ++bit) {
    Hash other = bert;
    other[bit / 8] ^= uint8_t(1 << bit % 8);
    EXPECT_EQ(KnownVocabulary(other), "");
  }
}

}  // namespace
}  // namespace suf::model
