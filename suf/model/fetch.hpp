// The places of published models. tools/fetch_model.py puts them into the user's cache; nothing here uses a network.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace suf::model {

// Names of the models that tools/fetch_model.py fetches; the first is the default.
const std::vector<std::string>& FetchedModels();

// Returns $XDG_CACHE_HOME/suf/NAME, or the folder below ~/.cache; it need not exist. Throws Cause::kInput for an
// unknown name, or if neither variable is set.
std::filesystem::path ModelPath(std::string_view name = FetchedModels().front());

// Returns ModelPath(name), after a check that it holds a model. Throws Cause::kInput naming the folder and a missing
// file.
std::filesystem::path FetchedModel(std::string_view name = FetchedModels().front());

}  // namespace suf::model
