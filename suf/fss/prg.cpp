#include "suf/fss/prg.hpp"

#include <algorithm>

#include "suf/base/digest.hpp"
#include "suf/fss/internal/aes_kernels.hpp"

namespace suf::fss {
namespace {

constexpr uint64_t kSectionBytes = uint64_t{16} << 32;

const internal::AesKernels& AesOf(Isa v) {
  const internal::AesKernels* const kTable[] = {&portable::kAes, &avx2::kAes, &avx512::kAes};
  return *ring::Pick(kTable, v);
}

}  // namespace

Prg::Prg(Secret key, const Hash& rho, int party, Isa v)
    : key_(std::move(key)), rho_(rho), party_(uint8_t(party)), variant_(v) {
  SUF_CHECK(party == 0 || party == 1);
}

void Prg::Derive(uint32_t section, SectionKeys* keys) const {
  Writer number;
  number.Put(section);
  Hash key = Hmac(key_.view(), {AsView("suf prg key"), number.bytes()});
  AesOf(variant_).expand(key.data(), keys->round_keys.data());
  Wipe(key.data(), key.size());
  const Hash nonce = HashOf({AsView("suf prg nonce"), rho_, View(&party_, 1), number.bytes()});
  std::copy_n(nonce.begin(), keys->nonce.size(), keys->nonce.begin());
}

WipedVector<Prg::SectionKeys> Prg::KeysOf(std::span<const uint32_t> sections) const {
  WipedVector<SectionKeys> out(sections.size());
  for (size_t i = 0; i < out.size(); ++i) Derive(sections[i], &out[i]);
  return out;
}

Prg::PrgSection::PrgSection(const Prg& prg, uint32_t section) : variant_(prg.variant_) { prg.Derive(section, &keys_); }

Prg::PrgSection::~PrgSection() { Wipe(keys_.round_keys.data(), keys_.round_keys.size()); }

void Prg::PrgSection::Fill(uint64_t byte_offset, std::span<uint8_t> out) const {
  SUF_CHECK(byte_offset % 16 == 0 && byte_offset <= kSectionBytes && out.size() <= kSectionBytes - byte_offset);
  if (out.empty()) return;
  AesOf(variant_).ctr(keys_.round_keys.data(), keys_.nonce.data(), uint32_t(byte_offset / 16), out.data(), out.size());
}

}  // namespace suf::fss
