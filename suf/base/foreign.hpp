// Exceptions of libraries, in our own words.
#pragma once
#include <exception>
#include <string>

namespace suf {

// Returns the error message for a person. Our own exceptions keep their message. For any other exception the message
// explains its meaning, and never quotes the library's text.
std::string Message(const std::exception& e);

}  // namespace suf
