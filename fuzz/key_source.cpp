// Fuzzes a KeySource between a reader and its feeder. The input is {u8 window, u8 sections, u8 length each}, then steps
// of either side. A step is one byte and one number.
// If a side has to wait, it does so on a thread while the other proceeds. So each input has one course.
// Checked: sections are right and stay valid until they are returned; no wait hangs. Errors arrive when they are due,
// and slots are reused.
#include <set>
#include <thread>

#include "fuzz/fuzz.hpp"
#include "suf/store/bundle.hpp"

namespace suf::fuzz {
namespace {

using store::kChunkBytes;

// Section lengths: zero, few or many bytes, about a chunk or more.
store::SharedLayout LayoutFrom(View& input) {
  std::vector<uint64_t> lengths;
  uint64_t all = 0;
  for (int left = Pull<uint8_t>(input) % 32; left > 0 && all < 5 * kChunkBytes; --left) {
    const uint64_t a = Pull<uint8_t>(input);
    lengths.push_back(a < 128   ? a
                      : a < 192 ? (a - 127) * 10'007
                                : kChunkBytes - 32 + (a - 192) * (a < 240 ? 1 : 9'001));
    all += lengths.back();
  }
  return std::make_shared<const store::BodyLayout>(lengths);
}

// The bytes that a chunk must hold.
View DataOf(const store::BodyLayout& layout, size_t chunk) {
  static const Bytes pattern = [] {
    Bytes b(4 * kChunkBytes);
    for (size_t i = 0; i < b.size(); ++i) b[i] = uint8_t((i * 2654435761u) >> 13);
    return b;
  }();
  return View(pattern).subspan(101 * chunk, layout.chunks()[chunk].bytes);
}

class Play {
 public:
  Play(store::SharedLayout layout, uint64_t window)
      : layout_(std::move(layout)),
        window_(window),
        chunks_(layout_->chunks().size()),
        sections_(layout_->sections().size()),
        keys_(layout_, window),
        verifier_(Hash{}, layout_) {
    for (size_t c = 0; c < chunks_; ++c) left_.push_back(layout_->chunks()[c].sections);
  }

  void Step(uint8_t what, uint8_t number) {
    if (buffer_.empty() && what % 8 < 3 && !Feeds()) what = 3;
    const size_t i = sections_.empty() ? 0 : number % sections_.size();
    switch (what % 8) {
      case 0:  // takes the slot in one step and fills it in the next
        return buffer_.empty() ? Take() : Fill(0, 0);
      case 1:
        return FeedOne();
      case 2:  // altered
        Take();
        if (!buffer_.empty()) Fill(what, number);
        return;
      case 3:
      case 4:
        if (!sections_.empty()) Read(i, number);
        return;
      case 5:
        if (!sections_.empty()) Release(i);
        return;
      case 6:
        if (what & 8) return Whole(what & 16);
        if (what & 16) return Break();
        return;
      case 7:
        if (what == 255) {
          keys_.Close();
          closed_ = true;
        }
        return;
    }
  }
  // Checks at the end that sections still held are right.
  void End() {
    for (size_t i = 0; i < sections_.size(); ++i)
      if (sections_[i].out) Check(i);
    SUF_CHECK(bool(keys_.failed()) == failed_);
  }

 private:
  struct Section {
    View view;
    bool out = false, given = false;
  };
  const store::BodyLayout::SectionPlace& At(size_t i) const { return layout_->sections()[i]; }
  uint64_t BytesOf(size_t chunk) const { return layout_->chunks()[chunk].bytes; }
  bool Feeds() const { return !failed_ && !closed_ && came_ < chunks_; }
  uint64_t Ahead() const {
    uint64_t sum = 0;
    for (size_t c = asked_; c < came_; ++c) sum += BytesOf(c);
    return sum;
  }

  // Gets a slot for the next chunk. If it must wait, the reader catches up meanwhile.
  void Take() {
    if (!buffer_.empty() || !Feeds()) return;
    const uint64_t ahead = Ahead();
    if (ahead == 0 || (ahead <= window_ && window_ - ahead >= BytesOf(came_))) {
      buffer_ = keys_.NextBuffer();
    } else {
      std::thread feeder([&] { buffer_ = keys_.NextBuffer(); });
      size_t i = 0;
      while (At(i).bytes == 0 || At(i).chunk != came_ - 1 || sections_[i].given) {
        if (++i < sections_.size()) continue;
        keys_.Close();
        closed_ = true;  // its reader has returned every section of it
        break;
      }
      if (!closed_) Read(i, 0);
      feeder.join();
    }
    Got();
  }
  // Checks the slot. If all slots have one size, there is at most one for each held chunk and one to be filled.
  void Got() {
    SUF_CHECK(buffer_.size() == (closed_ ? 0 : net::ChunkTags::kBytes + BytesOf(came_)));
    if (!buffer_.empty() && layout_->largest() <= kChunkBytes) buffers_.insert(buffer_.data());
    size_t held = 0;
    for (size_t c = 0; c < came_; ++c) held += left_[c] > 0;
    most_ = std::max(most_, held);
    SUF_CHECK(buffers_.size() <= most_ + 1);
  }
  // Fills the slot and verifies it, as a delivery does. If `what` says so, its bits choose the altered byte.
  void Fill(uint8_t what, uint8_t number) {
    const View data = DataOf(*layout_, came_);
    const auto tag = tags_.Next(data);
    std::memset(buffer_.data(), 0xa5, std::min<size_t>(buffer_.size(), 256));
    std::copy(tag.begin(), tag.end(), buffer_.begin());
    std::memcpy(buffer_.data() + tag.size(), data.data(), data.size());
    const bool altered = what % 8 == 2;
    if (altered)
      buffer_[what & 8 ? number % tag.size() : tag.size() + number * 4099 % data.size()] ^= uint8_t(1 << (what >> 5));
    const bool fine = Quietly([&] {
      try {
        (void)verifier_.Verify(buffer_, "the fuzzed body");
        keys_.MarkFilled();
      } catch (const Error&) {
        keys_.Fail(std::current_exception());
        throw;
      }
    });
    SUF_CHECK(fine == !altered);
    buffer_ = {};
    if (fine)
      ++came_;
    else
      failed_ = true;
  }
  void FeedOne() {
    Take();
    if (!buffer_.empty()) Fill(0, 0);
  }
  void Break() {
    if (failed_ || came_ == chunks_) return;
    keys_.Fail(std::make_exception_ptr(Error(Cause::kPeer, "the fuzzed dealer is gone")));
    failed_ = true;
    buffer_ = {};
  }

  // Runs the reader's call `f`, which needs every chunk up to this one. Returns whether the reader got them.
  template <class F>
  bool Ask(size_t chunk, bool breaks, F f) {
    if (closed_ && came_ <= chunk && !failed_) return false;  // the reader requests nothing more
    bool fine = false;
    if (came_ > chunk || failed_) {
      asked_ = std::max(asked_, chunk + 1);
      fine = Quietly(f);
    } else {
      std::thread reader([&] { fine = Quietly(f); });
      asked_ = std::max(asked_, chunk + 1);
      while (came_ <= chunk && !failed_) {
        if (breaks && came_ == chunk) {
          Break();
        } else {
          if (buffer_.empty()) {
            buffer_ = keys_.NextBuffer();
            Got();
          }  // after the reader's request
          Fill(0, 0);
        }
      }
      reader.join();
    }
    SUF_CHECK(fine == !failed_);
    return fine;
  }
  void Read(size_t i, uint8_t number) {
    Section& s = sections_[i];
    if (s.given) return;
    if (At(i).bytes == 0) return SUF_CHECK(keys_.Section(i).empty());
    if (!Ask(At(i).chunk, number & 128, [&] { s.view = keys_.Section(i); })) return;
    s.out = true;
    Check(i);
  }
  void Check(size_t i) {
    const View want = DataOf(*layout_, At(i).chunk).subspan(At(i).at, At(i).bytes);
    SUF_CHECK(sections_[i].view.size() == want.size() &&
              !std::memcmp(sections_[i].view.data(), want.data(), want.size()));
  }
  void Release(size_t i) {
    Section& s = sections_[i];
    if (std::exchange(s.given, true)) return;
    if (std::exchange(s.out, false)) Check(i);
    if (!buffer_.empty()) buffer_[0] = 0xa5;  // a slot being filled, maybe of this chunk, is not wiped
    keys_.Release(i);
    SUF_CHECK(buffer_.empty() || buffer_[0] == 0xa5);
    if (At(i).bytes) --left_[At(i).chunk];
  }
  void Whole(bool breaks) {
    if (chunks_) (void)Ask(chunks_ - 1, breaks, [&] { keys_.AwaitAll(); });
  }

  const store::SharedLayout layout_;
  const uint64_t window_;
  const size_t chunks_;
  std::vector<Section> sections_;
  std::vector<size_t> left_;
  store::KeySource keys_;
  store::ChunkVerifier verifier_;
  net::ChunkTags tags_{Hash{}};
  std::span<uint8_t> buffer_;
  size_t came_ = 0, asked_ = 0, most_ = 0;
  bool failed_ = false, closed_ = false;
  std::set<const uint8_t*> buffers_;  // if all slots have one size
};

}  // namespace
}  // namespace suf::fuzz

SUF_FUZZ(key_source) {
  using namespace suf;
  const uint64_t w = fuzz::Pull<uint8_t>(input);
  fuzz::Play play(fuzz::LayoutFrom(input), w == 255 ? store::KeySource::kWhole : w * store::kChunkBytes / 48);
  for (int left = 200; left > 0 && !input.empty(); --left) {
    const uint8_t what = fuzz::Pull<uint8_t>(input);
    play.Step(what, fuzz::Pull<uint8_t>(input));
  }
  play.End();
}
