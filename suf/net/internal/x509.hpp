// The parts of a certificate that net reads, and the loaded TLS context behind Credentials. Includes OpenSSL; for .cpp
// files of net only.
#pragma once
#include <openssl/ssl.h>

#include <memory>
#include <optional>

#include "suf/net/credentials.hpp"
#include "suf/net/signature.hpp"
#include "suf/net/why.hpp"

namespace suf::net {

// Returns the SHA-256 of the SubjectPublicKeyInfo.
Hash KeyHash(X509* cert);
// Returns the fault that a failed verification found.
CertFault FaultOf(X509_STORE_CTX* store);
// Returns the role that the certificate's URI names, if it has exactly one.
std::optional<Role> RoleIn(X509* cert);
// Returns the certificate as PEM.
std::string PemText(X509* cert);
// Whether the key is of the curve P-256.
bool IsP256(EVP_PKEY* key);
// Signs a text.
Signature SignBy(EVP_PKEY* key, View text);
// Whether this key made the signature of the text.
bool IsSignedBy(EVP_PKEY* key, View text, const Signature& signature);

struct Credentials::Loaded : Signer {
  Signature Sign(View text) const override { return SignBy(SSL_CTX_get0_privatekey(ctx.get()), text); }
  const std::string& certificates() const override { return pem; }
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ctx{nullptr, SSL_CTX_free};
  Identity identity;
  std::string file;  // path of the certificate
  std::string pem;   // the certificates
  Dates dates;
};

}  // namespace suf::net
