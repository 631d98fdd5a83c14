// Fuzzes a file of documents or texts, {"id", "text"} a line. Each line has its tokens or an error message. Its row of
// the output is JSON with the line's id.
#include <nlohmann/json.hpp>

#include "apps/texts.hpp"
#include "fuzz/fuzz.hpp"
#include "suf/base/printable.hpp"

namespace {
using namespace suf;
using nlohmann::json;

constexpr std::string_view kWords =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nth\n##e\n##s\nword\n.\n,\n1\n##2\n\xe4\xb8\xad\n";

void CheckLine(const apps::TextLine& l, size_t most) {
  const bool usable = l.error.empty();
  SUF_CHECK(usable ? l.n > 0 && l.n <= most && l.ids.size() == l.n : l.ids.empty() && IsPrintable(l.error));
  nlohmann::ordered_json row{{"i", l.i}, {"id", nullptr}};
  for (const std::string& text : {apps::ErrorRow(l), apps::RowOf(row, l)}) {
    const json read = json::parse(text);
    SUF_CHECK(l.id.empty() || read.at("id") == json::parse(l.id));
  }
}
}  // namespace

SUF_FUZZ(documents) {
  static const fuzz::Folder folder;
  static const model::Tokenizer tokenizer = model::Tokenizer::Of(kWords, "words");
  const bool pairs = fuzz::Pull<uint8_t>(input) % 2;
  fuzz::WriteTo(folder / "docs.jsonl", input);
  apps::Source source;
  source.json_file = folder / "docs.jsonl";
  std::vector<apps::TextLine> lines = apps::ReadTexts(source);
  apps::TextLimits limits{.least = 3, .most = 16, .truncate = false, .prompt = "a: "};
  limits.rules.form = pairs ? nn::TextForm::kPair : nn::TextForm::kSingle;
  limits.rules.vocabulary = int64_t(tokenizer.size());
  apps::TokenizeAll(&tokenizer, limits, &lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    SUF_CHECK(lines[i].i == int(i));
    CheckLine(lines[i], size_t(limits.most));
  }
}
