// The place of the real model. tools/fetch_model.py puts it into the user's cache; nothing here uses a network.
#pragma once
#include <filesystem>

namespace suf::model {

// Returns $XDG_CACHE_HOME/suf/all-MiniLM-L6-v2, or the folder below ~/.cache; it need not exist. Throws Cause::kInput
// if neither variable is set.
std::filesystem::path ModelPath();

// Returns ModelPath(), after a check that it holds a model. Throws Cause::kInput naming the folder and a missing file.
std::filesystem::path FetchedModel();

}  // namespace suf::model
