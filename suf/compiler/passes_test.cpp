// Golden text of every pass of three functions.
#include "suf/compiler/passes.hpp"

#include <gtest/gtest.h>

#include "suf/compiler/dump.hpp"
#include "suf/func/text.hpp"

namespace suf::compiler {
namespace {

struct Golden {
  const char *text, *passes[std::size(kPasses)], *later[std::size(kLaterPasses)];
};
const Golden kGolden[] = {
    {R"(suf mixed domain 8 ring 12 outputs 1 degree 1
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
)"},
     {R"(StepDcf, PackedCompare: 4 flights, key bits 22480 + 24192
StepDcf, Digits: 4 flights, key bits 20592 + 20560
StepDcf, Blocks: 6 flights, key bits 20512 + 20528
StepDcf, DenseTable: 2 flights, key bits 24192 + 20096
DenseTable, PackedCompare: 4 flights, key bits 49152 + 6480
DenseTable, Digits: 4 flights, key bits 49152 + 960
DenseTable, Blocks: 6 flights, key bits 49152 + 848
DenseTable, DenseTable: 2 flights, key bits 49152 + 4096
Parity+Open, PackedCompare: 4 flights, key bits 4096 + 3408
Parity+Open, Digits: 4 flights, key bits 4096 + 1984
Parity+Open, Blocks: 6 flights, key bits 4096 + 1872
Parity+Open, DenseTable: 2 flights, key bits 4096 + 1024
Digits+Open, PackedCompare: 4 flights, key bits 4896 + 2912
Digits+Open, Digits: 4 flights, key bits 1008 + 1024
Digits+Open, Blocks: 6 flights, key bits 1232 + 1200
Digits+Open, DenseTable: 4 flights, key bits 800 + 4880
Blocks+Open, PackedCompare: 4 flights, key bits 3104 + 4816
Blocks+Open, Digits: 4 flights, key bits 1216 + 1184
Blocks+Open, Blocks: 6 flights, key bits 976 + 992
Blocks+Open, DenseTable: 4 flights, key bits 4816 + 720
Index/parity, PackedCompare: 4 flights, key bits 4096 + 3280
Index/parity, Digits: 4 flights, key bits 4096 + 1856
Index/parity, Blocks: 6 flights, key bits 4096 + 1744
Index/parity, DenseTable: 4 flights, key bits 4096 + 896
Index/digits, PackedCompare: 4 flights, key bits 2928 + 4752
Index/digits, Digits: 4 flights, key bits 880 + 1024
Index/digits, Blocks: 6 flights, key bits 1232 + 1072
Index/digits, DenseTable: 4 flights, key bits 4704 + 848
Index/blocks, PackedCompare: 6 flights, key bits 4688 + 3104
Index/blocks, Digits: 6 flights, key bits 1216 + 1056
Index/blocks, Blocks: 6 flights, key bits 848 + 992
Index/blocks, DenseTable: 6 flights, key bits 784 + 4624
Horner/parity, PackedCompare: 4 flights, key bits 4096 + 3664
Horner/parity, Digits: 4 flights, key bits 4096 + 2240
Horner/parity, Blocks: 6 flights, key bits 4096 + 2128
Horner/parity, DenseTable: 4 flights, key bits 4096 + 1280
Horner/digits, PackedCompare: 6 flights, key bits 3120 + 4944
Horner/digits, Digits: 6 flights, key bits 1072 + 1216
Horner/digits, Blocks: 6 flights, key bits 1424 + 1264
Horner/digits, DenseTable: 6 flights, key bits 4896 + 1040
Horner/blocks, PackedCompare: 6 flights, key bits 4880 + 3296
Horner/blocks, Digits: 6 flights, key bits 1408 + 1248
Horner/blocks, Blocks: 6 flights, key bits 1040 + 1184
Horner/blocks, DenseTable: 6 flights, key bits 976 + 4816
WindowLut/1, PackedCompare: 4 flights, key bits 6176 + 3680
WindowLut/1, Digits: 4 flights, key bits 2112 + 2224
WindowLut/1, Blocks: 6 flights, key bits 2112 + 2112
WindowLut/1, DenseTable: 4 flights, key bits 2272 + 5200
WindowLut/2, PackedCompare: 6 flights, key bits 6176 + 3680
WindowLut/2, Digits: 6 flights, key bits 2112 + 2224
WindowLut/2, Blocks: 6 flights, key bits 2112 + 2112
WindowLut/2, DenseTable: 6 flights, key bits 2272 + 5200
WindowLut/3, PackedCompare: 6 flights, key bits 6176 + 3680
WindowLut/3, Digits: 6 flights, key bits 2112 + 2224
WindowLut/3, Blocks: 6 flights, key bits 2112 + 2112
WindowLut/3, DenseTable: 6 flights, key bits 2272 + 5200
WindowBoth/1, PackedCompare: 4 flights, key bits 3760 + 6144
WindowBoth/1, Digits: 4 flights, key bits 2272 + 2112
WindowBoth/1, Blocks: 6 flights, key bits 2192 + 2080
WindowBoth/1, DenseTable: 2 flights, key bits 5280 + 2240
WindowBoth/2, PackedCompare: 4 flights, key bits 3760 + 6144
WindowBoth/2, Digits: 4 flights, key bits 2272 + 2112
WindowBoth/2, Blocks: 6 flights, key bits 2192 + 2080
WindowBoth/2, DenseTable: 4 flights, key bits 5280 + 2240
WindowBoth/3, PackedCompare: 4 flights, key bits 3760 + 6144
WindowBoth/3, Digits: 4 flights, key bits 2272 + 2112
WindowBoth/3, Blocks: 6 flights, key bits 2192 + 2080
WindowBoth/3, DenseTable: 4 flights, key bits 5280 + 2240
WindowBoth/1/narrow, PackedCompare: 4 flights, key bits 4224 + 6144
WindowBoth/1/narrow, Digits: 4 flights, key bits 2352 + 2496
WindowBoth/1/narrow, Blocks: 6 flights, key bits 2448 + 2288
WindowBoth/1/narrow, DenseTable: 2 flights, key bits 5744 + 2240
WindowBoth/2/narrow, PackedCompare: 4 flights, key bits 4224 + 6144
WindowBoth/2/narrow, Digits: 4 flights, key bits 2352 + 2496
WindowBoth/2/narrow, Blocks: 6 flights, key bits 2448 + 2288
WindowBoth/2/narrow, DenseTable: 4 flights, key bits 5744 + 2240
WindowBoth/3/narrow, PackedCompare: 4 flights, key bits 4224 + 6144
WindowBoth/3/narrow, Digits: 4 flights, key bits 2352 + 2496
WindowBoth/3/narrow, Blocks: 6 flights, key bits 2448 + 2288
WindowBoth/3/narrow, DenseTable: 4 flights, key bits 5744 + 2240
Constant: no: it is no constant
RowLut: no: it is no function of constants on octaves alone
RowLut/2: no: it is no function of constants on octaves alone
RowLut/3: no: it is no function of constants on octaves alone
RowLut/tree: no: it is no function of constants on octaves alone
RowLut/tree/2: no: it is no function of constants on octaves alone
RowLut/tree/3: no: it is no function of constants on octaves alone
RowLut/narrow: no: it is no function of constants on octaves alone
RowLut/2/narrow: no: it is no function of constants on octaves alone
RowLut/3/narrow: no: it is no function of constants on octaves alone
RowLut/tree/narrow: no: it is no function of constants on octaves alone
RowLut/tree/2/narrow: no: it is no function of constants on octaves alone
RowLut/tree/3/narrow: no: it is no function of constants on octaves alone
)",
      R"(cpu: DenseTable, DenseTable, 85709 ns = flights 72000 + wire 53 + key 4915 + AES 376 + words 8365
  next Parity+Open, DenseTable, 99489 ns = flights 72000 + wire 67 + key 410 + AES 32 + words 26979
gpu: DenseTable, DenseTable, 48718 ns = flights 48000 + wire 12 + key 276 + AES 11 + words 418
  next Parity+Open, DenseTable, 49389 ns = flights 48000 + wire 16 + key 23 + AES 1 + words 1349
lan: DenseTable, DenseTable, 1014008 ns = flights 1000000 + wire 352 + key 4915 + AES 376 + words 8365
  next Parity+Open, DenseTable, 1027869 ns = flights 1000000 + wire 448 + key 410 + AES 32 + words 26979
balanced: DenseTable, DenseTable, 20014008 ns = flights 20000000 + wire 352 + key 4915 + AES 376 + words 8365
  next Parity+Open, DenseTable, 20027869 ns = flights 20000000 + wire 448 + key 410 + AES 32 + words 26979
wan: DenseTable, DenseTable, 60014008 ns = flights 60000000 + wire 352 + key 4915 + AES 376 + words 8365
  next Parity+Open, DenseTable, 60027869 ns = flights 60000000 + wire 448 + key 410 + AES 32 + words 26979
)",
      R"(trace d9bf0825989613440526beb464944a5d5ea72d954c657a422e917b5af60bb5fe, 2 flights, key bits 49152 + 4096
input: 6 operations, key bits 0 + 0, sent bits 0 + 128: 1 add, 1 broadcast, 1 const, 1 input, 1 rand, 1 send
mixed/Coeff: 9 operations, key bits 49152 + 0, sent bits 0 + 0: 1 const, 2 low, 1 rand, 1 sub, 2 take, 1 tell, 1 turn
mixed/Pred: 7 operations, key bits 0 + 4096, sent bits 0 + 0: 1 const, 2 dense, 1 hot, 1 rand, 1 sub, 1 tell
result: 4 operations, key bits 0 + 0, sent bits 224 + 0: 2 add, 2 send
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
)"},
     {R"(StepDcf: 2 flights, key bits 18944 + 18944
DenseTable: 2 flights, key bits 32768 + 0
Parity+Open: 2 flights, key bits 2048 + 384
Digits+Open: 4 flights, key bits 400 + 320
Blocks+Open: 4 flights, key bits 400 + 272
Index/parity: 4 flights, key bits 2048 + 416
Index/digits: 4 flights, key bits 432 + 320
Index/blocks: 6 flights, key bits 304 + 400
Horner/parity: 4 flights, key bits 2048 + 672
Horner/digits: 6 flights, key bits 560 + 448
Horner/blocks: 6 flights, key bits 432 + 528
WindowLut/1: 4 flights, key bits 496 + 416
WindowLut/2: 6 flights, key bits 400 + 448
WindowLut/3: 6 flights, key bits 368 + 432
WindowBoth/1: 2 flights, key bits 1152 + 1312
WindowBoth/2: 4 flights, key bits 672 + 592
WindowBoth/3: 4 flights, key bits 672 + 544
WindowBoth/1/narrow: 2 flights, key bits 1552 + 1312
WindowBoth/2/narrow: 4 flights, key bits 800 + 672
WindowBoth/3/narrow: 4 flights, key bits 672 + 752
Constant: no: it is no constant
RowLut: no: it is no function of constants on octaves alone
RowLut/2: no: it is no function of constants on octaves alone
RowLut/3: no: it is no function of constants on octaves alone
RowLut/tree: no: it is no function of constants on octaves alone
RowLut/tree/2: no: it is no function of constants on octaves alone
RowLut/tree/3: no: it is no function of constants on octaves alone
RowLut/narrow: no: it is no function of constants on octaves alone
RowLut/2/narrow: no: it is no function of constants on octaves alone
RowLut/3/narrow: no: it is no function of constants on octaves alone
RowLut/tree/narrow: no: it is no function of constants on octaves alone
RowLut/tree/2/narrow: no: it is no function of constants on octaves alone
RowLut/tree/3/narrow: no: it is no function of constants on octaves alone
)",
      R"(cpu: DenseTable, 82510 ns = flights 72000 + wire 38 + key 3277 + AES 177 + words 7018
  next Parity+Open, 84894 ns = flights 72000 + wire 43 + key 205 + AES 15 + words 12630
gpu: DenseTable, 48549 ns = flights 48000 + wire 9 + key 184 + AES 5 + words 351
  next Parity+Open, 48654 ns = flights 48000 + wire 10 + key 12 + AES 0 + words 632
lan: DenseTable, 1010728 ns = flights 1000000 + wire 256 + key 3277 + AES 177 + words 7018
  next Parity+Open, 1013138 ns = flights 1000000 + wire 288 + key 205 + AES 15 + words 12630
balanced: DenseTable, 20010728 ns = flights 20000000 + wire 256 + key 3277 + AES 177 + words 7018
  next Parity+Open, 20013138 ns = flights 20000000 + wire 288 + key 205 + AES 15 + words 12630
wan: DenseTable, 60010728 ns = flights 60000000 + wire 256 + key 3277 + AES 177 + words 7018
  next Parity+Open, 60013138 ns = flights 60000000 + wire 288 + key 205 + AES 15 + words 12630
)",
      R"(trace 96127178da8b065b9bdc96fe24c3f16c6d76f2d6e8a7aa8c3ef81fd21b6c37e3, 2 flights, key bits 32768 + 0
input: 6 operations, key bits 0 + 0, sent bits 0 + 128: 1 add, 1 broadcast, 1 const, 1 input, 1 rand, 1 send
relu/Coeff: 9 operations, key bits 32768 + 0, sent bits 0 + 0: 1 const, 2 low, 1 rand, 1 sub, 2 take, 1 tell, 1 turn
result: 2 operations, key bits 0 + 0, sent bits 128 + 0: 1 add, 1 send
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
)"},
     {R"(IntervalLut: 2 flights, key bits 12928 + 12928
DenseTable: 2 flights, key bits 4096 + 0
Parity+Open: 2 flights, key bits 640 + 1024
Digits+Open: 4 flights, key bits 224 + 272
Blocks+Open: 4 flights, key bits 256 + 256
Index/parity: 4 flights, key bits 704 + 1024
Index/digits: 4 flights, key bits 288 + 272
Index/blocks: 6 flights, key bits 320 + 256
WindowLut/1: 4 flights, key bits 224 + 224
WindowLut/2: 6 flights, key bits 208 + 160
WindowLut/3: 6 flights, key bits 208 + 160
WindowBoth/1: 2 flights, key bits 320 + 320
WindowBoth/2: 4 flights, key bits 256 + 272
WindowBoth/3: 4 flights, key bits 256 + 272
RowLut: 2 flights, key bits 320 + 320
RowLut/2: 4 flights, key bits 272 + 256
RowLut/3: 4 flights, key bits 272 + 256
RowLut/tree: 2 flights, key bits 320 + 320
RowLut/tree/2: 4 flights, key bits 272 + 256
RowLut/tree/3: 4 flights, key bits 272 + 256
Constant: no: it is no constant
Horner/parity: no: its pieces are constants
Horner/digits: no: its pieces are constants
Horner/blocks: no: its pieces are constants
WindowBoth/1/narrow: no: its entries are as wide as its ring
WindowBoth/2/narrow: no: its entries are as wide as its ring
WindowBoth/3/narrow: no: its entries are as wide as its ring
RowLut/narrow: no: its entries are as wide as its ring
RowLut/2/narrow: no: its entries are as wide as its ring
RowLut/3/narrow: no: its entries are as wide as its ring
RowLut/tree/narrow: no: its entries are as wide as its ring
RowLut/tree/2/narrow: no: its entries are as wide as its ring
RowLut/tree/3/narrow: no: its entries are as wide as its ring
)",
      R"(cpu: DenseTable, 75810 ns = flights 72000 + wire 24 + key 410 + AES 45 + words 3331
  next IntervalLut, 85330 ns = flights 72000 + wire 24 + key 1293 + AES 883 + words 11130
gpu: DenseTable, 48196 ns = flights 48000 + wire 6 + key 23 + AES 1 + words 167
  next IntervalLut, 48660 ns = flights 48000 + wire 6 + key 73 + AES 25 + words 556
lan: DenseTable, 1003946 ns = flights 1000000 + wire 160 + key 410 + AES 45 + words 3331
  next IntervalLut, 1013466 ns = flights 1000000 + wire 160 + key 1293 + AES 883 + words 11130
balanced: DenseTable, 20003946 ns = flights 20000000 + wire 160 + key 410 + AES 45 + words 3331
  next IntervalLut, 20013466 ns = flights 20000000 + wire 160 + key 1293 + AES 883 + words 11130
wan: DenseTable, 60003946 ns = flights 60000000 + wire 160 + key 410 + AES 45 + words 3331
  next IntervalLut, 60013466 ns = flights 60000000 + wire 160 + key 1293 + AES 883 + words 11130
)",
      R"(trace c8f86943c30a2e849941492c08522d32bd75aee6298e103c50a4a1518e0bd3ce, 2 flights, key bits 4096 + 0
input: 6 operations, key bits 0 + 0, sent bits 0 + 96: 1 add, 1 broadcast, 1 const, 1 input, 1 rand, 1 send
steps/Coeff: 9 operations, key bits 4096 + 0, sent bits 0 + 0: 1 const, 2 low, 1 rand, 1 sub, 2 take, 1 tell, 1 turn
result: 2 operations, key bits 0 + 0, sent bits 64 + 0: 1 add, 1 send
)"}}};

// Emits a function of 16 values of P1, which learns all results.
void EmitGolden(Trace& t, const CompiledFunction& c, const Choice& choice) {
  const int n = c.f.n;
  t.scope("input");
  Wire<kPub> x = t.give<1>(t.input<pfss::kP1>("x", {16}, n, 0), n, "x");
  t.scope("");
  FunctionShares y = Lower(t, c, choice, x, c.f.ring);
  t.scope("result");
  for (const OwedWord& o : y.numbers) t.reveal<1>(DealOwed(t, o));
  if (y.bits) t.reveal<1>(DealOwed(t, *y.bits));
  t.close();
}

TEST(Passes, GoldenOfTheLaterOnes) {
  for (const Golden& g : kGolden) {
    const CompiledFunction c = Compile(func::Parse(g.text));
    const std::vector<Candidate> all =
        Price(c, Profiles()[0].prices, {}, [&](Trace& t, const Choice& choice) { EmitGolden(t, c, choice); });
    Trace t;
    EmitGolden(t, c, Best(all).choice);
    const std::string texts[] = {CandidatesText(all), ChoiceText(all), EmitText(pfss::Schedule(t))};
    for (size_t i = 0; i < std::size(kLaterPasses); ++i) EXPECT_EQ(texts[i], g.later[i]) << kLaterPasses[i];
  }
}

TEST(Passes, Golden) {
  for (const Golden& g : kGolden) {
    const CompiledFunction c = Compile(func::Parse(g.text));
    for (size_t i = 0; i < std::size(kPasses); ++i) EXPECT_EQ(PassText(c, kPasses[i]), g.passes[i]) << kPasses[i];
  }
}

// Thresholds at both ends are constants. One in the middle is the top bit, whose view is narrower.
TEST(Passes, EndsAndTheMiddle) {
  const CompiledFunction c = Compile(func::Parse(
      "suf ends domain 6 ring 1 outputs 0 degree 0\npiece 0 :\nend 64\nformula lt 0\nformula lt 64\nformula lt 32\n"
      "formula lt 1\nformula ltlow 1 2\nformula lt 32 not msb 0 and\nchannel bit 1 0 a\n"));
  EXPECT_EQ(PassText(c, "primitives"),
            "c0 = top bit of x mod 2^6 + 0\nc1 = x mod 2^6 < 1\nbit 0 = 0\nbit 1 = 1\nbit 2 = 1 ^ c0\nbit 3 = c1\n"
            "bit 4 = 1\nbit 5 = c0\n");
}

}  // namespace
}  // namespace suf::compiler
