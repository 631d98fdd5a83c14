// AES-128-GCM for data that one key seals once.
#pragma once
#include <optional>

#include "suf/base/bytes.hpp"

namespace suf {

inline constexpr size_t kAeadKeyBytes = 16, kAeadTagBytes = 16;

// Returns the ciphertext of `plain` and behind it the tag, which also covers `context`. The nonce is zero, so a key
// may seal only once.
Bytes SealOnce(View key, View context, View plain);
// Returns the plaintext; nothing if key, context or bytes are others.
std::optional<Bytes> OpenSealed(View key, View context, View sealed);

}  // namespace suf
