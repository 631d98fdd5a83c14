// Fuzzes a peer's certificate, DER or PEM: the role in its URI and the hash of its key.
#include <openssl/err.h>
#include <openssl/pem.h>

#include "fuzz/fuzz.hpp"
#include "suf/net/internal/x509.hpp"

SUF_FUZZ(certificate) {
  using Cert = std::unique_ptr<X509, decltype(&X509_free)>;
  std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(input.data(), int(input.size())), BIO_free);
  const uint8_t* at = input.data();
  for (auto* x :
       {d2i_X509(nullptr, &at, long(input.size())), PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    Cert cert(x, X509_free);
    if (!cert) continue;
    auto role = suf::net::RoleIn(cert.get());
    SUF_CHECK(!role || int(*role) < suf::kRoles);
    (void)suf::net::KeyHash(cert.get());
  }
  ERR_clear_error();
}
