#include "suf/exec/host.hpp"

#include <cstdlib>

namespace suf::exec {

HostBuffer::HostBuffer(size_t bytes) : bytes_(bytes) {
  constexpr size_t kPage = 4096;
  if (!bytes) return;
  p_ = static_cast<uint8_t*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage));
  if (!p_)
    Fail(Cause::kResource, "no memory for ", bytes,
         " bytes of keys or messages; bring fewer tokens or values at once, take a smaller window of keys, or free "
         "memory");
}

HostBuffer::~HostBuffer() {
  if (p_) Wipe(p_, bytes_), std::free(p_);
}

}  // namespace suf::exec
