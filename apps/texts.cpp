#include "apps/texts.hpp"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/exit.hpp"
#include "apps/log.hpp"
#include "suf/base/digest.hpp"
#include "suf/base/json.hpp"
#include "suf/nn/ops/lookup.hpp"
#include "suf/roles/files.hpp"

namespace suf::apps {

using nlohmann::ordered_json;

namespace {

constexpr size_t kLongestLine = size_t{16} << 20;  // bytes

// Refuses a line that is too long or has a NUL byte.
void CheckLine(const std::string& text) {
  if (text.size() > kLongestLine)
    Fail(Cause::kInput, "the line has ", text.size(), " bytes; the limit is ", kLongestLine, "; write one text a line");
  if (const size_t at = text.find('\0'); at != text.npos)
    Fail(Cause::kInput, "the line has a NUL byte at byte ", at, "; save the file as text in UTF-8");
}

// Reads a line of JSON. Sets the id even if the text is missing.
void ReadJsonLine(const std::string& text, TextLine* l) {
  const std::string remedy = "write {\"id\": .., \"text\": ..}, and \"second\" for a pair";
  std::map<std::string, std::string> wholes;
  const nlohmann::json j = ReadJson(text, {"the line", remedy, Cause::kInput, &wholes});
  if (!j.is_object()) Fail(Cause::kInput, "the line is no JSON object; ", remedy);
  if (const auto id = j.find("id"); id != j.end()) {
    if (!id->is_string() && !wholes.contains("id"))
      Fail(Cause::kInput,
           "the \"id\" of the line is neither a string nor a whole number; make it one of these, or leave it out");
    l->id = id->is_string() ? id->dump() : wholes["id"];
  }
  const auto words = j.find("text");
  if (words == j.end() || !words->is_string())
    Fail(Cause::kInput, "the line has no \"text\" that is a string; ", remedy);
  l->text = words->get<std::string>();
  if (const auto second = j.find("second"); second != j.end()) {
    if (!second->is_string()) Fail(Cause::kInput, "the \"second\" of the line is no string; ", remedy);
    l->second = second->get<std::string>();
  }
}

// Takes the type from a word ID:TYPE of the line; returns 0 if it has none.
int32_t TakeType(std::string* word, size_t place, int64_t types) {
  const size_t colon = word->find(':');
  if (colon == word->npos) return 0;
  int32_t type = -1;
  const char *begin = word->data() + colon + 1, *end = word->data() + word->size();
  const auto [stop, error] = std::from_chars(begin, end, type);
  if (error != std::errc{} || stop != end || type < 0 || type >= types)
    Fail(Cause::kInput, "word ", place + 1, " of the line has no token type behind its colon; the model has ",
         types == 1 ? std::string("no types, so leave it out") : Str("the types 0 to ", types - 1));
  word->resize(colon);
  return type;
}

// Parses the token ids of a line.
model::Ids GivenIds(const std::string& text, const roles::TextRules& rules) {
  constexpr size_t kShown = 24;  // most digits of a number in an error message
  const int64_t vocabulary = rules.vocabulary;
  model::Ids ids;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const int32_t type = TakeType(&word, ids.size(), rules.types);
    const size_t digits = word[0] == '-';
    if (digits == word.size() || word.find_first_not_of("0123456789", digits) != word.npos)
      Fail(Cause::kInput, "word ", ids.size() + 1,
           " of the line is no token id; write whole numbers with spaces between");
    int32_t id = 0;
    if (std::from_chars(word.data(), word.data() + word.size(), id).ec != std::errc{})
      nn::RefuseId(ids.size(), word.size() > kShown ? word.substr(0, kShown) + ".." : word, vocabulary);
    if (id < 0 || id >= vocabulary) nn::RefuseId(ids.size(), word, vocabulary);
    ids.push_back(id + type * int32_t(vocabulary));
  }
  if (ids.empty())
    Fail(Cause::kInput, "the line has no token id; leave it out, or write whole numbers with spaces between");
  return ids;
}

}  // namespace

std::vector<TextLine> ReadTexts(const Source& s, Hash* digest) {
  std::vector<TextLine> lines;
  if (s.file.empty() && s.json_file.empty() && s.ids.empty()) {
    lines.push_back({.text = s.text, .second = s.second, .alone = true});
    return lines;
  }
  const std::string& path = !s.ids.empty() ? s.ids : s.file.empty() ? s.json_file : s.file;
  std::string bytes = roles::ReadFile(path, "", "check the path");
  if (digest) *digest = HashOf({AsView(bytes)});
  std::istringstream in(roles::WithoutMark(std::move(bytes), path));
  for (std::string text; std::getline(in, text);) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    TextLine l{.i = int(lines.size()), .given = !s.ids.empty(), .plain = !s.file.empty()};
    try {
      CheckLine(text);
      if (s.json_file.empty())
        l.text = std::move(text);
      else
        ReadJsonLine(text, &l);
    } catch (const Error& e) {
      l.error = e.what();
    }
    lines.push_back(std::move(l));
  }
  if (lines.empty())
    Fail(Cause::kInput, roles::FileName(path), " holds no text; write ",
         s.ids.empty() ? "one text" : "the ids of one text", " a line");
  return lines;
}

TextLimits LimitsOf(const nn::Plan& plan, const Source& s, bool truncate) {
  TextLimits out{plan.min_tokens, plan.max_tokens, roles::RulesOf(plan), truncate, {}};
  if (const int64_t longest = plan.about.longest; truncate && longest)
    out.most = int(std::clamp<int64_t>(longest, plan.min_tokens, plan.max_tokens));
  const std::string& prompt = s.prompt ? *s.prompt : plan.about.default_prompt;
  if (!prompt.empty()) out.prompt = plan.about.PromptNamed(prompt);
  return out;
}

size_t TokensOf(const std::string& prompt, const model::Tokenizer& tokenizer) {
  return prompt.find_first_not_of(" \t\n") == prompt.npos ? 0 : tokenizer.Encode(prompt).size();
}

// Cuts ids that were given to n. The last one stays, which closes the text.
static void CutGiven(model::Ids* ids, size_t n) {
  ids->at(n - 1) = ids->back();
  ids->resize(n);
}

namespace {

// Refuses a prompt that leaves no room for a text.
void CheckPrompt(const model::Tokenizer& tokenizer, const TextLimits& limits) {
  if (const size_t n = TokensOf(limits.prompt, tokenizer); limits.most && n >= size_t(limits.most))
    Fail(Cause::kInput, "the prompt has ", n, " tokens, and a text may have ", limits.most,
         " with it; choose another prompt, or compile a plan for longer texts");
}

// Splits a line of --file that holds a pair. Notes a tab that separates nothing.
void SplitPair(const roles::TextRules& rules, TextLine* l) {
  if (l->plain && !l->second) {
    const roles::TextInput in = roles::SplitLine(l->text, rules);
    l->tab = !in.second && l->text.find('\t') != l->text.npos;
    if (in.second) {
      l->second = std::string(*in.second);
      l->text.resize(in.first.size());
    }
  }
  if (!l->given && !l->second && rules.form == nn::TextForm::kPair)
    Fail(Cause::kInput, "the model compares two texts, and this is one; add the second one ",
         l->alone   ? "with --second"
         : l->plain ? "behind a tab in the line"
                    : "to the line, as \"second\"");
}

// Returns the ids of a line, which may be cut.
model::Ids IdsOf(const TextLine& l, const model::Tokenizer* tokenizer, const TextLimits& limits) {
  if (l.given) {
    model::Ids ids = GivenIds(l.text, limits.rules);
    const size_t n = limits.most ? model::CheckLength(ids.size(), size_t(limits.most), limits.truncate) : ids.size();
    CutGiven(&ids, n);
    return ids;
  }
  roles::TextInput in{.first = l.text, .prompt = limits.prompt};
  if (l.second) in.second = *l.second;
  return roles::Encode(*tokenizer, limits.rules, in, size_t(limits.most), limits.truncate);
}

}  // namespace

void TokenizeAll(const model::Tokenizer* tokenizer, const TextLimits& limits, std::vector<TextLine>* lines) {
  if (tokenizer) CheckPrompt(*tokenizer, limits);
  const TextLine* with_tab = nullptr;
  for (TextLine& l : *lines) {
    if (!l.error.empty()) continue;
    try {
      SplitPair(limits.rules, &l);
      if (l.tab && !with_tab) with_tab = &l;
      l.ids = IdsOf(l, tokenizer, limits);
      l.n = l.ids.size();
      if (limits.most && l.n < size_t(limits.least))
        Fail(Cause::kInput, "a text of ", l.n, " tokens is below the limit of ", limits.least, "; make it longer");
    } catch (const Error& e) {
      l.error = Str(e.what(), dynamic_cast<const model::TooLong*>(&e) ? " (--truncate cuts it)" : "");
      l.n = 0;
      l.ids.clear();
    }
  }
  if (with_tab)
    log::Warn(Str("line ", with_tab->i + 1,
                  " has a tab, which counts as a space, because the model reads one text and no pairs"));
}

void TokenizeFor(const nn::Plan& plan, const Source& s, const roles::Model& model, bool truncate,
                 std::vector<TextLine>* lines) {
  std::optional<model::Tokenizer> tokenizer;
  if (s.ids.empty()) tokenizer = model.tokenizer();
  TokenizeAll(tokenizer ? &*tokenizer : nullptr, LimitsOf(plan, s, truncate), lines);
}

std::string WrittenIds(const model::Ids& ids, const roles::TextRules& rules) {
  std::string out;
  for (const int32_t id : ids) {
    const int64_t type = id / rules.vocabulary;
    out += Str(out.empty() ? "" : " ", id % rules.vocabulary, type ? Str(":", type) : "");
  }
  return out;
}

void AddIds(const model::Ids& ids, const roles::TextRules& rules, ordered_json* row) {
  ordered_json words = ordered_json::array(), types = ordered_json::array();
  bool several = false;
  for (const int32_t id : ids) {
    words.push_back(id % rules.vocabulary);
    types.push_back(id / rules.vocabulary);
    several = several || id >= rules.vocabulary;
  }
  (*row)["ids"] = std::move(words);
  if (several) (*row)["types"] = std::move(types);
}

int Finish(const std::vector<TextLine>& lines) {
  int bad = 0;
  const TextLine* first = nullptr;
  for (const TextLine& l : lines)
    if (!l.error.empty()) {
      ++bad;
      first = first ? first : &l;
    }
  if (!bad) return 0;
  if (first->alone) Fail(Cause::kInput, first->error);
  if (lines.size() == 1) Fail(Cause::kInput, "line 1: ", first->error);
  Fail(Cause::kInput, bad, " of ", lines.size(), " texts could not be used; line ", first->i + 1, ": ", first->error);
}

std::string RowOf(const ordered_json& row, const TextLine& l) {
  constexpr std::string_view kNone = "\"id\":null";
  std::string text = row.dump();
  const size_t at = l.id.empty() ? text.npos : text.find(kNone);
  return at == text.npos ? text : text.replace(at, kNone.size(), "\"id\":" + l.id);
}

std::string ErrorRow(const TextLine& l) {
  ordered_json row{{"i", l.i}};
  if (!l.id.empty()) row["id"] = nullptr;
  row["error"] = l.error;
  return RowOf(row, l);
}

}  // namespace suf::apps
