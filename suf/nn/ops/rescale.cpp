#include "suf/nn/ops/rescale.hpp"

#include <algorithm>
#include <cmath>

#include "suf/gates/trunc.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {

namespace {

constexpr double kStreamMargin = 4;  // a clamp's window, in units of the largest value seen
constexpr int kWidestStream = 58;    // bits of a stream that is read without a clamp; 64 bits then hold its norm

constexpr int kFinestScores = 46;  // scale of a product of un-truncated queries and keys; its slices fit 61 bits
const char* const kQueryKey = "query_key";  // its product is read by slices, so it may stay un-truncated

const char* const kRescaleKinds[] = {"exact", "optional", "extend", "clamp"};

}  // namespace

void Rescale::See(const RealCall&, std::span<const RealArray* const> x, Seen* seen) const {
  if (kind != kClamp) return;
  std::vector<SeenRange>& size = (*seen)["size"];
  size.resize(1);
  for (double v : x[0]->at) size[0].See(std::abs(v));
}

void Rescale::Attributes(Visitor& v) {
  v.Choice("kind", &kind, kRescaleKinds, "has a rescale of the kind ");
  v.Text("key", &key, 40);
}

void Rescale::Choose(const Facts& c, const Edges& in) {
  const Edge& z = in[0];
  shift = window = 0;
  scale = z.scale;
  if (kind == kExtend) return;
  if (kind == kExact && key == kQueryKey && c.options.scores == 1 && 2 * z.scale <= kFinestScores) return;
  if (kind == kClamp) {
    const bool fits = RingOf(z.reach.most()) <= kWidestStream;
    if (fits && !c.options.clamp) return;
    const int target = std::min(z.scale - 1, c.options.Norm("layer"));
    shift = z.scale - target;
    scale = target;
    if (c.seen)
      window = std::max(2, int(std::ceil(std::log2(kStreamMargin * c.seen->at("size").at(0).high))) + 1 + target);
    // no wider than a hard bound, which gives the ring
    window = std::min(window, BitLength(z.reach.Scaled(std::ldexp(1.0, -shift), 0.5).most()) + 1);
    return;
  }
  const int target = c.options.Result(key);
  if (kind == kOptional && (z.scale <= target || (c.n <= c.options.merge &&
                                                  c.ring_ahead({z.scale, target, 0, z.dim, z.one_row, z.reach}) <= 64)))
    return;
  if (z.scale <= target)
    Fail(Cause::kRefused, "the scale 2^", z.scale, " is not above 2^", target,
         ", to which it is rescaled; lower `result.", key, "`");
  shift = z.scale - target;
  scale = target;
}

RowBound Rescale::Bound(const Facts&, const Edges& in, std::vector<Width>*) {
  RowBound r = shift ? in[0].reach.Scaled(std::ldexp(1.0, -shift), 0.5) : in[0].reach;
  if (!window) return r;
  const double most = std::ldexp(1.0, window - 1);
  r.each = r.Box();
  for (double& x : r.each) x = std::min(x, most);
  r.length = std::min(r.length, Length(r.each));
  r.images.clear();
  r.noise.clear();
  return r;
}

int Rescale::Need(int, const Edges& in) const {
  if (window) return shift + window + 1;
  if (Transparent()) return ring;
  return RoundedRingOf(in[0].reach.most(), shift);
}

// Returns the built ring. A reader of x_hat alone needs no wider one than the shift leaves.
int Rescale::Built(const Edges& in) const {
  if (Transparent()) return in[0].ring;
  if (kind == kExtend || window || form != OperandForm::kOpen) return ring;
  return std::min(ring, in[0].ring - shift);
}

void Rescale::Fields(Visitor& v) {
  v.Int("shift", shift, 0, kRing);
  v.Int("window", window, 0, kRing);
  v.Stages("stages", &stages, Least());
}

std::vector<Knob> Rescale::Knobs() {
  if (shift == 0) return {};
  return {StagesKnob("stages", &stages, Least())};
}

void Rescale::Check(const Edges& in, int, const std::string& where) const {
  Wanted(scale == in[0].scale - shift, where, "its scale does not follow from its shift");
  Wanted(!window || (kind == kClamp && shift > 0 && shift + window < in[0].ring && ring > window), where,
         "its window does not fit its rings");
  if (kind == kExtend) Wanted(shift == 0 && in[0].ring >= 3 && ring > in[0].ring, where, "it does not extend");
  if (kind == kExact) Wanted(shift > 0 || key == kQueryKey, where, "it does not rescale");
  if (Transparent())
    Wanted(in[0].ring >= ring, where, "its input's ring is narrower than its own");
  else if (!window)
    Wanted(shift < in[0].ring - 2, where, "it leaves no bits of its ring");
}

IntArray Rescale::Spec(const IntCall&, std::span<const IntArray* const> x) const {
  IntArray y = *x[0];
  for (int64_t& v : y.at) {
    v = ring::RoundShift(v, shift);
    if (window) v = ring::Signed(uint64_t(v) & ring::Mask(window), window);
  }
  return y;
}

AnyWire Rescale::Build(const Emission& e, std::span<const AnyWire> x) const {
  if (Transparent()) return x[0];
  Wire<kPub> z = AsOpen(x[0]);
  if (kind == kExtend) return e.Open(gates::Extend{ring}.Build(e.t, z));
  if (window) {
    const int64_t half = int64_t{1} << (window - 1);
    gates::Slice slice{shift, shift + window, ring, (half << shift) + (int64_t{1} << (shift - 1)), stages};
    compiler::OwedWord y = slice.Build(e.t, z);
    y.y = y.y - half;
    return e.Open(y);
  }
  Edge from;
  from.ring = z.k();
  return e.Open(gates::Trunc{shift, Built({from}), stages}.Build(e.t, z));
}

}  // namespace suf::nn
