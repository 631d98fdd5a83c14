#include "suf/exec/host.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <vector>

namespace suf::exec {
namespace {

constexpr size_t kPage = 4096, kHuge = size_t{2} << 20;

std::atomic<const PinHooks*> pinning{nullptr};

void Unmap(uint8_t* p, size_t bytes) {
  if (const PinHooks* by = pinning) by->unpin(p, bytes);
  munmap(p, bytes);
}

// Wiped pages of freed buffers, kept for later buffers. The system would clear new pages, which costs as much as
// filling them. Pinning costs more, and stalls the device. Kept pages and pages in use have at most Limit() bytes
// together; the oldest kept pages are freed first.
class PagePool {
 public:
  static constexpr size_t kLeast = 64 << 10;
  // Returns kept pages of `*bytes` to twice as many bytes, and sets `*bytes` to their size. Returns null if none fit;
  // the caller maps them. In both cases they count as in use.
  uint8_t* Take(size_t* bytes) {
    std::unique_lock l(m_);
    uint8_t* const p = Find(bytes);
    used_ += *bytes;
    peak_ = std::max(peak_, used_);
    Trim(l);
    return p;
  }
  void Return(std::span<uint8_t> pages) {
    std::unique_lock l(m_);
    idle_.push_back(pages);
    held_ += pages.size();
    used_ -= pages.size();
    Trim(l);
  }
  // Notes that pages could not be mapped.
  void NoteUnmapped(size_t bytes) {
    std::lock_guard l(m_);
    used_ -= bytes;
  }

 private:
  // Returns the limit. Pinned pages may be as many as were in use at once, because the next bundle takes the same
  // again. They may always be 512 MB, for the key windows of a dealer's two bundles. Other pages may exceed those in
  // use by 96 MB.
  size_t Limit() const { return pinning ? std::max(size_t{512} << 20, peak_) : used_ + (size_t{96} << 20); }
  uint8_t* Find(size_t* bytes) {
    auto best = idle_.end();
    for (auto i = idle_.begin(); i != idle_.end(); ++i)
      if (i->size() >= *bytes && i->size() <= 2 * *bytes && (best == idle_.end() || i->size() < best->size())) best = i;
    if (best == idle_.end()) return nullptr;
    uint8_t* p = best->data();
    *bytes = best->size();
    held_ -= *bytes;
    idle_.erase(best);
    return p;
  }
  // Frees the oldest pages beyond the limit. Unlocks before, because unpinning waits for the device.
  void Trim(std::unique_lock<std::mutex>& l) {
    std::vector<std::span<uint8_t>> gone;
    for (; held_ && held_ + used_ > Limit(); idle_.pop_front()) {
      held_ -= idle_.front().size();
      gone.push_back(idle_.front());
    }
    l.unlock();
    for (const auto& pages : gone) Unmap(pages.data(), pages.size());
  }
  std::mutex m_;
  std::deque<std::span<uint8_t>> idle_;
  size_t held_ = 0, used_ = 0, peak_ = 0;  // bytes: of idle_, in use, and the most in use
};

PagePool& FreedPages() {
  static PagePool* const pool = new PagePool;  // outlives every buffer
  return *pool;
}

}  // namespace

HostBuffer::HostBuffer(size_t bytes) : bytes_(bytes), pages_((bytes + kPage - 1) / kPage * kPage) {
  if (!bytes) return;
  if (pages_ >= PagePool::kLeast) {
    if ((p_ = FreedPages().Take(&pages_))) return;
    void* p = mmap(nullptr, pages_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) p_ = static_cast<uint8_t*>(p);
    if (p_ && pages_ >= kHuge) (void)madvise(p_, pages_, MADV_HUGEPAGE);
    if (const PinHooks* by = pinning; p_ && by) by->pin(p_, pages_);
  } else {
    p_ = static_cast<uint8_t*>(std::aligned_alloc(kPage, pages_));
  }
  if (!p_ && pages_ >= PagePool::kLeast) FreedPages().NoteUnmapped(pages_);
  if (!p_)
    Fail(Cause::kResource, "no memory for ", bytes,
         " bytes of keys or messages; bring fewer tokens or values at once, take a smaller window of keys, or free "
         "memory");
}

void PinWith(const PinHooks& by) {
  static PinHooks kept;
  if (pinning) return;
  kept = by;
  pinning = &kept;
}

HostBuffer::~HostBuffer() {
  if (!p_) return;
  Wipe(p_, bytes_);
  if (pages_ < PagePool::kLeast)
    std::free(p_);
  else
    FreedPages().Return({p_, pages_});
}

}  // namespace suf::exec
