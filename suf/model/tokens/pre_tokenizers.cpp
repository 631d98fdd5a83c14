#include "suf/model/tokens/pre_tokenizers.hpp"

#include <algorithm>
#include <utility>

#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

constexpr int kPreTokenizerDepth = 3;  // Sequences in each other

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPtr> parts) : parts_(std::move(parts)) {}
  std::vector<TextWord> Split(std::vector<TextWord> words) const override {
    for (const PreTokenizerPtr& part : parts_) words = part->Split(std::move(words));
    return words;
  }

 private:
  std::vector<PreTokenizerPtr> parts_;
};

// The parts that make words longer. Each may occur once, or a file could double the words again and again.
struct GrowingParts {
  bool metaspace = false, byte_level = false;
};

void CheckOnce(const Fields& part, bool* seen) {
  if (std::exchange(*seen, true)) part.Refuse("type", "and it occurs twice; only one is supported; ", kAnother);
}

PreTokenizerPtr ReadPreTokenizerPart(const Fields& part, int depth, GrowingParts* seen) {
  const std::string type = part.Text("type");
  if (type == "Sequence" && depth < kPreTokenizerDepth) {
    part.Only({"type", "pretokenizers"});
    std::vector<PreTokenizerPtr> parts;
    for (const Fields& one : part.List("pretokenizers", kSequenceLimit))
      parts.push_back(ReadPreTokenizerPart(one, depth + 1, seen));
    return std::make_unique<PreTokenizerSequence>(std::move(parts));
  }
  for (const char* known : {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Digits", "Punctuation"})
    if (type == known) return ReadClassSplit(part);
  if (type == "Split") return ReadSplit(part);
  if (type == "Metaspace") {
    CheckOnce(part, &seen->metaspace);
    return ReadMetaspace(part);
  }
  if (type == "ByteLevel") {
    CheckOnce(part, &seen->byte_level);
    return ReadByteLevel(part);
  }
  if (type == "Sequence") part.Refuse("type", "and it is inside ", depth, " others; ", kAnother);
  part.Refuse("type", "and this pre-tokenizer is not known here; ", kAnother);
}

// Joins the spans of each match to those beside it, and marks the spans to leave out as matches.
std::vector<MatchSpan> Arranged(std::vector<MatchSpan> spans, Behavior behavior) {
  if (behavior == Behavior::kDropped) return spans;
  const bool backward = behavior == Behavior::kWithNext;
  if (backward) std::reverse(spans.begin(), spans.end());
  std::vector<MatchSpan> out;
  bool last = false;  // whether the previous span was a match
  for (const MatchSpan& span : spans) {
    const bool joins = behavior == Behavior::kContiguous ? span.match == last
                       : behavior == Behavior::kIsolated ? false
                                                         : span.match && !last;
    last = span.match;
    if (!joins || out.empty()) {
      out.push_back({span.begin, span.end, false});
    } else {
      out.back().begin = std::min(out.back().begin, span.begin);
      out.back().end = std::max(out.back().end, span.end);
    }
  }
  if (backward) std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

Behavior ReadBehavior(const Fields& part, const char* absent) {
  constexpr std::pair<const char*, Behavior> kNames[] = {{"Removed", Behavior::kDropped},
                                                         {"Isolated", Behavior::kIsolated},
                                                         {"MergedWithPrevious", Behavior::kWithPrevious},
                                                         {"MergedWithNext", Behavior::kWithNext},
                                                         {"Contiguous", Behavior::kContiguous}};
  const std::string name =
      part.OneOf("behavior", absent, {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"});
  return std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& n) { return n.first == name; })->second;
}

void AppendWords(const TextWord& word, const std::vector<MatchSpan>& spans, Behavior behavior,
                 std::vector<TextWord>* out) {
  for (const MatchSpan& span : Arranged(spans, behavior)) {
    if (span.match) continue;
    const size_t first = std::min(word.first, span.end) - std::min(word.first, span.begin);
    out->push_back({word.text.substr(span.begin, span.end - span.begin), first});
  }
}

std::unique_ptr<const PreTokenizer> ReadPreTokenizer(const Fields& file, const char* field) {
  if (file.Null(field)) return nullptr;
  GrowingParts seen;
  return ReadPreTokenizerPart(file.Object(field, "a pre-tokenizer"), 0, &seen);
}

}  // namespace suf::model
