#include "suf/exec/host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace suf::exec {
namespace {

// The pinned pages, and how often pages were pinned. Pages from before PinWith are not among them.
std::set<void*> held;
int pinned = 0;

// From here on every large buffer of this program is counted.
TEST(HostBuffer, PinnedPagesStayThatWereInUseAtOnce) {
  PinWith({[](void* p, size_t) {
             held.insert(p);
             ++pinned;
           },
           [](void* p, size_t) { held.erase(p); }});
  constexpr size_t kMany = 300, kBytes = size_t{2} << 20;  // 600 MB, more than is kept without having been in use
  const auto all = [&] {
    std::vector<HostBuffer> b;
    for (size_t i = 0; i < kMany; ++i) b.emplace_back(kBytes);
  };
  all();
  EXPECT_EQ(pinned, int(kMany));
  for (int round = 0; round < 2; ++round) all();
  EXPECT_EQ(pinned, int(kMany)) << "the second bundle gets the pages of the first";
  EXPECT_EQ(held.size(), kMany);
  // another size: no page fits, and idle pages are freed before there are more than were in use
  {
    std::vector<HostBuffer> b;
    for (size_t i = 0; i < kMany / 3; ++i) b.emplace_back(3 * kBytes);
    EXPECT_EQ(held.size(), kMany / 3);
  }
  all();
  EXPECT_EQ(held.size(), kMany);
}

TEST(HostBuffer, ComesBackWiped) {
  const auto fill = [](uint8_t with) {
    HostBuffer b(size_t{1} << 20);
    const bool zero = std::count(b.span().begin(), b.span().end(), 0) == ptrdiff_t(b.size());
    std::fill(b.span().begin(), b.span().end(), with);
    return zero;
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(fill(0x5a));
}

}  // namespace
}  // namespace suf::exec
