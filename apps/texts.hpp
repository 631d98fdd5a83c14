// Texts from the command line or a file; a bad line is kept with its sentence, and the others are done.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "apps/commands.hpp"
#include "suf/base/bytes.hpp"
#include "suf/model/tokenizer.hpp"
#include "suf/nn/plan.hpp"

namespace suf::apps {

struct Line {
  int i = 0;       // from 0
  std::string id;  // of --json-file, as JSON: a string or a whole number of any size; empty if there is none
  std::string text;
  size_t n = 0;  // tokens
  model::Ids ids;
  bool given = false;  // text holds token ids
  bool alone = false;  // an argument of the command, not a line of a file
  std::string error;   // non-empty: this line cannot be used
};

// Reads the texts of a command. Throws Cause::kInput when the file cannot be read or holds nothing. digest: if set,
// receives the SHA-256 of the file.
std::vector<Line> ReadTexts(const Source& s, Hash* digest = nullptr);

// What a text must keep to.
struct TextLimits {
  int least = 0, most = 0;  // tokens; most 0: any number
  int64_t vocabulary = 0;   // ids are below it
  bool truncate = false;    // longer texts are cut
};
TextLimits LimitsOf(const nn::Plan& plan, bool truncate);

// Fills ids, or error: invalid UTF-8, empty, beyond the limits, no ids. tokenizer: may be null where ids were given.
void TokenizeAll(const model::Tokenizer* tokenizer, const TextLimits& limits, std::vector<Line>* lines);
// The same for a plan; vocabulary: the file to load where ids were not given.
void TokenizeFor(const nn::Plan& plan, const Source& s, const std::string& vocabulary, bool truncate,
                 std::vector<Line>* lines);
// Makes the plan of suf compile from the lines that can be used, and returns all of them. Throws as Finish if none can.
// (cmd_plan.cpp)
std::vector<Line> Compile(const CompileArgs& a);
// 0, or 2 with the sentence when lines failed.
int Finish(const std::vector<Line>& lines);

// Rows of --json. RowOf: a row as text, with the line's id in place of the "id" that is null in it. ErrorRow: the row
// of a line that cannot be used.
std::string RowOf(const nlohmann::ordered_json& row, const Line& l);
std::string ErrorRow(const Line& l);

}  // namespace suf::apps
