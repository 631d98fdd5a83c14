#include "suf/nn/plan/about.hpp"

#include <algorithm>
#include <set>

#include "suf/base/printable.hpp"

namespace suf::nn {
namespace {

const char* const kResults[] = {"unit", "vector", "scores", "token"};
const char* const kForms[] = {"one", "pair", "either"};

}  // namespace

const std::string& About::PromptNamed(const std::string& name) const {
  std::string names;
  for (const Prompt& p : prompts) {
    if (p.name == name) return p.text;
    names += (names.empty() ? "" : ", ") + Printable(p.name);
  }
  Fail(Cause::kInput, "the model has no prompt ", Quoted(name),
       names.empty() ? "; write it into the texts" : "; choose one of " + names);
}

void About::Fields(Visitor& v) {
  v.Choice("result", &result, kResults, "has a result of the kind ");
  v.Choice("texts", &texts, kForms, "takes texts in the form ");
  v.List(
      "labels", labels.size(), kMostLabels, [&](size_t n) { labels.resize(n); },
      [&](Visitor& w, size_t i) { w.Text("name", &labels[i], kNameBytes); });
  v.Text("similarity", &similarity, 40);
  v.List(
      "prompts", prompts.size(), kMostPrompts, [&](size_t n) { prompts.resize(n); },
      [&](Visitor& w, size_t i) {
        w.Text("name", &prompts[i].name, kNameBytes);
        w.AnyText("text", &prompts[i].text, Prompt::kMostBytes);
      });
  v.Text("default_prompt", &default_prompt, kNameBytes);
  v.Int("longest", longest, 0, 1 << 20);  // of the model; a plan takes fewer
  if (!v.fills()) return;
  std::set<std::string> names;
  for (const Prompt& p : prompts) {
    if (!names.insert(p.name).second)
      Fail(Cause::kRefused, "the plan has two prompts ", Quoted(p.name), "; compile the plan again");
    if (p.text.find('\0') != p.text.npos)
      Fail(Cause::kRefused, "the plan's prompt ", Quoted(p.name), " has a NUL byte; compile the plan again");
  }
  if (!default_prompt.empty() && !names.contains(default_prompt))
    Fail(Cause::kRefused, "the plan's default prompt is ", Quoted(default_prompt),
         ", and it has no such prompt; compile the plan again");
}

}  // namespace suf::nn
