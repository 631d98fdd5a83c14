#include "suf/exec/host.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>

namespace suf::exec {
namespace {

constexpr size_t kPage = 4096, kHuge = size_t{2} << 20;

std::atomic<const Pinning*> pinning{nullptr};
std::atomic<size_t> kept_bytes{0};  // 0: nobody said

void Unmap(uint8_t* p, size_t bytes) {
  if (const Pinning* by = pinning) by->unpin(p, bytes);
  munmap(p, bytes);
}

// Kept: pages of buffers that went, for those to come: the system would clear each page again, which costs as much as
// filling it, and pinning it again would cost more. They are wiped; of more than Most() bytes, those that went first
// go.
class Kept {
 public:
  static constexpr size_t kLeast = 64 << 10;
  // Most: pinned ones are the windows of keys of a dealer's two bundles.
  static size_t Most() { return kept_bytes ? size_t(kept_bytes) : size_t(pinning ? 512 : 96) << 20; }
  // Take: so many bytes or up to twice as many; null: none. bytes becomes what they are.
  uint8_t* Take(size_t* bytes) {
    std::lock_guard l(m_);
    auto best = idle_.end();
    for (auto i = idle_.begin(); i != idle_.end(); ++i)
      if (i->size() >= *bytes && i->size() <= 2 * *bytes && (best == idle_.end() || i->size() < best->size())) best = i;
    if (best == idle_.end()) return nullptr;
    uint8_t* p = best->data();
    *bytes = best->size(), held_ -= *bytes;
    idle_.erase(best);
    return p;
  }
  void Give(std::span<uint8_t> pages) {
    std::lock_guard l(m_);
    for (idle_.push_back(pages), held_ += pages.size(); held_ > Most(); idle_.pop_front()) {
      held_ -= idle_.front().size();
      Unmap(idle_.front().data(), idle_.front().size());
    }
  }

 private:
  std::mutex m_;
  std::deque<std::span<uint8_t>> idle_;
  size_t held_ = 0;
};

Kept& Idle() {
  static Kept* const kept = new Kept;  // outlives every buffer
  return *kept;
}

}  // namespace

HostBuffer::HostBuffer(size_t bytes) : bytes_(bytes), pages_((bytes + kPage - 1) / kPage * kPage) {
  if (!bytes) return;
  if (pages_ >= Kept::kLeast) {
    if ((p_ = Idle().Take(&pages_))) return;
    void* p = mmap(nullptr, pages_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) p_ = static_cast<uint8_t*>(p);
    if (p_ && pages_ >= kHuge) (void)madvise(p_, pages_, MADV_HUGEPAGE);
    if (const Pinning* by = pinning; p_ && by) by->pin(p_, pages_);
  } else {
    p_ = static_cast<uint8_t*>(std::aligned_alloc(kPage, pages_));
  }
  if (!p_)
    Fail(Cause::kResource, "no memory for ", bytes,
         " bytes of keys or messages; bring fewer tokens or values at once, take a smaller window of keys, or free "
         "memory");
}

void KeepHostBuffers(size_t most) { kept_bytes = most; }

void PinWith(const Pinning& by) {
  static Pinning kept;
  if (pinning) return;
  kept = by;
  pinning = &kept;
}

HostBuffer::~HostBuffer() {
  if (!p_) return;
  Wipe(p_, bytes_);
  if (pages_ < Kept::kLeast)
    std::free(p_);
  else
    Idle().Give({p_, pages_});
}

}  // namespace suf::exec
