// The parts of a certificate that net reads, and the loaded TLS context behind Credentials. Includes OpenSSL; for .cpp
// files of net only.
#pragma once
#include <openssl/ssl.h>

#include <memory>
#include <optional>

#include "suf/net/credentials.hpp"
#include "suf/net/why.hpp"

namespace suf::net {

// Returns the SHA-256 of the SubjectPublicKeyInfo.
Hash KeyHash(X509* cert);
// Returns the fault that a failed verification found.
CertFault FaultOf(X509_STORE_CTX* store);
// Returns the role that the certificate's URI names, if it has exactly one.
std::optional<Role> RoleIn(X509* cert);

struct Credentials::Loaded {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ctx{nullptr, SSL_CTX_free};
  Identity identity;
  std::string file;  // path of the certificate
  Dates dates;
};

}  // namespace suf::net
