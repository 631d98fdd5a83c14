// Memory that is handed between sockets, disks and kernels: bundles, frames, the dealer's sections.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "suf/base/bytes.hpp"

namespace suf::exec {

// Whole pages, not set to zero, wiped when they go; the next buffers get them again: 96 MB stay for those,
// or where a device is in use, whose pages are pinned (PinWith), as many as were in use at once.
class HostBuffer {
 public:
  HostBuffer() = default;
  // Throws Cause::kResource where there is no memory.
  explicit HostBuffer(size_t bytes);
  HostBuffer(HostBuffer&& o) noexcept
      : p_(std::exchange(o.p_, nullptr)), bytes_(std::exchange(o.bytes_, 0)), pages_(std::exchange(o.pages_, 0)) {}
  HostBuffer& operator=(HostBuffer&& o) noexcept {
    std::swap(p_, o.p_), std::swap(bytes_, o.bytes_), std::swap(pages_, o.pages_);
    return *this;
  }
  ~HostBuffer();

  size_t size() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }
  std::span<uint8_t> span() { return {p_, bytes_}; }
  View view() const { return {p_, bytes_}; }

 private:
  uint8_t* p_ = nullptr;
  size_t bytes_ = 0, pages_ = 0;  // pages_: bytes of them
};

// What makes pages ones that a device reads and writes by itself, and takes that back. PinWith: for all
// buffers made from now on that are of whole pages; called once by who uses a device, which may fail to pin and says
// nothing.
struct Pinning {
  void (*pin)(void* pages, size_t bytes);
  void (*unpin)(void* pages, size_t bytes);
};
void PinWith(const Pinning& pinning);

}  // namespace suf::exec
