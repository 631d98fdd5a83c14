// The three roles. P0, which holds the weights, is the model owner; P1, which holds the text, is the data owner.
#pragma once
#include <cstdint>

namespace suf {

enum class Role : uint8_t { kModel = 0, kData = 1, kDealer = 2 };
inline constexpr int kRoles = 3;

// "model", "data", "dealer" (the URI SAN is suf:<name>, the certificate folder <name>).
const char* Name(Role role);
// "the model owner", "the data owner", "the dealer", as sentences call them.
const char* Title(Role role);
// Model 0, data 1.
inline int PartyOf(Role role) { return role == Role::kModel ? 0 : 1; }

}  // namespace suf
