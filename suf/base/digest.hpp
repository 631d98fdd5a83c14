// SHA-256, HMAC, HKDF and random bytes of the system: the only interface to OpenSSL's primitives and getrandom.
#pragma once
#include <initializer_list>
#include <string_view>

#include "suf/base/secret.hpp"

namespace suf {

// SHA-256 of a stream of bytes.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  Sha256& Add(View v);
  Sha256& Add(std::string_view v) { return Add(View(reinterpret_cast<const uint8_t*>(v.data()), v.size())); }
  template <class T>
  requires std::is_arithmetic_v<T> Sha256& Number(T v) {
    return Add(View(reinterpret_cast<const uint8_t*>(&v), sizeof v));
  }
  Hash Done();
  // Returns the digest so far; more bytes may follow.
  Hash Peek() const;

 private:
  void* ctx_;
};

Hash HashOf(std::initializer_list<View> parts);
Hash Hmac(View key, std::initializer_list<View> parts);
// HKDF-SHA256 (RFC 5869) with 32 bytes of output.
Secret Hkdf(View salt, View ikm, View info);
// Compares in constant time, except for the lengths.
bool Equal(View a, View b);
// Fills `out` with random bytes of the operating system. Throws Cause::kResource if it gives none.
void RandomBytes(std::span<uint8_t> out);
Hash RandomHash();

inline View AsView(std::string_view v) { return View(reinterpret_cast<const uint8_t*>(v.data()), v.size()); }

}  // namespace suf
