// Memory that passes between sockets, disks and kernels: bundles, frames, the dealer's sections.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "suf/base/bytes.hpp"

namespace suf::exec {

// Whole pages, not cleared, and wiped when freed. The next buffers get freed pages again: 96 MB are kept. With a
// device, pages are pinned (PinWith), and as many bytes are kept as were in use at once.
class HostBuffer {
 public:
  HostBuffer() = default;
  // Throws Cause::kResource if there is no memory.
  explicit HostBuffer(size_t bytes);
  HostBuffer(HostBuffer&& o) noexcept
      : p_(std::exchange(o.p_, nullptr)), bytes_(std::exchange(o.bytes_, 0)), pages_(std::exchange(o.pages_, 0)) {}
  HostBuffer& operator=(HostBuffer&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(bytes_, o.bytes_);
    std::swap(pages_, o.pages_);
    return *this;
  }
  ~HostBuffer();

  size_t size() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }
  std::span<uint8_t> span() { return {p_, bytes_}; }
  View view() const { return {p_, bytes_}; }

 private:
  uint8_t* p_ = nullptr;
  size_t bytes_ = 0, pages_ = 0;  // pages_: bytes of the pages
};

// Functions that make pages accessible to a device, and undo it. `pin` may fail and reports nothing.
struct PinHooks {
  void (*pin)(void* pages, size_t bytes);
  void (*unpin)(void* pages, size_t bytes);
};
// Pins all later buffers of whole pages. Called once, by a program that uses a device.
void PinWith(const PinHooks& pinning);

}  // namespace suf::exec
