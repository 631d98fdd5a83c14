#include "suf/nn/plan/fields.hpp"

#include "suf/func/text.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

TEST(Fields, Octaves) {
  for (int n : {5, 61, 62}) {
    std::vector<func::Octave> groups{{0, 0, 4, {9, 8, 7, 6}}, {1, 2, 4, {5, 4}}, {3, 1, int64_t{1} << 2, {3, 2, 1}}},
        back;
    Recorder r;
    r.Octaves("f", &groups, n);
    r.reading = true;
    r.Octaves("f", &back, n);
    ASSERT_EQ(back.size(), groups.size());
    for (size_t i = 0; i < back.size(); ++i) {
      EXPECT_TRUE(back[i].w == groups[i].w && back[i].lo == groups[i].lo && back[i].hi == groups[i].hi) << i;
      EXPECT_EQ(back[i].values, groups[i].values);
    }
  }
}

TEST(Fields, Table) {
  for (size_t size : {1, 2, 3, 8, 100, 1 << 16, 1 << 17, 3 << 16}) {  // the last ones have rows of 2 and 3
    Ints table = Numbers(size, 1000, size), back;
    Recorder r;
    r.Table("t", &table);
    r.reading = true;
    r.Table("t", &back);
    EXPECT_EQ(back, table);
  }
  std::vector<func::Octave> wide{{1, 0, 4, {9, 8, 7, 6}}};
  Recorder r;
  r.Octaves("t", &wide, 3);
  r.reading = true;
  Ints back;
  ExpectRefused([&] { r.Table("t", &back); },
                "the plan's function t is no table of single places; compile the plan again");
}

TEST(Fields, Lines) {
  func::Lines lines{3, 5, 4, {-100, 0, 7, 9}, {-3, 1, 0, 12}}, back;
  Recorder r;
  r.Lines("l", &lines);
  r.reading = true;
  r.Lines("l", &back);
  EXPECT_TRUE(back.a == 3 && back.scale == 5 && back.slope == 4);
  EXPECT_EQ(back.offset, lines.offset);
  EXPECT_EQ(back.rise, lines.rise);
  std::vector<func::Octave> octaves{{0, 0, 4, {9, 8, 7, 6}}, {1, 2, 4, {5, 4}}};
  Recorder other;
  other.Octaves("l", &octaves, 3);
  other.reading = true;
  ExpectRefused([&] { other.Lines("l", &back); },
                "the plan's function l is not made of lines of one width; compile the plan again");
}

// Pieces around zero with a line on each side are a function of 2^p + 2 pieces. Every other form is refused.
TEST(Fields, LinesWithSides) {
  func::Lines lines{2, 5, 4, {-100, 0, 7, 9}, {-3, 1, 0, 12}}, back;
  lines.bits = 7;
  lines.below = {-5, 0};
  lines.above = {90, -2};
  Recorder r;
  r.Lines("l", &lines);
  r.reading = true;
  back.offset = {1, 2};
  r.Lines("l", &back);
  EXPECT_TRUE(back.a == 2 && back.scale == 5 && back.slope == 4 && back.bits == 7);
  EXPECT_EQ(back.offset, lines.offset);
  EXPECT_EQ(back.rise, lines.rise);
  EXPECT_EQ(back.below, lines.below);
  EXPECT_EQ(back.above, lines.above);
  const func::Suf good = func::ToSuf(lines, "lines", 64);
  const std::function<void(func::Suf&)> changes[] = {
      [](func::Suf& f) { f.pieces[1].begin += 1; },      // off the grid
      [](func::Suf& f) { f.pieces[4].begin -= 1; },      // pieces of two widths
      [](func::Suf& f) { f.pieces.back().begin += 4; },  // not around zero
      [](func::Suf& f) { f.pieces.erase(f.pieces.begin() + 2); }, [](func::Suf& f) { f.end -= 1; }};
  for (const auto& change : changes) {
    func::Suf f = good;
    change(f);
    Recorder w;
    w.Function("l", &f);
    w.reading = true;
    ExpectRefused([&] { w.Lines("l", &back); },
                  "the plan's function l is not made of lines of one width; compile the plan again");
  }
}

// Constants are lines without a slope.
TEST(Fields, LinesOfConstants) {
  std::vector<func::Octave> constants{{2, 0, 4, {9, 8, 7, 6}}};
  Recorder r;
  r.Octaves("l", &constants, 4);
  int zero = 0;
  r.Int("input_scale", zero, 0, 62);
  r.Int("slope", zero, 0, 62);
  r.reading = true;
  func::Lines back;
  r.Lines("l", &back);
  EXPECT_EQ(back.a, 2);
  EXPECT_EQ(back.offset, (Ints{9, 8, 7, 6}));
  EXPECT_EQ(back.rise, (Ints{0, 0, 0, 0}));
}

}  // namespace
}  // namespace suf::nn
