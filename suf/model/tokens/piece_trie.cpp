#include "suf/model/tokens/piece_trie.hpp"

#include <algorithm>

#include "suf/base/error.hpp"

namespace suf::model {
namespace {

using TriePieces = std::vector<std::pair<CodePoints, int32_t>>;

// Sorts by text. Most comparisons need the first three characters only, which lie in the key.
void Sort(TriePieces* pieces) {
  struct Place {
    uint64_t key;
    uint32_t index;
  };
  std::vector<Place> places;
  places.reserve(pieces->size());
  for (const auto& [text, id] : *pieces) {
    uint64_t key = 0;
    for (size_t i = 0; i < 3; ++i) key = key << 21 | (i < text.size() ? uint64_t(text[i]) + 1 : 0);
    places.push_back({key, uint32_t(places.size())});
  }
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    return a.key != b.key ? a.key < b.key : (*pieces)[a.index].first < (*pieces)[b.index].first;
  });
  TriePieces sorted;
  sorted.reserve(pieces->size());
  for (const Place& p : places) sorted.push_back(std::move((*pieces)[p.index]));
  *pieces = std::move(sorted);
}

}  // namespace

PieceTrie::PieceTrie(std::vector<std::pair<CodePoints, int32_t>> pieces) {
  Sort(&pieces);
  struct Span {
    size_t begin, end;  // the pieces that continue a node's text
  };
  labels_.push_back(0);
  ids_.push_back(-1);
  std::vector<Span> level = {{0, pieces.size()}};
  for (size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Span> next;
    for (const Span& span : level) {
      first_.push_back(uint32_t(labels_.size()));
      for (size_t at = span.begin; at < span.end;) {
        const char32_t c = pieces[at].first[depth];
        const bool ends = pieces[at].first.size() == depth + 1;
        labels_.push_back(c);
        ids_.push_back(ends ? pieces[at].second : -1);
        const size_t begin = at + ends;
        while (at < span.end && pieces[at].first[depth] == c) ++at;
        next.push_back({begin, at});
      }
    }
    level = std::move(next);
  }
  first_.push_back(uint32_t(labels_.size()));
  if (labels_.size() > 1) roots_.resize(size_t(labels_[first_[1] - 1]) + 1, kNone);
  for (uint32_t node = first_[0]; node < first_[1]; ++node) roots_[labels_[node]] = node;
}

uint32_t PieceTrie::ChildOf(uint32_t node, char32_t c) const {
  const auto begin = labels_.begin() + first_[node], end = labels_.begin() + first_[node + 1];
  const auto at = std::lower_bound(begin, end, c);
  return at != end && *at == c ? uint32_t(at - labels_.begin()) : kNone;
}

uint32_t PieceTrie::Find(PointsView text) const {
  uint32_t node = kRoot;
  for (size_t i = 0; i < text.size() && node != kNone; ++i) node = Child(node, text[i]);
  return node;
}

}  // namespace suf::model
