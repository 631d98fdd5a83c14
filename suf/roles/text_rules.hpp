// Token ids of one text or of a pair, as a plan's model reads them.
#pragma once
#include <optional>
#include <string_view>

#include "suf/model/tokenizer.hpp"
#include "suf/nn/plan/plan.hpp"

namespace suf::roles {

// The text of one inference, or its two texts. The prompt stands before the first one.
struct TextInput {
  std::string_view first;
  std::optional<std::string_view> second = {};
  std::string_view prompt = {};
};

// The texts that a model takes.
struct TextRules {
  nn::TextForm form = nn::TextForm::kSingle;
  int64_t vocabulary = 0, types = 1;  // ids are below their product
};
TextRules RulesOf(const nn::Graph& graph, const nn::About& about);
inline TextRules RulesOf(const nn::Plan& plan) { return RulesOf(plan.graph, plan.about); }

// Returns a line of a file as one text. If the model takes pairs, a tab stands between the two texts of a pair.
// Throws Cause::kInput for a second tab.
TextInput SplitLine(std::string_view line, const TextRules& rules);

// Returns the ids, special tokens included, with token types inside (nn::SplitTypes). At most `limit` tokens remain; 0:
// any number. `was_cut`, false before, receives whether there were more. Throws model::TooLong if there are more and
// not `cut`. Throws Cause::kInput for another number of texts than the model takes. Throws likewise for text that is
// not UTF-8, and for one without a token, whatever its prompt is.
model::Ids Encode(const model::Tokenizer& tokenizer, const TextRules& rules, const TextInput& text, size_t limit,
                  bool cut, bool* was_cut = nullptr);

}  // namespace suf::roles
