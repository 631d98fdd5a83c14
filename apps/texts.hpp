// Texts from the command line or a file. A bad line is kept with its error message, and the others are processed.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "apps/commands.hpp"
#include "suf/base/bytes.hpp"
#include "suf/model/tokenizer.hpp"
#include "suf/nn/plan/plan.hpp"
#include "suf/roles/model.hpp"
#include "suf/roles/text_rules.hpp"

namespace suf::apps {

struct TextLine {
  int i = 0;       // from 0
  std::string id;  // of --json-file, as JSON: a string or a whole number of any size; empty if there is none
  std::string text;
  std::optional<std::string> second = {};  // of a pair
  size_t n = 0;                            // tokens
  model::Ids ids;
  bool given = false;  // text holds token ids
  bool plain = false;  // a line of --file, in which a tab may stand between the texts of a pair
  bool tab = false;    // such a tab is there, and the model takes no pairs
  bool alone = false;  // an argument of the command, not a line of a file
  std::string error;   // not empty if this line cannot be used
};

// Reads the texts of a command. Throws Cause::kInput if the file cannot be read or is empty. `digest`, if not null,
// receives the SHA-256 of the file.
std::vector<TextLine> ReadTexts(const Source& s, Hash* digest = nullptr);

// The limits of a text.
struct TextLimits {
  int least = 0, most = 0;   // tokens; most 0: no limit
  roles::TextRules rules{};  // vocabulary 0: ids are not checked
  bool truncate = false;     // longer texts are cut
  std::string prompt = {};   // stands before every text
};
// Returns those of a plan. Cut texts are no longer than those of sentence-transformers. Throws Cause::kInput if the
// plan has no prompt of the source's name.
TextLimits LimitsOf(const nn::Plan& plan, const Source& s, bool truncate);

// Returns the tokens of a prompt alone, special ones included; 0 for one of spaces.
size_t TokensOf(const std::string& prompt, const model::Tokenizer& tokenizer);

// Fills the ids of each line, or its error: invalid UTF-8, empty, beyond the limits, no ids. A pair for a model of one
// text is another. `tokenizer` may be null if all lines hold ids. Throws Cause::kInput if the prompt alone is too long.
void TokenizeAll(const model::Tokenizer* tokenizer, const TextLimits& limits, std::vector<TextLine>* lines);
// Does the same for a plan, by the tokenizer of the model unless the source has ids.
void TokenizeFor(const nn::Plan& plan, const Source& s, const roles::Model& model, bool truncate,
                 std::vector<TextLine>* lines);
// Makes the plan of `suf compile` from the usable lines, and returns all lines. Throws as Finish does if none is
// usable. Defined in cmd_plan.cpp.
std::vector<TextLine> Compile(const CompileArgs& a);
// Returns ids as --ids takes them: with the type behind a colon where it is not 0.
std::string WrittenIds(const model::Ids& ids, const roles::TextRules& rules);
// Adds "ids" to a row, and "types" if one is not 0.
void AddIds(const model::Ids& ids, const roles::TextRules& rules, nlohmann::ordered_json* row);
// Returns 0, or throws Cause::kInput with the first error if a line has one.
int Finish(const std::vector<TextLine>& lines);

// Returns a row of --json as text, with the line's id in place of its "id" of null.
std::string RowOf(const nlohmann::ordered_json& row, const TextLine& l);
// Returns the row of --json of a line that cannot be used.
std::string ErrorRow(const TextLine& l);

}  // namespace suf::apps
