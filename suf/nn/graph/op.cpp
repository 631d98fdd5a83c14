#include "suf/nn/graph/op.hpp"

#include <map>

#include "suf/nn/ops.hpp"

namespace suf::nn {

namespace {

using Make = OperatorPtr (*)();
using Makers = std::map<std::string, Make, std::less<>>;

template <class... T>
Makers MakersOf() {
  return {{T::kName, NewOperator<T>}...};
}

Makers& Known() {
  static Makers all = MakersOf<Lookup, nn::LinearMap, Norm, Rescale, Scores, Softmax, WeightedSum, Activation,
                               WireProduct, Add, PoolRows, RevealResult>();
  return all;
}

template <class W>
const W& Want(const AnyWire& w) {
  const W* x = std::get_if<W>(&w);
  if (!x) throw Bug("a wire is read in another form than it was opened in");
  return *x;
}

template <class F>
auto Look(const AnyWire& w, F f) {
  return std::visit(
      [&](const auto& x) -> std::invoke_result_t<F, const Wire<kPub>&> {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::monostate>)
          throw Bug("a result has no reader");
        else if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Summands>)
          throw Bug("an unopened value is no wire");
        else
          return f(x);
      },
      w);
}

}  // namespace

void CheckLength(const LengthLimit& limit, int64_t n) {
  if (limit.tokens && n > limit.tokens)
    Fail(Cause::kInput, "texts of ", n, " tokens are over the model's ", limit.tokens, " ", limit.what,
         "; lower the limit");
}

void Register(std::string_view name, Make make) { SUF_CHECK(Known().emplace(name, make).second); }

OperatorPtr MakeOperator(const std::string& name) {
  auto it = Known().find(name);
  if (it == Known().end())
    Fail(Cause::kRefused, "the plan has an operator ", name.substr(0, 40),
         ", which this program does not know; use the program that made the plan");
  return it->second();
}

void Wanted(bool holds, const std::string& where, const char* what) {
  if (!holds) Fail(Cause::kRefused, "the plan is inconsistent at ", where, ": ", what, "; compile the plan again");
}

Knob StagesKnob(std::string name, compiler::Stages* stages, compiler::Stages least) {
  const size_t first = size_t(least);
  std::vector<std::string> options{"dcf", "1", "2", "3"};
  options.erase(options.begin(), options.begin() + int64_t(first));
  return {std::move(name), std::move(options), size_t(*stages) - first,
          [stages, first](size_t i) { *stages = compiler::Stages(i + first); }};
}

Knob LoweringKnob(std::string name, compiler::Lowering* lowering, std::vector<compiler::Lowering> options) {
  Knob k{std::move(name), {}, 0, {}};
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == *lowering) k.at = i;
    k.options.push_back(compiler::Name(options[i]));
  }
  k.set = [lowering, options = std::move(options)](size_t i) { *lowering = options.at(i); };
  return k;
}

Wire<kPub> AsOpen(const AnyWire& w) {
  if (auto* shared = std::get_if<SharedWire<kPub>>(&w)) return *shared;
  return Want<Wire<kPub>>(w);
}
SharedWire<kP0> AsMap(const AnyWire& w) {
  if (auto* shared = std::get_if<SharedWire<kPub>>(&w)) return *shared;
  return Want<SharedWire<kP0>>(w);
}
SharedWire<kPub> AsProduct(const AnyWire& w) { return Want<SharedWire<kPub>>(w); }

int RingBits(const AnyWire& w) {
  return Look(w, [](const auto& x) { return x.k(); });
}
const Shape& ShapeOf(const AnyWire& w) {
  return *Look(w, [](const auto& x) { return &x.shape(); });
}

std::vector<uint64_t> ForTexts(const Ints& one, int64_t texts) {
  std::vector<uint64_t> all;
  for (int64_t text = 0; text < texts; ++text) all.insert(all.end(), one.begin(), one.end());
  return all;
}

bool Emission::Packed(bool causal) const {
  SUF_CHECK(from >= 0 && rows >= 1 && from + rows <= n);
  SUF_CHECK(first_text >= 0 && texts_here >= 1 && first_text + texts_here <= texts);
  SUF_CHECK(!causal || rows == n || (rows == 1 && from == n - 1));
  return causal && rows == n;
}

std::string Emission::NameOf(const WeightSlot& s) const {
  const auto other = others.find(s.name);
  return other == others.end() ? name + "." + s.name : other->second;
}

Private Emission::Masked(const WeightSlot& s, const Shape& shape) const {
  const std::string of = NameOf(s);
  pfss::Own<0> w = t.input<kP0>("W." + of, shape);
  pfss::Own<1> masked = t.input<pfss::kP1>("Wh." + of, shape);
  pfss::Sec b = t.input<pfss::kDealer>("B." + of, shape);
  return {w, masked, b};
}

pfss::Own<0> Emission::Plain(const WeightSlot& s, const Shape& shape) const {
  return t.input<kP0>("W." + NameOf(s), shape);
}

AnyWire Emission::Open(const compiler::OwedWord& y) const {
  if (result) {
    t.reveal<1>(compiler::DealOwed(t, y));
    return std::monostate{};
  }
  if (form == OperandForm::kMap) return compiler::OpenShared<kP0>(t, y, label.c_str());
  if (form == OperandForm::kProduct || form == OperandForm::kSummands) return compiler::OpenShared(t, y, label.c_str());
  return compiler::OpenDefined(t, y, label.c_str());
}

}  // namespace suf::nn
