#include "suf/fss/prg.hpp"

#include <algorithm>

#include "suf/base/digest.hpp"
#include "suf/fss/internal/aes_kernels.hpp"

namespace suf::fss {
namespace {

constexpr uint64_t kSectionBytes = uint64_t{16} << 32;

const internal::AesKernels& Kernels(Variant v) {
  const internal::AesKernels* const kTable[] = {&portable::kAes, &avx2::kAes, &avx512::kAes};
  return *ring::Pick(kTable, v);
}

}  // namespace

Prg::Prg(Secret key, const Hash& rho, int party, Variant v)
    : key_(std::move(key)), rho_(rho), party_(uint8_t(party)), variant_(v) {
  SUF_CHECK(party == 0 || party == 1);
}

Prg::Section::Section(const Prg& prg, uint32_t section) : variant_(prg.variant_) {
  Writer number;
  number.Put(section);
  Hash key = Hmac(prg.key_.view(), {AsView("suf prg key"), number.bytes()});
  Kernels(variant_).expand(key.data(), round_keys_.data());
  Wipe(key.data(), key.size());
  const Hash nonce = HashOf({AsView("suf prg nonce"), prg.rho_, View(&prg.party_, 1), number.bytes()});
  std::copy_n(nonce.begin(), nonce_.size(), nonce_.begin());
}

Prg::Section::~Section() { Wipe(round_keys_.data(), round_keys_.size()); }

void Prg::Section::Fill(uint64_t byte_offset, std::span<uint8_t> out) const {
  SUF_CHECK(byte_offset % 16 == 0 && byte_offset <= kSectionBytes && out.size() <= kSectionBytes - byte_offset);
  if (out.empty()) return;
  Kernels(variant_).ctr(round_keys_.data(), nonce_.data(), uint32_t(byte_offset / 16), out.data(), out.size());
}

}  // namespace suf::fss
