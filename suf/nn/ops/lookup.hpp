// The private lookup: rows of P0's table at P1's token ids, plus the row of the position.
#pragma once
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// The name of the trace's input of token ids, which P1 has. A trace's digest contains it.
inline constexpr const char* kTokensInput = "tokens";  // hashed

// Throws Cause::kInput for the first id that is not in [0, vocabulary), with its place and the limit. Takes the same
// time for all ids that are.
void CheckIds(std::span<const int32_t> ids, int64_t vocabulary);
// Throws Cause::kInput if the number of a batch's texts is outside 1 to `most`.
void CheckBatch(int64_t texts, int most);
// Throws Cause::kInput if text i of a batch, from 0, has another number of tokens than the first one.
void CheckLengthInBatch(size_t i, size_t tokens, size_t first);
// Returns the ids of a batch, one text behind the other, as kTokensInput has them. Throws Cause::kInput if there is no
// text, if there are more than `most`, or if their lengths differ.
template <class Texts>
auto BatchIds(const Texts& texts, int most) {
  CheckBatch(int64_t(texts.size()), most);
  typename Texts::value_type ids;
  ids.reserve(texts.size() * texts[0].size());
  for (size_t i = 0; i < texts.size(); ++i) {
    CheckLengthInBatch(i, texts[i].size(), texts[0].size());
    ids.insert(ids.end(), texts[i].begin(), texts[i].end());
  }
  return ids;
}
// Throws the error of CheckIds for an id as it was written, with any number of digits. `place` counts from 0.
[[noreturn]] void RefuseId(size_t place, std::string_view id, int64_t vocabulary);

// Rows of a table at token ids: (n) -> (n, d). It is the private linear map on P1's masked one-hot rows, in a ring that
// never grows. No key.
struct Lookup : OperatorBase<Lookup> {
  static constexpr const char* kName = "lookup";
  static constexpr int kRingBits = 16;
  Expr table, positions;  // (vocabulary, d); (positions, d) or none

  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  int64_t Dim(const Edges&) const override { return table.cols(); }
  std::pair<size_t, size_t> Inputs() const override { return {0, 0}; }
  bool TakesTexts() const override { return true; }
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  void Check(const Edges&, int max_n, const std::string& where) const override;
  std::vector<WeightSlot> Slots() const override;
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

}  // namespace suf::nn
