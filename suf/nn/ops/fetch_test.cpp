// Fetches from small tables: every word that P1 learns is the table's, on every backend.
#include "suf/nn/ops/fetch.hpp"

#include "suf/base/digest.hpp"
#include "suf/nn/ops/rig_test.hpp"

namespace suf::nn {
namespace {

// Returns a random table, and sets W, W - B and B of its blocks.
std::vector<uint16_t> SetTable(const Fetch& fetch, gates::Rig& rig) {
  std::vector<uint16_t> table(size_t(fetch.rows * fetch.words)), b(table.size());
  for (std::vector<uint16_t>* v : {&table, &b}) RandomBytes({reinterpret_cast<uint8_t*>(v->data()), 2 * v->size()});
  for (int64_t i = 0; i < fetch.blocks(); ++i) {
    const auto first = size_t(i * fetch.block * fetch.words), end = first + size_t(fetch.rows_of(i) * fetch.words);
    std::vector<uint16_t> w, masked, mask;
    for (size_t k = first; k < end; ++k) {
      w.push_back(table[k]);
      mask.push_back(b[k]);
      masked.push_back(uint16_t(table[k] - b[k]));
    }
    rig.inputs[0].Set("W." + Fetch::NameOf(i), w);
    rig.inputs[1].Set("Wh." + Fetch::NameOf(i), masked);
    rig.inputs[2].Set("B." + Fetch::NameOf(i), mask);
  }
  return table;
}

TEST(Fetch, BringsTheRowsOfTheTable) {
  std::mt19937_64 rng(5);
  for (const Fetch& fetch :
       {Fetch{1, 1, 1}, Fetch{7, 3, 2}, Fetch{9, 5, 4, 4}, Fetch{64, 16, 10, 64}, Fetch{33, 2, 3, 8}})
    for (uint8_t serial = 1; serial <= 6; ++serial) {
      gates::Rig rig;
      const std::vector<uint16_t> table = SetTable(fetch, rig);
      std::vector<int64_t> at(static_cast<size_t>(fetch.k));
      for (int64_t& row : at) row = int64_t(rng() % uint64_t(fetch.rows));  // some rows twice
      rig.inputs[1].Set(Fetch::kRowsInput, at);
      const Ints rows = rig.Run(fetch.Emit(rig.t), serial);
      std::vector<uint16_t> words;
      for (const int64_t word : rows) words.push_back(uint16_t(word));
      ASSERT_EQ(words, fetch.Spec(table, at)) << fetch.rows << " rows, serial " << int(serial);
      EXPECT_EQ(rig.schedule->flights(), 2);
      EXPECT_EQ(rig.schedule->sent(1, true) + rig.schedule->sent(1, false), 2 * fetch.k * fetch.rows);
      EXPECT_EQ(rig.schedule->sent(0, true), 2 * fetch.k * fetch.words);
    }
}

TEST(Fetch, RefusesOtherRows) {
  const Fetch fetch{4, 1, 2};
  const std::vector<uint16_t> table(4);
  EXPECT_THROW((void)fetch.Spec(table, std::vector<int64_t>{0}), Error);
  EXPECT_THROW((void)fetch.Spec(table, std::vector<int64_t>{0, 4}), Error);
  EXPECT_THROW((void)fetch.Spec(table, std::vector<int64_t>{-1, 0}), Error);
}

}  // namespace
}  // namespace suf::nn
