#include "suf/base/error.hpp"

namespace suf {

void Broken(const char* condition, const char* file, int line) {
  throw Bug(Str("internal error: ", condition, " does not hold (", file, ":", line, ")"));
}

}  // namespace suf
