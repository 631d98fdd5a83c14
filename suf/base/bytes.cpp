#include "suf/base/bytes.hpp"

#include <string.h>

namespace suf {

void Wipe(void* p, size_t bytes) {
  if (bytes) explicit_bzero(p, bytes);
}

void Append(Bytes* to, View v) { to->insert(to->end(), v.data(), v.data() + v.size()); }

std::string Hex(View bytes) {
  static const char* kDigits = "0123456789abcdef";
  std::string s;
  for (uint8_t b : bytes) s += kDigits[b >> 4], s += kDigits[b & 15];
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

void Reader::Done() const {
  if (left()) Fail(Cause::kRefused, what_, " has ", left(), " bytes too many; make it again");
}

}  // namespace suf
