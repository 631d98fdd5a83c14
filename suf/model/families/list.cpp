// The families that this program knows, one a line.
#include "suf/model/families/list.hpp"

namespace suf::model {

std::span<const Family* const> Families() {
  static const Family* const all[] = {&kBert,  &kDistilBert, &kGpt2,  &kLlama,   &kModernBert,
                                      &kMpnet, &kNomicBert,  &kQwen3, &kRoberta, &kXlmRoberta};
  return all;
}

}  // namespace suf::model
