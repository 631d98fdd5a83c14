#include "suf/base/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>

namespace suf {
namespace {
EVP_MD_CTX* Ctx(void* p) { return static_cast<EVP_MD_CTX*>(p); }
// Fetches the algorithm once. EVP_sha256() fetches it at every use, which costs more than a short hash.
const EVP_MD* Algorithm() {
  static const EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return md;
}
}  // namespace

Sha256::Sha256() : ctx_(EVP_MD_CTX_new()) { SUF_CHECK(ctx_ && EVP_DigestInit_ex(Ctx(ctx_), Algorithm(), nullptr)); }
Sha256::~Sha256() { EVP_MD_CTX_free(Ctx(ctx_)); }
Sha256& Sha256::Add(View v) {
  SUF_CHECK(EVP_DigestUpdate(Ctx(ctx_), v.data(), v.size()));
  return *this;
}
Hash Sha256::Done() {
  Hash h;
  SUF_CHECK(EVP_DigestFinal_ex(Ctx(ctx_), h.data(), nullptr));
  return h;
}
Hash Sha256::Peek() const {
  Sha256 copy;
  SUF_CHECK(EVP_MD_CTX_copy_ex(Ctx(copy.ctx_), Ctx(ctx_)));
  return copy.Done();
}

Hash HashOf(std::initializer_list<View> parts) {
  Sha256 s;
  for (View p : parts) s.Add(p);
  return s.Done();
}

Hash Hmac(View key, std::initializer_list<View> parts) {
  // RFC 2104 over Sha256; our keys are at most one block long
  SUF_CHECK(key.size() <= 64);
  std::array<uint8_t, 64> in{}, out{};
  for (size_t i = 0; i < 64; ++i) {
    uint8_t k = i < key.size() ? key[i] : 0;
    in[i] = k ^ 0x36;
    out[i] = k ^ 0x5c;
  }
  Sha256 a;
  a.Add(in);
  for (View p : parts) a.Add(p);
  Hash inner = a.Done(), r = HashOf({out, inner});
  Wipe(in.data(), 64);
  Wipe(out.data(), 64);
  Wipe(inner.data(), inner.size());
  return r;
}

Secret Hkdf(View salt, View ikm, View info) {
  Secret prk(Hmac(salt, {ikm}));
  const uint8_t one = 1;
  return Secret(Hmac(prk.view(), {info, View(&one, 1)}));
}

bool Equal(View a, View b) { return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

void RandomBytes(std::span<uint8_t> out) {
  for (size_t at = 0; at < out.size();) {
    ssize_t n = getrandom(out.data() + at, out.size() - at, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      Fail(Cause::kResource, "the operating system gives no random bytes (getrandom failed); nothing was sent");
    at += size_t(n);
  }
}

Hash RandomHash() {
  Hash h;
  RandomBytes(h);
  return h;
}

}  // namespace suf
