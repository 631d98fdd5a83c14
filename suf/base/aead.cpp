#include "suf/base/aead.hpp"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "suf/base/error.hpp"

namespace suf {

namespace {

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

// Begins a cipher in one direction, with the context already in.
CipherContext BeginAead(View key, View context, bool seals) {
  SUF_CHECK(key.size() == kAeadKeyBytes);
  const std::array<uint8_t, 12> nonce{};
  CipherContext ctx(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int n = 0;
  SUF_CHECK(ctx && EVP_CipherInit_ex(ctx.get(), EVP_aes_128_gcm(), nullptr, key.data(), nonce.data(), seals) &&
            EVP_CipherUpdate(ctx.get(), nullptr, &n, context.data(), int(context.size())));
  return ctx;
}

}  // namespace

Bytes SealOnce(View key, View context, View plain) {
  const CipherContext ctx = BeginAead(key, context, true);
  Bytes out(plain.size() + kAeadTagBytes);
  int n = 0;
  SUF_CHECK(EVP_CipherUpdate(ctx.get(), out.data(), &n, plain.data(), int(plain.size())) &&
            EVP_CipherFinal_ex(ctx.get(), out.data() + n, &n) &&
            EVP_CIPHER_CTX_ctrl(ctx.get(), EVP_CTRL_GCM_GET_TAG, int(kAeadTagBytes), out.data() + plain.size()));
  return out;
}

std::optional<Bytes> OpenSealed(View key, View context, View sealed) {
  if (sealed.size() < kAeadTagBytes) return std::nullopt;
  const CipherContext ctx = BeginAead(key, context, false);
  const size_t size = sealed.size() - kAeadTagBytes;
  Bytes out(size), tag(sealed.begin() + ssize_t(size), sealed.end());
  int n = 0;
  SUF_CHECK(EVP_CipherUpdate(ctx.get(), out.data(), &n, sealed.data(), int(size)) &&
            EVP_CIPHER_CTX_ctrl(ctx.get(), EVP_CTRL_GCM_SET_TAG, int(kAeadTagBytes), tag.data()));
  if (EVP_CipherFinal_ex(ctx.get(), out.data() + n, &n) <= 0) return std::nullopt;
  return out;
}

}  // namespace suf
