#include "suf/grouping/map.hpp"

#include <algorithm>
#include <sstream>

namespace suf::grouping {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

int64_t Count(const AffineMap& a) {
  int64_t n = 1;
  for (const Axis& x : a.axes) n *= x.extent;
  return n;
}

// Returns the strides of a contiguous tensor of this shape.
Shape Strides(const Shape& shape) {
  Shape out(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) out[d - 1] = out[d] * shape[d];
  return out;
}

// The numbers below `size` as digits; the first digit has the values that `size` leaves.
struct Digits {
  std::vector<int64_t> place, most;  // of each digit: its place value and its number of values
  Digits(const std::vector<int64_t>& extents, int64_t size) : place(extents.size()), most(extents) {
    int64_t at = 1;
    for (size_t j = extents.size(); j-- > 0; at *= extents[j]) place[j] = at;
    SUF_CHECK(at == size);
  }
  std::vector<int64_t> Of(int64_t v) const {
    std::vector<int64_t> out;
    for (size_t j = 0; j < place.size(); ++j) {
      out.push_back(v / place[j]);
      v %= place[j];
    }
    return out;
  }
};

// An affine map whose axes are split, so that each adds to the digits of its values without a carry.
struct SplitMap {
  std::vector<Axis> axes;
  std::vector<std::vector<int64_t>> digits;  // of each axis those of its stride, then those of the offset
};
// Splits the axes of g until each adds to the digits of its values without a carry. Returns nothing if there is no way.
std::optional<SplitMap> SplitByDigits(const AffineMap& g, const Digits& d) {
  SplitMap out;
  for (const Axis& a : g.axes) {
    if (a.stride < 0) return std::nullopt;
    // From the fast end of the axis: takes the number of elements that the digit of its stride holds.
    std::vector<Axis> parts;
    Axis rest = a;
    while (true) {
      const std::vector<int64_t> digits = d.Of(rest.stride);
      size_t over = digits.size();
      for (size_t j = 0; j < digits.size(); ++j)
        if ((rest.extent - 1) * digits[j] >= d.most[j]) over = j;
      if (over == digits.size()) break;
      const int64_t step = digits[over], take = step ? d.most[over] / step : 0;
      const bool alone = step * d.place[over] == rest.stride;
      if (!alone || d.most[over] % step || rest.extent % take || take < 2) return std::nullopt;
      parts.push_back({take, rest.stride});
      rest = {rest.extent / take, rest.stride * take};
    }
    parts.push_back(rest);
    out.axes.insert(out.axes.end(), parts.rbegin(), parts.rend());
  }
  for (const Axis& a : out.axes) out.digits.push_back(d.Of(a.stride));
  out.digits.push_back(d.Of(g.offset));
  for (size_t j = 0; j < d.most.size(); ++j) {
    int64_t sum = out.digits.back()[j];
    for (size_t k = 0; k < out.axes.size(); ++k) sum += (out.axes[k].extent - 1) * out.digits[k][j];
    if (sum >= d.most[j]) return std::nullopt;
  }
  return out;
}

IndexMap SinglePart(int node, AffineMap at, int64_t count) { return {count, 1, {{node, 1, std::move(at)}}}; }

// Returns elements g of the map f, which has pieces. Returns nothing if no single axis of g selects the piece.
std::optional<IndexMap> ComposeWithChoice(const IndexMap& f, const AffineMap& g) {
  const int64_t len = f.pieces.back().end;
  const auto parted = SplitByDigits(g, Digits({f.count / (f.inner * len), len, f.inner}, f.count));
  if (!parted) return std::nullopt;
  const std::vector<Axis>& axes = parted->axes;
  const std::vector<int64_t>& first = parted->digits.back();
  auto piece = [&](int64_t c) {
    size_t k = 0;
    while (f.pieces[k].end <= c) ++k;
    return k;
  };
  // Maps the part that the axes reach in piece k with `axis` from `lo` to `hi` only.
  auto number = [&](size_t k, size_t axis, int64_t lo, int64_t hi) -> std::optional<AffineMap> {
    const int64_t begin = k ? f.pieces[k - 1].end : 0, w = f.pieces[k].end - begin;
    auto flat = [&](const std::vector<int64_t>& d, int64_t less) { return (d[0] * w + d[1] - less) * f.inner + d[2]; };
    std::vector<Axis> part;
    int64_t offset = flat(first, begin);
    for (size_t a = 0; a < axes.size(); ++a) {
      const int64_t stride = flat(parted->digits[a], 0);
      part.push_back({a == axis ? hi - lo : axes[a].extent, stride});
      if (a == axis) offset += lo * stride;
    }
    return Compose(f.pieces[k].at, MakeAffine(std::move(part), offset), f.count / len * w);
  };
  int64_t reach = 0;  // the reach of all axes along the axis of choice
  for (size_t a = 0; a < axes.size(); ++a) reach += (axes[a].extent - 1) * parted->digits[a][1];
  const int64_t count = Count(g);
  if (piece(first[1]) == piece(first[1] + reach)) {
    const size_t k = piece(first[1]);
    auto at = number(k, axes.size(), 0, 0);
    if (!at) return std::nullopt;
    return SinglePart(f.pieces[k].node, std::move(*at), count);
  }
  int64_t inner = count;
  for (size_t a = 0; a < axes.size(); ++a) {
    inner /= axes[a].extent;
    const int64_t step = parted->digits[a][1], others = reach - (axes[a].extent - 1) * step;
    IndexMap out{count, inner, {}};
    bool good = step > 0;
    for (int64_t lo = 0, hi = 0; good && lo < axes[a].extent; lo = hi) {
      const size_t k = piece(first[1] + lo * step);
      auto in = [&](int64_t i) { return piece(first[1] + i * step) == k && piece(first[1] + i * step + others) == k; };
      while (hi < axes[a].extent && in(hi)) ++hi;
      auto at = hi > lo ? number(k, a, lo, hi) : std::nullopt;
      if ((good = at.has_value())) out.pieces.push_back({f.pieces[k].node, hi, std::move(*at)});
    }
    if (good) return out;
  }
  return std::nullopt;
}

}  // namespace

int64_t AffineMap::operator()(int64_t x) const {
  int64_t at = offset;
  for (size_t d = axes.size(); d-- > 0; x /= axes[d].extent) at += x % axes[d].extent * axes[d].stride;
  return at;
}

AffineMap MakeAffine(std::vector<Axis> axes, int64_t offset) {
  std::vector<Axis> out;
  for (const Axis& a : axes) {
    if (a.extent == 1) continue;
    if (!out.empty() && out.back().stride == a.extent * a.stride)
      out.back() = {out.back().extent * a.extent, a.stride};
    else
      out.push_back(a);
  }
  return {std::move(out), offset};
}

AffineMap MakeAffine(const Shape& shape) { return MakeAffine(std::vector<Axis>{{Size(shape), 1}}); }

std::optional<AffineMap> Compose(const AffineMap& f, const AffineMap& g, int64_t size) {
  std::vector<int64_t> extents;
  for (const Axis& a : f.axes) extents.push_back(a.extent);
  const auto parted = SplitByDigits(g, Digits(extents, size));
  if (!parted) return std::nullopt;
  auto reach = [&](const std::vector<int64_t>& digits) {
    int64_t sum = 0;
    for (size_t j = 0; j < digits.size(); ++j) sum += digits[j] * f.axes[j].stride;
    return sum;
  };
  std::vector<Axis> axes;
  for (size_t a = 0; a < parted->axes.size(); ++a) axes.push_back({parted->axes[a].extent, reach(parted->digits[a])});
  return MakeAffine(std::move(axes), f.offset + reach(parted->digits.back()));
}

ElementRun RunAt(const IndexMap& m, int64_t x) {
  const int64_t len = m.pieces.back().end, row = m.inner * len, c = x / m.inner % len;
  size_t k = 0;
  while (m.pieces[k].end <= c) ++k;
  const AxisPart& p = m.pieces[k];
  const int64_t begin = k ? m.pieces[k - 1].end : 0, in = x % row - begin * m.inner;
  const int64_t local = x / row * (p.end - begin) * m.inner + in;
  // The run ends with the last axis or with the piece.
  int64_t many = m.pieces.size() == 1 ? m.count - x : (p.end - begin) * m.inner - in;
  if (p.at.axes.empty()) return {p.node, p.at.offset, 0, many};
  const Axis& last = p.at.axes.back();
  return {p.node, p.at(local), last.stride, std::min(many, last.extent - local % last.extent)};
}

IndexMap ContiguousMap(int node, int64_t count) {
  return SinglePart(node, MakeAffine(std::vector<Axis>{{count, 1}}), count);
}

bool IsContiguous(const IndexMap& m, int64_t offset) {
  return m.pieces.size() == 1 && m.pieces[0].at == MakeAffine(std::vector<Axis>{{m.count, 1}}, offset);
}

IndexMap BroadcastMap(int node, const Shape& from, const Shape& to) {
  const Shape strides = Strides(from);
  std::vector<Axis> axes;
  for (size_t d = 0; d < to.size(); ++d) {
    const size_t back = to.size() - d;
    const bool has = back <= from.size() && from[from.size() - back] > 1;
    axes.push_back({to[d], has ? strides[from.size() - back] : 0});
  }
  return SinglePart(node, MakeAffine(std::move(axes)), Size(to));
}

IndexMap FrontAxisMap(int node, const Shape& from, size_t axis) {
  const Shape strides = Strides(from);
  std::vector<Axis> axes{{from[axis], strides[axis]}};
  for (size_t d = 0; d < from.size(); ++d)
    if (d != axis) axes.push_back({from[d], strides[d]});
  return SinglePart(node, MakeAffine(std::move(axes)), Size(from));
}

bool IsView(Op op) {
  return op == Op::kBroadcast || (Info(op).cls == OpClass::kView && op != Op::kPack && op != Op::kUnpack);
}

IndexMap ViewOf(const Trace& t, int i) {
  const Node& n = t.node(i);
  const int a = n.args[0];
  const Shape& from = t.node(a).shape;
  const int64_t count = Size(n.shape);
  switch (n.op) {
    case Op::kReshape:
    case Op::kWait:
      return ContiguousMap(a, count);
    case Op::kBroadcast:
      return BroadcastMap(a, from, n.shape);
    case Op::kPermute: {
      const Shape strides = Strides(from);
      std::vector<Axis> axes;
      for (size_t d = 0; d < n.shape.size(); ++d) axes.push_back({n.shape[d], strides[size_t(n.attrs[d])]});
      return SinglePart(a, MakeAffine(std::move(axes)), count);
    }
    case Op::kBetween: {
      const Shape strides = Strides(from);
      std::vector<Axis> axes;
      for (size_t d = 0; d < n.shape.size(); ++d) axes.push_back({n.shape[d], strides[d]});
      return SinglePart(a, MakeAffine(std::move(axes), n.attrs[1] * strides[size_t(n.attrs[0])]), count);
    }
    case Op::kStack:
    case Op::kConcat: {  // a stack is joined along a new first axis
      const size_t axis = n.op == Op::kStack ? 0 : size_t(n.attrs[0]);
      IndexMap out{count, Strides(n.shape)[axis], {}};
      int64_t end = 0;
      for (int part : n.args) {
        const Shape& shape = t.node(part).shape;
        out.pieces.push_back({part, end += n.op == Op::kStack ? 1 : shape[axis], MakeAffine(shape)});
      }
      return out;
    }
    default:
      SUF_CHECK(false);
      return {};
  }
}

std::optional<IndexMap> ResolveViews(const IndexMap& m, const std::function<const IndexMap*(int)>& views) {
  IndexMap out{m.count, m.inner, {}};
  int64_t begin = 0;
  for (const AxisPart& p : m.pieces) {
    const IndexMap* f = views(p.node);
    const int64_t before = std::exchange(begin, p.end);
    if (!f) {
      out.pieces.push_back(p);
      continue;
    }
    std::optional<IndexMap> in;
    if (f->pieces.size() == 1) {
      if (auto at = Compose(f->pieces[0].at, p.at, f->count)) in = SinglePart(f->pieces[0].node, std::move(*at), 0);
    } else {
      in = ComposeWithChoice(*f, p.at);
    }
    if (!in) return std::nullopt;
    if (m.pieces.size() == 1) {
      in->count = m.count;
      return in;
    }
    if (in->pieces.size() == 1) {
      out.pieces.push_back({in->pieces[0].node, p.end, std::move(in->pieces[0].at)});
    } else {  // pieces of a piece: only along the same axis
      if (in->inner != m.inner || in->pieces.back().end != p.end - before) return std::nullopt;
      for (AxisPart& q : in->pieces) out.pieces.push_back({q.node, before + q.end, std::move(q.at)});
    }
  }
  return out;
}

std::string Print(const IndexMap& m) {
  std::ostringstream out;
  auto one = [&](const AxisPart& p) {
    out << "%" << p.node;
    if (m.pieces.size() == 1 && IsContiguous(m)) return;
    out << "(";
    for (size_t d = 0; d < p.at.axes.size(); ++d)
      out << (d ? " " : "") << p.at.axes[d].extent << "*" << p.at.axes[d].stride;
    if (p.at.offset || p.at.axes.empty()) out << (p.at.axes.empty() ? "" : " ") << "+" << p.at.offset;
    out << ")";
  };
  if (m.pieces.size() == 1) {
    one(m.pieces[0]);
  } else {
    out << "{";
    for (size_t k = 0; k < m.pieces.size(); ++k) {
      out << (k ? ", " : "") << m.pieces[k].end << ": ";
      one(m.pieces[k]);
    }
    out << "}/" << m.inner;
  }
  return out.str();
}

}  // namespace suf::grouping
