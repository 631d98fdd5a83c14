#include "suf/model/vocabulary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "suf/model/testing.hpp"

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
  }
}

TEST(FindVocabulary, FilesThatDisagreeOrSayWhatIsNotOursAreRefused) {
  const std::string txt = "vocab.txt", plain = Json().dump(), covid = Json({Token(6, "covid-19")}).dump();
  const std::string t = "tokenizer.json", config = "tokenizer_config.json", map = "special_tokens_map.json",
                    added = "added_tokens.json";
  const std::string again =
      "; save the tokenizer again with Hugging Face's transformers, so that tokenizer.json has every added token";
  const std::pair<Files, std::string> cases[] = {
      {{}, "vocab.txt and no tokenizer.json; name a model directory"},
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
      {{{txt, kLines}, {config, R"({"do_lower_case": false})"}}, "do_lower_case is \"false\", only true is supported"},
      {{{txt, kLines}, {config, R"({"strip_accents": false})"}}, "strip_accents is \"false\", only true is supported"},
      {{{txt, kLines}, {config, R"({"tokenize_chinese_chars": false})"}}, "tokenize_chinese_chars is \"false\""},
      {{{txt, kLines}, {config, R"({"do_basic_tokenize": false})"}}, "do_basic_tokenize is \"false\""},
      {{{txt, kLines}, {config, R"({"never_split": ["the"]})"}}, "never_split"},
      {{{txt, kLines}, {config, R"({"split_special_tokens": true})"}}, "split_special_tokens is \"true\""},
      {{{txt, kLines}, {config, R"({"truncation_side": "left"})"}}, "truncation_side is \"left\", only \"right\""},
      {{{txt, kLines}, {config, R"({"auto_map": {"AutoTokenizer": ["x.X", null]}})"}}, "auto_map"},
      {{{txt, kLines}, {config, R"({"tokenizer_class": "RobertaTokenizer"})"}},
       "tokenizer_class is \"RobertaTokenizer\", only \"BertTokenizer\""},
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
