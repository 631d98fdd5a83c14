// The three roles. P0, the model owner, holds the weights; P1, the data owner, holds the text; the dealer makes keys.
#pragma once
#include <cstdint>

namespace suf {

enum class Role : uint8_t { kModel = 0, kData = 1, kDealer = 2 };
inline constexpr int kRoles = 3;

// Returns "model", "data" or "dealer". A certificate's URI SAN is suf:<name> and its folder is <name>.
const char* Name(Role role);
// Returns the role as sentences call it: "the model owner", "the data owner", "the dealer".
const char* Title(Role role);
// Returns 0 for the model owner and 1 for the data owner.
inline int PartyOf(Role role) { return role == Role::kModel ? 0 : 1; }

}  // namespace suf
