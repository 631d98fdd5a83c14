#include "suf/grouping/randomness.hpp"

#include <algorithm>

namespace suf::grouping {
namespace {

class Stream : public pfss::Randomness::Section {
 public:
  Stream(const fss::Prg& prg, uint32_t section) : section_(prg.At(section)) {}
  void Fill(uint64_t offset, std::span<uint8_t> out) const override { section_.Fill(offset, out); }

 private:
  fss::Prg::Section section_;
};

}  // namespace

Streams::Streams(pfss::Material m, ring::Variant v) : rho_(m.rho) {
  for (int p : {0, 1})
    if (m.key[p]) prg_[p].emplace(std::move(*m.key[p]), m.rho, p, v);
}

const fss::Prg& Streams::Of(int party) const {
  SUF_CHECK(prg_[size_t(party)].has_value());
  return *prg_[size_t(party)];
}

std::unique_ptr<pfss::Randomness::Section> Streams::Open(int party, int section) const {
  return std::make_unique<Stream>(Of(party), uint32_t(section));
}

std::array<uint8_t, 16> Streams::TreeKey() const {
  Hash h = HashOf({AsView("suf tree key"), rho_});
  std::array<uint8_t, 16> k;
  std::copy_n(h.begin(), 16, k.begin());
  return k;
}

Wiped<fss::Prg::Keys> Streams::KeysOf(int party, std::span<const uint32_t> sections) const {
  return Of(party).KeysOf(sections);
}

}  // namespace suf::grouping
