#include "suf/base/secret.hpp"

#include <algorithm>

#include "suf/base/digest.hpp"

namespace suf {

Secret::Secret(View v) {
  SUF_CHECK(v.size() == v_.size());
  std::copy(v.begin(), v.end(), v_.begin());
}

Secret Secret::Random() {
  Secret s;
  RandomBytes(s.v_);
  return s;
}

}  // namespace suf
