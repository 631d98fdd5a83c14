// Golden text of every pass of three functions.
#include "suf/compiler/passes.hpp"

#include <gtest/gtest.h>

#include "suf/func/text.hpp"

namespace suf::compiler {
namespace {

struct Golden {
  const char *text, *passes[std::size(kPasses)];
};
const Golden kGolden[] = {{R"(suf mixed domain 8 ring 12 outputs 1 degree 1
piece 0 : 3 1
piece 64 : 67 1
piece 130 : 5 0
end 200
formula lt 40 msb 3 and ltlow 4 9 or
formula in 10 128
channel unsigned 12 0 y
channel bit 1 0 a
channel bit 1 1 b
)",
                           {R"(suf mixed domain 8 ring 12 outputs 1 degree 1
piece 0 : 3 1
piece 130 : 5 0
piece 200 : 0 0
end 256
formula lt 40 msb 3 and ltlow 4 9 or
formula in 10 128
channel unsigned 12 0 y
channel bit 1 0 a
channel bit 1 1 b
)",
                            R"(c0 = x mod 2^8 < 130
c1 = x mod 2^8 < 200
c2 = x mod 2^8 < 40
c3 = top bit of x mod 2^8 + 3
c4 = x mod 2^4 < 9
c5 = top bit of x mod 2^8 + 0
c6 = x mod 2^8 < 10
p0 = (c2) & (c3)
p1 = (1 ^ c4) & (1 ^ p0)
step 1 = 1 ^ c0
step 2 = 1 ^ c1
bit 0 = 1 ^ p1
bit 1 = 1 ^ c5 ^ c6
)",
                            R"(r mod 2^4: 1 comparison
r mod 2^7: 2 comparisons
r mod 2^8: 4 comparisons
grid 2^1, 3 pieces, a number of 2 bits
)"}},
                          {R"(suf relu domain 8 ring 8 outputs 1 degree 1
piece 0 : 0 1
piece 128 : 0 0
end 256
channel signed 8 0 y
)",
                           {R"(suf relu domain 8 ring 8 outputs 1 degree 1
piece 0 : 0 1
piece 128 : 0 0
end 256
channel signed 8 0 y
)",
                            R"(c0 = top bit of x mod 2^8 + 0
step 1 = c0
)",
                            R"(r mod 2^7: 1 comparison
grid 2^7, 2 pieces, a number of 1 bit
)"}},
                          {R"(suf steps domain 6 ring 4 outputs 1 degree 0
run 0 4 : 1 , 1 , 2 , 5
end 64
channel unsigned 4 0 y
)",
                           {R"(suf steps domain 6 ring 4 outputs 1 degree 0
piece 0 : 1
piece 32 : 2
piece 48 : 5
end 64
channel unsigned 4 0 y
)",
                            R"(c0 = top bit of x mod 2^6 + 0
c1 = x mod 2^6 < 48
step 1 = c0
step 2 = 1 ^ c1
)",
                            R"(r mod 2^5: 1 comparison
r mod 2^6: 1 comparison
grid 2^4, 3 pieces, a number of 2 bits
)"}}};

TEST(Passes, Golden) {
  for (const Golden& g : kGolden) {
    const Compiled c = Compile(func::Parse(g.text));
    for (size_t i = 0; i < std::size(kPasses); ++i) EXPECT_EQ(Text(c, kPasses[i]), g.passes[i]) << kPasses[i];
  }
}

// Thresholds at both ends and in the middle: constants, and the top bit, whose view is narrower.
TEST(Passes, EndsAndTheMiddle) {
  const Compiled c = Compile(func::Parse(
      "suf ends domain 6 ring 1 outputs 0 degree 0\npiece 0 :\nend 64\nformula lt 0\nformula lt 64\nformula lt 32\n"
      "formula lt 1\nformula ltlow 1 2\nformula lt 32 not msb 0 and\nchannel bit 1 0 a\n"));
  EXPECT_EQ(Text(c, "primitives"),
            "c0 = top bit of x mod 2^6 + 0\nc1 = x mod 2^6 < 1\nbit 0 = 0\nbit 1 = 1\nbit 2 = 1 ^ c0\nbit 3 = c1\n"
            "bit 4 = 1\nbit 5 = c0\n");
}

}  // namespace
}  // namespace suf::compiler
