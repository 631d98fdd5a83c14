#include "apps/texts.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/exit.hpp"
#include "suf/base/json.hpp"
#include "suf/roles/files.hpp"

namespace suf::apps {

namespace {

// GivenIds: a line of token ids.
Line GivenIds(const std::string& text) {
  Line l{.text = text, .given = true};
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc{} || end != word.data() + word.size() || id < 0)
      l.error = "the line holds something else than token ids; write whole numbers with spaces between";
    l.ids.push_back(id);
  }
  return l;
}

// GivenJson: a line of JSON.
Line GivenJson(const std::string& text) {
  const std::string remedy = "write {\"id\": .., \"text\": ..}";
  Line l;
  try {
    const auto j = ReadJson(text, {"the line", remedy});
    if (j.is_object() && j.contains("id")) l.id = j["id"].is_string() ? j["id"].get<std::string>() : j["id"].dump();
    if (!j.is_object() || !j.contains("text") || !j["text"].is_string())
      Fail(Cause::kInput, "the line is not a JSON object with a string \"text\"; ", remedy);
    l.text = j["text"].get<std::string>();
  } catch (const Error& e) {
    l.error = e.what();
  }
  return l;
}

}  // namespace

std::vector<Line> ReadTexts(const Source& s) {
  std::vector<Line> lines;
  auto add = [&](Line l) {
    l.i = int(lines.size());
    lines.push_back(std::move(l));
  };
  if (s.file.empty() && s.json_file.empty() && s.ids.empty()) {
    add({.text = s.text});
    return lines;
  }
  const std::string& path = !s.ids.empty() ? s.ids : s.file.empty() ? s.json_file : s.file;
  std::istringstream in(roles::ReadFile(path, "", "check the path"));
  for (std::string text; std::getline(in, text);) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (!s.ids.empty()) {
      add(GivenIds(text));
      continue;
    }
    if (s.json_file.empty()) {
      add({.text = text});
      continue;
    }
    add(GivenJson(text));
  }
  if (lines.empty()) Fail(Cause::kInput, path, " holds no text; write one text a line");
  return lines;
}

void TokenizeAll(const model::Tokenizer* tokenizer, int least, int limit, bool truncate, std::vector<Line>* lines) {
  for (Line& l : *lines) {
    if (!l.error.empty()) continue;
    try {
      if (!l.given) l.ids = tokenizer->Encode(l.text);
      l.n = l.ids.size();
      if (limit == 0) continue;
      if (l.n < size_t(least))
        Fail(Cause::kInput, "a text of ", l.n, " tokens is below the limit of ", least, "; make it longer");
      l.n =
          Hinted(Cause::kInput, "--truncate cuts it", [&] { return model::CheckLength(l.n, size_t(limit), truncate); });
      l.ids = model::Shorten(std::move(l.ids), l.n);
    } catch (const Error& e) {
      l.error = e.what(), l.n = 0, l.ids.clear();
    }
  }
}

void TokenizeFor(const nn::Plan& plan, const Source& s, const std::string& vocabulary, bool truncate,
                 std::vector<Line>* lines) {
  std::optional<model::Tokenizer> tokenizer;
  if (s.ids.empty()) tokenizer = model::Tokenizer::Load(vocabulary);
  TokenizeAll(tokenizer ? &*tokenizer : nullptr, plan.min_tokens, plan.max_tokens, truncate, lines);
}

int Finish(const std::vector<Line>& lines) {
  int bad = 0;
  const Line* first = nullptr;
  for (const Line& l : lines)
    if (!l.error.empty()) ++bad, first = first ? first : &l;
  if (!bad) return 0;
  if (lines.size() == 1) Fail(Cause::kInput, first->error);
  Fail(Cause::kInput, bad, " of ", lines.size(), " texts could not be used; line ", first->i + 1, ": ", first->error);
}

}  // namespace suf::apps
