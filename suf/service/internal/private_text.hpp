// A text that an operator wrote for us, such as a list of owners.
#pragma once
#include <string>

namespace suf::service {

// Reads a file that no other user can change. `what` names it in error messages, such as "owners' file". Throws
// Cause::kInput if it is missing, a folder or larger than `most` bytes. Throws Cause::kRefused if another user can
// write it, and Cause::kResource if the disk cannot be read.
std::string ReadPrivateText(const std::string& file, const char* what, size_t most);

}  // namespace suf::service
