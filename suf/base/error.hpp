// Errors that a person reads: one sentence that names the quantity, the limit and the remedy, and the exit code it ends
// with. Not for internal mistakes: those are SUF_CHECK.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>

namespace suf {

// Exit codes of the command line, the same for every command.
enum class Exit : int { kOk = 0, kInput = 2, kPeer = 3, kRefused = 4, kResource = 5 };

// Str(a, b, ..): the arguments streamed one after another.
template <class... T>
std::string Str(const T&... parts) {
  std::ostringstream s;
  (s << ... << parts);
  return s.str();
}

// Error: what doors throw. `what()` is the sentence; it never holds a secret.
class Error : public std::runtime_error {
 public:
  Error(Exit code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  Exit code() const { return code_; }

 private:
  Exit code_;
};

// Fail(code, parts..): throws Error with the parts joined.
template <class... T>
[[noreturn]] void Fail(Exit code, const T&... parts) {
  throw Error(code, Str(parts...));
}

// Bug: a broken promise between our own functions.
class Bug : public std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] void Broken(const char* condition, const char* file, int line);

}  // namespace suf

// SUF_CHECK(condition): a precondition between our own functions; always on, names no value.
#define SUF_CHECK(condition) ((condition) ? void() : ::suf::Broken(#condition, __FILE__, __LINE__))
