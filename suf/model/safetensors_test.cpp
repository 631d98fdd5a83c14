#include "suf/model/safetensors.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "suf/model/testing.hpp"

namespace suf::model {
namespace {

// Returns the length of `header`, the header, and `data` zero bytes.
std::string File(const std::string& header, size_t data) {
  const uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), sizeof n) + header + std::string(data, '\0');
}

std::string Length(uint64_t n) { return std::string(reinterpret_cast<const char*>(&n), sizeof n); }

std::string Tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& range) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + range + "}";
}

TEST(Safetensors, MalformedFilesAreRefusedWithASentence) {
  const std::string a = Tensor("a", "F32", "[2]", "[0,8]");
  const std::pair<std::string, std::string> cases[] = {
      {"", "it is 0 bytes long, the least is 8"},
      {"1234567", "it is 7 bytes long"},
      {Length(1), "its header claims 1 bytes, the file has 0 after the length"},
      {Length(100'000'001), "its header claims 100000001 bytes, the limit is 100000000"},
      {Length(UINT64_MAX), "its header claims 18446744073709551615 bytes, the limit"},
      {Length(0), "its header does not begin with {"},
      {File("[]", 0), "does not begin with {"},
      {File(" {}", 0), "does not begin with {"},
      {File("{", 0), "its header is not JSON text: it ends too early; fetch or export it again"},
      {File("{}x", 0), "not JSON text at column 3"},
      {File("{" + a, 8), "it ends too early"},
      {File("{\"\xff\":1}", 0), "not JSON text at column 3"},
      {File(std::string(100000, '[').replace(0, 5, "{\"a\":"), 0), "nests deeper than 64 levels"},
      {File("{" + a + "," + a + "}", 8), "has the name \"a\" twice"},
      {File("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8),
       "\"dtype\" twice"},
      {File("{\"a\":1}", 0), "tensor \"a\" must have dtype, shape and data_offsets and nothing else"},
      {File("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8), "must have dtype, shape"},
      {File("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":0}}", 8), "nothing else"},
      {File("{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}", 8), "of the unknown type"},
      {File("{" + Tensor("a", "F12", "[2]", "[0,8]") + "}", 8), "of the unknown type \"F12\""},
      {File("{" + Tensor("a", "F32", "2", "[0,8]") + "}", 8), "at most 8 dimensions"},
      {File("{" + Tensor("a", "F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]") + "}", 8), "at most 8 dimensions"},
      {File("{" + Tensor("a", "F32", "[-2]", "[0,8]") + "}", 8), "whole numbers >= 0"},
      {File("{" + Tensor("a", "F32", "[2.0]", "[0,8]") + "}", 8), "whole numbers >= 0"},
      {File("{" + Tensor("a", "F32", "[\"2\"]", "[0,8]") + "}", 8), "whole numbers >= 0"},
      {File("{" + Tensor("a", "F32", "[99999999999999999999]", "[0,8]") + "}", 8), "whole numbers >= 0"},
      {File("{" + Tensor("a", "F32", "[9223372036854775808]", "[0,8]") + "}", 8), "more than 2^64 bytes"},
      {File("{" + Tensor("a", "F32", "[4294967296,4294967296]", "[0,0]") + "}", 0), "more than 2^64 bytes"},
      {File("{" + Tensor("a", "F32", "[2]", "[0]") + "}", 8), "two data_offsets"},
      {File("{" + Tensor("a", "F32", "[2]", "[-8,0]") + "}", 8), "whole numbers >= 0"},
      {File("{" + Tensor("a", "F32", "[2]", "[8,0]") + "}", 8), "lies at bytes 8 to 0 of 8"},
      {File("{" + Tensor("a", "F32", "[2]", "[0,9]") + "}", 8), "lies at bytes 0 to 9 of 8"},
      {File("{" + a + "}", 7), "lies at bytes 0 to 8 of 7"},
      {File("{" + Tensor("a", "F32", "[3]", "[0,8]") + "}", 8), "shape (3) takes 12 bytes, its range has 8"},
      {File("{" + Tensor("a", "F16", "[2]", "[0,8]") + "}", 8), "takes 4 bytes, its range has 8"},
      {File("{" + Tensor("a", "F32", "[]", "[0,8]") + "}", 8), "shape () takes 4 bytes"},
      {File("{" + a + "}", 9), "no tensor owns bytes 8 to 9"},
      {File("{}", 4), "no tensor owns bytes 0 to 4"},
      {File("{" + Tensor("a", "F32", "[1]", "[4,8]") + "}", 8), "no tensor owns bytes 0 to 4"},
      {File("{" + a + "," + Tensor("b", "F32", "[1]", "[12,16]") + "}", 16), "no tensor owns bytes 8 to 12"},
      {File("{" + a + "," + Tensor("b", "F32", "[2]", "[4,12]") + "}", 12), "two tensors overlap at byte 4"},
      {File("{" + a + "," + Tensor("b", "F32", "[2]", "[0,8]") + "}", 8), "two tensors overlap at byte 0"},
      {File("{\"__metadata__\":[]," + a + "}", 8), "__metadata__ is not a map of strings"},
      {File("{\"__metadata__\":{\"x\":1}," + a + "}", 8), "__metadata__ is not a map of strings"},
      {File("{\"a\\nb\\u001b\":1}", 0), "tensor \"a\\nb\\x1b\""},
      {File("{\"" + std::string(200, 'n') + "\":1}", 0), "\"" + std::string(100, 'n') + "..\""},
  };
  const ModelFolder folder;
  for (const auto& [bytes, sentence] : cases) {
    const auto file = folder.Write("x.safetensors", bytes);
    ExpectSentence([&] { Safetensors s(file); }, sentence);
  }
  ExpectSentence([&] { Safetensors s(folder.path() / "none"); }, "there is no file");
  ExpectSentence([&] { Safetensors s(folder.path()); }, "there is no file");
}

TEST(Safetensors, SoundFilesOfOddOrderAreRead) {
  const ModelFolder folder;
  const std::string header = "{" + Tensor("b", "F32", "[]", "[8,12]") + "," + Tensor("a", "I64", "[1,1]", "[0,8]") +
                             "," + Tensor("none", "F32", "[0,3]", "[8,8]") + "," +
                             Tensor("flags", "BOOL", "[3]", "[12,15]") + "}  ";
  Safetensors s(folder.Write("x", File(header, 15)));
  EXPECT_EQ(s.tensors().size(), 4u);
  EXPECT_EQ(s.Floats("b", {}), std::vector<float>{0});
  EXPECT_EQ(s.Integers("a", {1, 1}), std::vector<int64_t>{0});
  EXPECT_TRUE(s.Floats("none", {0, 3}).empty());
  ExpectSentence([&] { (void)s.Floats("a", {1, 1}); }, "tensor \"a\" is of type I64, weights must be F32");
  ExpectSentence([&] { (void)s.Floats("flags", {3}); }, "is of type BOOL");
  ExpectSentence([&] { (void)s.Integers("b", {}); }, "is of type F32, integers must be I64");
  ExpectSentence([&] { (void)s.Floats("b", {1}); }, "tensor \"b\" has shape (), not (1)");
  ExpectSentence([&] { (void)s.Floats("c", {1}); }, "has no tensor \"c\"");
}

TEST(Safetensors, WhatIsWrittenIsReadBack) {
  const ModelFolder folder;
  const auto file = folder.path() / "x.safetensors";
  const std::vector<float> f = {1, -0.0f, 0x1p-149f, 0x1.fffffep127f, 3.14159f, -7};
  const std::vector<int64_t> i = {INT64_MIN, -1, 0, INT64_MAX};
  for (int twice = 0; twice < 2; ++twice) {  // the second replaces the first
    WriteSafetensors(file, std::vector<NewTensor>{{"f", {2, 3}, f}, {"i", {4}, i}});
  }
  Safetensors s(file);
  const auto g = s.Floats("f", {2, 3});
  ASSERT_EQ(g.size(), f.size());
  for (size_t n = 0; n < f.size(); ++n) EXPECT_EQ(std::bit_cast<uint32_t>(g[n]), std::bit_cast<uint32_t>(f[n]));
  EXPECT_EQ(s.Integers("i", {4}), i);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "a temporary file stayed";
  ExpectSentence([&] { WriteSafetensors(folder.path() / "no" / "x", {}); }, "cannot write", Cause::kResource);
  EXPECT_THROW(WriteSafetensors(file, std::vector<NewTensor>{{"f", {7}, f}}), Bug);
}

// Every half has its value by the definition of IEEE 754 binary16.
TEST(Safetensors, HalvesAreExact) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float got = FloatFromHalf(uint16_t(bits));
    EXPECT_EQ(std::signbit(got), bits >> 15 != 0);
    if (exponent == 31) {
      EXPECT_TRUE(fraction ? std::isnan(got) : std::isinf(got)) << bits;
    } else {
      EXPECT_EQ(std::fabs(got), exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24))
          << bits;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(FloatFromBrain(uint16_t(bits))), bits << 16);
  }
}

TEST(Safetensors, HalfTensorsAreWidened) {
  const ModelFolder folder;
  const std::string header =
      "{" + Tensor("h", "F16", "[3]", "[0,6]") + "," + Tensor("b", "BF16", "[2]", "[6,10]") + "}";
  std::string bytes = File(header, 0);
  for (uint16_t v : {0x3c00, 0xc000, 0x0001, 0x3f80, 0xc040}) bytes += {char(v & 255), char(v >> 8)};
  Safetensors s(folder.Write("x", bytes));
  EXPECT_EQ(s.Floats("h", {3}), (std::vector<float>{1, -2, 0x1p-24f}));
  EXPECT_EQ(s.Floats("b", {2}), (std::vector<float>{1, -3}));
}

// Infinities and NaNs of every type, as the last number of their tensor.
TEST(Safetensors, WhatIsNotFiniteIsRefused) {
  const ModelFolder folder;
  const auto file = folder.path() / "x.safetensors";
  for (float bad : {INFINITY, -INFINITY, NAN}) {
    const std::vector<float> f = {1, bad};
    WriteSafetensors(file, std::vector<NewTensor>{{"f", {2}, f}});
    ExpectSentence([&] { (void)Safetensors(file).Floats("f", {2}); },
                   "tensor \"f\" holds a value that is not finite; write the file again");
  }
  for (auto [type, bits] : {std::pair{"F16", 0x7c00}, {"F16", 0xfe00}, {"BF16", 0x7f80}, {"BF16", 0xffc0}}) {
    const std::string header = "{" + Tensor("h", type, "[2]", "[0,4]") + "}";
    std::string bytes = File(header, 0);
    for (int v : {0, bits}) bytes += {char(v & 255), char(v >> 8)};
    Safetensors s(folder.Write("y", bytes));
    ExpectSentence([&] { (void)s.Floats("h", {2}); }, "tensor \"h\" holds a value that is not finite");
  }
}

}  // namespace
}  // namespace suf::model
