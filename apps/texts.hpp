// Texts from the command line or a file; a bad line is kept with its sentence, and the others are done.
#pragma once
#include <optional>

#include "apps/commands.hpp"
#include "suf/model/tokenizer.hpp"
#include "suf/nn/plan.hpp"

namespace suf::apps {

struct Line {
  int i = 0;       // from 0
  std::string id;  // of --json-file, else empty
  std::string text;
  size_t n = 0;  // tokens
  model::Ids ids;
  bool given = false;  // ids are what was given, not text
  std::string error;   // non-empty: this line cannot be used
};

// ReadTexts: throws Cause::kInput when the file cannot be read or holds nothing.
std::vector<Line> ReadTexts(const Source& s);
// TokenizeAll: fills ids where they were not given, or error: invalid UTF-8, empty, under `least` or over `limit`
// tokens (0: no limit). tokenizer: may be null where all are given.
void TokenizeAll(const model::Tokenizer* tokenizer, int least, int limit, bool truncate, std::vector<Line>* lines);
// TokenizeFor: the same for a plan; vocabulary: the file to load where ids were not given.
void TokenizeFor(const nn::Plan& plan, const Source& s, const std::string& vocabulary, bool truncate,
                 std::vector<Line>* lines);
// Finish: 0, or 2 with the sentence when lines failed.
int Finish(const std::vector<Line>& lines);

}  // namespace suf::apps
