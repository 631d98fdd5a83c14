// Exit codes, the same for every command, and hints of the command line in error messages of the library.
#pragma once
#include <string>

#include "suf/base/error.hpp"

namespace suf::apps {

// Returns the exit code for an error of this cause. Success is 0.
constexpr int ExitCode(Cause cause) {
  switch (cause) {
    case Cause::kInput:
      return 2;
    case Cause::kPeer:
      return 3;
    case Cause::kRefused:
      return 4;
    case Cause::kResource:
      break;
  }
  return 5;
}

// The exit code if the reader of stdout has gone; there is no message. A shell shows the same code for a program that
// SIGPIPE ended.
inline constexpr int kUnread = 128 + 13;

// Returns the cause that a child process reports by its exit code. A crash counts as kResource.
constexpr Cause CauseOf(int code) {
  for (Cause c : {Cause::kInput, Cause::kPeer, Cause::kRefused})
    if (ExitCode(c) == code) return c;
  return Cause::kResource;
}

// Calls f(). Errors of this cause get a hint of the command line: "<message> (<hint>)".
template <class F>
auto Hinted(Cause cause, const char* hint, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.cause() != cause) throw;
    throw Error(cause, Str(e.what(), " (", hint, ")"));
  }
}

}  // namespace suf::apps
