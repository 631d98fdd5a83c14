// Fuzzes a bundle's header and the verifier of its chunks. The input is {u8 total} and chunks {u8 flag, u8 length,
// bytes}; a flag bit corrects the verifier value.
#include "suf/store/bundle.hpp"

#include "fuzz/fuzz.hpp"

SUF_FUZZ(bundle) {
  using namespace suf;
  fuzz::Quietly([&] {
    store::BundleHeader h = store::DecodeHeader(input);
    Bytes again = store::Encode(h);
    SUF_CHECK(h.party <= 1 && std::equal(again.begin(), again.end(), input.begin(), input.end()));
    (void)store::DeriveKey(h, int(h.party), Secret(View(h.rho)));
  });
  const uint64_t total = fuzz::Pull<uint8_t>(input);
  store::ChunkVerifier verifier(Hash{}, store::EvenBody(total));
  net::ChunkTags tags(Hash{});
  uint64_t got = 0;
  while (verifier.left()) {
    bool right = fuzz::Pull<uint8_t>(input) & 1;
    View data = fuzz::PullBytes(input, fuzz::Pull<uint8_t>(input));
    Bytes chunk(data.begin(), data.end());
    if (right && chunk.size() > net::ChunkTags::kBytes) {
      auto tag = tags.Next(View(chunk).subspan(net::ChunkTags::kBytes));
      std::copy(tag.begin(), tag.end(), chunk.begin());
    }
    got += verifier.Verify(chunk, "the fuzzed body").size();
  }
  SUF_CHECK(got == total);
}
