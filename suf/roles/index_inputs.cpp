#include "suf/roles/internal/index_inputs.hpp"

#include <algorithm>

#include "suf/fss/prg.hpp"
#include "suf/nn/read/weights.hpp"
#include "suf/ring/pack.hpp"

namespace suf::roles {

namespace {

constexpr int64_t kRowsAtOnce = 1024;  // that are masked or unpacked at the same time
static_assert(kRowsAtOnce % kRowsOfBytes == 0);

// The rows of a segment that lie in a block: from `first` of the segment, at `at` of the block.
struct RowPiece {
  size_t segment;
  int64_t first, at, count;
};

std::vector<RowPiece> PiecesOf(const store::SegmentList& segments, int64_t begin, int64_t end) {
  std::vector<RowPiece> pieces;
  int64_t row = 0;
  for (size_t s = 0; s < segments.size() && row < end; ++s) {
    const int64_t from = std::max(begin, row), to = std::min(end, row + int64_t(segments[s].rows));
    if (from < to) pieces.push_back({s, from - row, from - begin, to - from});
    row += segments[s].rows;
  }
  return pieces;
}

// Copies rows, one behind the other, to their place in a block of `rows` rows.
template <class T>
void PlaceRows(const RowShape& shape, const WipedVector<T>& from, int64_t at, int64_t rows, WipedVector<T>& block) {
  const int64_t count = int64_t(from.size()) / shape.width;
  if (!shape.transposed) {
    std::copy(from.begin(), from.end(), block.begin() + at * shape.width);
    return;
  }
  constexpr int64_t kTile = 32;  // columns whose lines stay in the cache
  for (int64_t j0 = 0; j0 < shape.width; j0 += kTile)
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = j0; j < std::min(shape.width, j0 + kTile); ++j)
        block[size_t(j * rows + at + i)] = from[size_t(i * shape.width + j)];
}

}  // namespace

RowShape SearchShape(const nn::Plan& whole, const nn::Search& search) {
  return {nn::SearchInputsOf(whole).rows, search.rows(), search.columns, search.block, search.ScoreRing(), true};
}

RowShape TableShape(const nn::IndexPlan& index) {
  if (!index.table) return {};
  const nn::Fetch fetch = index.fetch();
  RowShape shape{{}, fetch.rows, fetch.words, fetch.block, nn::Fetch::kRingBits};
  for (int64_t i = 0; i < fetch.blocks(); ++i) shape.names.push_back(nn::Fetch::NameOf(i));
  return shape;
}

template <class T>
void RowBlocks<T>::Set(size_t block, std::function<WipedVector<T>()> make, run::Inputs& inputs) const {
  const std::string name = prefix_ + shape_.names[block];
  if (words_ == BlockWords::kHeld)
    inputs.Set(name, make());
  else
    inputs.SetMade(name, shape_.words_of(block), std::move(make));
}

template <class T>
void RowBlocks<T>::Fill(const store::SegmentList& segments, ReadRows<T> read, run::Inputs& inputs) {
  const auto shared = std::make_shared<const ReadRows<T>>(std::move(read));
  const std::lock_guard l(m_);
  for (size_t b = 0; b < last_.size(); ++b) {
    const int64_t begin = int64_t(b) * shape_.block, rows = shape_.rows_of(b);
    std::vector<RowPiece> pieces = PiecesOf(segments, begin, begin + rows);
    Sha256 key;
    key.Add(AsView("suf rows"));
    for (const RowPiece& p : pieces)
      key.Add(segments[p.segment].id).Number(uint64_t(p.first)).Number(uint64_t(p.at)).Number(uint64_t(p.count));
    LastBlock& last = last_[b];
    if (const Hash now = key.Done(); last.key != now) {
      last = {};
      const auto make = [this, b, pieces = std::move(pieces), shared] {
        WipedVector<T> block(shape_.words_of(b));
        for (const RowPiece& p : pieces)
          for (int64_t done = 0; done < p.count;) {
            const int64_t first = p.first + done, count = std::min(p.count - done, kRowsAtOnce - first % kRowsOfBytes);
            PlaceRows(shape_, (*shared)(p.segment, first, count), p.at + done, shape_.rows_of(b), block);
            done += count;
          }
        return block;
      };
      Set(b, make, last.inputs);
      last.key = now;
    }
    inputs.Add(last.inputs);
  }
}

template <class T>
void RowBlocks<T>::Cut(int64_t rows, run::Inputs& inputs) const {
  for (size_t b = 0; b < shape_.names.size(); ++b) {
    const int64_t here = shape_.rows_of(b), kept = std::clamp(rows - int64_t(b) * shape_.block, int64_t{0}, here);
    if (kept == here) continue;
    const auto make = [this, here, kept, words = inputs.Get(prefix_ + shape_.names[b], shape_.words_of(b)).words] {
      const std::shared_ptr<const void> whole = words();
      const T* const first = static_cast<const T*>(whole.get());
      WipedVector<T> block(first, first + here * shape_.width);
      if (shape_.transposed)
        for (int64_t j = 0; j < shape_.width; ++j)
          std::fill(block.begin() + j * here + kept, block.begin() + (j + 1) * here, T{});
      else
        std::fill(block.begin() + kept * shape_.width, block.end(), T{});
      return block;
    };
    Set(b, make, inputs);
  }
}

template class RowBlocks<int16_t>;
template class RowBlocks<TableWord>;
template class RowBlocks<RowWord>;

template <class T>
WipedVector<T> IndexMasks::Rows(const Hash& id, int64_t width, int64_t first, int64_t count) const {
  Writer info;
  info.Raw(AsView("suf index B"));
  info.Raw(plan_);
  const fss::Prg prg(Hkdf(id, seed_.view(), info.bytes()), id, 0);
  const int64_t front = first % kRowsOfBytes;
  WipedVector<T> words(size_t((front + count) * width));
  prg.At(0).Fill(uint64_t((first - front) * width) * sizeof(T),
                 {reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(T)});
  words.erase(words.begin(), words.begin() + front * width);
  return words;
}
template WipedVector<TableWord> IndexMasks::Rows(const Hash&, int64_t, int64_t, int64_t) const;
template WipedVector<RowWord> IndexMasks::Rows(const Hash&, int64_t, int64_t, int64_t) const;

template <class T, class W>
void WriteMasked(const RowShape& shape, const Hash& id, int64_t rows, const IndexMasks& masks,
                 const std::function<WipedVector<W>(int64_t, int64_t)>& read, const std::function<void(View)>& out) {
  for (int64_t at = 0; at < rows; at += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, rows - at);
    const WipedVector<W> plain = read(at, count);
    WipedVector<T> words = masks.Rows<T>(id, shape.width, at, count);
    for (size_t k = 0; k < words.size(); ++k) words[k] = T(T(int64_t(plain[k])) - words[k]);
    Bytes packed(ring::PackedBytes(words.size(), shape.bits));
    ring::Pack<T>(words.data(), words.size(), shape.bits, packed.data());
    out(packed);
  }
}
template void WriteMasked<RowWord, int16_t>(const RowShape&, const Hash&, int64_t, const IndexMasks&,
                                            const std::function<WipedVector<int16_t>(int64_t, int64_t)>&,
                                            const std::function<void(View)>&);
template void WriteMasked<TableWord, TableWord>(const RowShape&, const Hash&, int64_t, const IndexMasks&,
                                                const std::function<WipedVector<TableWord>(int64_t, int64_t)>&,
                                                const std::function<void(View)>&);

template <class T>
WipedVector<T> ReadMasked(const RowShape& shape, View bytes, int64_t first, int64_t count) {
  const int64_t front = first % kRowsOfBytes, words = (front + count) * shape.width;
  const auto at = size_t((first - front) * shape.width * shape.bits / 8);
  SUF_CHECK(at + ring::PackedBytes(size_t(words), shape.bits) <= bytes.size());
  WipedVector<T> all(static_cast<size_t>(words));
  ring::Unpack<T>(bytes.data() + at, all.size(), shape.bits, all.data());
  all.erase(all.begin(), all.begin() + front * shape.width);
  return all;
}
template WipedVector<TableWord> ReadMasked(const RowShape&, View, int64_t, int64_t);
template WipedVector<RowWord> ReadMasked(const RowShape&, View, int64_t, int64_t);

}  // namespace suf::roles
