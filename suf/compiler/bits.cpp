#include "suf/compiler/bits.hpp"

#include <algorithm>
#include <set>

#include "suf/compiler/place.hpp"
#include "suf/ring/modular.hpp"

namespace suf::compiler {

namespace {

size_t Find(std::vector<uint64_t>* list, uint64_t v) {
  auto it = std::find(list->begin(), list->end(), v);
  if (it == list->end()) {
    list->push_back(v);
    it = list->end() - 1;
  }
  return size_t(it - list->begin());
}

// Returns rows of bits as the constant that Mix takes, or nothing if all are zero.
std::optional<Const> Masks(Trace& t, const std::vector<std::vector<bool>>& rows) {
  const size_t words = (rows[0].size() + 63) / 64;
  std::vector<uint64_t> data(rows.size() * words);
  bool any = false;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < rows[i].size(); ++j)
      if (rows[i][j]) {
        data[i * words + j / 64] |= uint64_t{1} << (j % 64);
        any = true;
      }
  if (!any) return std::nullopt;
  return t.constant(std::move(data), {int64_t(rows.size()), int64_t(words)});
}

template <class V>
void Xor(std::optional<V>* sum, const V& v) {
  *sum = *sum ? **sum + v : v;
}

}  // namespace

namespace {

// Returns the increasing views and points of one bit. If two comparisons of a view read D(x_hat), both reads cancel.
std::set<std::pair<int, uint64_t>> PointsOf(const CompiledFunction& c, const Bit& b) {
  std::set<std::pair<int, uint64_t>> odd;
  auto flip = [&](int f, uint64_t v) {
    if (!odd.erase({f, v})) odd.insert({f, v});
  };
  for (int i : b.compares) {
    const Compare& p = c.compares[size_t(i)];
    if (!p.top) {
      flip(p.f, 0);
      flip(p.f, p.beta);
    } else if (p.f > 1)
      flip(p.f - 1, (0 - p.beta) & ring::Mask(p.f - 1));
  }
  return odd;
}

}  // namespace

std::map<int, std::vector<uint64_t>> PointsOf(const CompiledFunction& c, std::span<const Bit> bits, bool wrap) {
  std::map<int, std::vector<uint64_t>> points;
  auto read = [&](const Bit& b) {
    for (auto [f, point] : PointsOf(c, b)) Find(&points[f], point);
  };
  for (const Bit& b : bits) read(b);
  for (int i : UsedBy(c, bits).products)
    for (const Bit& b : c.products[size_t(i)]) read(b);
  if (wrap) Find(&points[c.f.n], 0);
  return points;
}

WireBits::WireBits(Trace& t, const Wire<kPub>& x, const CompiledFunction& c, StepSource steps,
                   std::span<const Bit> bits, bool wrap)
    : t_(t), x_(x), c_(c), steps_(steps) {
  for (auto& [f, points] : PointsOf(c, bits, wrap)) views_[f].points = points;
  for (int i : UsedBy(c, bits).compares)
    if (const Compare& p = c.compares[size_t(i)]; !p.top) Find(&views_[p.f].betas, p.beta);
}

// Reads all points of a view when the first one is needed.
void WireBits::Read(int f, MaskView* v) {
  if (v->string || !v->apart.empty()) return;
  Pub hat = Low(x_.hat, f);
  Sec r = Low(x_.r, f);
  if (steps_ == StepSource::kParity) {
    if (f <= kTableBits) {
      Dealt table = t_.deal(Hot(r));
      v->string = pfss::Map(Sh(table), [&](auto half) { return Above(half, hat, v->points); });
    } else {
      v->string = t_.parity(t_.tree(r), hat, v->points);
    }
    return;
  }
  const Stages stages = steps_ == StepSource::kDigits ? Stages::kTwo : Stages::kThree;
  DigitPlan plan = PlanDigits({{f, 1}}, stages, int(v->points.size()));
  for (uint64_t p : v->points) {
    OpenedDigits d(t_, x_, t_.constant(int64_t(0 - p)), plan);
    v->apart.push_back(BorrowBit(d, f));
  }
}

OwedWord WireBits::String(std::span<const Bit> bits, bool wrap, bool settled) {
  const size_t l = bits.size() + wrap;
  SUF_CHECK(l >= 1 && l <= 64);
  std::optional<Sh> sum;
  std::optional<Pub> open;
  std::optional<Sec> owed;
  using Rows = std::vector<std::vector<bool>>;
  auto rows = [&](size_t sources) { return Rows(l, std::vector<bool>(sources)); };
  for (auto& [f, v] : views_) {
    Rows points = rows(std::max<size_t>(1, v.points.size())), less = rows(std::max<size_t>(1, v.betas.size()));
    for (size_t i = 0; i < bits.size(); ++i) {
      for (auto [view, point] : PointsOf(c_, bits[i]))
        if (view == f) points[i][Find(&v.points, point)] = true;
      for (int k : bits[i].compares)
        if (const Compare& p = c_.compares[size_t(k)]; !p.top && p.f == f) less[i][Find(&v.betas, p.beta)] = true;
    }
    if (wrap && f == c_.f.n) points[l - 1][Find(&v.points, 0)] = true;
    std::optional<Const> masks = Masks(t_, points);
    if (masks) Read(f, &v);
    if (masks && v.string) Xor(&sum, pfss::Map(*v.string, [&](auto half) { return Mix(half, *masks); }));
    for (size_t j = 0; masks && j < v.apart.size(); ++j) {
      Rows one = rows(1);
      for (size_t i = 0; i < l; ++i) one[i][0] = points[i][j];
      if (std::optional<Const> m = Masks(t_, one))
        Xor(&sum, pfss::Map(v.apart[j], [&](auto half) { return Mix(half, *m); }));
    }
    if (std::optional<Const> m = Masks(t_, less)) {
      Pub hat = Low(x_.hat, f);
      Xor(&open, Mix(Less(hat, v.betas), *m));
    }
  }
  for (size_t k = 0; k < c_.compares.size(); ++k) {
    const Compare& p = c_.compares[k];
    Rows one = rows(1);
    for (size_t i = 0; i < bits.size(); ++i)
      one[i][0] =
          p.top && std::find(bits[i].compares.begin(), bits[i].compares.end(), int(k)) != bits[i].compares.end();
    std::optional<Const> m = Masks(t_, one);
    if (!m) continue;
    Pub top = Low(x_.hat, p.f);
    top = top + t_.constant(int64_t(p.beta));
    top = top >> (p.f - 1);
    Xor(&open, Mix(Bits(Lift(top), 1), *m));
    Sec low = Low(x_.r, p.f);
    Sec bit = Bits(Lift(low >> (p.f - 1)), 1);
    if (settled) {
      Dealt held = t_.deal(bit);
      Xor(&sum, pfss::Map(Sh(held), [&](auto half) { return Mix(half, *m); }));
    } else {
      Xor(&owed, Mix(bit, *m));
    }
  }
  for (size_t k = 0; k < c_.products.size(); ++k) {
    Rows one = rows(1);
    for (size_t i = 0; i < bits.size(); ++i)
      one[i][0] = std::binary_search(bits[i].products.begin(), bits[i].products.end(), int(k));
    if (std::optional<Const> m = Masks(t_, one))
      Xor(&sum, pfss::Map(Product(int(k)), [&](auto half) { return Mix(half, *m); }));
  }
  uint64_t constants = 0;
  for (size_t i = 0; i < bits.size(); ++i) constants |= uint64_t{bits[i].constant} << i;
  if (constants) {
    Pub c = Bits(Const(t_.constant(int64_t(constants))), int(l));
    Xor(&open, c);
  }
  if (!sum) {
    Const zero = Broadcast(Bits(t_.constant(0), int(l)), x_.shape());
    sum = Sh{zero, zero};
  }
  if (open) sum = *sum + *open;
  return {*sum, owed};
}

// Opens the factors under shared masks, one flight after they are known.
Sh WireBits::Product(int i) {
  if (auto it = products_.find(i); it != products_.end()) return it->second;
  const std::vector<Bit>& factors = c_.products[size_t(i)];
  OwedWord string = String(factors, false, true);
  OpenedBits opened = ApartX(t_.open(string.y, "factors"));
  std::vector<int> all;
  for (size_t k = 0; k < factors.size(); ++k) all.push_back(int(k));
  Sh y = PolynomialX(t_, opened, {all}, false);
  y = pfss::Map(y, [](auto half) { return Bits(Lift(half), 1); });
  return products_.emplace(i, y).first->second;
}

}  // namespace suf::compiler
