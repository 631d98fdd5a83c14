#include "suf/base/role.hpp"

namespace suf {

const char* Name(Role role) { return role == Role::kDealer ? "dealer" : role == Role::kModel ? "model" : "data"; }

const char* Title(Role role) {
  return role == Role::kDealer ? "the dealer" : role == Role::kModel ? "the model owner" : "the data owner";
}

}  // namespace suf
