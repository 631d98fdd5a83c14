#include "suf/nn/masked.hpp"

#include <algorithm>

namespace suf::nn {

int64_t MaskedWeight::size() const {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}

std::vector<MaskedWeight> MaskedWeights(const Plan& plan) {
  const Dims& D = plan.dims;
  auto widest = [&](auto ring) {
    int bits = 0;
    for (const Class& c : plan.classes) bits = std::max(bits, ring(c));
    return bits;
  };
  std::vector<MaskedWeight> out;
  out.push_back({"E", {D.vocab, D.d}, widest([](const Class& c) { return c.embedding.kz; })});
  for (int64_t l = 0; l < D.layers; ++l) {
    auto add = [&](const char* name, std::vector<int64_t> shape, int Layer::*ring) {
      out.push_back({std::to_string(l) + "." + name, std::move(shape),
                     widest([&](const Class& c) { return c.layers[size_t(l)].*ring; })});
    };
    add("Wqk", {D.d, 2 * D.d}, &Layer::qk);
    add("Wv", {D.d, D.d}, &Layer::v);
    add("Wo", {D.d, D.d}, &Layer::proj);
    add("go", {D.d}, &Layer::proj);
    add("uo", {D.d}, &Layer::proj);
    add("W1", {D.d, D.ff}, &Layer::ffn1);
    add("W2", {D.ff, D.d}, &Layer::ffn2);
    add("g2", {D.d}, &Layer::ffn2);
    add("u2", {D.d}, &Layer::ffn2);
  }
  out.push_back({"gp", {D.d}, widest([](const Class& c) { return c.pool; })});
  return out;
}

}  // namespace suf::nn
