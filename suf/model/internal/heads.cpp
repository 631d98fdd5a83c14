#include "suf/model/internal/heads.hpp"

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
  if (const json numbers = config.Value("label2id"); numbers.is_object()) same("label2id", int64_t(numbers.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    const auto name = names.find(std::to_string(i));
    if (name == names.end() || !name->is_string())
      config.Refuse("id2label", "it has no name for the number ", i, "; fetch the file again");
    labels.push_back(name->get<std::string>());
    if (!IsPrintable(labels.back()) || labels.back().size() > About::kNameBytes)
      Fail(Cause::kInput, config.file(), ": the label ", Quoted(labels.back()), " is not of up to ", About::kNameBytes,
           " visible characters; rename it");
  }
  return labels;
}

}  // namespace suf::model
