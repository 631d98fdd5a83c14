#include "suf/net/tags.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

#include "suf/base/cores.hpp"

namespace suf::net {

ChunkTags::ChunkTags(const Hash& key) : ctx_(EVP_CIPHER_CTX_new()) {
  SUF_CHECK(ctx_ &&
            EVP_EncryptInit_ex(static_cast<EVP_CIPHER_CTX*>(ctx_), EVP_aes_128_gcm(), nullptr, key.data(), nullptr));
}

std::vector<ChunkTags> ChunkTags::Several(const Hash& key, int most) {
  std::vector<ChunkTags> all;
  for (int i = 0; i < std::clamp(Cores() / 4, 2, most); ++i) all.emplace_back(key);
  return all;
}

ChunkTags::~ChunkTags() { EVP_CIPHER_CTX_free(static_cast<EVP_CIPHER_CTX*>(ctx_)); }

std::array<uint8_t, ChunkTags::kBytes> ChunkTags::Of(uint64_t number, View head, View data) {
  auto* ctx = static_cast<EVP_CIPHER_CTX*>(ctx_);
  std::array<uint8_t, 12> nonce{};
  std::memcpy(nonce.data(), &number, sizeof number);
  std::array<uint8_t, kBytes> tag, none;
  int n = 0;
  SUF_CHECK(EVP_EncryptInit_ex(ctx, nullptr, nullptr, nullptr, nonce.data()) &&
            EVP_EncryptUpdate(ctx, nullptr, &n, head.data(), int(head.size())) &&
            (data.empty() || EVP_EncryptUpdate(ctx, nullptr, &n, data.data(), int(data.size()))) &&
            EVP_EncryptFinal_ex(ctx, none.data(), &n) &&
            EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, int(kBytes), tag.data()));
  return tag;
}

}  // namespace suf::net
