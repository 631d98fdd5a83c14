// Facts about a model beside its computation: the meaning of its result, and the texts that it takes. A plan carries
// them. They change no word, key or frame.
#pragma once
#include <string>
#include <vector>

#include "suf/nn/plan/fields.hpp"

namespace suf::nn {

// The meaning of the result.
// * kUnit: an embedding of Euclidean norm 1.
// * kVector: an embedding that is not normalised.
// * kScores: the logits of a classifier, or the score of a reranker.
// * kNextToken: the logits of the next token.
enum class ResultKind : uint8_t { kUnit, kVector, kScores, kNextToken };
// The texts of one inference: one, a pair, or either.
enum class TextForm : uint8_t { kSingle, kPair, kEither };

// A text that stands before another one, and the name by which it is chosen.
struct Prompt {
  static constexpr size_t kMostBytes = 4096;
  std::string name, text;  // text: any UTF-8 without a NUL byte
  bool operator==(const Prompt&) const = default;
};

struct About {
  static constexpr size_t kMostPrompts = 256, kMostLabels = 1 << 12, kNameBytes = 256;
  ResultKind result = ResultKind::kUnit;
  TextForm texts = TextForm::kSingle;
  std::vector<std::string> labels = {};  // of the columns of scores; empty: they have no names
  std::string similarity = {};           // how embeddings are compared, such as cosine; empty: the files do not say
  std::vector<Prompt> prompts = {};
  std::string default_prompt = {};  // the name of the prompt that texts get without a choice; empty: none
  int64_t longest = 0;              // tokens to which sentence-transformers cuts texts; 0: any number
  bool operator==(const About&) const = default;

  // Returns the text of a prompt. Throws Cause::kInput, listing the names, if there is none of this name.
  const std::string& PromptNamed(const std::string& name) const;
  // Visits the fields. Throws Cause::kRefused for a name twice, a NUL byte in a prompt, or a default prompt that is not
  // there.
  void Fields(Visitor& v);
};

}  // namespace suf::nn
