// Makes the engine of a plan file of any kind.
#pragma once
#include <memory>
#include <string>

#include "suf/roles/engine.hpp"

namespace suf::roles {

// Returns the engine of a plan of any kind, for the dealer. A model's plan may have indexes. Throws Cause::kInput if
// there is no such file, or if there are indexes with another kind of plan. Throws the errors of the kind's parser.
std::unique_ptr<Engine> LoadEngine(const std::string& path, pfss::Backend& backend,
                                   std::vector<nn::IndexPlan> indexes = {});

}  // namespace suf::roles
