#include "suf/compiler/digits.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "suf/base/cache.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/pfss/poly.hpp"

namespace suf::compiler {

using pfss::Val;

namespace {

constexpr int kWidest = 8;  // most bits of a digit with a table, which has 256 bits
// The most digits of a block. The strings of monomials below stay within 64 bits.
constexpr int kMostInBlock = 5;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

int MaxDigits(Stages s) { return s == Stages::kOne ? pfss::kMostDigitsA : pfss::kMostDigitsX; }

// Returns the key bits of digit j, which begins at bit `at`, without its table. Its group is dealt once, at the widest
// ring of the cuts above.
int64_t GroupKeyBits(int j, int at, const std::vector<Cut>& cuts, Stages stages) {
  int ring = 0;
  for (const Cut& c : cuts)
    if (c.at > at) ring = std::max(ring, c.ring);
  return stages == Stages::kOne ? int64_t(pfss::GroupSize(j)) * ring : j == 0 ? 0 : pfss::GroupBits(j);
}

// A search over digit widths, cut by cut. Widths do not increase within a cut, because their order has no cost. Costs
// only grow, so a branch ends at the least cost so far.
struct Search {
  const std::vector<Cut>& cuts;
  Stages stages;
  int readings;
  int base;  // bits of the lowest digit as a tree; 0: no trees
  std::vector<int> now, best;
  int64_t least = kNever;

  void Extend(size_t cut, int at, int widest, int64_t cost) {
    if (cost >= least) return;
    int left = cuts[cut].at - at;
    if (left == 0) {
      if (cut + 1 < cuts.size()) return Extend(cut + 1, at, kWidest, cost);
      least = cost;
      best = now;
      return;
    }
    if (int(now.size()) == MaxDigits(stages)) return;
    cost += readings * GroupKeyBits(int(now.size()), at, cuts, stages);
    auto take = [&](int w) {
      now.push_back(w);
      Extend(cut, at + w, std::min(w, kWidest), cost + DigitKeyBits(w));
      now.pop_back();
    };
    if (int tree = std::min(left, at == 0 ? base : base ? 64 : 0); tree > kWidest) take(tree);
    for (int w = std::min(widest, left); w >= 1; --w) take(w);
  }
};

// Returns the widths of `digits` digits with `bits` bits in all, wider ones first.
std::vector<int> Evenly(int bits, int digits) {
  std::vector<int> w(size_t(digits), bits / digits);
  for (int i = 0; i < bits % digits; ++i) ++w[size_t(i)];
  return w;
}

// Returns the bits dealt for a block's lt and eq. Those of eq are products with re_0; products without it belong to lt.
int64_t BlockMonomials(int digits, bool lowest) {
  int64_t bits = lowest ? 0 : (int64_t{1} << (digits - 1)) - 1;
  for (int j = 1; j < digits; ++j) bits += pfss::GroupBits(j);
  return bits;
}

// A search for the blocks with the fewest key bits. A cut ends a block.
struct BlockSearch {
  const std::vector<Cut>& cuts;
  int readings;
  struct Best {
    int64_t cost = kNever;
    int bits = 0, digits = 0;  // of the first block
  };
  std::map<std::pair<int, int>, Best> found = {};  // by first bit and number of blocks below

  // Returns the best blocks from bit `at` on, with `block` blocks below.
  const Best& From(int at, int block) {
    auto [it, fresh] = found.try_emplace({at, block});
    if (!fresh) return it->second;
    Best best;
    if (at == cuts.back().at) {
      best.cost = 0;
    } else if (block < pfss::kMostDigitsX) {
      int end = cuts.back().at;
      for (const Cut& c : cuts)
        if (c.at > at) end = std::min(end, c.at);
      for (int bits = 1; at + bits <= end; ++bits)
        for (int digits = 1; digits <= std::min(kMostInBlock, bits); ++digits) {
          std::vector<int> widths = Evenly(bits, digits);
          if (widths[0] > kWidest) continue;
          int64_t cost = readings * (BlockMonomials(digits, block == 0) + (block ? pfss::GroupBits(block) : 0));
          for (int w : widths) cost += int64_t{1} << w;
          if (cost >= best.cost) continue;
          cost += From(at + bits, block + 1).cost;
          if (cost < best.cost) best = {cost, bits, digits};
        }
    }
    return found[{at, block}] = best;
  }
};

std::optional<DigitPlan> FindBlocks(const std::vector<Cut>& cuts, int readings) {
  BlockSearch s{cuts, readings};
  DigitPlan plan;
  for (int at = 0, block = 0; at < cuts.back().at; ++block) {
    BlockSearch::Best best = s.From(at, block);
    if (best.cost >= kNever) return std::nullopt;
    for (int w : Evenly(best.bits, best.digits)) plan.widths.push_back(w);
    plan.blocks.push_back(best.digits);
    at += best.bits;
  }
  return plan;
}

// Packs bits in Z_2 into a string, the first one lowest.
template <unsigned A>
Val<A> StringOf(const std::vector<Val<A>>& bits) {
  Val<A> sum = Lift(bits[0]);
  for (size_t i = 1; i < bits.size(); ++i) {
    Val<A> v = Lift(bits[i]);
    v = v << int(i);
    sum = sum + v;
  }
  return Bits(sum, int(bits.size()));
}

// Shares of a borrow, and the monomials dealt for it.
struct SharedBorrow {
  Sh borrow;                  // Xor(1)
  std::vector<Dealt> groups;  // 1 .. digits - 1
};
// Returns shares of the borrow of the lowest `digits` digits, from their opened bits. Monomials are dealt as bits.
SharedBorrow BorrowShares(Trace& t, const SharedWire<kPub>& bits, int digits) {
  SharedBorrow out;
  std::vector<pfss::Own<0>> a;
  std::vector<pfss::Own<1>> b;
  for (int j = 1; j < digits; ++j) {
    Sec mono = MonoX(bits.r, j);
    Dealt group = t.deal(mono);
    a.push_back(group.a);
    b.push_back(group.b);
    out.groups.push_back(group);
  }
  pfss::Own<0> a0 = BorrowX(bits.hat, pfss::Own<0>(bits.s.a), a);
  pfss::Own<1> b0 = BorrowX(bits.hat, pfss::Own<1>(bits.s.b), b);
  Pub constant = Bits(BorrowAt0(bits.hat, digits), 1);
  out.borrow = Sh{a0, b0} + constant;
  return out;
}

// Returns the product of the opened bits outside a set, or nothing if the set has all of them.
std::optional<Pub> ProductOutside(const std::vector<Pub>& opened, int set) {
  std::optional<Pub> product;
  for (size_t j = 0; j < opened.size(); ++j)
    if (!(set >> j & 1)) product = product ? *product * opened[j] : opened[j];
  return product;
}

// Returns the index of the product of re over a set, in the order of pfss/poly.hpp. Bit j stands for digit j + 1.
int MonomialOf(int set) {
  int index = 0;
  for (int j = 0; set >> j; ++j)
    if (set >> j & 1) index += pfss::PolySize(j);
  return index;
}

// Returns a party's share of the terms of Equal without re_0 and without the constant. The party has shares of the
// bits, of the first bit and of the groups. `h` and `h0` are the opened eq bits.
template <unsigned A>
Val<A> EqualTerms(const std::vector<Pub>& h, Pub h0, Val<A> bits, Val<A> first, const std::vector<Val<A>>& groups) {
  std::optional<Val<A>> sum;
  for (int set = 0; set < 1 << h.size(); ++set) {
    const std::optional<Pub> others = ProductOutside(h, set);
    Val<A> term = first;
    if (set > 0) {
      const int top = std::bit_width(unsigned(set)), index = MonomialOf(set) - pfss::PolySize(top - 1);
      Val<A> word = index == 0 ? BitOf(bits, 2 * top - 1) : BitOf(groups[size_t(top) - 1], index - 1);
      term = word * h0;
    }
    if (others) term = term * *others;
    sum = sum ? *sum + term : term;
  }
  return *sum;
}

// Returns shares in Z_2 of the product of a block's eq bits. That of the lowest digit is opened alone, as `first`. The
// others are bits 2j - 1 of `bits`. Products without re_0 are among the monomials of lt, `groups`.
Sh Equal(Trace& t, const SharedWire<kPub>& bits, const SharedWire<kPub>& first, const std::vector<Dealt>& groups) {
  std::vector<Pub> h;
  std::vector<Sec> rho;
  std::vector<pfss::Own<0>> groups0;
  std::vector<pfss::Own<1>> groups1;
  for (int j = 1; j <= int(groups.size()); ++j) {
    Pub hj = BitOf(bits.hat, 2 * j - 1);
    Sec rj = BitOf(bits.r, 2 * j - 1);
    h.push_back(hj);
    rho.push_back(rj);
    groups0.push_back(groups[size_t(j) - 1].a);
    groups1.push_back(groups[size_t(j) - 1].b);
  }
  Pub h0 = BitOf(first.hat, 0);
  Sec r0 = BitOf(first.r, 0);
  pfss::Own<0> first0 = BitOf(pfss::Own<0>(first.s.a), 0);
  pfss::Own<0> a = EqualTerms<pfss::kP0>(h, h0, bits.s.a, first0, groups0);
  pfss::Own<1> first1 = BitOf(pfss::Own<1>(first.s.b), 0);
  pfss::Own<1> b = EqualTerms<pfss::kP1>(h, h0, bits.s.b, first1, groups1);
  Pub constant = h0;
  for (const Pub& v : h) constant = constant * v;
  Sh out = Sh{a, b} + constant;
  // products with re_0 are dealt here
  for (int set = 1; set < 1 << h.size(); ++set) {
    Sec product = r0;
    for (size_t j = 0; j < rho.size(); ++j)
      if (set >> j & 1) product = product * rho[j];
    const std::optional<Pub> others = ProductOutside(h, set);
    Sh word = t.deal(product, 1);
    out = out + (others ? word * *others : word);
  }
  return out;
}

}  // namespace

int64_t DigitKeyBits(int width) { return width <= kWidest ? int64_t{1} << width : 2 * int64_t(fss::DpfKeyBits(width)); }

std::optional<DigitPlan> FindDigits(const std::vector<Cut>& cuts, Stages stages, int readings, int base) {
  SUF_CHECK(!cuts.empty() && cuts[0].at >= 1 && readings >= 1 && stages != Stages::kNone);
  for (size_t i = 1; i < cuts.size(); ++i) SUF_CHECK(cuts[i].at > cuts[i - 1].at);
  std::vector<int> key{int(stages), readings, base};
  for (const Cut& c : cuts) key.insert(key.end(), {c.at, c.ring});
  static Cache<std::vector<int>, std::optional<DigitPlan>> known;
  return *known.Get(key, [&]() -> std::optional<DigitPlan> {
    if (stages == Stages::kThree) return FindBlocks(cuts, readings);
    Search s{cuts, stages, readings, base, {}, {}};
    s.Extend(0, 0, kWidest, 0);
    if (s.best.empty()) return std::nullopt;
    return DigitPlan{s.best, {}};
  });
}

DigitPlan PlanDigits(const std::vector<Cut>& cuts, Stages stages, int readings) {
  if (std::optional<DigitPlan> plan = FindDigits(cuts, stages, readings)) return *plan;
  if (stages == Stages::kThree)
    Fail(Cause::kRefused, "cuts up to bit ", cuts.back().at, " need more than ", pfss::kMostDigitsX,
         " blocks of digits; make fewer cuts");
  Fail(Cause::kRefused, "a cut at bit ", cuts.back().at, " needs more than ", MaxDigits(stages), " digits of ", kWidest,
       " bits; cut in ", stages == Stages::kOne ? "two" : "three", " stages, lower the scale or make fewer cuts");
}

int64_t DigitsKeyBits(const DigitPlan& plan, const std::vector<Cut>& cuts, Stages stages, int readings) {
  int64_t bits = 0;
  int at = 0;
  for (int w : plan.widths) bits += DigitKeyBits(w);
  for (int b = 0; b < int(plan.blocks.size()); ++b)
    bits += readings * (BlockMonomials(plan.blocks[size_t(b)], b == 0) + (b ? pfss::GroupBits(b) : 0));
  if (plan.blocks.empty())
    for (int j = 0; j < int(plan.widths.size()); at += plan.widths[size_t(j++)])
      bits += readings * GroupKeyBits(j, at, cuts, stages);
  return bits;
}

int BorrowWords(int digits, Stages stages) { return stages == Stages::kOne ? pfss::PolySize(digits - 1) - 1 : 1; }

OpenedDigits::OpenedDigits(Trace& t, const Wire<kPub>& z, Const offset, DigitPlan plan)
    : OpenedDigits(t, WideWire(Wire<kPub>{z.hat + offset, z.r}), std::move(plan)) {}

OpenedDigits::OpenedDigits(Trace& t, const WideWire& z, DigitPlan plan) : t_(t), z_(z) {
  int at = 0;
  std::span<const int> widths(plan.widths);
  if (plan.blocks.empty()) {
    bits_ = t_.open(ReadAll(widths), "bits");
    for (int w : widths) ends_.push_back(at += w);
    return;
  }
  std::vector<pfss::Own<0>> a;
  std::vector<pfss::Own<1>> b;
  auto push = [&](const Sh& bit) {
    a.push_back(bit.a);
    b.push_back(bit.b);
  };
  for (int digits : plan.blocks) {
    std::span<const int> own = widths.first(size_t(digits));
    SharedWire<kPub> bits = t_.open(ReadBlock(at, own), "bits");
    SharedBorrow lt = BorrowShares(t_, bits, digits);
    if (at > 0) {
      SharedWire<kPub> first = t_.open(ReadEqual(at, own[0]), "bits");
      push(Equal(t_, bits, first, lt.groups));
    }
    push(pfss::Map(lt.borrow, [](auto v) { return BitOf(v, 0); }));
    for (int w : own) at += w;
    ends_.push_back(at);
    widths = widths.subspan(size_t(digits));
  }
  pfss::Own<0> string0 = StringOf(a);
  pfss::Own<1> string1 = StringOf(b);
  bits_ = t_.open({string0, string1}, "blocks");
}

// Deals the one-hot table of a digit of r.
Dealt OpenedDigits::DealTable(int at, int width) {
  Sec digit = Field(z_.r, at, width);
  Sec hot = Hot(digit);
  return t_.deal(hot);
}

// Returns shares of the eq bit of one digit.
Sh OpenedDigits::ReadEqual(int at, int width) {
  Pub place = Field(z_.hat, at, width);
  if (width > kWidest) return t_.window(t_.tree(Field(z_.r, at, width)), place, 1);
  return pfss::Map(Sh(DealTable(at, width)), [&](auto v) { return Point(v, place); });
}

// Returns shares of the lt and eq bits of tables from bit `at` on. It omits the eq of the lowest. At most 64 bits.
Sh OpenedDigits::ReadBlock(int at, std::span<const int> widths) {
  std::vector<pfss::Rnd<0>> a;
  std::vector<pfss::Rnd<1>> b;
  int end = at;
  for (int w : widths) {
    Dealt table = DealTable(end, w);
    a.push_back(table.a);
    b.push_back(table.b);
    end += w;
  }
  Pub place = Field(z_.hat, at, std::min(64, z_.k() - at));
  pfss::Shape shape(widths.begin(), widths.end());
  pfss::Own<0> bits0 = Digits(place, a, shape);
  pfss::Own<1> bits1 = Digits(place, b, shape);
  return {bits0, bits1};
}

// Returns shares of the lt and eq bits of all digits. It reads trees one by one, and tables in runs of up to 64 bits.
Sh OpenedDigits::ReadAll(std::span<const int> widths) {
  const size_t count = 2 * widths.size() - 1;
  std::optional<Sh> all;
  // adds a part whose bit i is bit `first` + i of all
  auto add = [&](const Sh& part, size_t first) {
    if (part.bits() == int(count)) return void(all = part);
    std::vector<uint64_t> masks(count);
    for (size_t i = 0; i < size_t(part.bits()); ++i) masks[first + i] = uint64_t{1} << i;
    Const rows = t_.constant(std::move(masks), {int64_t(count), 1});
    Sh here = pfss::Map(part, [&](auto half) { return Mix(half, rows); });
    all = all ? *all + here : here;
  };
  for (size_t j = 0, at = 0, next; j < widths.size(); j = next) {
    if (j > 0) add(ReadEqual(int(at), widths[j]), 2 * j - 1);
    if (widths[j] > kWidest) {
      Trace::Tree tree = t_.tree(Field(z_.r, int(at), widths[j]));
      Pub place = Field(z_.hat, int(at), widths[j]);
      add(t_.parity(tree, place, {0}), 2 * j);
      next = j + 1;
      at += size_t(widths[j]);
      continue;
    }
    size_t end = at;
    for (next = j; next < widths.size() && widths[next] <= kWidest && end - at + size_t(widths[next]) <= 64; ++next)
      end += size_t(widths[next]);
    add(ReadBlock(int(at), widths.subspan(j, next - j)), 2 * j);
    at = end;
  }
  return *all;
}

int OpenedDigits::Count(int cut) const {
  auto it = std::find(ends_.begin(), ends_.end(), cut);
  SUF_CHECK(it != ends_.end());
  return int(it - ends_.begin()) + 1;
}

Sh BorrowBit(const OpenedDigits& d, int cut) { return BorrowShares(d.trace(), d.bits(), d.Count(cut)).borrow; }

Borrow::Borrow(const OpenedDigits& d, int cut, Stages stages)
    : t_(d.trace()), h_(d.bits().hat), rho_(d.bits().r), digits_(d.Count(cut)), stages_(stages) {
  SUF_CHECK(stages != Stages::kNone);
  at0_ = BorrowAt0(h_, digits_);
  if (stages == Stages::kOne) return;
  Sh c = BorrowBit(d, cut);
  SharedWire<kPub> wire = t_.open(c, "carry");
  carry_ = Lift(wire.hat);
  sign_ = carry_ * 2;
  sign_ = 1 - sign_;
  sigma_ = Lift(wire.r);
}

Sh Borrow::Share(int k) const {
  if (stages_ != Stages::kOne) {
    Sh sigma = t_.deal(sigma_, k);
    return sigma * sign_ + carry_;
  }
  std::vector<pfss::Rnd<0>> a;
  std::vector<pfss::Rnd<1>> b;
  for (int j = 0; j < digits_; ++j) {
    Dealt group = t_.deal(Mono(rho_, j), k);
    a.push_back(group.a);
    b.push_back(group.b);
  }
  pfss::Own<0> y0 = pfss::BorrowA(h_, a);
  pfss::Own<1> y1 = pfss::BorrowA(h_, b);
  return Sh{y0, y1} + at0_;
}

Sh Borrow::Times(Sec q, int k, const std::optional<Sh>& held) const {
  Sh word = held ? Low(*held, k) : Sh(t_.deal(q, k));
  if (stages_ != Stages::kOne) {
    Sh both = t_.deal(sigma_ * q, k);
    Sh x = word * carry_;
    Sh y = both * sign_;
    return x + y;
  }
  std::vector<pfss::Rnd<0>> a;
  std::vector<pfss::Rnd<1>> b;
  for (int j = 0; j < digits_; ++j) {
    Sec mono = Mono(rho_, j);
    Dealt group = t_.deal(mono * q, k);
    a.push_back(group.a);
    b.push_back(group.b);
  }
  pfss::Own<0> y0 = pfss::BorrowA(h_, a);
  pfss::Own<1> y1 = pfss::BorrowA(h_, b);
  Sh x = word * at0_;
  return x + Sh{y0, y1};
}

OwedWord Slice(const OpenedDigits& d, int begin, int end, int ring, const Borrow* low, const Borrow* high) {
  int k = d.hat().bits(), width = end - begin;
  SUF_CHECK(0 <= begin && begin < end && end <= k && (begin == 0 || low) && (ring <= width || (end < k && high)));
  WordSum y(d.trace(), ring);
  Pub h = d.hat() >> begin;
  h = Low(h, width);
  Sec r = d.r() >> begin;
  r = Low(r, width);
  Pub public_part = Lift(h);
  Sec owed = Lift(r);
  y.Add({1, 0, public_part, {}, {}});
  y.Add({-1, 0, {}, owed, {}});
  if (begin > 0) y.Add(low->Share(ring), std::nullopt, -1);
  if (ring > width) y.Add(high->Share(ring - width), std::nullopt, 1, width);
  return y.Done();
}

}  // namespace suf::compiler
