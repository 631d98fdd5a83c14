// The secrets that all processes of one model owner share, in a folder of their own. They are made once, and each
// process reads them, perhaps from a read-only place. With the same secrets, plan and model all processes have one
// weights id and one W - B.
#pragma once
#include <string>

#include "suf/base/secret.hpp"
#include "suf/net/channel.hpp"

namespace suf::store {

struct OwnerSecrets {
  SharedSecret weights_key = Share(Secret());  // of the weights id
  SharedSecret b_seed = Share(Secret());       // of the mask B
};

// Makes weights.key, b.seed and owner, which has the fingerprint of the model owner. They are durable when this
// returns. Throws Cause::kInput if the folder has one of them, Cause::kResource if it cannot be written.
void MakeSecrets(const std::string& dir, const net::Identity& owner);

// Reads the secrets of this model owner. Throws Cause::kInput if a file is missing, damaged, or readable by others.
// Throws Cause::kRefused if others can write it, or if it is another model owner's.
OwnerSecrets ReadSecrets(const std::string& dir, const net::Identity& owner);

}  // namespace suf::store
