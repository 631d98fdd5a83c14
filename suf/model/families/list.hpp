// The builders of the families.
#pragma once
#include "suf/model/family.hpp"

namespace suf::model {

extern const Family kBert, kGpt2, kLlama;

}  // namespace suf::model
