// Where the real model lies: tools/fetch_model.py puts it into the user's cache; nothing here touches a network.
#pragma once
#include <filesystem>

namespace suf::model {

// $XDG_CACHE_HOME/suf/all-MiniLM-L6-v2, or below ~/.cache; it need not exist.
// Throws Cause::kInput when neither variable is set.
std::filesystem::path ModelPath();

// ModelPath(), checked to hold a model; throws Cause::kInput naming the tool that fetches it.
std::filesystem::path FetchedModel();

}  // namespace suf::model
