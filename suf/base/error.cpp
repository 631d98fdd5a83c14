#include "suf/base/error.hpp"

namespace suf {

const char* Name(Cause cause) {
  static constexpr const char* kNames[] = {"input", "peer", "refused", "resource"};
  return kNames[int(cause)];
}

void Broken(const char* condition, const char* file, int line) {
  throw Bug(Str("internal error: ", condition, " does not hold (", file, ":", line, ")"));
}

}  // namespace suf
