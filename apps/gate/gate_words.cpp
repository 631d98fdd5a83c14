#include "apps/gate/gate_words.hpp"

#include "suf/base/bytes.hpp"
#include "suf/base/digest.hpp"
#include "suf/ring/modular.hpp"

namespace suf::apps {

using gates::Composition;
using gates::Ints;

std::array<run::Inputs, 2> InputsOfParties(const Composition& c, const std::vector<Ints>& inputs) {
  SUF_CHECK(inputs.size() == c.text().inputs.size());
  std::array<run::Inputs, 2> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const gates::InputStatement& in = c.text().inputs[i];
    std::vector<uint64_t> words = gates::InputWords(in, inputs[i]);
    if (in.from != gates::Origin::kShared) {
      out[in.from == gates::Origin::kP1].Set(in.name.name, words);
      continue;
    }
    const bool number = in.type.kind == gates::ValueKind::kNumber;
    std::vector<uint64_t> share(words.size());
    RandomBytes({reinterpret_cast<uint8_t*>(share.data()), share.size() * sizeof(uint64_t)});
    for (size_t k = 0; k < words.size(); ++k) {
      share[k] &= ring::Mask(in.type.bits);
      words[k] = (number ? words[k] - share[k] : words[k] ^ share[k]) & ring::Mask(in.type.bits);
    }
    out[0].Set(in.name.name, share);
    out[1].Set(in.name.name, words);
  }
  return out;
}

std::vector<Ints> Joined(const Composition& c, const std::array<std::vector<Ints>, 2>& words) {
  std::vector<Ints> out;
  for (size_t o = 0; o < c.text().outputs.size(); ++o) {
    const gates::OutputStatement& statement = c.text().outputs[o];
    if (statement.to == gates::To::kBoth && words[0][o] != words[1][o])
      Fail(Cause::kRefused, "the parties learned different values of ", statement.name.name, "; report it");
    out.push_back(words[statement.to == gates::To::kP0 ? 0 : 1][o]);
    if (statement.to != gates::To::kShared) continue;
    const gates::ValueType type = gates::OutputType(c, statement);
    const bool number = type.kind == gates::ValueKind::kNumber;
    for (size_t i = 0; i < out[o].size(); ++i) {
      const uint64_t a = uint64_t(words[0][o][i]), b = uint64_t(words[1][o][i]);
      const uint64_t w = (number ? a + b : a ^ b) & ring::Mask(type.bits);
      out[o][i] = number && type.is_signed ? ring::Signed(w, type.bits) : int64_t(w);
    }
  }
  return out;
}

WrongOutputs CompareOutputs(const Composition& c, const std::vector<Ints>& outputs, const std::vector<Ints>& meant) {
  WrongOutputs out;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const std::string& name = c.text().outputs[o].name.name;
    const Ints& want = meant[size_t(c.value(name))];
    if (outputs[o].empty()) continue;
    SUF_CHECK(want.size() == outputs[o].size());
    for (size_t i = 0; i < want.size(); ++i)
      if (want[i] != outputs[o][i] && out.count++ == 0) out.first = Str(name, ", number ", i + 1);
  }
  return out;
}

}  // namespace suf::apps
