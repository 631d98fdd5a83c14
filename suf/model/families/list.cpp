// The families that this program knows, one a line.
#include "suf/model/families/list.hpp"

namespace suf::model {

std::span<const Family* const> Families() {
  static const Family* const all[] = {&kBert, &kGpt2, &kLlama};
  return all;
}

}  // namespace suf::model
