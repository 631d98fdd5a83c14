#include "suf/gates/compose/entries.hpp"

namespace suf::gates {

std::vector<std::string> StageNames(std::initializer_list<int> stages) {
  std::vector<std::string> out;
  for (int s : stages) out.push_back(std::to_string(s));
  return out;
}

Stages StagesOf(const std::string& option) {
  SUF_CHECK(option == "1" || option == "2" || option == "3");
  return option == "1" ? Stages::kOne : option == "2" ? Stages::kTwo : Stages::kThree;
}

OwedWord Added(const OwedWord& x, const OwedWord& y) {
  OwedWord sum{x.y + y.y, x.owed};
  if (y.owed) sum.owed = sum.owed ? *sum.owed + *y.owed : *y.owed;
  return sum;
}

OwedWord GateOperand::AsShares(Trace& t) const {
  if (!wire) return *shares;
  // of strings, the mask is its own negative
  const pfss::Ring ring = wire->hat.ring();
  const bool string = ring.kind == pfss::Ring::kXor;
  if (mask) {
    const pfss::Own<0> a = string ? wire->hat + mask->a : wire->hat - mask->a;
    const pfss::Own<1> b = string ? pfss::Own<1>(mask->b) : pfss::Own<1>(-mask->b);
    return {Sh{a, b}, std::nullopt};
  }
  const Sh none =
      string ? compiler::ZeroString(t, wire->shape(), ring.bits) : compiler::Zeros(t, wire->shape(), ring.bits);
  const pfss::Sec owed = string ? wire->r : -wire->r;
  return {none + wire->hat, owed};
}

GateOperand Added(Trace& t, const GateOperand& x, const GateOperand& y) {
  GateOperand z;
  if (x.wire && y.wire) {
    pfss::Pub hat = x.wire->hat + y.wire->hat;
    pfss::Sec r = x.wire->r + y.wire->r;
    z.wire = Wire<kPub>{hat, r};
    if (x.mask && y.mask) {
      pfss::Rnd<0> a = x.mask->a + y.mask->a;
      pfss::Rnd<1> b = x.mask->b + y.mask->b;
      z.mask = pfss::Dealt{a, b};
    }
    return z;
  }
  const OwedWord left = x.AsShares(t), right = y.AsShares(t);
  return SharesOperand(Added(left, right));
}

}  // namespace suf::gates
