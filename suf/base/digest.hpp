// SHA-256, HMAC, HKDF and the system's random bytes: the door to OpenSSL's primitives and getrandom.
#pragma once
#include <initializer_list>
#include <string_view>

#include "suf/base/secret.hpp"

namespace suf {

// Streaming digest.
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
  // The digest so far; the stream goes on.
  Hash Peek() const;

 private:
  void* ctx_;
};

Hash HashOf(std::initializer_list<View> parts);
Hash Hmac(View key, std::initializer_list<View> parts);
// HKDF-SHA256 (RFC 5869), 32 bytes.
Secret Hkdf(View salt, View ikm, View info);
// Constant time.
bool Equal(View a, View b);
// From the operating system; throws Cause::kResource when it has none.
void RandomBytes(std::span<uint8_t> out);
Hash RandomHash();

inline View AsView(std::string_view v) { return View(reinterpret_cast<const uint8_t*>(v.data()), v.size()); }

}  // namespace suf
