// The head of a model, by its config.json: the rows, an embedding of them, or a classifier. Private to the module.
#pragma once
#include <string>
#include <vector>

#include "suf/model/internal/config.hpp"

namespace suf::model {

// Whether the class that saved the model is a classifier of sequences. Throws Cause::kInput for a class with another
// head, which would be left out. `encoder`: the model gives rows, otherwise logits of the next token.
bool IsClassifier(const Fields& config, bool encoder);
// Returns the labels of a classifier by column, all different. Throws Cause::kInput if they are not numbered from 0, or
// if the fields of config.json contradict each other.
std::vector<std::string> ReadLabels(const Fields& config);

}  // namespace suf::model
