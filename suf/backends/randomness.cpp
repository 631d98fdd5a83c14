#include "suf/backends/randomness.hpp"

#include <algorithm>

#include "suf/fss/prg.hpp"

namespace suf::backends {
namespace {

class Streams : public pfss::Randomness {
 public:
  Streams(pfss::Material m, ring::Variant v) : rho_(m.rho) {
    for (int p : {0, 1})
      if (m.key[p]) prg_[p].emplace(std::move(*m.key[p]), m.rho, p, v);
  }
  std::unique_ptr<Section> Open(int party, int section) const override {
    SUF_CHECK(prg_[party].has_value());
    return std::make_unique<Stream>(*prg_[party], uint32_t(section));
  }
  std::array<uint8_t, 16> TreeKey() const override {
    Hash h = HashOf({AsView("suf tree key"), rho_});
    std::array<uint8_t, 16> k;
    std::copy_n(h.begin(), 16, k.begin());
    return k;
  }

 private:
  class Stream : public Section {
   public:
    Stream(const fss::Prg& prg, uint32_t section) : section_(prg.At(section)) {}
    void Fill(uint64_t offset, std::span<uint8_t> out) const override { section_.Fill(offset, out); }

   private:
    fss::Prg::Section section_;
  };
  std::array<std::optional<fss::Prg>, 2> prg_;
  Hash rho_;
};

}  // namespace

std::unique_ptr<pfss::Randomness> MakeRandomness(pfss::Material material, ring::Variant variant) {
  return std::make_unique<Streams>(std::move(material), variant);
}

}  // namespace suf::backends
