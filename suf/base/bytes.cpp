#include "suf/base/bytes.hpp"

#include <string.h>

namespace suf {

namespace {

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void ClearAvx512() {
  asm volatile(
      "vzeroall\n\t"
      ".irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
      "vpxord %%zmm\\n, %%zmm\\n, %%zmm\\n\n\t"
      ".endr" ::
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
            "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",
            "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
}
__attribute__((target("avx"))) void ClearAvx() {
  asm volatile("vzeroall" ::
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                     "xmm12", "xmm13", "xmm14", "xmm15");
}
void ClearSse() {
  asm volatile(
      ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
      "pxor %%xmm\\n, %%xmm\\n\n\t"
      ".endr" ::
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
            "xmm13", "xmm14", "xmm15");
}
// Clears copies that a memcpy or a hash left in vector registers. A context switch or the loader's lazy binding would
// save them to a stack that is never wiped.
void ClearRegisters() {
  static const auto clear = __builtin_cpu_supports("avx512f") ? ClearAvx512
                            : __builtin_cpu_supports("avx")   ? ClearAvx
                                                              : ClearSse;
  clear();
}
#else
void ClearRegisters() {}
#endif

}  // namespace

void Wipe(void* p, size_t bytes) {
  if (!bytes) return;
  explicit_bzero(p, bytes);
  ClearRegisters();
}

void Append(Bytes* to, View v) { to->insert(to->end(), v.data(), v.data() + v.size()); }

std::string Hex(View bytes) {
  static const char* kDigits = "0123456789abcdef";
  std::string s;
  for (uint8_t b : bytes) {
    s += kDigits[b >> 4];
    s += kDigits[b & 15];
  }
  return s;
}

Bytes FromHex(std::string_view text, size_t bytes, const char* what) {
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  bool ok = text.size() == 2 * bytes;
  Bytes out(ok ? bytes : 0);
  for (size_t i = 0; ok && i < bytes; ++i) {
    int hi = digit(text[2 * i]), lo = digit(text[2 * i + 1]);
    ok = hi >= 0 && lo >= 0;
    out[i] = uint8_t(hi << 4 | (lo & 15));
  }
  if (!ok)
    Fail(Cause::kInput, what, " must be ", 2 * bytes, " lower-case hex digits; got ", text.size(), " characters");
  return out;
}

View Reader::Raw(size_t n) {
  if (n > left())
    Fail(Cause::kRefused, what_, " is cut short: ", n, " more bytes expected at byte ", at_, ", ", left(),
         " are left; make it again");
  View v = in_.subspan(at_, n);
  at_ += n;
  return v;
}

Hash Reader::GetHash() {
  Hash h;
  View v = Raw(h.size());
  std::copy(v.begin(), v.end(), h.begin());
  return h;
}

View Reader::Sized(size_t limit) {
  uint64_t n = Get<uint64_t>();
  if (n > limit)
    Fail(Cause::kRefused, what_, " names a field of ", n, " bytes; the limit is ", limit, "; make it again");
  return Raw(n);
}

std::string Reader::Text(size_t limit) {
  View v = Sized(limit);
  return {reinterpret_cast<const char*>(v.data()), v.size()};
}

void Reader::ExpectEnd() const {
  if (left()) Fail(Cause::kRefused, what_, " has ", left(), " bytes too many; make it again");
}

}  // namespace suf
