// Signatures by the key of a role's certificate, which outlive its session (docs/design/receipts.md).
#pragma once
#include <array>
#include <string>

#include "suf/base/bytes.hpp"

namespace suf::net {

// An ECDSA signature over the curve P-256 of a text's SHA-256: the numbers r and s, each 32 bytes, big-endian.
using Signature = std::array<uint8_t, 64>;

// Returns the same signature in DER, as other programs read it.
Bytes DerOf(const Signature& signature);

// A role's own key. Thread-safe.
class Signer {
 public:
  virtual ~Signer() = default;
  virtual Signature Sign(View text) const = 0;
  // Returns our certificate as PEM, followed by those of the CAs between it and the trusted one.
  virtual const std::string& certificates() const = 0;
};

}  // namespace suf::net
