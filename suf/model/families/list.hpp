// The builders of the families.
#pragma once
#include "suf/model/family.hpp"

namespace suf::model {

extern const Family kBert, kDistilBert, kGpt2, kLlama, kModernBert, kMpnet, kNomicBert, kQwen3, kRoberta, kXlmRoberta;

}  // namespace suf::model
