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

using BitRows = std::vector<std::vector<bool>>;

// Returns rows of bits as the constant that Mix takes, or nothing if all are zero.
std::optional<Const> Masks(Trace& t, const BitRows& rows) {
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

// Returns Masks of a single column, of which row i is reads(i).
template <class F>
std::optional<Const> MasksOfBit(Trace& t, size_t rows, const F& reads) {
  BitRows column(rows, std::vector<bool>(1));
  for (size_t i = 0; i < rows; ++i) column[i][0] = reads(i);
  return Masks(t, column);
}

template <class V>
void XorInto(std::optional<V>* sum, const V& v) {
  *sum = *sum ? **sum + v : v;
}

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
void WireBits::ReadView(int f, MaskView* v) {
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

// A string as the exclusive or of shares, opened bits and bits that only the dealer knows.
struct WireBits::StringSum {
  std::optional<Sh> shares;
  std::optional<Pub> open;
  std::optional<Sec> owed;
  // Adds the rows of `masks` over shared bits.
  void Add(const Sh& bits, const Const& masks) {
    XorInto(&shares, pfss::Map(bits, [&](auto half) { return Mix(half, masks); }));
  }
};

// Adds the comparisons of one view, and 1[x_hat < r] as the last row if `wrap`.
void WireBits::AddView(int f, MaskView* v, std::span<const Bit> rows, bool wrap, StringSum* sum) {
  BitRows points(rows.size(), std::vector<bool>(std::max<size_t>(1, v->points.size())));
  BitRows less(rows.size(), std::vector<bool>(std::max<size_t>(1, v->betas.size())));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (auto [view, point] : PointsOf(c_, rows[i]))
      if (view == f) points[i][Find(&v->points, point)] = true;
    for (int k : rows[i].compares)
      if (const Compare& p = c_.compares[size_t(k)]; !p.top && p.f == f) less[i][Find(&v->betas, p.beta)] = true;
  }
  if (wrap) points.back()[Find(&v->points, 0)] = true;
  if (std::optional<Const> masks = Masks(t_, points)) {
    ReadView(f, v);
    if (v->string) sum->Add(*v->string, *masks);
    for (size_t j = 0; j < v->apart.size(); ++j)
      if (std::optional<Const> m = MasksOfBit(t_, rows.size(), [&](size_t i) { return points[i][j]; }))
        sum->Add(v->apart[j], *m);
  }
  if (std::optional<Const> masks = Masks(t_, less)) {
    Pub hat = Low(x_.hat, f);
    XorInto(&sum->open, Mix(Less(hat, v->betas), *masks));
  }
}

// Adds the top bits of x_hat + c and of r. The latter is dealt if `deal_owed`, otherwise owed.
void WireBits::AddTopBits(const Compare& p, const Const& masks, bool deal_owed, StringSum* sum) {
  Pub top = Low(x_.hat, p.f);
  top = top + t_.constant(int64_t(p.beta));
  top = top >> (p.f - 1);
  XorInto(&sum->open, Mix(Bits(Lift(top), 1), masks));
  Sec low = Low(x_.r, p.f);
  Sec bit = Bits(Lift(low >> (p.f - 1)), 1);
  if (deal_owed)
    sum->Add(t_.deal(bit), masks);
  else
    XorInto(&sum->owed, Mix(bit, masks));
}

OwedWord WireBits::ReadString(std::span<const Bit> bits, bool wrap, bool deal_owed) {
  std::vector<Bit> rows(bits.begin(), bits.end());
  if (wrap) rows.emplace_back();
  const size_t length = rows.size();
  SUF_CHECK(length >= 1 && length <= 64);
  StringSum sum;
  for (auto& [f, v] : views_) AddView(f, &v, rows, wrap && f == c_.f.n, &sum);
  for (int k = 0; k < int(c_.compares.size()); ++k) {
    const Compare& p = c_.compares[size_t(k)];
    const auto reads = [&](size_t i) {
      return p.top && std::count(rows[i].compares.begin(), rows[i].compares.end(), k) > 0;
    };
    if (std::optional<Const> m = MasksOfBit(t_, length, reads)) AddTopBits(p, *m, deal_owed, &sum);
  }
  for (int k = 0; k < int(c_.products.size()); ++k) {
    const auto reads = [&](size_t i) {
      return std::binary_search(rows[i].products.begin(), rows[i].products.end(), k);
    };
    if (std::optional<Const> m = MasksOfBit(t_, length, reads)) sum.Add(Product(k), *m);
  }
  uint64_t constants = 0;
  for (size_t i = 0; i < length; ++i) constants |= uint64_t{rows[i].constant} << i;
  if (constants) {
    Pub c = Bits(Const(t_.constant(int64_t(constants))), int(length));
    XorInto(&sum.open, c);
  }
  if (!sum.shares) {
    Const zero = Broadcast(Bits(t_.constant(0), int(length)), x_.shape());
    sum.shares = Sh{zero, zero};
  }
  return {sum.open ? *sum.shares + *sum.open : *sum.shares, sum.owed};
}

// Opens the factors under shared masks, one flight after they are known.
Sh WireBits::Product(int i) {
  if (auto it = products_.find(i); it != products_.end()) return it->second;
  const std::vector<Bit>& factors = c_.products[size_t(i)];
  OwedWord string = ReadString(factors, false, true);
  OpenedBits opened = SplitBitsX(t_.open(string.y, "factors"));
  std::vector<int> all;
  for (size_t k = 0; k < factors.size(); ++k) all.push_back(int(k));
  Sh y = PolynomialX(t_, opened, {all}, false);
  y = pfss::Map(y, [](auto half) { return Bits(Lift(half), 1); });
  return products_.emplace(i, y).first->second;
}

}  // namespace suf::compiler
