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
  return chunks_[chunk].room.view().subspan(kTagBytes, layout_->chunks()[chunk].bytes);
}

// Requests the chunks up to this one, and waits until it is here.
void KeySource::Await(std::unique_lock<std::mutex>& lock, size_t chunk) {
  if (chunk >= asked_) {
    for (size_t i = asked_; i <= chunk && i < came_; ++i) ahead_ -= layout_->chunks()[i].bytes;
    asked_ = chunk + 1;
    changed_.notify_all();
  }
  if (came_ <= chunk && !error_) {
    const auto begin = std::chrono::steady_clock::now();
    changed_.wait(lock, [&] { return came_ > chunk || error_ || closed_; });
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  if (error_) std::rethrow_exception(error_);
  SUF_CHECK(came_ > chunk);
}

View KeySource::Section(size_t i) {
  const BodyLayout::SectionPlace& s = layout_->sections().at(i);
  if (!s.bytes) return {};
  std::unique_lock lock(m_);
  Await(lock, s.chunk);
  SUF_CHECK(!chunks_[s.chunk].room.empty());
  return DataOf(s.chunk).subspan(s.at, s.bytes);
}

bool KeySource::Ready(size_t i) const {
  const BodyLayout::SectionPlace& s = layout_->sections().at(i);
  std::lock_guard lock(m_);
  return !s.bytes || (came_ > s.chunk && !error_);
}

void KeySource::Give(size_t i) {
  const BodyLayout::SectionPlace& s = layout_->sections().at(i);
  if (!s.bytes) return;
  std::lock_guard lock(m_);
  SourceChunk& c = chunks_[s.chunk];
  SUF_CHECK(c.left > 0);
  if (--c.left || s.chunk >= came_) return;  // a chunk that is being filled is dropped when it is here
  idle_.Give(std::exchange(c.room, {}));
}

View KeySource::Data(size_t chunk) {
  SUF_CHECK(window_ == kWhole);
  std::unique_lock lock(m_);
  Await(lock, chunk);
  return DataOf(chunk);
}

void KeySource::Whole() {
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

std::optional<std::pair<KeySource::SystemClock::time_point, KeySource::SystemClock::time_point>> KeySource::came()
    const {
  std::lock_guard lock(m_);
  if (!came_) return std::nullopt;
  return std::pair{first_, latest_};
}

std::vector<std::span<uint8_t>> KeySource::Rooms(size_t most) {
  std::unique_lock lock(m_);
  std::vector<std::span<uint8_t>> rooms;
  uint64_t more = 0;  // bytes of these that were not requested
  for (size_t i = came_; i < chunks_.size() && rooms.size() < most; ++i) {
    const uint64_t bytes = layout_->chunks()[i].bytes;
    const auto fits = [&] {
      const uint64_t ahead = ahead_ + more;
      return ahead == 0 || window_ - std::min(window_, ahead) >= bytes;
    };
    if (rooms.empty()) changed_.wait(lock, [&] { return closed_ || fits(); });
    if (closed_) return {};
    if (!fits()) break;
    more += i < asked_ ? 0 : bytes;
    rooms.push_back(RoomOf(i));
  }
  return rooms;
}

std::span<uint8_t> KeySource::RoomOf(size_t chunk) {
  SourceChunk& c = chunks_[chunk];
  const uint64_t bytes = layout_->chunks()[chunk].bytes;
  if (c.room.empty()) c.room = idle_.Take(kTagBytes + bytes);
  return c.room.span().first(kTagBytes + bytes);
}

void KeySource::Came(size_t many) {
  {
    std::lock_guard lock(m_);
    latest_ = SystemClock::now();
    if (!came_) first_ = latest_;
    for (const size_t end = came_ + many; came_ < end;) {
      SourceChunk& c = chunks_[came_];
      if (came_ >= asked_) ahead_ += layout_->chunks()[came_].bytes;
      ++came_;
      if (!c.left) idle_.Give(std::exchange(c.room, {}));  // all of it was given back
    }
  }
  changed_.notify_all();
}

void KeySource::Fail(std::exception_ptr error) {
  {
    std::lock_guard lock(m_);
    if (!error_ && came_ < chunks_.size()) error_ = std::move(error);
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
    for (auto room = keys.Room(); !room.empty(); room = keys.Room()) {
      const std::span<uint8_t> data = room.subspan(kTagBytes);
      std::copy_n(body.subspan(at, data.size()).begin(), data.size(), data.begin());
      at += data.size();
      keys.Came();
    }
  });
}

}  // namespace suf::store
