#include "suf/model/tokenizer.hpp"

#include <algorithm>

#include "suf/base/error.hpp"
#include "suf/model/internal/entries.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/tokens/text.hpp"

namespace suf::model {
namespace {

using TemplateItem = Template::Item;

// Returns the number of special tokens in a template.
size_t SpecialsOf(const std::vector<TemplateItem>& items) {
  return size_t(
      std::count_if(items.begin(), items.end(), [](const TemplateItem& i) { return i.kind == TemplateItem::kToken; }));
}

// Returns the special tokens of a template for an error message: "[CLS] and [SEP]".
std::string SpecialNames(const TokenizerParts& parts) {
  std::vector<std::string> names;
  for (const TemplateItem& i : parts.around.single)
    if (const std::string name = i.kind == TemplateItem::kToken ? parts.Content(i.id) : "";
        !name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  std::string all;
  for (size_t i = 0; i < names.size(); ++i) all += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  return all;
}

void CheckSpecialCount(size_t specials, size_t n) {
  if (specials > n)
    Fail(Cause::kInput, "the limit is ", n, " tokens, and the special tokens alone are ", specials, "; raise it");
}

}  // namespace

struct Tokenizer::Rules {
  Ids Body(std::string_view text, const char* what) const;
  void EncodeNormalised(TextWord word, Ids* ids) const;

  TokenizerParts parts;
  AddedTokens raw, normalised;  // matched in the raw text; in the text between those, normalised
  std::string specials;         // the names of the special tokens around one text
};

Tokenizer Tokenizer::Load(const std::filesystem::path& vocabulary) {
  return Of(ReadText(vocabulary, kVocabularyLimit), vocabulary.string());
}

Tokenizer Tokenizer::Of(std::string_view text, const std::string& name) {
  Rules r{.parts = ParseTokenizer(text, name), .raw = {}, .normalised = {}, .specials = {}};
  const auto refuse = [&](const AddedToken& token) {
    Fail(Cause::kInput, name, ": the added token ", Quoted(token.content),
         " is matched in the normalised text, where it is empty or equals another; set its field normalized to false");
  };
  for (const auto& [written, token] : r.parts.added) {
    std::u32string content = Decode(written, Str("an added token of ", name));
    if (token.normalized && r.parts.normalizer) content = r.parts.normalizer->Normalise(std::move(content));
    if (content.empty()) refuse(token);
    if (content.size() > kAddedLimit)
      Fail(Cause::kInput, name, ": the added token ", Quoted(written), " has ", content.size(),
           " characters, the limit is ", kAddedLimit, "; ", kAnother);
    (token.normalized ? r.normalised : r.raw).Add(std::move(content), token);
  }
  for (AddedTokens* tokens : {&r.raw, &r.normalised})
    if (const AddedToken* twice = tokens->Sort()) refuse(*twice);
  r.specials = SpecialNames(r.parts);
  Tokenizer t;
  t.rules_ = std::make_shared<const Rules>(std::move(r));
  return t;
}

size_t Tokenizer::size() const { return size_t(rules_->parts.size); }

Ids Tokenizer::Encode(std::string_view text) const {
  const Ids body = rules_->Body(text, "the text");
  Ids ids;
  for (const TemplateItem& i : rules_->parts.around.single) {
    if (i.kind == TemplateItem::kToken)
      ids.push_back(i.id);
    else
      ids.insert(ids.end(), body.begin(), body.end());
  }
  return ids;
}

namespace {

// Puts the special tokens around the ids of two texts.
TextPair Joined(const std::vector<TemplateItem>& items, const Ids& first, const Ids& second) {
  TextPair pair{{}, {}, first.size(), second.size()};
  for (const TemplateItem& i : items) {
    if (i.kind == TemplateItem::kToken) {
      pair.ids.push_back(i.id);
    } else {
      const Ids& text = i.kind == TemplateItem::kText ? first : second;
      pair.ids.insert(pair.ids.end(), text.begin(), text.end());
    }
    pair.types.resize(pair.ids.size(), i.type);
  }
  return pair;
}

}  // namespace

TextPair Tokenizer::EncodePair(std::string_view first, std::string_view second) const {
  const Ids a = rules_->Body(first, "the first text"), b = rules_->Body(second, "the second text");
  return Joined(rules_->parts.around.pair, a, b);
}

// Returns the ids of a text without special tokens around them.
Ids Tokenizer::Rules::Body(std::string_view text, const char* what) const {
  const std::u32string points = Decode(text, what);
  Ids ids;
  for (const AddedTokens::TextPart& piece : raw.Split(points)) {
    if (piece.id) {
      ids.push_back(*piece.id);
      continue;
    }
    TextWord word{CodePoints(piece.text), piece.text.data() == points.data() ? size_t(1) : 0};
    EncodeNormalised(parts.normalizer ? parts.normalizer->Apply(std::move(word)) : std::move(word), &ids);
  }
  if (ids.empty())
    Fail(Cause::kInput, what, specials.empty() ? " has no token" : " has no token besides ", specials,
         ", the least is one; write a word");
  return ids;
}

void Tokenizer::Rules::EncodeNormalised(TextWord word, Ids* ids) const {
  for (const AddedTokens::TextPart& piece : normalised.Split(word.text)) {
    if (piece.id) {
      ids->push_back(*piece.id);
      continue;
    }
    const auto at = size_t(piece.text.data() - word.text.data());
    std::vector<TextWord> words(1);
    words[0] = {CodePoints(piece.text), word.first - std::min(word.first, at)};
    if (parts.pre_tokenizer) words = parts.pre_tokenizer->Split(std::move(words));
    for (const TextWord& w : words) parts.words->Encode(w.text, ids);
  }
}

size_t CheckLength(size_t n, size_t limit, bool truncate) {
  SUF_CHECK(limit >= 2);
  if (n > limit && !truncate)
    throw TooLong(Cause::kInput,
                  Str("the text has ", n, " tokens; the limit is ", limit, "; shorten it or let it be cut"));
  return std::min(n, limit);
}

Ids Tokenizer::Shorten(Ids ids, size_t n) const {
  SUF_CHECK(n <= ids.size());
  const std::vector<TemplateItem>& items = rules_->parts.around.single;
  CheckSpecialCount(SpecialsOf(items), n);
  const auto text =
      std::find_if(items.begin(), items.end(), [](const TemplateItem& i) { return i.kind == TemplateItem::kText; });
  const auto closing = items.end() - text - 1;  // special tokens behind the text
  ids.erase(ids.end() - closing - ptrdiff_t(ids.size() - n), ids.end() - closing);
  return ids;
}

TextPair Tokenizer::Shorten(const TextPair& pair, size_t n) const {
  SUF_CHECK(n <= pair.ids.size());
  const std::vector<TemplateItem>& items = rules_->parts.around.pair;
  const size_t specials = SpecialsOf(items);
  SUF_CHECK(pair.ids.size() == specials + pair.first + pair.second);
  CheckSpecialCount(specials, n);
  const size_t texts = n - specials;
  size_t a = pair.first, b = pair.second;
  if (a + b > texts) {
    const size_t shorter = std::min(a, b);
    if (2 * shorter <= texts) {
      (a > b ? a : b) = texts - shorter;
    } else {  // the text that was longer keeps the odd id
      const bool first_longer = a > b;
      (first_longer ? b : a) = texts / 2;
      (first_longer ? a : b) = texts - texts / 2;
    }
  }
  Ids first, second;
  auto at = pair.ids.begin();
  for (const TemplateItem& i : items) {
    if (i.kind == TemplateItem::kText) first.assign(at, at + ptrdiff_t(a));
    if (i.kind == TemplateItem::kPair) second.assign(at, at + ptrdiff_t(b));
    at += ptrdiff_t(i.kind == TemplateItem::kToken ? 1 : i.kind == TemplateItem::kText ? pair.first : pair.second);
  }
  return Joined(items, first, second);
}

}  // namespace suf::model
