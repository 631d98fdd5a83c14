#include "suf/model/vocabulary.hpp"

#include <algorithm>

namespace suf::model {

namespace {

struct Known {
  std::string_view sha256, name;
};

// Compare with: sha256sum vocab.txt
constexpr Known kKnown[] = {
    // 30522 tokens; all-MiniLM-L6-v2, which tools/fetch_model.py fetches, has the same file
    {"07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", "bert-base-uncased"},
};

}  // namespace

std::string_view KnownVocabulary(const Hash& sha256) {
  const std::string hex = Hex(sha256);
  const auto* at = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.sha256 == hex; });
  return at == std::end(kKnown) ? std::string_view() : at->name;
}

}  // namespace suf::model
