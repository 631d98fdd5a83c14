// Exit codes of the command line, the same for every command.
#pragma once
#include "suf/base/error.hpp"

namespace suf::apps {

// ExitCode: what a process ends with; 0 where there is no error.
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

// CauseOf: of a process of ours that ended with this code; a crash, too, is no fault of what was asked.
constexpr Cause CauseOf(int code) {
  for (Cause c : {Cause::kInput, Cause::kPeer, Cause::kRefused})
    if (ExitCode(c) == code) return c;
  return Cause::kResource;
}

}  // namespace suf::apps
