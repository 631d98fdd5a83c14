// Fuzzes the JSON files of a model directory beside a fixed vocab.txt. The input has them in the order of kNames,
// separated by zero bytes.
#include <algorithm>

#include "fuzz/fuzz.hpp"
#include "suf/model/family.hpp"

constexpr const char* kNames[] = {"config.json",
                                  "tokenizer_config.json",
                                  "1_Pooling/config.json",
                                  "modules.json",
                                  "config_sentence_transformers.json",
                                  "sentence_bert_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json",
                                  "tokenizer.json"};

SUF_FUZZ(config) {
  using namespace suf::fuzz;
  static const Folder folder;
  static const bool made = std::filesystem::create_directories(folder / "1_Pooling");
  SUF_CHECK(made);
  constexpr std::string_view kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n";
  WriteTo(folder / "vocab.txt", suf::AsView(kVocabulary));
  for (const char* name : kNames) {
    auto end = std::find(input.begin(), input.end(), 0);
    if (input.empty()) {
      (void)unlink((folder / name).c_str());
      continue;
    }
    WriteTo(folder / name, PullBytes(input, size_t(end - input.begin())));
    if (!input.empty()) input = input.subspan(1);
  }
  try {
    SUF_CHECK(suf::model::FindVocabulary(folder.path()).size >= 8);
  } catch (const suf::Error&) {  // the graph is read anyway
  }
  const suf::nn::Graph g = suf::model::ReadGraph(folder.path());
  SUF_CHECK(g.size() > 0 && !g.leaves().empty());
}
