// Certificates of roles outside a session: their signatures, and their CA at the time of a signature.
#pragma once
#include <ctime>
#include <memory>
#include <string>

#include "suf/net/channel.hpp"
#include "suf/net/signature.hpp"

namespace suf::net {

// The time in which a certificate is valid. OpenSSL counts `until` itself as expired.
struct ValidTime {
  std::time_t from = 0, until = 0;
  bool Has(std::time_t t) const { return from <= t && t < until; }
};

// A role's certificate, with those of the CAs between it and the trusted one. Copies share it. Thread-safe.
class RoleCertificate {
 public:
  // The most certificates, and the most bytes of their PEM.
  static constexpr int kMost = 8;
  static constexpr size_t kMostBytes = 64 << 10;
  // Parses Signer::certificates. Throws Cause::kInput, with `what` as the subject, if the text is no PEM of
  // certificates. Throws it also if the first one names no role, or has another key than one of P-256.
  RoleCertificate(const std::string& pem, const std::string& what);
  const Identity& identity() const;
  // Returns the time in which the certificate itself is valid. Its CA may be so for a shorter time.
  const ValidTime& valid() const;
  // Whether this certificate's key made the signature of the text.
  bool Verifies(View text, const Signature& signature) const;

 private:
  friend class TrustedCa;
  struct State;
  std::shared_ptr<const State> s_;
};

// The certificates of trusted CAs.
class TrustedCa {
 public:
  // Reads PEM. Throws Cause::kInput if the file cannot be read or has no certificate.
  explicit TrustedCa(const std::string& file);
  // Checks a certificate as the other party of a session does, but at the time `at` instead of now.
  // Returns the time around `at` in which all certificates of its chain are valid. Throws Cause::kRefused with the
  // reason.
  ValidTime Check(const RoleCertificate& certificate, std::time_t at) const;

 private:
  struct Store;
  std::shared_ptr<const Store> s_;
};

}  // namespace suf::net
