// For tests of word models: the ids of one word. Expectations come from PyPI `tokenizers` 0.23.3.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suf/model/testing.hpp"
#include "suf/model/tokens/parts.hpp"
#include "suf/model/tokens/text.hpp"

namespace suf::model {

inline std::unique_ptr<const WordModel> ReadWords(json model) {
  return ReadWordModel(Fields("t.json", {{"model", std::move(model)}}, ""), "model");
}

// Returns a vocabulary with ids in this order.
inline json VocabOf(const std::vector<std::string>& entries) {
  json vocab = json::object();
  for (size_t i = 0; i < entries.size(); ++i) vocab[entries[i]] = i;
  return vocab;
}

// Expects the ids of words.
inline void ExpectIds(const json& model, const std::vector<std::pair<std::string, Ids>>& words) {
  const auto m = ReadWords(model);
  for (const auto& [word, expected] : words) {
    Ids ids = {7};
    m->Encode(Decode(word, "the word"), &ids);
    ASSERT_EQ(ids.at(0), 7);
    ids.erase(ids.begin());
    EXPECT_EQ(ids, expected) << word << " by " << model.dump().substr(0, 200);
  }
}

// Expects that a model is refused after a merge patch.
inline void ExpectNoModel(json model, const json& patch, const std::string& sentence) {
  model.merge_patch(patch);
  ExpectSentence([&] { (void)ReadWords(model); }, sentence);
}
// Expects that a model without a field is refused.
inline void ExpectNoModelWithout(json model, const std::string& field, const std::string& sentence) {
  model.erase(field);
  ExpectSentence([&] { (void)ReadWords(model); }, sentence);
}

}  // namespace suf::model
