#include "suf/store/key_source.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "suf/base/error.hpp"

namespace suf::store {

namespace {
constexpr size_t kTagBytes = net::ChunkTags::kBytes;
}

KeySource::KeySource(SharedLayout layout, uint64_t window)
    : layout_(std::move(layout)),
      window_(window),
      chunks_(layout_->chunks().size()),
      idle_(kTagBytes + std::min<uint64_t>(kChunkBytes, layout_->largest()), window) {
  for (size_t i = 0; i < chunks_.size(); ++i) chunks_[i].left = layout_->chunks()[i].sections;
}

KeySource::~KeySource() {
  Close();
  if (feeder_.joinable()) feeder_.join();
}

View KeySource::DataOf(size_t chunk) const {
  return chunks_[chunk].buffer.view().subspan(kTagBytes, layout_->chunks()[chunk].bytes);
}

// Requests the chunks up to this one, and waits until it is here.
void KeySource::Await(std::unique_lock<std::mutex>& lock, size_t chunk) {
  if (chunk >= requested_) {
    for (size_t i = requested_; i <= chunk && i < arrived_; ++i) ahead_ -= layout_->chunks()[i].bytes;
    requested_ = chunk + 1;
    changed_.notify_all();
  }
  if (arrived_ <= chunk && !error_) {
    const auto begin = std::chrono::steady_clock::now();
    changed_.wait(lock, [&] { return arrived_ > chunk || error_ || closed_; });
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  if (error_) std::rethrow_exception(error_);
  SUF_CHECK(arrived_ > chunk);
}

View KeySource::Section(size_t i) {
  const BodyLayout::SectionPlace& s = layout_->sections().at(i);
  if (!s.bytes) return {};
  std::unique_lock lock(m_);
  Await(lock, s.chunk);
  SUF_CHECK(!chunks_[s.chunk].buffer.empty());
  return DataOf(s.chunk).subspan(s.at, s.bytes);
}

bool KeySource::IsReady(size_t i) const {
  const BodyLayout::SectionPlace& s = layout_->sections().at(i);
  std::lock_guard lock(m_);
  return !s.bytes || (arrived_ > s.chunk && !error_);
}

void KeySource::Release(size_t i) {
  const BodyLayout::SectionPlace& s = layout_->sections().at(i);
  if (!s.bytes) return;
  std::lock_guard lock(m_);
  SourceChunk& c = chunks_[s.chunk];
  SUF_CHECK(c.left > 0);
  if (--c.left || s.chunk >= arrived_) return;  // a chunk that is being filled is dropped when it is here
  idle_.Return(std::exchange(c.buffer, {}));
}

View KeySource::Data(size_t chunk) {
  SUF_CHECK(window_ == kWhole);
  std::unique_lock lock(m_);
  Await(lock, chunk);
  return DataOf(chunk);
}

void KeySource::AwaitAll() {
  std::unique_lock lock(m_);
  if (!chunks_.empty()) Await(lock, chunks_.size() - 1);
}

void KeySource::Close() noexcept {
  {
    std::lock_guard lock(m_);
    closed_ = true;
  }
  changed_.notify_all();
}

std::exception_ptr KeySource::failed() const {
  std::lock_guard lock(m_);
  return error_;
}

double KeySource::waited() const {
  std::lock_guard lock(m_);
  return waited_;
}

std::optional<std::pair<KeySource::SystemClock::time_point, KeySource::SystemClock::time_point>> KeySource::arrival()
    const {
  std::lock_guard lock(m_);
  if (!arrived_) return std::nullopt;
  return std::pair{first_, latest_};
}

std::vector<std::span<uint8_t>> KeySource::NextBuffers(size_t most) {
  std::unique_lock lock(m_);
  std::vector<std::span<uint8_t>> buffers;
  uint64_t more = 0;  // bytes of these that were not requested
  for (size_t i = arrived_; i < chunks_.size() && buffers.size() < most; ++i) {
    const uint64_t bytes = layout_->chunks()[i].bytes;
    const auto fits = [&] {
      const uint64_t ahead = ahead_ + more;
      return ahead == 0 || window_ - std::min(window_, ahead) >= bytes;
    };
    if (buffers.empty()) changed_.wait(lock, [&] { return closed_ || fits(); });
    if (closed_) return {};
    if (!fits()) break;
    more += i < requested_ ? 0 : bytes;
    buffers.push_back(BufferOf(i));
  }
  return buffers;
}

std::span<uint8_t> KeySource::BufferOf(size_t chunk) {
  SourceChunk& c = chunks_[chunk];
  const uint64_t bytes = layout_->chunks()[chunk].bytes;
  if (c.buffer.empty()) c.buffer = idle_.Take(kTagBytes + bytes);
  return c.buffer.span().first(kTagBytes + bytes);
}

void KeySource::MarkFilled(size_t many) {
  {
    std::lock_guard lock(m_);
    latest_ = SystemClock::now();
    if (!arrived_) first_ = latest_;
    for (const size_t end = arrived_ + many; arrived_ < end;) {
      SourceChunk& c = chunks_[arrived_];
      if (arrived_ >= requested_) ahead_ += layout_->chunks()[arrived_].bytes;
      ++arrived_;
      if (!c.left) idle_.Return(std::exchange(c.buffer, {}));  // all of it was released
    }
  }
  changed_.notify_all();
}

void KeySource::Fail(std::exception_ptr error) {
  {
    std::lock_guard lock(m_);
    if (!error_ && arrived_ < chunks_.size()) error_ = std::move(error);
  }
  changed_.notify_all();
}

void KeySource::Feed(std::function<void(KeySource&)> f) {
  feeder_ = std::thread([this, f = std::move(f)] {
    try {
      f(*this);
    } catch (...) {
      Fail(std::current_exception());
    }
  });
}

void KeySource::FeedFrom(View body) {
  Feed([body](KeySource& keys) {
    size_t at = 0;
    for (auto buffer = keys.NextBuffer(); !buffer.empty(); buffer = keys.NextBuffer()) {
      const std::span<uint8_t> data = buffer.subspan(kTagBytes);
      std::copy_n(body.subspan(at, data.size()).begin(), data.size(), data.begin());
      at += data.size();
      keys.MarkFilled();
    }
  });
}

}  // namespace suf::store
