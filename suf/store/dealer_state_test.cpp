#include "suf/store/dealer_state.hpp"

#include "suf/store/internal/testing.hpp"

namespace suf::store {
namespace {

TEST(DealerState, SerialsThatAreUsedUpAreRefused) {
  Scratch dir;
  DealerState d(dir / "d");
  EXPECT_EQ(d.Reserve(~uint64_t{0} - 2), 1u);
  EXPECT_TRUE(Fails(Cause::kResource, "used up", [&] { d.Reserve(2); }));
  EXPECT_TRUE(Fails(Cause::kResource, "used up", [&] { d.Reserve(~uint64_t{0}); }));
}

TEST(DealerState, NeverGivesASerialTwice) {
  Scratch dir;
  {
    DealerState d(dir / "d");
    EXPECT_EQ(d.Reserve(1), 1u);
    EXPECT_EQ(d.Reserve(5), 2u);
    EXPECT_TRUE(Fails(Cause::kResource, "in use", [&] { DealerState e(dir / "d"); }));
  }
  {
    DealerState d(dir / "d");
    EXPECT_EQ(d.Reserve(1), 7u);
  }
  Flip(dir / "d/serial", 2);
  EXPECT_TRUE(Fails(Cause::kResource, "damaged", [&] { DealerState d(dir / "d"); }));
}

}  // namespace
}  // namespace suf::store
