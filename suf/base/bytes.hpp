// Byte buffers: a little-endian writer, a reader that never reads past the end, wiped vectors, and hex.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "suf/base/error.hpp"

namespace suf {

static_assert(std::endian::native == std::endian::little, "frames and files are little-endian");

using View = std::span<const uint8_t>;
using Hash = std::array<uint8_t, 32>;

// Overwrites memory in a way that no optimiser removes. Also clears the vector registers, which may hold a copy.
void Wipe(void* p, size_t bytes);

// An allocator for vectors that may hold secrets: it wipes all memory that they free, also when they grow.
template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* p, size_t n) {
    Wipe(p, n * sizeof(T));
    std::allocator<T>().deallocate(p, n);
  }
  bool operator==(const WipingAllocator&) const = default;
};
template <class T>
using WipedVector = std::vector<T, WipingAllocator<T>>;
// The bytes of frames, files and keys.
using Bytes = WipedVector<uint8_t>;
inline bool Overlap(View a, View b) { return a.data() < b.data() + b.size() && b.data() < a.data() + a.size(); }
// Appends at the speed of a copy and writes no byte twice. A vector with a custom allocator copies byte by byte. Only
// at -O3 does g++ 12 vectorise this loop, so it is in bytes.cpp.
void Append(Bytes* to, View v);

std::string Hex(View bytes);
// Parses lower-case hex. Throws Cause::kInput, with `what` as the subject, if `text` is not hex of exactly `bytes`
// bytes.
Bytes FromHex(std::string_view text, size_t bytes, const char* what);

// Appends numbers, little-endian, and byte strings.
class Writer {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void Put(T v) { Raw({reinterpret_cast<const uint8_t*>(&v), sizeof v}); }
  void Raw(View v) { Append(&out_, v); }
  void Sized(View v) {
    Put(uint64_t(v.size()));
    Raw(v);
  }
  void Sized(std::string_view v) { Sized(View(reinterpret_cast<const uint8_t*>(v.data()), v.size())); }
  const Bytes& bytes() const { return out_; }
  Bytes Take() { return std::move(out_); }

 private:
  Bytes out_;
};

// Reads the bytes of a Writer. Each read past the end throws Cause::kRefused: "<what> is cut short ..".
class Reader {
 public:
  Reader(View in, std::string what) : in_(in), what_(std::move(what)) {}
  template <class T>
  requires std::is_arithmetic_v<T> T Get() {
    T v;
    View r = Raw(sizeof v);
    std::memcpy(&v, r.data(), sizeof v);
    return v;
  }
  View Raw(size_t n);
  Hash GetHash();
  // Reads a length of at most `limit`, then that many bytes.
  View Sized(size_t limit);
  std::string Text(size_t limit);
  size_t left() const { return in_.size() - at_; }
  // Throws Cause::kRefused if bytes are left over.
  void ExpectEnd() const;

 private:
  View in_;
  size_t at_ = 0;
  std::string what_;
};

}  // namespace suf
