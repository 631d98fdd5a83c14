// Errors for a person: one sentence that names the quantity, the limit and the remedy, and a cause for programs.
// Internal mistakes are SUF_CHECK instead.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace suf {

// The place of an error's remedy.
enum class Cause {
  kInput,     // the caller's input: a text, a file, an option
  kPeer,      // another role: it cannot be reached, fell silent or broke the protocol
  kRefused,   // none yet: going on would be wrong or unsafe, and the message says which change is needed
  kResource,  // this machine: disk, memory, descriptors, processor
};
// Returns "input", "peer", "refused" or "resource".
const char* Name(Cause cause);

// Returns the arguments streamed one after another.
template <class... T>
std::string Str(const T&... parts) {
  std::ostringstream s;
  (s << ... << parts);
  return s.str();
}

// The exception of functions that take outside input. `what()` is printable (printable.hpp), because it may quote a
// file. It never holds a secret.
class Error : public std::runtime_error {
 public:
  Error(Cause cause, const std::string& sentence);
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// Throws an Error with the parts joined.
template <class... T>
[[noreturn]] void Fail(Cause cause, const T&... parts) {
  throw Error(cause, Str(parts...));
}

// Returns another program's or person's text for an error message: Printable, in quotes, at most 100 bytes of it.
std::string Quoted(std::string_view text);

// The exception of SUF_CHECK: a broken contract between our own functions.
class Bug : public std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] void Broken(const char* condition, const char* file, int line);

}  // namespace suf

// Checks a precondition between our own functions. Always on; the message names no value.
#define SUF_CHECK(condition) ((condition) ? void() : ::suf::Broken(#condition, __FILE__, __LINE__))
