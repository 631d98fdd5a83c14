// What net reads from a certificate, and the loaded TLS context behind Credentials. OpenSSL; for .cpp files of net
// only.
#pragma once
#include <openssl/ssl.h>

#include <memory>
#include <optional>

#include "suf/net/credentials.hpp"
#include "suf/net/internal/why.hpp"

namespace suf::net {

// SHA-256 of the SubjectPublicKeyInfo.
Hash KeyHash(X509* cert);
// Returns what a failed verification found.
CertFault FaultOf(X509_STORE_CTX* store);
// The role that a certificate's one URI names, if it has exactly one.
std::optional<Role> RoleIn(X509* cert);

struct Credentials::Loaded {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ctx{nullptr, SSL_CTX_free};
  Identity identity;
  std::string file;  // of the certificate
  Dates dates;
};

}  // namespace suf::net
