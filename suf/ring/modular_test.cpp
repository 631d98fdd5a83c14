#include "suf/ring/modular.hpp"

#include <gtest/gtest.h>

#include "suf/ring/cpu.hpp"

namespace suf::ring {
namespace {

TEST(Words, Masks) {
  EXPECT_EQ(Mask(0), 0u);
  EXPECT_EQ(Mask(1), 1u);
  EXPECT_EQ(Mask(63), ~uint64_t{0} >> 1);
  EXPECT_EQ(Mask(64), ~uint64_t{0});
}

TEST(Words, SignedIsTwosComplement) {
  for (int k = 1; k <= 8; ++k) {
    for (int x = 0; x < 1 << k; ++x) {
      EXPECT_EQ(Signed(uint64_t(x) | 0xabcd00u << k, k), x < 1 << (k - 1) ? x : x - (1 << k));
    }
  }
  EXPECT_EQ(Signed(~uint64_t{0}, 64), -1);
}

TEST(Words, RoundShiftRoundsHalfUp) {
  for (int s = 0; s <= 9; ++s) {
    for (int x = -600; x <= 600; ++x) {
      EXPECT_EQ(RoundShift(x, s), s ? (x + (1 << (s - 1))) >> s : x) << x << " " << s;
    }
  }
  EXPECT_EQ(RoundShift(INT64_MAX, 1), int64_t{1} << 62);
  EXPECT_EQ(RoundShift(INT64_MIN, 63), -1);
}

TEST(Cpu, VariantsHaveNames) {
  for (Isa v : Supported()) EXPECT_EQ(VariantNamed(Name(v)), v);
  EXPECT_TRUE(Supports(Isa::kPortable));
  EXPECT_TRUE(Supports(Best()));
  EXPECT_EQ(VariantNamed("portable"), Isa::kPortable);
  EXPECT_THROW((void)VariantNamed("sse9"), Error);
}

// In processes of their own, because Choose works once per process.
TEST(CpuDeathTest, ChooseIsBeforeAnybodyAsksAndOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto refused = [](Isa v) {
    try {
      Choose(v);
    } catch (const Bug&) {
      return true;
    }
    return false;
  };
  for (Isa v : Supported())
    EXPECT_EXIT((Choose(v), std::exit(Best() != v || !refused(v))), testing::ExitedWithCode(0), "");
  EXPECT_EXIT((Choose(Isa::kPortable), std::exit(!refused(Isa::kPortable))), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(((void)Best(), std::exit(!refused(Isa::kPortable))), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace suf::ring
