#include "suf/roles/text_rules.hpp"

#include <algorithm>

namespace suf::roles {

TextRules RulesOf(const nn::Graph& graph, const nn::About& about) {
  return {about.texts, nn::WordsOf(graph), nn::TypesOf(graph)};
}

TextInput SplitLine(std::string_view line, const TextRules& rules) {
  const size_t tab = rules.form == nn::TextForm::kSingle ? line.npos : line.find('\t');
  if (tab == line.npos) return {line};
  if (const auto tabs = std::count(line.begin(), line.end(), '\t'); tabs > 1)
    Fail(Cause::kInput, "the line has ", tabs, " tabs, and one separates the two texts of a pair; remove the others");
  return {line.substr(0, tab), line.substr(tab + 1)};
}

namespace {

// Encodes without a prompt.
model::Ids EncodeTexts(const model::Tokenizer& tokenizer, const TextRules& rules, const TextInput& text, size_t limit,
                       bool cut, bool* was_cut) {
  if (text.second && rules.form == nn::TextForm::kSingle)
    Fail(Cause::kInput, "the model reads one text, and these are two; leave out the second one");
  if (!text.second && rules.form == nn::TextForm::kPair)
    Fail(Cause::kInput, "the model compares two texts, and this is one; add the second one");
  if (!text.second) {
    model::Ids ids = tokenizer.Encode(text.first);
    if (!limit) return ids;
    const size_t n = model::CheckLength(ids.size(), limit, cut);
    if (was_cut) *was_cut = n < ids.size();
    return tokenizer.Shorten(std::move(ids), n);
  }
  model::TextPair pair = tokenizer.EncodePair(text.first, *text.second);
  if (limit && pair.ids.size() > limit) {
    if (!cut)
      throw model::TooLong(Cause::kInput, Str("the pair has ", pair.ids.size(), " tokens, ", pair.first,
                                              " of the first text and ", pair.second, " of the second; the limit is ",
                                              limit, "; shorten one of them or let them be cut"));
    pair = tokenizer.Shorten(pair, limit);
    if (was_cut) *was_cut = true;
  }
  if (rules.types > 1)
    for (size_t i = 0; i < pair.ids.size(); ++i) {
      if (pair.types[i] >= rules.types)
        Fail(Cause::kInput, "token ", i + 1, " has the type ", pair.types[i], ", and the model has the types 0 to ",
             rules.types - 1, "; use the tokenizer of the plan's model");
      pair.ids[i] += int32_t(pair.types[i] * rules.vocabulary);
    }
  return std::move(pair.ids);
}

}  // namespace

model::Ids Encode(const model::Tokenizer& tokenizer, const TextRules& rules, const TextInput& text, size_t limit,
                  bool cut, bool* was_cut) {
  if (text.prompt.empty()) return EncodeTexts(tokenizer, rules, text, limit, cut, was_cut);
  (void)tokenizer.Encode(text.first);  // a text without a token is refused with a prompt too
  const std::string first = Str(text.prompt, text.first);
  try {
    return EncodeTexts(tokenizer, rules, {first, text.second}, limit, cut, was_cut);
  } catch (const model::TooLong& e) {
    throw model::TooLong(e.cause(), Str(e.what(), "; the prompt counts"));
  }
}

}  // namespace suf::roles
