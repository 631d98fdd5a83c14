#include "suf/net/signature.hpp"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <memory>

#include "suf/net/internal/x509.hpp"

namespace suf::net {
namespace {

constexpr int kNumberBytes = 32;  // of r, and of s

using EcdsaSig = std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)>;
using MdContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

}  // namespace

Bytes DerOf(const Signature& signature) {
  EcdsaSig both(ECDSA_SIG_new(), ECDSA_SIG_free);
  BIGNUM* r = BN_bin2bn(signature.data(), kNumberBytes, nullptr);
  BIGNUM* s = BN_bin2bn(signature.data() + kNumberBytes, kNumberBytes, nullptr);
  SUF_CHECK(both && r && s && ECDSA_SIG_set0(both.get(), r, s));
  Bytes der(size_t(i2d_ECDSA_SIG(both.get(), nullptr)));
  uint8_t* out = der.data();
  SUF_CHECK(i2d_ECDSA_SIG(both.get(), &out) == int(der.size()));
  return der;
}

Signature SignBy(EVP_PKEY* key, View text) {
  const MdContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::array<uint8_t, 80> der;
  size_t size = der.size();
  SUF_CHECK(context && EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
            EVP_DigestSign(context.get(), der.data(), &size, text.data(), text.size()) == 1);
  const uint8_t* at = der.data();
  const EcdsaSig both(d2i_ECDSA_SIG(nullptr, &at, long(size)), ECDSA_SIG_free);
  Signature signature;
  SUF_CHECK(both && BN_bn2binpad(ECDSA_SIG_get0_r(both.get()), signature.data(), kNumberBytes) == kNumberBytes &&
            BN_bn2binpad(ECDSA_SIG_get0_s(both.get()), signature.data() + kNumberBytes, kNumberBytes) == kNumberBytes);
  return signature;
}

bool IsSignedBy(EVP_PKEY* key, View text, const Signature& signature) {
  const Bytes der = DerOf(signature);
  const MdContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  SUF_CHECK(context && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1);
  const bool good = EVP_DigestVerify(context.get(), der.data(), der.size(), text.data(), text.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace suf::net
