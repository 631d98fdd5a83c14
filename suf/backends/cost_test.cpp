// Compares Cost's AES blocks with those that a run draws, counted at the PRG. Blocks of trees are closed forms.
#include <atomic>

#include "suf/backends/rig_test.hpp"
#include "suf/fss/sizes.hpp"

namespace suf::backends {
namespace {

// Counts the blocks that are drawn.
class CountingRandomness : public Randomness {
 public:
  CountingRandomness(std::unique_ptr<Randomness> real, std::atomic<int64_t>& blocks)
      : real_(std::move(real)), blocks_(blocks) {}
  std::unique_ptr<SectionReader> SectionAt(int party, int section) const override {
    return std::make_unique<Stream>(real_->SectionAt(party, section), blocks_);
  }
  std::array<uint8_t, 16> TreeKey() const override { return real_->TreeKey(); }

 private:
  struct Stream : SectionReader {
    Stream(std::unique_ptr<SectionReader> section, std::atomic<int64_t>& counter)
        : real(std::move(section)), blocks(counter) {}
    void Fill(uint64_t offset, std::span<uint8_t> out) const override {
      blocks += int64_t(out.size() + 15) / 16;
      real->Fill(offset, out);
    }
    std::unique_ptr<SectionReader> real;
    std::atomic<int64_t>& blocks;
  };
  std::unique_ptr<Randomness> real_;
  std::atomic<int64_t>& blocks_;
};

// Emits masks of every size of words, a dealt word and a table. With `tree` it adds a key that is read in windows.
void Emit(Fixture& f, int k, bool tree) {
  f.t.scope("input");
  auto x = f.Wire1("x", {37}, k);
  f.t.scope("middle");
  auto word = f.t.deal(Lift(x.r) * 5, 64);
  auto y = f.t.open(Low(Sh(word), k) + x.hat, "y");
  f.t.scope("table");
  auto hot = f.t.deal(Hot(Low(Sec(y.r), 7)));
  Sh at = Map(Sh(hot), [&](auto v) { return Point(v, Low(y.hat, 7)); });
  auto bit = f.t.open(at, "bit");
  Pub sum = Lift(bit.hat);
  if (tree) {
    f.t.scope("tree");
    auto keys = f.t.tree(Sec(y.r));
    auto window = f.t.open(f.t.window(keys, y.hat, 201), "window");
    auto e = f.t.point_of_p0(keys, Sec(y.r));
    auto sign = f.t.open(Sh(f.t.deal(e)), "sign");
    sum = sum + Lift(Bits(Lift(sign.hat), 1)) + Dot(window.hat, f.t.constant(f.Random(201, 30), {201}), 0);
  }
  f.t.reveal<1>(Low(Sh(word), k) + Low(sum, k));
  f.t.close();
}

TEST(Cost, CountsTheBlocksThatAreDrawn) {
  for (int k : {8, 16, 31, 64})
    for (bool tree : {false, true}) {
      SCOPED_TRACE(testing::Message() << k << (tree ? " bits, a tree" : " bits"));
      Fixture f;
      Emit(f, k, tree);
      Schedule s(f.t);
      Cost cost = CostOf(s);
      auto clear = reference::MakeClear();
      BundleSecrets m{{Secret(Hash{1}), Secret(Hash{2})}, Hash{3}};
      std::atomic<int64_t> drawn[3] = {0, 0, 0};
      run::RunPair({s,
                    {clear.get(), clear.get(), clear.get()},
                    {&f.inputs[0], &f.inputs[1], &f.inputs[2]},
                    m,
                    [&](Role r, std::unique_ptr<Randomness> real) {
                      return std::make_unique<CountingRandomness>(std::move(real), drawn[int(r)]);
                    }});
      const int64_t window = tree ? 37 * fss::DpfWindowBlocks(k, 201) : 0;
      const int64_t dealt = tree ? 37 * (fss::DpfGenBlocks(k) + fss::DpfPathBlocks(k)) : 0;
      EXPECT_EQ(cost.total.aes[0], drawn[0] + window);
      EXPECT_EQ(cost.total.aes[1], drawn[1] + window);
      EXPECT_EQ(cost.total.aes[2], drawn[2] + dealt);
      // Rows are parts of the total, each for the scope that emitted it.
      Cost::Row sum;
      for (auto& row : cost.rows)
        for (size_t r : {0, 1, 2}) {
          sum.aes[r] += row.aes[r];
          sum.words[r] += row.words[r];
          if (row.scope != "tree") continue;
          EXPECT_GE(row.aes[r], r == 2 ? dealt : window);
        }
      EXPECT_EQ(sum.aes, cost.total.aes);
      EXPECT_EQ(sum.words, cost.total.words);
      for (Role role : {Role::kModel, Role::kData, Role::kDealer}) {
        int64_t words = 0;
        for (int i : Live(f.t, role))
          if (auto op = f.t.node(i).op; op != Op::kConst && op != Op::kInput) words += Words(f.t, i);
        EXPECT_EQ(cost.total.words[size_t(role)], words);
      }
    }
}

// Words are a fixed number per node and its elements. Wide tables, strings of monomials and paths of trees count more
// than once.
TEST(Cost, CountsWhatAnElementTouches) {
  Trace t;
  auto x = t.give<1>(t.input<kP1>("x", {100}, 32, 0), 32, "x");
  Sec r(x.r);
  const Trace& trace = t;
  auto words = [&](const auto& v) { return Words(trace, v.id()); };
  const int64_t start = words(Low(r, 8)) - 100;
  EXPECT_GT(start, 0);
  EXPECT_EQ(words(Lift(r)) - start, 100);
  EXPECT_EQ(words(Hot(Low(r, 5))) - start, 100);  // a word of 32 bits
  EXPECT_EQ(words(Hot(Low(r, 9))) - start, 100 * 32);
  EXPECT_EQ(words(Less(r, {1, 2, 3})) - start, 300);
  auto table = t.constant(std::vector<uint64_t>(512, 1), {1, 512});
  EXPECT_EQ(words(Select(Hot(Low(r, 9)), Low(r, 9), table)) - start, 100 * (1 + 512 / 8));
}

// Reads of one key (parity, dense and level reads, comparisons) cost the closed forms.
TEST(Cost, CountsReadsByTheirForms) {
  auto reads = [](auto emit) {
    Trace t;
    auto x = t.give<1>(t.input<kP1>("x", {3}, 12, 0), 12, "x");
    Sh y = emit(t, x);
    t.reveal<1>(y);
    t.close();
    Cost cost = CostOf(Schedule(t));
    int64_t drawn[3] = {};
    for (Role r : {Role::kModel, Role::kData, Role::kDealer})
      for (int i : Live(t, r))
        if (t.node(i).op == Op::kRand) drawn[int(r)] += AesBlocks(t, i);
    EXPECT_EQ(cost.total.aes[0] - drawn[0], cost.total.aes[1] - drawn[1]);
    return std::pair{cost.total.aes[0] - drawn[0], cost.total.aes[2] - drawn[2]};
  };
  const std::pair<int64_t, int64_t> parity{3 * 2 * 5, 3 * (2 * 4 + 4)}, dense{3 * 47, 3 * 12}, level{3 * 3, 3 * 12},
      comparison{3 * 2 * 25, 3 * 74};
  EXPECT_EQ(reads([](Trace& t, auto& x) {
              return Map(t.parity(t.tree(Sec(x.r)), x.hat, {5, 7}), [](auto v) { return Sum(Unbits(v), 0); });
            }),
            parity);
  EXPECT_EQ(reads([](Trace& t, auto& x) {
              Sh bits = t.dense(t.tree(Sec(x.r)), x.hat, t.constant(std::vector<uint64_t>(4096, 3), {4096}), 2);
              return Map(bits, [](auto v) { return Sum(Unbits(v), 0); });
            }),
            dense);
  EXPECT_EQ(reads([](Trace& t, auto& x) {
              return Map(t.window(t.tree(Sec(x.r)), x.hat >> 9, 1, 9), [](auto v) { return Sum(Unbits(v), 0); });
            }),
            level);
  EXPECT_EQ(reads([](Trace& t, auto& x) {
              Sec beta = Stack<kDealer>({Lift(Sec(x.r)), Lift(Sec(x.r))});
              auto keys = t.comparison(Sec(x.r), beta, 20);
              return Map(t.below(keys, x.hat, {0, 9}), [](auto v) { return Sum(Sum(v, 0), 0); });
            }),
            comparison);
}

}  // namespace
}  // namespace suf::backends
