#include "suf/net/certs.hpp"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <memory>

#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"
#include "suf/base/private_files.hpp"
#include "suf/net/refusal.hpp"

namespace suf::net {
namespace {

constexpr long kDays = 825;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Cert = std::unique_ptr<X509, decltype(&X509_free)>;

Key NewKey() {
  Key k(EVP_EC_gen("P-256"), EVP_PKEY_free);
  SUF_CHECK(k);
  return k;
}

void Extend(X509* cert, X509* issuer, int nid, const char* value) {
  X509V3_CTX ctx;
  X509V3_set_ctx_nodb(&ctx);
  X509V3_set_ctx(&ctx, issuer, cert, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> e(X509V3_EXT_conf_nid(nullptr, &ctx, nid, value),
                                                                    X509_EXTENSION_free);
  SUF_CHECK(e && X509_add_ext(cert, e.get(), -1));
}

// Returns a certificate without extensions and signature. A null issuer makes it self-issued.
Cert Blank(EVP_PKEY* key, const char* name, X509* issuer) {
  Cert c(X509_new(), X509_free);
  SUF_CHECK(c);
  std::array<uint8_t, 16> serial;
  RandomBytes(serial);
  serial[0] = (serial[0] & 0x3f) | 0x40;  // positive, and always 16 bytes
  std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_bin2bn(serial.data(), serial.size(), nullptr), BN_free);
  SUF_CHECK(number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(c.get())));
  SUF_CHECK(X509_set_version(c.get(), X509_VERSION_3));
  SUF_CHECK(X509_gmtime_adj(X509_getm_notBefore(c.get()), -300));  // clocks of three machines differ
  SUF_CHECK(X509_gmtime_adj(X509_getm_notAfter(c.get()), kDays * 24 * 3600));
  SUF_CHECK(X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), "CN", MBSTRING_ASC,
                                       reinterpret_cast<const uint8_t*>(name), -1, -1, 0));
  SUF_CHECK(X509_set_issuer_name(c.get(), X509_get_subject_name(issuer ? issuer : c.get())));
  SUF_CHECK(X509_set_pubkey(c.get(), key));
  return c;
}

template <class F>
Bytes Pem(F&& write) {
  std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_secmem()), BIO_free);
  SUF_CHECK(bio && write(bio.get()));
  char* p = nullptr;
  long n = BIO_get_mem_data(bio.get(), &p);
  return Bytes(p, p + n);
}
Bytes PemOf(X509* c) {
  return Pem([&](BIO* b) { return PEM_write_bio_X509(b, c); });
}

}  // namespace

void MakeCerts(const std::string& dir) {
  MakePrivateFolder(dir);
  for (int r = 0; r < kRoles; ++r) {
    struct stat s;
    std::string there = dir + "/" + Name(Role(r));
    if (!stat(there.c_str(), &s))
      Fail(Cause::kInput, "the folder ", there, " exists already; name a new folder for new certificates");
  }
  Key ca_key = NewKey();
  Cert ca = Blank(ca_key.get(), "suf demo CA", nullptr);
  Extend(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  Extend(ca.get(), ca.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  Extend(ca.get(), ca.get(), NID_subject_key_identifier, "hash");
  SUF_CHECK(X509_sign(ca.get(), ca_key.get(), EVP_sha256()));
  for (int r = 0; r < kRoles; ++r) {
    const char* name = Name(Role(r));
    Key key = NewKey();
    Cert leaf = Blank(key.get(), name, ca.get());
    Extend(leaf.get(), ca.get(), NID_basic_constraints, "critical,CA:FALSE");
    Extend(leaf.get(), ca.get(), NID_key_usage, "critical,digitalSignature");
    Extend(leaf.get(), ca.get(), NID_ext_key_usage, "serverAuth,clientAuth");
    Extend(leaf.get(), ca.get(), NID_authority_key_identifier, "keyid");
    Extend(leaf.get(), ca.get(), NID_subject_alt_name, Str("URI:suf:", name).c_str());
    SUF_CHECK(X509_sign(leaf.get(), ca_key.get(), EVP_sha256()));
    std::string sub = dir + "/" + name;
    MakePrivateFolderIn(dir, name);
    WriteFile(sub, "key.pem", Pem([&](BIO* b) {
                return PEM_write_bio_PrivateKey(b, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
              }));
    WriteFile(sub, "cert.pem", PemOf(leaf.get()));
    WriteFile(sub, "ca.pem", PemOf(ca.get()));
  }
}

}  // namespace suf::net
