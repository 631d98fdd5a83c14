// Inputs of a party by name.
#pragma once
#include <string>

#include "suf/run/inputs.hpp"

namespace suf::roles {

// An input of a party, under the name by which the trace reads it.
struct NamedArray {
  std::string name;
  run::Inputs::AnyArray data;
};

}  // namespace suf::roles
