#include "suf/grouping/randomness.hpp"

#include <algorithm>

namespace suf::grouping {
namespace {

class Stream : public pfss::Randomness::SectionReader {
 public:
  Stream(const fss::Prg& prg, uint32_t section) : section_(prg.At(section)) {}
  void Fill(uint64_t offset, std::span<uint8_t> out) const override { section_.Fill(offset, out); }

 private:
  fss::Prg::PrgSection section_;
};

}  // namespace

PrgStreams::PrgStreams(pfss::BundleSecrets m, ring::Isa v) : rho_(m.rho) {
  for (int p : {0, 1})
    if (m.key[p]) prg_[p].emplace(std::move(*m.key[p]), m.rho, p, v);
}

const fss::Prg& PrgStreams::Of(int party) const {
  SUF_CHECK(prg_[size_t(party)].has_value());
  return *prg_[size_t(party)];
}

std::unique_ptr<pfss::Randomness::SectionReader> PrgStreams::SectionAt(int party, int section) const {
  return std::make_unique<Stream>(Of(party), uint32_t(section));
}

std::array<uint8_t, 16> PrgStreams::TreeKey() const {
  Hash h = HashOf({AsView("suf tree key"), rho_});
  std::array<uint8_t, 16> k;
  std::copy_n(h.begin(), 16, k.begin());
  return k;
}

WipedVector<fss::Prg::SectionKeys> PrgStreams::KeysOf(int party, std::span<const uint32_t> sections) const {
  return Of(party).KeysOf(sections);
}

}  // namespace suf::grouping
