// The policy, bounds, fields and check of Map.
#include <cmath>

#include "suf/nn/ops/map.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

Expr LeafOf(const char* name, Shape s) { return Expr::Leaf(name, std::move(s)); }

std::map<std::string, Tensor> Small(int64_t in, int64_t out, uint64_t seed) {
  return {{"full", Tensor({in, out}, Numbers(size_t(in * out), 9, seed))},
          {"diag", Tensor({out}, Numbers(size_t(out), 9, seed + 1))},
          {"mean", Tensor({out}, Numbers(size_t(out), 9, seed + 2))},
          {"bias", Tensor({out}, Numbers(size_t(out), 9, seed + 3))}};
}

// Every input inside a box, a ball, and both.
TEST(MapBound, FullIsSound) {
  for (uint64_t seed : {1, 2, 3, 4})
    for (const RowBound& reach : {BoxOf({3, 1, 2}), BoxOf({3, 3, 3}, 3.5), RowBound{3, 3.5, {}, {}, {}}}) {
      LinearMap m;
      m.terms = {{LinearMap::kFull, 0, LeafOf("w", {3, 2})}};
      m.bias = LeafOf("b", {2});
      m.up = 1;
      m.ring = 40;
      OpRig rig(1);
      rig.weights = Small(3, 2, seed);
      const Bounded b = BoundOf(m, 1, {EdgeOf(0, 40, 3, reach)}, rig.weights);
      Reals most(2, 0.0);
      for (const Ints& x : RowsOf(reach)) {
        const IntArray y = rig.Spec(m, {{{{1, 3}, x}}});
        ExpectWithin(y, b.reach);
        for (size_t j : {0, 1}) most[j] = std::max(most[j], std::abs(double(y.at[j])));
      }
      const bool box = reach.length == Length(reach.each);  // a box is reached
      for (size_t j = 0; j < 2 && box; ++j) EXPECT_EQ(most[j], b.reach.each[j]);
    }
}

// The diagonal and the mean term of one row are bounded together.
TEST(MapBound, NormedRowIsSound) {
  for (uint64_t seed : {1, 2, 3, 4})
    for (bool mean : {false, true}) {
      LinearMap m;
      m.terms = {{LinearMap::kDiag, 0, LeafOf("g", {3})}};
      if (mean) m.terms.push_back({LinearMap::kMean, 0, LeafOf("u", {3})});
      m.diag = 2;
      m.mean = 1;
      m.ring = 40;
      OpRig rig(1);
      rig.weights = Small(3, 3, seed);
      const RowBound reach{3, 4.5, {}, {}, {}};
      const Bounded b = BoundOf(m, 1, {EdgeOf(0, 40, 3, reach)}, rig.weights);
      for (const Ints& x : RowsOf(reach)) ExpectWithin(rig.Spec(m, {{{{1, 3}, x}}}), b.reach);
    }
}

// A diagonal term in a box, in a ball, and in both: each coordinate has the smaller bound. A rotation may follow.
TEST(MapBound, DiagonalIsSound) {
  for (bool turned : {false, true})
    for (const RowBound& reach : {BoxOf({3, 1, 2, 3}), BoxOf({3, 3, 3, 3}, 3.5), RowBound{4, 3.5, {}, {}, {}}}) {
      LinearMap m;
      m.terms = {{LinearMap::kDiag, 0, LeafOf("g", {4})}};
      m.ring = 50;
      m.rotary = turned ? 2 : 0;
      m.base = 50;
      Facts f{Options{}};
      f.n = 3;
      m.Choose(f, {EdgeOf(2, 50, 4)});
      OpRig rig(3);
      rig.weights = Small(4, 4, 6);
      const Bounded b = BoundOf(m, 3, {EdgeOf(2, 50, 4, reach)}, rig.weights);
      for (const Ints& row : RowsOf(reach)) {
        Ints x;
        for (int i = 0; i < 3; ++i) x.insert(x.end(), row.begin(), row.end());
        ExpectWithin(rig.Spec(m, {{{{3, 4}, x}}}), b.reach);
      }
      for (size_t j = 0; j < 4 && !turned; ++j)
        EXPECT_EQ(b.reach.each[j],
                  std::min(reach.length, reach.Box()[j]) * std::abs(double(rig.weights["diag"][int64_t(j)])));
    }
}

// Two inputs at once, and a bias for every token.
TEST(MapBound, SeveralInputsAreSound) {
  LinearMap m;
  m.terms = {{LinearMap::kFull, 0, LeafOf("w", {2, 2})},
             {LinearMap::kDiag, 1, LeafOf("g", {2})},
             {LinearMap::kMean, 1, LeafOf("u", {2})}};
  m.bias = LeafOf("b", {2});
  m.by_length = true;
  m.diag = 1;
  m.ring = 40;
  OpRig rig(3);
  rig.weights = Small(2, 2, 5);
  const RowBound x = BoxOf({2, 3}), z{2, 3.2, {}, {}, {}};
  const Bounded b = BoundOf(m, 3, {EdgeOf(0, 40, 2, x), EdgeOf(0, 40, 2, z)}, rig.weights);
  for (const Ints& a : RowsOf(x))
    for (const Ints& c : RowsOf(z)) ExpectWithin(rig.Spec(m, {{{{1, 2}, a}}, {{{1, 2}, c}}}), b.reach);
}

TEST(MapBound, RotaryIsSound) {
  LinearMap m;
  m.terms = {{LinearMap::kFull, 0, LeafOf("w", {2, 4})}};
  m.bias = LeafOf("b", {4});
  m.rotary = 1;
  m.base = 50;
  m.ring = 50;
  Facts f{Options{}};
  f.n = 6;
  m.Choose(f, {EdgeOf(2, 50, 2)});
  OpRig rig(6);
  rig.weights = Small(2, 4, 6);
  const RowBound reach = BoxOf({3, 3}, 3.7);
  const Bounded b = BoundOf(m, 6, {EdgeOf(2, 50, 2, reach)}, rig.weights);
  for (const Ints& row : RowsOf(reach)) {
    Ints x;
    for (int i = 0; i < 6; ++i) x.insert(x.end(), row.begin(), row.end());
    ExpectWithin(rig.Spec(m, {{{{6, 2}, x}}}), b.reach);
  }
}

// A map with nothing but a weight passes on its image. The map behind bounds both together, never worse.
TEST(MapBound, ImagesAreSound) {
  for (uint64_t seed : {1, 2, 3}) {
    LinearMap v;
    v.terms = {{LinearMap::kFull, 0, LeafOf("v", {2, 4})}};
    v.ring = 40;
    LinearMap o;
    o.terms = {{LinearMap::kFull, 0, LeafOf("o", {4, 3})}};
    o.bias = LeafOf("b", {3});
    o.ring = 40;
    OpRig first(1), second(1);
    first.weights = Small(2, 4, seed);
    second.weights = Small(4, 3, seed + 10);
    const RowBound ball{2, 4.2, {}, {}, {}};
    Measures all(OnePool());
    GraphNode n0, n1;
    n0.index = 0;
    n1.index = 1;
    for (const WeightSlot& s : v.Slots()) all.Set(n0, s, first.weights.at(s.name));
    for (const WeightSlot& s : o.Slots()) all.Set(n1, s, second.weights.at(s.name));
    const Options options;
    std::vector<Width> widths;
    RowBound middle = v.Bound({options, 0, 1, 1, &all.Of(n0)}, {EdgeOf(0, 40, 2, ball)}, &widths);
    ASSERT_EQ(middle.images.size(), 1u);
    EXPECT_EQ(middle.images[0].radius, ball.length);
    // two heads with a y each, rounded by up to 1/2
    RowBound heads = middle;
    heads.images = {{0, 0, 2, 0, ball.length}, {0, 2, 2, 2, ball.length}};
    heads.noise = {{0.5, 2}};
    const RowBound r = o.Bound({options, 1, 1, 1, &all.Of(n1)}, {EdgeOf(0, 40, 4, heads)}, &widths);
    const std::vector<Ints> rows = RowsOf(ball);
    for (const Ints& a : rows)
      for (size_t at = 0; at < rows.size(); at += 7) {
        const Ints& c = rows[at];
        const Ints left = first.Spec(v, {{{{1, 2}, a}}}).at, right = first.Spec(v, {{{{1, 2}, c}}}).at;
        ExpectWithin(second.Spec(o, {{{{1, 4}, {left[0], left[1], right[2], right[3]}}}}), r);
      }
    RowBound plain = middle;
    plain.images.clear();
    EXPECT_LE(o.Bound({options, 1, 1, 1, &all.Of(n1)}, {EdgeOf(0, 40, 4, middle)}, &widths).most(),
              o.Bound({options, 1, 1, 1, &all.Of(n1)}, {EdgeOf(0, 40, 4, plain)}, &widths).most() * (1 + 1e-9));
  }
}

LinearMap Residual() {
  LinearMap m;
  m.terms = {{LinearMap::kFull, 0, LeafOf("w", {2, 4})},
             {LinearMap::kDiag, 1, LeafOf("g", {4})},
             {LinearMap::kMean, 1, LeafOf("u", {4})}};
  m.bias = LeafOf("b", {4});
  m.key = "attended";
  return m;
}

TEST(MapChoose, Scales) {
  Options o;
  o.Set("weight.attended", 13);
  o.Set("gamma", 9);
  o.Set("mean", 5);
  const Facts f{o};
  LinearMap m = Residual();
  Edge x = EdgeOf(20, 0, 2), z = EdgeOf(10, 0, 4);
  x.nominal = 14;  // a rescale was left out, so the weights stay the same
  m.Choose(f, {x, z});
  EXPECT_EQ(m.full, 13);
  EXPECT_EQ(m.scale, 33);
  EXPECT_EQ(m.up, 6);
  EXPECT_EQ(m.gamma, 9);
  EXPECT_EQ(m.diag, 14 + 13 - 10 - 9 + 6);
  EXPECT_EQ(m.mean, 5);
  m.ring = 40;
  EXPECT_EQ(m.Need(0, {}), 40);
  EXPECT_EQ(m.Need(1, {}), 40 - m.diag + m.mean);
  const std::vector<WeightSlot> s = m.Slots();
  ASSERT_EQ(s.size(), 4u);
  const int scales[] = {13, 9, 14, 27};
  const char* names[] = {"full", "diag", "mean", "bias"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(s[i].name, names[i]);
    EXPECT_EQ(s[i].scale, scales[i]) << names[i];
    EXPECT_EQ(s[i].masked, i < 3) << names[i];
    EXPECT_EQ(s[i].length, WeightSlot::kFixed);
  }
  m.by_length = true;
  EXPECT_EQ(m.Slots()[3].length, WeightSlot::kTimes);

  o.Set("weight.attended", 4);
  o.Set("gamma", 14);
  ExpectRefused(
      [&] {
        m.Choose({o}, {x, z});
      },
      "the scale 2^18 is below 2^24, that of gamma times an activation; raise `weight.attended`");
  LinearMap diag;
  diag.terms = {{LinearMap::kDiag, 0, LeafOf("g", {4})}};
  diag.Choose({o}, {z});
  EXPECT_EQ(diag.scale, 24);
  EXPECT_EQ(diag.diag, 0);
}

TEST(MapChoose, KeyOfItsOwn) {
  Options o;
  LinearMap m;
  m.terms = {{LinearMap::kFull, 0, LeafOf("w", {2, 4})}};
  m.key = "none";
  m.Choose({o}, {EdgeOf(10, 0, 2)});
  EXPECT_EQ(m.full, o.weight_default);
  m.key = "query_key";
  m.Choose({o}, {EdgeOf(10, 0, 2)});
  EXPECT_EQ(m.full, 12);
}

TEST(MapFields, RoundTrip) {
  LinearMap m = Residual();
  m.Choose({Options{}}, {EdgeOf(14, 0, 2), EdgeOf(10, 0, 4)});
  m.ring = 50;
  ExpectFields(m);
  m.terms = {m.terms[0]};
  m.bias = {};
  m.rotary = 2;
  m.base = 1e4;
  m.by_length = true;
  Facts f{Options{}};
  f.n = 3;
  m.Choose(f, {EdgeOf(14, 0, 2)});
  ExpectFields(m);
}

TEST(MapFields, Refusals) {
  auto refuses = [](const LinearMap& m, const char* words) {
    Recorder r;
    LinearMap copy = m, back;
    copy.Attributes(r);
    r.reading = true;
    ExpectRefused(
        [&] {
          back.Attributes(r);
          back.Verify("here");
        },
        words);
  };
  LinearMap m = Residual();
  m.terms[1].weight = LeafOf("g", {3});
  refuses(m, "the plan is inconsistent at here: a map's weight: it has another width than the others");
  m = Residual();
  m.terms[0].weight = LeafOf("w", {4});
  refuses(m, "a map's weight: it has the wrong shape");
  m = Residual();
  m.terms[1].weight = LeafOf("g", {4, 4});
  refuses(m, "a map's weight: it has the wrong shape");
  m = Residual();
  m.terms.push_back(m.terms[0]);
  refuses(m, "a map's terms: a kind is there twice");
  m = Residual();
  m.terms.erase(m.terms.begin() + 1);
  refuses(m, "a map's terms: a mean term has no diagonal one beside it");
  m = Residual();
  m.bias = LeafOf("b", {2});
  refuses(m, "a map's bias: it has the wrong shape");
  m = Residual();
  m.rotary = 3;
  m.base = 100;
  refuses(m, "a map's rotary: the heads do not divide the result");
  m = Residual();
  m.rotary = 2;
  m.base = 1;
  refuses(m, "a map's rotary: the heads do not divide the result");
  m = LinearMap();
  m.key = "none";
  refuses(m, "a map's terms: there is none");
  m.bias = LeafOf("b", {4});
  refuses(m, "a map's terms: there is none");
  m = Residual();
  m.terms[0].kind = LinearMap::kOne;
  refuses(m, "the plan has a linear term of the kind one; this program knows full, diag and mean");
}

TEST(MapCheck, Faults) {
  LinearMap m = Residual();
  m.Choose({Options{}}, {EdgeOf(14, 0, 2), EdgeOf(10, 0, 4)});
  m.ring = 50;
  const Edges in{EdgeOf(14, 50, 2), EdgeOf(10, 50, 4)};
  const char* scale = "its scale does not follow from its input's";
  ExpectChecked<LinearMap>(
      m, in, 9,
      {{[](LinearMap& x, Edges&) { ++x.full; }, scale},
       {[](LinearMap& x, Edges&) { ++x.scale; }, scale},
       {[](LinearMap& x, Edges&) { ++x.gamma; }, scale},
       {[](LinearMap& x, Edges&) { ++x.diag; }, scale},
       {[](LinearMap&, Edges& e) { ++e[0].scale; }, scale},
       {[](LinearMap&, Edges& e) { ++e[1].scale; }, scale},
       {[](LinearMap&, Edges& e) { e[1].one_row = true; }, "its inputs have two shapes"},
       {[](LinearMap& x, Edges&) { x.terms[2].input = 2; }, "a term reads an input that is not there"},
       {[](LinearMap&, Edges& e) { e[0].dim = 3; }, "a weight does not fit its input"},
       {[](LinearMap&, Edges& e) { e[1].dim = 2; }, "a weight does not fit its input"},
       {[](LinearMap&, Edges& e) { e[0].ring = 49; }, "an input's ring is narrower than it reads"},
       {[](LinearMap& x, Edges& e) { e[1].ring = 49 - x.diag + x.mean; }, "an input's ring is narrower than it reads"},
       {[](LinearMap& x, Edges& e) {
          x.mean = x.diag + 1;
          e[1].ring = 60;
        },
        "its mean term has more bits than its diagonal one"},
       {[](LinearMap& x, Edges&) { x.ring = x.diag; }, "its shifts leave no bits of its ring"},
       {[](LinearMap& x, Edges&) { x.up = 50; }, "its shifts leave no bits of its ring"},
       {[](LinearMap& x, Edges&) { x.up = x.scale + 1; }, "its shifts leave no bits of its ring"},
       {[](LinearMap& x, Edges&) { x.rotary = 1; }, "it has no bits for its rotation"}});
  LinearMap r;
  r.terms = {{LinearMap::kFull, 0, LeafOf("w", {2, 4})}};
  r.rotary = 2;
  r.base = 100;
  r.ring = 50;
  Facts f{Options{}};
  f.n = 9;
  r.Choose(f, {EdgeOf(14, 0, 2)});
  ExpectChecked<LinearMap>(r, {EdgeOf(14, 50, 2)}, 9,
                           {{[](LinearMap&, Edges& e) { e[0].one_row = true; }, "it turns a row that has no position"},
                            {[](LinearMap& x, Edges&) { x.cosines.pop_back(); }, "it has not one angle a row and pair"},
                            {[](LinearMap& x, Edges&) { x.sines.push_back(0); }, "it has not one angle a row and pair"},
                            {[](LinearMap& x, Edges&) { x.sines[0] = 1025; }, "a cosine is over 1"},
                            {[](LinearMap& x, Edges&) { x.cosines[1] = -1025; }, "a cosine is over 1"},
                            {[](LinearMap& x, Edges&) {
                               x.turn = 0;
                               x.scale -= 10;
                             },
                             "it has no bits for its rotation"}});
}

}  // namespace
}  // namespace suf::nn
