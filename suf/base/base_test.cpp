#include <gtest/gtest.h>

#include "suf/base/digest.hpp"
#include "suf/base/printable.hpp"

namespace suf {
namespace {

TEST(Digest, KnownAnswers) {
  // FIPS 180-4 example, RFC 4231 case 2, RFC 5869 A.1 (first 32 bytes)
  EXPECT_EQ(Hex(HashOf({AsView("abc")})), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Hmac(AsView("Jefe"), {AsView("what do ya want "), AsView("for nothing?")})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  Bytes ikm(22, 0x0b);
  EXPECT_EQ(
      Hex(Hkdf(FromHex("000102030405060708090a0b0c", 13, "salt"), ikm, FromHex("f0f1f2f3f4f5f6f7f8f9", 10, "info"))
              .view()),
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
}

TEST(Digest, PeekLeavesTheStreamOpen) {
  Sha256 s;
  s.Add("ab");
  (void)s.Peek();
  EXPECT_EQ(s.Add("c").Done(), HashOf({AsView("abc")}));
}

#if defined(__x86_64__)
TEST(Bytes, WipeLeavesNothingInVectorRegisters) {
  uint8_t secret[32] = {1}, low[16], high[16];
  asm volatile("pcmpeqd %%xmm1, %%xmm1\n\tpcmpeqd %%xmm15, %%xmm15" ::: "xmm1", "xmm15");
  Wipe(secret, sizeof secret);
  asm volatile("movdqu %%xmm1, %0\n\tmovdqu %%xmm15, %1" : "=m"(low), "=m"(high));
  for (int i = 0; i < 16; ++i) EXPECT_EQ(low[i] | high[i], 0);
}
#endif

// Escapes bytes that are no UTF-8 and characters that rewrite a terminal's line, hide text or reverse it.
TEST(Printable, EscapesWhatIsNoVisibleCharacter) {
  const std::pair<std::string, std::string> texts[] = {
      {"", ""},
      {"model.safetensors, (x^2) ~ \\n", "model.safetensors, (x^2) ~ \\n"},
      {"Gr\xc3\xb6\xc3\x9f\x65 \xe4\xb8\xad \xf0\x9f\x98\x80", "Gr\xc3\xb6\xc3\x9f\x65 \xe4\xb8\xad \xf0\x9f\x98\x80"},
      {"a\x1b[2Kb\r\n\tc\x7f", "a\\x1b[2Kb\\r\\n\\tc\\x7f"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\xc2\x9b[A", "\\u{9b}[A"},                                        // CSI as one character of two bytes
      {"\xe2\x80\xae\xe2\x81\xa6", "\\u{202e}\\u{2066}"},                 // right to left, isolate
      {"\xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "\\u{200b}\\u{feff}\\u{ad}"},  // invisible
      {"\xe2\x80\xa8\xe2\x80\xa9", "\\u{2028}\\u{2029}"},                 // line and paragraph separators
      {"\xee\x80\x80\xf3\xa0\x81\x81", "\\u{e000}\\u{e0041}"},            // private, a tag
      {"\xff\xc3", "\\xff\\xc3"},                                         // not UTF-8, cut short
      {"\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80"},              // overlong, a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}};                      // beyond Unicode
  for (const auto& [text, shown] : texts) {
    EXPECT_EQ(Printable(text), shown);
    EXPECT_EQ(Printable(shown), shown);
    EXPECT_EQ(IsPrintable(text), text == shown) << shown;
    EXPECT_EQ(Error(Cause::kInput, "a name: " + text).what(), "a name: " + shown);
  }
  EXPECT_EQ(Quoted("a\"\n"), "\"a\\\"\\n\"");
  EXPECT_EQ(Quoted(std::string(99, 'a') + "\xc3\xb6"), '"' + std::string(99, 'a') + "..\"");
}

TEST(Bytes, ReaderRefusesShortLongAndLeftOver) {
  Writer w;
  w.Put(uint32_t{7});
  w.Sized(std::string_view("four"));
  Reader r(w.bytes(), "a frame");
  EXPECT_EQ(r.Get<uint32_t>(), 7u);
  EXPECT_THROW((void)r.ExpectEnd(), Error);
  EXPECT_EQ(r.Text(4), "four");
  r.ExpectEnd();
  EXPECT_THROW((void)r.Get<uint8_t>(), Error);
  Reader q(w.bytes(), "a frame");
  q.Get<uint32_t>();
  EXPECT_THROW((void)q.Sized(3), Error);
}

TEST(Bytes, HexIsExact) {
  EXPECT_EQ(Hex(FromHex("00ff1a", 3, "x")), "00ff1a");
  for (const char* bad : {"00ff1", "00ff1g", "00FF1A", ""}) EXPECT_THROW((void)FromHex(bad, 3, "x"), Error) << bad;
}

static_assert(std::is_nothrow_move_constructible_v<Secret> && std::is_nothrow_move_assignable_v<Secret>);
static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);

TEST(Secret, IsInOnePlaceAndGoesWithIt) {
  const Hash value = RandomHash(), none{};
  auto holds = [](const Secret& s, const Hash& h) { return Equal(s.view(), h); };
  Hash source = value;
  Secret a(std::move(source)), b;
  EXPECT_EQ(source, none);
  EXPECT_TRUE(holds(a, value));
  b = std::move(a);
  EXPECT_TRUE(holds(a, none) && holds(b, value));
  Secret c(std::move(b));
  EXPECT_TRUE(holds(b, none) && holds(c, value));
  SharedSecret one = Share(std::move(c)), two = one;
  EXPECT_TRUE(holds(c, none) && one.get() == two.get());
  alignas(Secret) std::array<uint8_t, sizeof(Secret)> place;
  Secret* s = new (place.data()) Secret(View(value));
  EXPECT_TRUE(Equal(place, value));
  s->~Secret();
  EXPECT_TRUE(Equal(place, none));
}

TEST(Random, TwoDrawsDiffer) { EXPECT_NE(RandomHash(), RandomHash()); }

TEST(Check, ABrokenPromiseThrowsBug) { EXPECT_THROW(SUF_CHECK(1 == 2), Bug); }

}  // namespace
}  // namespace suf
