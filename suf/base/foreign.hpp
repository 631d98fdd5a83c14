// Exceptions that no function of ours throws, in our own words.
#pragma once
#include <exception>
#include <string>

namespace suf {

// Returns the message for a person: ours as it is; of the standard library's and any other, what it means, and never
// the text that the library gave it.
std::string Message(const std::exception& e);

}  // namespace suf
