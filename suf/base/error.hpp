// Errors that a person reads: one sentence that names the quantity, the limit and the remedy, and its cause, for
// programs. Not for internal mistakes: those are SUF_CHECK.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace suf {

// Where the remedy of an error lies.
enum class Cause {
  kInput,     // in what the caller gave: a text, a file, an option
  kPeer,      // with another role: nobody answers, it fell silent or broke the protocol
  kRefused,   // nowhere yet: going on would be wrong or unsafe, and the sentence says what has to be other than it is
  kResource,  // in this machine: disk, memory, descriptors, processor
};
// "input", "peer", "refused", "resource".
const char* Name(Cause cause);

// Str(a, b, ..): the arguments streamed one after another.
template <class... T>
std::string Str(const T&... parts) {
  std::ostringstream s;
  (s << ... << parts);
  return s.str();
}

// What doors throw. `what()` is the sentence, as a terminal may show it (printable.hpp): it may quote a file. It
// never holds a secret.
class Error : public std::runtime_error {
 public:
  Error(Cause cause, const std::string& sentence);
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// Fail(cause, parts..): throws Error with the parts joined.
template <class... T>
[[noreturn]] void Fail(Cause cause, const T&... parts) {
  throw Error(cause, Str(parts...));
}

// Returns a text that someone else wrote as an error message may show it: Printable, in quotes, at most 100 bytes of
// it.
std::string Quoted(std::string_view text);

// A broken promise between our own functions.
class Bug : public std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] void Broken(const char* condition, const char* file, int line);

}  // namespace suf

// SUF_CHECK(condition): a precondition between our own functions; always on, names no value.
#define SUF_CHECK(condition) ((condition) ? void() : ::suf::Broken(#condition, __FILE__, __LINE__))
