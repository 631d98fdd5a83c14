// The PRG of a bundle pair (docs/mathematics.md#prg). Every random value has an address, (section, byte offset);
// nothing is drawn in sequence. It is AES-128 in counter mode. Each section has its own key and nonce, so no two keys
// meet at one counter value.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "suf/base/secret.hpp"
#include "suf/ring/cpu.hpp"

namespace suf::fss {

using ring::Isa;

// The identifier of the PRG in every key header; a bundle made with another PRG is refused.
inline constexpr uint32_t kPrgId = 1;
inline constexpr const char* kPrgName = "aes128-ctr-sha256";

// The randomness of one party for one bundle pair. A Prg owns its key.
class Prg {
 public:
  // Takes key = K_p and rho = the dealer's salt, 32 bytes each; party is 0 or 1.
  Prg(Secret key, const Hash& rho, int party, Isa v = ring::Best());
  Prg(const Prg&) = delete;
  Prg& operator=(const Prg&) = delete;

  // The AES-128 round keys (as in FIPS 197) and the nonce96 of one section.
  struct SectionKeys {
    std::array<uint8_t, 176> round_keys;
    std::array<uint8_t, 12> nonce;
  };
  static_assert(sizeof(SectionKeys) == 188);  // a device takes an array of them
  // Derives the keys of each section, in the order of the list. Thread-safe.
  WipedVector<SectionKeys> KeysOf(std::span<const uint32_t> sections) const;

  // A section of 2^32 blocks of 16 bytes, `AES(K_sec; nonce96 | le32 block number)`.
  //   K_sec = the first 16 bytes of HMAC-SHA256(K_p, "suf prg key" | le32 section),
  //   nonce96 = the first 12 bytes of SHA-256("suf prg nonce" | rho | u8 party | le32 section).
  class PrgSection {
   public:
    ~PrgSection();
    PrgSection(const PrgSection&) = delete;
    PrgSection& operator=(const PrgSection&) = delete;
    // Writes bytes [byte_offset, byte_offset + out.size()) of the section; byte_offset is a multiple of 16.
    // Thread-safe.
    void Fill(uint64_t byte_offset, std::span<uint8_t> out) const;

   private:
    friend class Prg;
    PrgSection(const Prg& prg, uint32_t section);
    SectionKeys keys_;
    Isa variant_;
  };
  PrgSection At(uint32_t section) const { return PrgSection(*this, section); }

 private:
  void Derive(uint32_t section, SectionKeys* keys) const;
  Secret key_;
  Hash rho_;
  uint8_t party_;
  Isa variant_;
};

}  // namespace suf::fss
