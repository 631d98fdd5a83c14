// Both ends of a composition: the inputs of each party, and the outputs that it learns or keeps.
#include <algorithm>

#include "suf/base/plural.hpp"
#include "suf/gates/compose/composition.hpp"
#include "suf/ring/modular.hpp"

namespace suf::gates {

bool Brings(const InputStatement& s, int p) { return s.from == Origin::kShared || (s.from == Origin::kP0) == (p == 0); }

bool Learns(const OutputStatement& s, int p) { return s.to != (p == 0 ? To::kP1 : To::kP0); }

int64_t RowsOf(const Composition& c, const std::vector<std::optional<size_t>>& counts) {
  int64_t rows = 0;
  bool open = false;  // whether some input has rows
  const std::string* first = nullptr;
  for (size_t i = 0; i < c.text().inputs.size(); ++i) {
    const pfss::Shape& shape = c.values()[i].type.shape;
    const std::string& name = c.values()[i].name;
    const bool has = std::find(shape.begin(), shape.end(), kRows) != shape.end();
    open |= has;
    if (!counts[i]) continue;
    const auto count = int64_t(*counts[i]), one = CountOf(c, int(i), 1);
    if (has ? count < 1 || count % one : count != one)
      Fail(Cause::kInput, name, " has ", Plural(count, "number"), ", and its shape ", Name(shape), " takes ",
           has && one == 1 ? "at least one"
           : has           ? Str("a multiple of ", one)
                           : Str(one),
           "; give that many");
    if (!has) continue;
    if (first && rows != count / one)
      Fail(Cause::kInput, *first, " has ", Plural(rows, "row"), " and ", name, " has ", count / one,
           "; give both the same number of rows");
    first = &name;
    rows = count / one;
  }
  return open ? rows : 1;
}

std::vector<uint64_t> InputWords(const InputStatement& s, const Ints& values) {
  const ValueType& t = s.type;
  std::vector<uint64_t> out;
  for (size_t i = 0; i < values.size(); ++i) {
    // an unsigned number of 64 bits is held in two's complement
    const Bound v = t.high > INT64_MAX ? Bound(uint64_t(values[i])) : Bound(values[i]);
    if (v < t.low || v > t.high)
      Fail(Cause::kInput, s.name.name, ", number ", i + 1, " is ", Decimal(v), "; the input takes ", Decimal(t.low),
           " to ", Decimal(t.high), ", so bring one of these");
    out.push_back(uint64_t(v));
  }
  return out;
}

std::vector<uint64_t> ShareWords(const InputStatement& s, const Ints& values) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < values.size(); ++i) {
    out.push_back(uint64_t(values[i]));
    if (out.back() > ring::Mask(s.type.bits))
      Fail(Cause::kInput, s.name.name, ", number ", i + 1, " is no share of ", s.type.bits,
           " bits; bring words from 0 to 2^", s.type.bits, " - 1");
  }
  return out;
}

ValueType OutputType(const Composition& c, const OutputStatement& s) {
  const int v = c.value(s.name.name);
  ValueType type = c.values()[size_t(v)].type;
  if (s.to != To::kShared || type.kind != ValueKind::kNumber) return type;
  for (const Composition::ComposedGate& g : c.gates())
    if (g.use.set.count("ring") && std::find(g.results.begin(), g.results.end(), v) != g.results.end())
      type.bits = std::max(type.bits, c.values()[size_t(v)].ring);
  return type;
}

std::vector<size_t> RevealsToP0(const Composition& c) {
  std::vector<bool> theirs(c.values().size(), false);  // values that depend on an input or a share of P1
  for (size_t i = 0; i < c.text().inputs.size(); ++i) theirs[i] = Brings(c.text().inputs[i], 1);
  for (const Composition::ComposedGate& g : c.gates()) {
    bool any = false;
    for (int a : g.arguments) any |= theirs[size_t(a)];
    for (int r : g.results)
      if (r >= 0) theirs[size_t(r)] = any;
  }
  std::vector<size_t> out;
  for (size_t o = 0; o < c.text().outputs.size(); ++o) {
    const OutputStatement& s = c.text().outputs[o];
    if ((s.to == To::kP0 || s.to == To::kBoth) && theirs[size_t(c.value(s.name.name))]) out.push_back(o);
  }
  return out;
}

pfss::Ending EndingOf(const Composition& c) {
  pfss::Ending e;
  for (const OutputStatement& o : c.text().outputs) {
    if (o.to == To::kShared)
      for (int p : {0, 1}) ++e.kept[size_t(p)];
    if (o.to == To::kP0 || o.to == To::kBoth) ++e.learned[0];
    if (o.to == To::kP1 || o.to == To::kBoth) ++e.learned[1];
  }
  return e;
}

int64_t CountOf(const Composition& c, int value, int64_t rows) {
  return pfss::Size(SetRows(c.values()[size_t(value)].type.shape, rows));
}

std::vector<Ints> OutputWords(const Composition& c, int party, std::span<const uint64_t> results, int64_t rows) {
  std::vector<Ints> out;
  size_t at = 0;
  for (const OutputStatement& o : c.text().outputs) {
    out.emplace_back();
    if (!Learns(o, party)) continue;
    const int v = c.value(o.name.name);
    const ValueType& type = c.values()[size_t(v)].type;
    const auto count = size_t(CountOf(c, v, rows));
    const int planes = type.kind == ValueKind::kNumber ? 1 : type.bits;
    SUF_CHECK(at + count * size_t(planes) <= results.size());
    for (size_t i = 0; i < count; ++i) {
      uint64_t word = 0;
      for (int b = 0; b < planes; ++b) word |= results[at + size_t(b) * count + i] << b;
      const bool number = type.is_signed && o.to != To::kShared;
      out.back().push_back(number ? Number(word, type.bits) : int64_t(word));
    }
    at += count * size_t(planes);
  }
  SUF_CHECK(at == results.size());
  return out;
}

}  // namespace suf::gates
