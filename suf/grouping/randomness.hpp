// PRG streams by fss::Prg. They are a pfss::Randomness that fills on the CPU and gives a device the keys of its
// sections.
#pragma once
#include "suf/fss/prg.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::grouping {

// The PRG streams of the parties whose keys the bundle secrets have.
class PrgStreams : public pfss::Randomness {
 public:
  explicit PrgStreams(pfss::BundleSecrets m, ring::Isa v = ring::Best());
  std::unique_ptr<SectionReader> SectionAt(int party, int section) const override;
  std::array<uint8_t, 16> TreeKey() const override;
  // Derives the keys of sections of a party's stream, for callers that expand them elsewhere.
  WipedVector<fss::Prg::SectionKeys> KeysOf(int party, std::span<const uint32_t> sections) const;

 private:
  const fss::Prg& Of(int party) const;
  std::array<std::optional<fss::Prg>, 2> prg_;
  Hash rho_;
};

inline std::unique_ptr<pfss::Randomness> MakeRandomness(pfss::BundleSecrets secrets, ring::Isa v = ring::Best()) {
  return std::make_unique<PrgStreams>(std::move(secrets), v);
}

}  // namespace suf::grouping
