// Compares index maps with views that are made word by word: all views of small shapes, and chains of views.
#include "suf/grouping/map.hpp"

#include <gtest/gtest.h>

#include <random>

#include "suf/pfss/ops.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::grouping {
namespace {

using namespace pfss;  // NOLINT

using Words = std::vector<int64_t>;

// Makes node i's words. A node that is no view has words of its own, from 1000 times its number on.
Words Make(const Trace& t, int i) {
  const Node& n = t.node(i);
  const int64_t size = Size(n.shape);
  Words out(static_cast<size_t>(size));
  if (!IsView(n.op)) {
    for (int64_t x = 0; x < size; ++x) out[size_t(x)] = 1000 * i + x;
    return out;
  }
  std::vector<Words> in;
  for (int a : n.args) in.push_back(Make(t, a));
  const Words& a = in[0];
  const Shape& from = t.node(n.args[0]).shape;
  const size_t rank = n.shape.size();
  for (int64_t x = 0; x < size; ++x) {
    Shape at(rank);
    for (int64_t d = int64_t(rank), rest = x; d-- > 0; rest /= n.shape[size_t(d)])
      at[size_t(d)] = rest % n.shape[size_t(d)];
    auto flat = [](const Shape& index, const Shape& shape) {
      int64_t f = 0;
      for (size_t d = 0; d < shape.size(); ++d) f = f * shape[d] + index[d];
      return size_t(f);
    };
    int64_t& to = out[size_t(x)];
    if (n.op == Op::kReshape || n.op == Op::kWait) {
      to = a[size_t(x)];
    } else if (n.op == Op::kPermute) {
      Shape index(rank);
      for (size_t d = 0; d < rank; ++d) index[size_t(n.attrs[d])] = at[d];
      to = a[flat(index, from)];
    } else if (n.op == Op::kBetween) {
      at[size_t(n.attrs[0])] += n.attrs[1];
      to = a[flat(at, from)];
    } else if (n.op == Op::kBroadcast) {
      Shape index(at.end() - int64_t(from.size()), at.end());
      for (size_t d = 0; d < from.size(); ++d) index[d] %= from[d];
      to = a[flat(index, from)];
    } else if (n.op == Op::kStack) {
      const size_t part = size_t(at[0]);
      at.erase(at.begin());
      to = in[part][flat(at, from)];
    } else {
      SUF_CHECK(n.op == Op::kConcat);
      size_t k = 0;
      int64_t& c = at[size_t(n.attrs[0])];
      while (c >= t.node(n.args[k]).shape[size_t(n.attrs[0])]) c -= t.node(n.args[k++]).shape[size_t(n.attrs[0])];
      to = in[k][flat(at, t.node(n.args[k]).shape)];
    }
  }
  return out;
}

// Reads the words that a map leads to, by runs from every beginning.
Words Read(const Trace& t, const IndexMap& m) {
  std::map<int, Words> made;
  auto words = [&](int i) -> const Words& {
    auto [it, fresh] = made.try_emplace(i);
    if (fresh) it->second = Make(t, i);
    return it->second;
  };
  Words out;
  for (int64_t x = 0; x < m.count; ++x) {
    const ElementRun first = RunAt(m, x);
    out.push_back(words(first.node).at(size_t(first.at)));
  }
  for (int64_t x = 0; x < m.count;) {
    const ElementRun r = RunAt(m, x);
    EXPECT_GE(r.many, 1);
    EXPECT_LE(x + r.many, m.count);
    for (int64_t j = 0; j < r.many && x < m.count; ++j, ++x)
      EXPECT_EQ(words(r.node).at(size_t(r.at + j * r.stride)), out[size_t(x)]) << x;
  }
  return out;
}

// Node i through all views that ResolveViews resolves. `all` is false if one of them has no map.
struct Chain {
  IndexMap map;
  bool all = true;
};
Chain Collapse(const Trace& t, int i) {
  std::map<int, IndexMap> views;
  Chain out{ViewOf(t, i), true};
  std::function<const IndexMap*(int)> find = [&](int a) -> const IndexMap* {
    if (!IsView(t.node(a).op)) return nullptr;
    if (auto it = views.find(a); it != views.end()) return &it->second;
    auto m = ResolveViews(ViewOf(t, a), find);
    if (!m) {
      out.all = false;
      return nullptr;
    }
    return &views.emplace(a, *m).first->second;
  };
  if (auto m = ResolveViews(out.map, find))
    out.map = *m;
  else
    out.all = false;
  return out;
}

// Tests every view of every shape of up to four axes of 1 to 3.
TEST(Map, ViewsOfSmallShapes) {
  Trace t;
  int seen = 0;
  auto check = [&](int i) {
    if (!IsView(t.node(i).op)) return;  // folded by the trace
    ++seen;
    ASSERT_EQ(Read(t, ViewOf(t, i)), Make(t, i)) << pfss::Print(t) << Print(ViewOf(t, i));
  };
  std::vector<Shape> shapes{{}};
  for (size_t k = 0; k < shapes.size(); ++k)
    for (int64_t d : {1, 2, 3})
      if (shapes[k].size() < 4) {
        shapes.push_back(shapes[k]);
        shapes.back().push_back(d);
      }
  for (const Shape& s : shapes) {
    const int rank = int(s.size());
    const int x = t.constant(std::vector<uint64_t>(size_t(Size(s)), 7), s).id();
    const int y = t.constant(std::vector<uint64_t>(size_t(Size(s)), 8), s).id();
    check(t.fn(Op::kReshape, {x}, {Size(s)}));
    check(t.fn(Op::kStack, {x, y, x}));
    Shape axes;
    for (int d = 0; d < rank; ++d) axes.push_back(d);
    do {
      if (rank) check(t.fn(Op::kPermute, {x}, axes));
    } while (std::next_permutation(axes.begin(), axes.end()));
    for (int d = 0; d < rank; ++d) {
      for (int64_t b = 0; b < s[size_t(d)]; ++b)
        for (int64_t e = b + 1; e <= s[size_t(d)]; ++e) {
          const int part = t.fn(Op::kBetween, {x}, {d, b, e});
          check(part);
          check(t.fn(Op::kConcat, {part, y, x}, {d}));
        }
      Shape wide = s;
      if (s[size_t(d)] == 1) {
        wide[size_t(d)] = 4;
        check(t.fn(Op::kBroadcast, {x}, wide));
      }
    }
    Shape more = s;
    more.insert(more.begin(), 2);
    check(t.fn(Op::kBroadcast, {x}, more));
  }
  EXPECT_GT(seen, 3000);
}

// Draws views of a trace's nodes.
struct RandomViews {
  Trace t;
  std::mt19937_64& rng;

  int64_t Draw(int64_t n) { return int64_t(rng() % uint64_t(n)); }
  int Leaf(const Shape& s) { return t.constant(std::vector<uint64_t>(size_t(Size(s)), rng()), s).id(); }
  // Returns a reshape that joins two axes, or splits one.
  int Reshaped(int x, int64_t d) {
    Shape to = t.node(x).shape;
    if (Draw(2) && d + 1 < int64_t(to.size())) {
      to[size_t(d)] *= to[size_t(d) + 1];
      to.erase(to.begin() + d + 1);
    } else if (to[size_t(d)] % 2 == 0) {
      to[size_t(d)] /= 2;
      to.insert(to.begin() + d + 1, 2);
    }
    return t.fn(Op::kReshape, {x}, to);
  }
  int Permuted(int x) {
    Shape axes;
    for (int64_t k = 0; k < int64_t(t.node(x).shape.size()); ++k) axes.push_back(k);
    std::shuffle(axes.begin(), axes.end(), rng);
    return t.fn(Op::kPermute, {x}, axes);
  }
  int Concatenated(int x, int64_t d) {
    Shape other = t.node(x).shape;
    other[size_t(d)] = 1 + Draw(3);
    return t.fn(Op::kConcat, Draw(2) ? std::vector<int>{x, Leaf(other)} : std::vector<int>{Leaf(other), x, x}, {d});
  }
  int Repeated(int x) {
    Shape wide = t.node(x).shape;
    wide.insert(wide.begin(), 1 + Draw(2));
    return t.fn(Op::kBroadcast, {x}, wide);
  }
  // Returns a view of node x, whose shape is s.
  int View(int x, const Shape& s) {
    const int64_t d = Draw(int64_t(s.size())), len = s[size_t(d)];
    switch (Draw(6)) {
      case 0:
        return Reshaped(x, d);
      case 1:
        return Permuted(x);
      case 2: {
        const int64_t b = Draw(len);
        return t.fn(Op::kBetween, {x}, {d, b, b + 1 + Draw(len - b)});
      }
      case 3:
        return t.fn(Op::kStack, Draw(2) ? std::vector<int>{x, Leaf(s)} : std::vector<int>{Leaf(s), x});
      case 4:
        return Concatenated(x, d);
      default:
        return Repeated(x);
    }
  }
};

// Tests that chains of views collapse to a map of memory or are reported as impossible; either is right.
TEST(Map, ChainsOfViews) {
  std::mt19937_64 rng(5);
  int whole = 0, parted = 0;
  for (int round = 0; round < 4000; ++round) {
    RandomViews v{{}, rng};
    const Shape first{2 + v.Draw(3), 1 + v.Draw(4), 2 + 2 * v.Draw(2)};
    int x = v.Leaf(first);
    for (int step = 0; step < 5; ++step) {
      const Shape s = v.t.node(x).shape;
      if (s.empty() || Size(s) > 400) break;
      x = v.View(x, s);
    }
    if (!IsView(v.t.node(x).op)) continue;
    const Chain c = Collapse(v.t, x);
    ASSERT_EQ(Read(v.t, c.map), Make(v.t, x)) << pfss::Print(v.t) << Print(c.map);
    ++(c.all ? whole : parted);
  }
  EXPECT_GT(whole, parted);
  EXPECT_GT(parted, 0);
}

// Tests that the views of models are one map each: separated heads, rotated and joined pairs, columns from parts.
TEST(Map, ViewsOfModels) {
  Trace t;
  auto of = [&](const Shape& s, uint64_t v) { return t.constant(std::vector<uint64_t>(size_t(Size(s)), v), s); };
  const Const x = of({6, 24}, 1), y = of({6, 3, 4}, 2), z = of({6, 3, 4}, 3), p = of({2, 24}, 4), q = of({4, 24}, 5);
  auto print = [&](const auto& v) {
    const Chain c = Collapse(t, v.id());
    EXPECT_TRUE(c.all);
    EXPECT_EQ(Read(t, c.map), Make(t, v.id()));
    return Print(c.map);
  };
  EXPECT_EQ(print(Permute(Reshape(x, {6, 3, 8}), {1, 0, 2})), "%0(3*8 6*24 8*1)");
  EXPECT_EQ(print(Reshape(Permute(Reshape(x, {6, 3, 8}), {1, 2, 0}), {24, 6})), "%0(24*1 6*24)");
  EXPECT_EQ(print(Reshape(Between(Reshape(x, {6, 3, 2, 4}), 2, 1, 2), {6, 3, 4})), "%0(18*8 4*1 +4)");
  EXPECT_EQ(print(Reshape(Permute(Stack<kAll>({y, z}), {1, 2, 0, 3}), {6, 24})), "{1: %1(72*1), 2: %2(72*1)}/4");
  EXPECT_EQ(print(Reshape(Between(Concat<kAll>({p, q}, 0), 0, 1, 5), {4, 3, 8})), "{1: %3(24*1 +24), 4: %4(72*1)}/24");
  EXPECT_EQ(print(Between(Concat<kAll>({p, q}, 0), 0, 2, 5)), "%4");
  EXPECT_EQ(print(At(Stack<kAll>({y, z}), 1)), "%2");
}

}  // namespace
}  // namespace suf::grouping
