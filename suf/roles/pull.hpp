// A data owner's pull of the plan and the tokenizer file (proto::Pull), and the folder that keeps them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suf/store/home.hpp"

namespace suf::roles {

// Files of a model owner in a data owner's folder.
struct PulledFiles {
  std::filesystem::path plan, tokenizer;  // tokenizer: empty if the model owner does not have it
  Hash hash{};                            // of the plan
  Hash tokenizer_hash{};                  // SHA-256 of the tokenizer file that the plan names.
  // Hashes and files of index plans, in the model owner's order: index.json, index-2.json, ..
  std::vector<std::pair<Hash, std::filesystem::path>> indexes = {};
};

// Returns the files of an earlier pull; nothing if there are none. A tokenizer that is missing, or that is another one,
// is not returned. Throws Cause::kInput if the plan was altered.
std::optional<PulledFiles> FindPulled(const std::filesystem::path& folder);

// Pulls the files of a model owner into a folder, which is made if needed. A crash leaves the old files or the new
// ones. `expect` is the hash that the plan must have. Without it, throws Cause::kRefused if the folder holds another
// plan, or for a tokenizer that nobody has published (model::KnownVocabulary). A tokenizer decides how many tokens a
// text has, which the model owner sees. Throws the same for a plan that nn::Parse refuses, and for a tokenizer that the
// plan does not name. Also throws the errors of proto::Pull. The folder is unchanged then.
PulledFiles Pull(net::Channel& p0, const std::filesystem::path& folder, const std::optional<Hash>& expect = {});

// Returns the folder of pulled files in a store.
std::filesystem::path PullFolder(const store::Home& home);
// Pulls into that folder. Ends the session if the store knows another key of the model owner (Cause::kRefused).
PulledFiles Pull(net::Channel& p0, store::Home& home, const std::optional<Hash>& expect = {});

}  // namespace suf::roles
