// Exit codes of the command line, the same for every command, and what its errors say beyond those of the library.
#pragma once
#include <string>

#include "suf/base/error.hpp"

namespace suf::apps {

// What a process ends with; 0 where there is no error.
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

// What a process ends with if the reader of its stdout has gone, without a message: what a shell shows for a program
// that SIGPIPE ended.
inline constexpr int kUnread = 128 + 13;

// Of a process of ours that ended with this code; a crash, too, is no fault of what was asked.
constexpr Cause CauseOf(int code) {
  for (Cause c : {Cause::kInput, Cause::kPeer, Cause::kRefused})
    if (ExitCode(c) == code) return c;
  return Cause::kResource;
}

// Hinted: f(), whose errors of this cause end with what the command line offers: "<sentence> (<hint>)".
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
