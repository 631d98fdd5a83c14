#include "suf/model/internal/heads.hpp"

#include <algorithm>

#include "suf/base/printable.hpp"
#include "suf/nn/plan/about.hpp"

namespace suf::model {

bool IsClassifier(const Fields& config, bool encoder) {
  const json classes = config.Value("architectures");
  if (classes.is_null() || (classes.is_array() && classes.empty())) return false;
  if (!classes.is_array() || !classes[0].is_string())
    config.Refuse("architectures", "it must be a list of names; fetch the file again");
  const std::string name = classes[0].get<std::string>();
  const size_t at = name.find("For");
  const std::string head = at == name.npos ? "" : name.substr(at);
  if (encoder && head == "ForSequenceClassification") return true;
  if (encoder && head == "ForCausalLM")
    config.Refuse("architectures", "and there is no modules.json, which says how its rows become an embedding; ",
                  "fetch the whole directory of an encoder, or ", kAnother);
  for (const char* plain : {"", "ForMaskedLM", "ForPreTraining", "ForCausalLM"})
    if (head == plain) return false;
  config.Refuse("architectures",
                encoder ? "only the rows of a model and ForSequenceClassification are supported; "
                        : "only the logits of the next token are supported; ",
                kAnother);
}

std::vector<std::string> ReadLabels(const Fields& config) {
  using nn::About;
  constexpr int64_t kUnsaid = 2;  // as transformers assumes
  const int64_t counted = config.Has("num_labels") ? config.Count("num_labels", About::kMostLabels) : 0;
  std::vector<std::string> labels;
  if (!config.Has("id2label")) {
    for (int64_t i = 0; i < (counted ? counted : kUnsaid); ++i) labels.push_back(Str("LABEL_", i));
    return labels;
  }
  const json names = config.Value("id2label");
  if (!names.is_object() || names.empty() || names.size() > About::kMostLabels)
    config.Refuse("id2label", "it must name from 1 to ", About::kMostLabels, " labels; ", kAnother);
  const auto same = [&](const char* field, int64_t count) {
    if (count != int64_t(names.size()))
      config.Refuse(field, "and id2label names ", names.size(), " labels; use the files of one model");
  };
  if (counted) same("num_labels", counted);
  const json numbers = config.Value("label2id");
  if (numbers.is_object()) same("label2id", int64_t(numbers.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    const auto name = names.find(std::to_string(i));
    if (name == names.end() || !name->is_string())
      config.Refuse("id2label", "it has no name for the number ", i, "; name each number from 0 to ", names.size() - 1);
    const std::string label = name->get<std::string>();
    if (!IsPrintable(label) || label.empty() || label.size() > About::kNameBytes)
      Fail(Cause::kInput, config.file(), ": the label ", Quoted(label), " is not of 1 to ", About::kNameBytes,
           " visible characters; rename it");
    if (const auto same_label = std::find(labels.begin(), labels.end(), label); same_label != labels.end())
      Fail(Cause::kInput, config.file(), ": the labels ", same_label - labels.begin(), " and ", i, " are both ",
           Quoted(label), "; rename one of them");
    // some exports write the number as a text
    if (numbers.is_object() && (!numbers.contains(label) || (numbers[label] != i && numbers[label] != Str(i))))
      config.Refuse("label2id", "and id2label gives the number ", i, " the label ", Quoted(label),
                    "; make both the same");
    labels.push_back(label);
  }
  return labels;
}

}  // namespace suf::model
