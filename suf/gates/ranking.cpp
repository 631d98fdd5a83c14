#include "suf/gates/ranking.hpp"

#include <algorithm>
#include <bit>

#include "suf/compiler/bits.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/text.hpp"

namespace suf::gates {

static_assert(Gate<Duel> && Gate<Ranks> && Gate<TopOfGroup>);

using compiler::Factors;
using compiler::OpenedBit;
using compiler::StepSource;
using compiler::WordSum;
using pfss::Const;
using pfss::Own;
using pfss::Sec;
using pfss::Shape;

int BitsToCount(int64_t n) { return std::bit_width(uint64_t(n - 1)); }
Factors BitFactors(const OpenedBit& b) { return {{1, 0, b.hat, {}, {}}, {1, 0, b.sign, b.rho, {}}}; }

namespace {

// Returns the function that is the top bit of k bits.
compiler::CompiledFunction TopBit(int k) {
  return compiler::Compile(func::Parse(Str("suf negative domain ", k, " ring 1 outputs 1 degree 0\n",  //
                                           "piece 0 : 0\npiece ", PowerText(k - 1), " : 1\n",          //
                                           "end ", PowerText(k), "\n")));
}

// Opens the top bits of a wire.
OpenedBit OpenSigns(Trace& t, StepSource steps, const Wire<kPub>& x, const char* label) {
  const compiler::CompiledFunction sign = TopBit(x.k());
  compiler::WireBits reader(t, x, sign, steps, sign.steps);
  return compiler::SplitBits(compiler::OpenDefined(t, reader.ReadString(sign.steps), label))[0];
}

// Returns the key bits of a sign, without the words of its mask.
int64_t SignKeyBits(int k, StepSource steps) {
  const int64_t word = 1;  // of the mask, which the function as a whole deals
  return compiler::NumbersKeyBits(TopBit(k), {compiler::Kind::kOpenSteps, steps, Stages::kOne}, {}, 1) - word;
}

// Returns a wire of less than 64 bits as integers, x_hat - r, which is right modulo 2^k.
Factors WordFactors(const Wire<kPub>& x) {
  Pub hat = Lift(x.hat);
  Sec r = Lift(x.r);
  return {{1, 0, hat, {}, {}}, {-1, 0, {}, r, {}}};
}

// Returns x + b (y - x).
OwedWord SecondIf(Trace& t, const OpenedBit& b, const Wire<kPub>& x, const Wire<kPub>& y) {
  Pub hat = y.hat - x.hat;
  Sec r = y.r - x.r;
  WordSum sum(t, x.k());
  sum.Add(BitFactors(b), WordFactors({hat, r}));
  sum.Add(WordFactors(x));
  return sum.Done();
}

Wire<kPub> Joined(const Wire<kPub>& x, const Wire<kPub>& y, int axis) {
  Pub hat = Concat(std::vector<Pub>{x.hat, y.hat}, axis);
  Sec r = Concat(std::vector<Sec>{x.r, y.r}, axis);
  return {hat, r};
}
Sh Joined(const Sh& x, const Sh& y, int axis) {
  Own<0> a = Concat(std::vector<Own<0>>{x.a, y.a}, axis);
  Own<1> b = Concat(std::vector<Own<1>>{x.b, y.b}, axis);
  return {a, b};
}

// Returns the first or the second of each two neighbours along an axis; a last odd one is left out.
template <unsigned A>
pfss::Val<A> OfTwo(pfss::Val<A> v, int axis, int which) {
  Shape one = v.shape();
  const int64_t half = one[size_t(axis)] / 2;
  one[size_t(axis)] = half;
  Shape two = one;
  two.insert(two.begin() + axis + 1, 2);
  v = Between(v, axis, 0, 2 * half);
  v = Reshape(v, two);
  v = Between(v, axis + 1, which, which + 1);
  return Reshape(v, one);
}
Wire<kPub> OfTwo(const Wire<kPub>& x, int axis, int which) {
  return pfss::Map(x, [&](auto v) { return OfTwo(v, axis, which); });
}

// Returns the opened bit as a wire in Z_2 with a new first axis of length 1.
Wire<kPub> Plane(const OpenedBit& b) {
  Shape one = b.hat.shape();
  one.insert(one.begin(), 1);
  Pub hat = Reshape(Low(b.hat, 1), one);
  Sec r = Reshape(Low(b.rho, 1), one);
  return {hat, r};
}

}  // namespace

PlacedInts Duel::Spec(const PlacedInts& x, int k, int64_t rows, int planes) const {
  const size_t width = x.number.size() / size_t(rows);
  PlacedInts out;
  for (int64_t s = 0; s < rows; s += 2)
    for (size_t w = 0; w < width; ++w) {
      const size_t first = size_t(s) * width + w, second = first + width;
      const bool alone = s + 1 == rows;
      const bool wins = !alone && Number(uint64_t(x.number[first]) - uint64_t(x.number[second]), k) < 0;
      const size_t winner = wins ? second : first;
      out.number.push_back(Number(uint64_t(x.number[winner]), k));
      out.place.push_back((planes ? x.place[winner] : 0) + (int64_t(wins) << planes));
    }
  return out;
}

PlacedWires Duel::Build(Trace& t, const PlacedWires& x) const {
  const int64_t rows = x.number.shape()[0];
  SUF_CHECK(rows > 1);
  const Wire<kPub> first = OfTwo(x.number, 0, 0), second = OfTwo(x.number, 0, 1);
  Pub hat = first.hat - second.hat;
  Sec r = first.r - second.r;
  const OpenedBit b = OpenSigns(t, steps, {hat, r}, "wins");
  PlacedWires won{compiler::OpenDefined(t, SecondIf(t, b, first, second), "number"), {}};
  Wire<kPub> plane = Plane(b);
  if (x.place)
    won.place = compiler::OpenDefined(t, SecondIf(t, b, OfTwo(*x.place, 1, 0), OfTwo(*x.place, 1, 1)), "place");
  if (rows % 2) {  // the last row waits, and its new bit is 0
    const auto last = [&](int axis) { return [=](auto v) { return Between(v, axis, rows - 1, rows); }; };
    won.number = Joined(won.number, pfss::Map(x.number, last(0)), 0);
    if (x.place) won.place = Joined(*won.place, pfss::Map(*x.place, last(1)), 1);
    Shape one = plane.shape();
    one[1] = 1;
    const Const zero = Broadcast(Low(t.constant(0), 1), one);
    plane = Joined(plane, Wire<kPub>{zero, zero}, 1);
  }
  won.place = x.place ? Joined(*won.place, plane, 0) : plane;
  return won;
}

int64_t Duel::KeyBits(int k, int planes) const {
  // A number has the bit's mask, that of the difference, and their product. A plane has the last two.
  return SignKeyBits(k, steps) + 3 * k + 2 * planes;
}

Ints Ranks::Spec(const Ints& x, int k, int64_t row) const {
  Ints out;
  for (size_t at = 0; at < x.size(); at += size_t(row))
    for (int64_t i = 0; i < row; ++i) {
      int64_t rank = 0;
      for (int64_t j = 0; j < row; ++j) {
        const uint64_t own = uint64_t(x[at + size_t(i)]), other = uint64_t(x[at + size_t(j)]);
        if (j < i) rank += Number(other - own, k) >= 0;
        if (j > i) rank += Number(own - other, k) < 0;
      }
      out.push_back(Number(uint64_t(rank), ring));
    }
  return out;
}

Ints Ranks::SpecUnder(const Ints& x, int k) const {
  Ints out;
  for (const int64_t v : x) out.push_back(Number(uint64_t(v) - uint64_t(*floor), k) < 0);
  return out;
}

Ranks::RankShares Ranks::BuildBoth(Trace& t, const Wire<kPub>& x) const {
  const Shape shape = x.shape();
  const int64_t n = shape.back(), all = pfss::Size(shape), count = all / n * (n * (n - 1) / 2);
  SUF_CHECK(n > 1);
  // x_j - x_i for all pairs j < i, as the pairs j <= i - 1 of a square of n - 1, then x - floor
  const auto differences = [&](auto v) {
    Shape square = shape, row = shape;
    square.back() = n - 1;
    row.back() = n - 1;
    square.push_back(n - 1);
    row.insert(row.end() - 1, 1);
    auto earlier = Broadcast(Reshape(Between(v, -1, 0, n - 1), row), square);
    auto later = Broadcast(Column(Between(v, -1, 1, n)), square);
    return Reshape(Pack(earlier - later), {count});
  };
  Wire<kPub> d = pfss::Map(x, differences);
  if (floor) {
    Pub over = Reshape(x.hat, {all}) - *floor;
    Sec mask = Reshape(x.r, {all});
    d = Joined(d, {over, mask}, 0);
  }
  const OpenedBit b = OpenSigns(t, steps, d, "pairs");
  const auto part = [&](int64_t begin, int64_t end, const Shape& s) {
    const auto cut = [&](auto v) { return Reshape(Between(v, 0, begin, end), s); };
    Pub hat = cut(b.hat);
    Pub sign = cut(b.sign);
    Sec rho = cut(b.rho);
    return OpenedBit{hat, sign, rho};
  };
  RankShares out;
  if (floor) out.under = part(count, count + all, shape);
  Shape packed = shape;
  packed.back() = n * (n - 1) / 2;
  WordSum bits(t, ring);
  bits.Add(BitFactors(part(0, count, packed)));
  const OwedWord later_wins = bits.Done();
  SUF_CHECK(!later_wins.owed);
  const Sh square = Unpack(later_wins.y, n - 1);
  Shape one = shape;
  one.back() = 1;
  const Sh none = compiler::Zeros(t, one, ring);
  Sh wins = Joined(none, Sum(square, -1), -1);    // of i, over earlier ones
  Sh losses = Joined(Sum(square, -2), none, -1);  // of i, over later ones
  std::vector<uint64_t> index;
  for (int64_t i = 0; i < n; ++i) index.push_back(uint64_t(i));
  const Const earlier = t.constant(std::move(index), {n});
  Sh rank = losses - wins;
  rank = rank + Pub(Low(earlier, ring));
  out.rank = {rank, std::nullopt};
  return out;
}

int64_t Ranks::KeyBits(int k, int64_t row) const {
  const int64_t pairs = row * (row - 1) / 2;
  return pairs * (SignKeyBits(k, steps) + ring) + (floor ? row * SignKeyBits(k, steps) : 0);
}

PlacedInts TopOfGroup::Spec(const PlacedInts& x, int k, int64_t row, int planes) const {
  const Ints ranks = Ranks{steps, BitsToCount(row), {}}.Spec(x.number, k, row);
  PlacedInts out;
  for (size_t at = 0; at < x.number.size(); at += size_t(row))
    for (int64_t r = 0; r < keep; ++r) {
      uint64_t number = 0, place = 0;
      for (int64_t i = 0; i < row; ++i) {
        const size_t here = at + size_t(i);
        if (int64_t(Word(ranks[here], BitsToCount(row))) != r) continue;
        number += uint64_t(x.number[here]);
        place ^= (planes ? uint64_t(x.place[here]) : 0) ^ uint64_t(i) << planes;
      }
      out.number.push_back(Number(number, k));
      out.place.push_back(int64_t(place));
    }
  return out;
}

PlacedWires TopOfGroup::Build(Trace& t, const PlacedWires& x) const {
  const Shape shape = x.number.shape();
  const int64_t n = shape.back();
  const int q = BitsToCount(n), planes = x.place ? int(x.place->shape()[0]) : 0;
  SUF_CHECK(keep >= 1 && keep < n && keep <= 64);
  const Wire<kPub> rank = compiler::OpenDefined(t, Ranks{steps, q, {}}.Build(t, x.number), "rank");
  // [rank = r] is bit keep - 1 - r of a window of the one-hot table at the mask of the rank
  const pfss::Dealt table = t.deal(Hot(rank.r));
  Pub low = rank.hat - (keep - 1);
  const Sh string = pfss::Map(Sh(table), [&](auto half) { return Rotate(half, low, int(keep)); });
  const std::vector<OpenedBit> bits = compiler::SplitBits(t.open(string, "ranked"));
  const Factors numbers = WordFactors(x.number);
  Factors places;
  if (planes) places = WordFactors(*x.place);
  // the bits of the number within the row: an exclusive or of the members whose number has the bit
  std::vector<uint64_t> members;
  for (int j = 0; j < q; ++j)
    for (int64_t i = 0; i < n; ++i) members.push_back(uint64_t(i >> j & 1));
  Shape axes(shape.size() + 1, 1);
  axes.front() = q;
  axes.back() = n;
  const Const number = t.constant(std::move(members), axes);
  std::vector<Own<0>> number0, place0;
  std::vector<Own<1>> number1, place1;
  for (int64_t r = 0; r < keep; ++r) {
    const int at = int(keep - 1 - r);
    const Factors bit = BitFactors(bits[size_t(at)]);
    WordSum sum(t, x.number.k());
    sum.Add(bit, numbers);
    const OwedWord one = Map(sum.Done(), [](auto v) { return Sum(v, -1); });
    const Sh own = pfss::Map(string, [&](auto v) { return compiler::BitOf(v, at); });
    Sh place = pfss::Map(own, [&](auto v) { return Sum(Low(v * number, 1), -1); });  // (q, ..)
    if (planes) {
      WordSum old(t, 1);
      old.Add(bit, places);
      const OwedWord kept = Map(old.Done(), [](auto v) { return Sum(v, -1); });
      SUF_CHECK(!kept.owed);
      place = Joined(kept.y, place, 0);
    }
    SUF_CHECK(!one.owed);
    number0.push_back(one.y.a), number1.push_back(one.y.b);
    place0.push_back(place.a), place1.push_back(place.b);
  }
  // (keep, ..) -> (.., keep)
  const auto last = [](auto v) {
    Shape order;
    for (size_t i = 1; i < v.shape().size(); ++i) order.push_back(int64_t(i));
    order.push_back(0);
    return Permute(v, order);
  };
  const auto stacked = [&](const std::vector<Own<0>>& a, const std::vector<Own<1>>& b) {
    Own<0> left = last(pfss::Stack(a));
    Own<1> right = last(pfss::Stack(b));
    return Sh{left, right};
  };
  return {t.open(stacked(number0, number1), "number"), t.open(stacked(place0, place1), "place")};
}

int64_t TopOfGroup::KeyBits(int k, int64_t row, int planes) const {
  const int q = BitsToCount(row);
  // A number has its mask once, and for each kept rank the bit's mask and their product. A place lacks the bit's mask.
  const int64_t number = (2 * keep + 1) * k, place = (keep + 1) * planes;
  return Ranks{steps, q, {}}.KeyBits(k, row) + row * ((int64_t{1} << q) + number + place);
}

}  // namespace suf::gates
