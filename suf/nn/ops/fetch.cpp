#include "suf/nn/ops/fetch.hpp"

#include "suf/nn/ops/linear.hpp"

namespace suf::nn {

std::vector<uint16_t> Fetch::Spec(std::span<const uint16_t> table, std::span<const int64_t> at) const {
  SUF_CHECK(table.size() == size_t(rows * words));
  if (int64_t(at.size()) != k)
    Fail(Cause::kInput, "a fetch of ", at.size(), " rows is not possible; fetch ", k, " rows");
  std::vector<uint16_t> out;
  for (const int64_t row : at) {
    if (row < 0 || row >= rows)
      Fail(Cause::kInput, "row ", row, " is outside the index, which has ", rows, " rows; fetch rows of a search");
    const auto first = table.begin() + row * words;
    out.insert(out.end(), first, first + words);
  }
  return out;
}

compiler::OwedWord Fetch::Emit(pfss::Trace& t) const {
  t.scope("fetch");
  const pfss::Own<1> at = t.input<pfss::kP1>(kRowsInput, {k}, 64, 0);
  const SharedWire<kP0> x = t.give<1>(Unit(at, rows), kRingBits, "masked one-hot");  // (k, rows)
  Linear y(kRingBits);
  for (int64_t i = 0; i < blocks(); ++i) {
    const Shape shape{rows_of(i), words};
    const std::string name = NameOf(i);
    const Private table{t.input<kP0>("W." + name, shape), t.input<pfss::kP1>("Wh." + name, shape),
                        t.input<pfss::kDealer>("B." + name, shape)};
    const auto part =
        pfss::Map(x, [&](auto v) { return blocks() > 1 ? Between(v, 1, i * block, i * block + rows_of(i)) : v; });
    y.Add(part, table, [](auto a, auto b) { return Matmul(a, b); });
  }
  return y.Done();
}

void Fetch::Build(pfss::Trace& t) const {
  t.reveal<1>(compiler::DealOwed(t, Emit(t)));
  t.close();
}

}  // namespace suf::nn
