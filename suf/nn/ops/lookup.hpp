// The private lookup: rows of P0's table at P1's token ids, plus those of its type and its position.
#pragma once
#include "suf/nn/graph/op.hpp"

namespace suf::nn {

// The name of the trace's input of token ids, which P1 has. A trace's digest contains it.
inline constexpr const char* kTokensInput = "tokens";  // hashed
// The name of the input of token types, which only a lookup with types has.
inline constexpr const char* kTypesInput = "types";  // hashed

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
// The name of the input of P1's rows of a public table, types added. (texts n, d)
inline constexpr const char* kRowsInput = "rows";  // hashed

// Ids have their token types inside: a token of type t has the id of its entry plus t `vocabulary`. Returns the ids of
// the entries and the types, as kTokensInput and kTypesInput have them. Takes the same time for all ids.
template <class Ids>
std::pair<Ids, Ids> SplitTypes(const Ids& ids, int64_t vocabulary, int64_t types) {
  std::pair<Ids, Ids> out{ids, Ids(ids.size())};
  for (size_t i = 0; i < ids.size(); ++i)
    for (int64_t t = 1; t < types; ++t) {
      const int32_t of = ids[i] >= t * vocabulary;
      out.first[i] -= of * int32_t(vocabulary);
      out.second[i] += of;
    }
  return out;
}
// Throws the error of CheckIds for an id as it was written, with any number of digits. `place` counts from 0.
[[noreturn]] void RefuseId(size_t place, std::string_view id, int64_t vocabulary);

// Rows of a table at token ids: (n) -> (n, d). It is the private linear map on P1's masked one-hot rows, in a ring that
// never grows. No key. The last `types` rows of the table are those of token types. P1's rows then have a second one,
// at the type. Ids have the types inside (SplitTypes). (docs/mathematics.md#token-types)
//
// With a public table P1 adds up its rows itself. They are opened at once, at 16 d bits a token from P1.
struct Lookup : OperatorBase<Lookup> {
  static constexpr const char* kName = "lookup";
  static constexpr int kRingBits = 16;
  Expr table, positions;  // (words + types, d); (positions, d) or none
  int64_t types = 0;
  bool known = false;  // the table is public, and P1 has it

  int64_t words() const { return table.shape()[0] - types; }
  // Returns the number below which ids are.
  int64_t ids() const { return types ? words() * types : words(); }

  RealArray Float(const RealCall& c, std::span<const RealArray* const> x) const override;
  LengthLimit Longest() const override {
    return positions ? LengthLimit{positions.shape()[0], "positions"} : LengthLimit{};
  }
  void Attributes(Visitor& v) override;
  void Choose(const Facts& c, const Edges& in) override;
  int64_t Dim(const Edges&) const override { return table.cols(); }
  std::pair<size_t, size_t> Inputs() const override { return {0, 0}; }
  bool TakesTexts() const override { return true; }
  RowBound Bound(const Facts& c, const Edges& in, std::vector<Width>* widths) override;
  void Check(const Edges&, int max_n, const std::string& where) const override;
  std::vector<WeightSlot> Slots() const override;
  WeightSlot TableSlot() const { return {"table", table, scale, !known, WeightSlot::kFixed, known}; }
  IntArray Spec(const IntCall& c, std::span<const IntArray* const> x) const override;
  AnyWire Build(const Emission& e, std::span<const AnyWire> x) const override;
};

}  // namespace suf::nn
