#include "suf/roles/internal/served_index.hpp"

#include <algorithm>

namespace suf::roles {

ServedIndex::ServedIndex(std::shared_ptr<const EngineIndex> index, uint32_t number, const std::string& folder,
                         SeenRows seen)
    : index_(std::move(index)),
      number_(number),
      seen_(std::move(seen)),
      bias_name_("W." + nn::SearchInputsOf(index_->whole).bias),
      folder_(folder, IndexAccess::kRead),
      seed_(Share(folder_.MaskSeed())),
      masks_(seed_->view(), index_->hash),
      rows_(SearchShape(index_->whole, index_->index.search), "W.", BlockWords::kHeld),
      table_(TableShape(index_->index), "W.", BlockWords::kHeld) {
  const proto::SessionIndex now = Begin();
  store::Job search{.entry = store::SearchEntry(number_)};
  (void)InputsFor(search, now, now.lists->back(), {});  // the first search finds them ready
}

std::shared_ptr<const ServedIndex::FolderState> ServedIndex::RenewLocked() {
  if (!folder_.Renew() && state_) return state_;
  if (nn::IndexPlanHash(folder_.index()) != index_->hash)
    Fail(Cause::kRefused, "the index has another plan since it was compacted; start the service again with that plan");
  auto state = std::make_shared<FolderState>();
  for (const IndexSegment& s : folder_.segments()) state->segments.push_back({s.id, uint32_t(s.rows)});
  state->lists = store::ListHashes(index_->hash, state->segments);
  state->deleted = folder_.deleted();
  return state_ = std::move(state);
}

std::shared_ptr<const ServedIndex::FolderState> ServedIndex::Renew() {
  const std::lock_guard l(m_);
  return RenewLocked();
}

proto::SessionIndex ServedIndex::Begin() {
  const std::lock_guard l(m_);
  const auto state = RenewLocked();
  proto::IndexOffer offer{number_, index_->hash, {}};
  std::map<Hash, proto::SegmentOffer> offers;
  for (const store::SealedSegment& s : state->segments) {
    const auto known = offers_.find(s.id);
    offer.segments.push_back(offers[s.id] = known == offers_.end() ? OfferLocked(s) : known->second);
  }
  offers_ = std::move(offers);
  return proto::SessionIndex(std::move(offer));
}

bool ServedIndex::Has(const std::vector<Hash>& lists) {
  return proto::SegmentsOf(Renew()->lists, lists.back()).has_value();
}

// --- rows ---

const IndexSegment& ServedIndex::SegmentLocked(const Hash& id) const {
  for (const IndexSegment& s : folder_.segments())
    if (s.id == id) return s;
  Fail(Cause::kPeer, "a segment of the index is gone since it was compacted; start the session again");
}

const IndexRows& ServedIndex::RowsLocked(const Hash& id) {
  if (last_.first != id) last_ = {id, folder_.ReadSegment(SegmentLocked(id))};
  return last_.second;
}

WipedVector<int16_t> ServedIndex::RowsLocked(const Hash& id, int64_t first, int64_t count) {
  const IndexRows& all = RowsLocked(id);
  const auto from = all.values.begin() + first * index_->index.search.columns;
  return {from, from + count * index_->index.search.columns};
}

WipedVector<TableWord> ServedIndex::TableLocked(const Hash& id, int64_t first, int64_t count) {
  const IndexRows& all = RowsLocked(id);
  const IndexSegment& segment = SegmentLocked(id);
  WipedVector<TableWord> words;
  for (int64_t i = first; i < first + count; ++i) {
    const std::vector<TableWord> row = folder_.TableRow(segment, size_t(i), all.documents[size_t(i)]);
    words.insert(words.end(), row.begin(), row.end());
  }
  return words;
}

void ServedIndex::WriteMaskedPart(const store::SealedSegment& s, bool table, bool locks,
                                  const std::function<void(View)>& out) {
  const auto lock = [&] { return locks ? std::unique_lock(m_) : std::unique_lock<std::mutex>(); };
  if (table)
    WriteMasked<TableWord, TableWord>(
        table_.shape(), store::TableId(s.id), s.rows, masks_,
        [&](int64_t first, int64_t count) {
          const auto l = lock();
          return TableLocked(s.id, first, count);
        },
        out);
  else
    WriteMasked<RowWord, int16_t>(
        rows_.shape(), s.id, s.rows, masks_,
        [&](int64_t first, int64_t count) {
          const auto l = lock();
          return RowsLocked(s.id, first, count);
        },
        out);
}

proto::SegmentOffer ServedIndex::OfferLocked(const store::SealedSegment& s) {
  const auto hash = [&](bool table) {
    Sha256 h;
    WriteMaskedPart(s, table, false, [&](View v) { h.Add(v); });
    return h.Done();
  };
  return {s, hash(false), index_->index.table ? hash(true) : Hash{}};
}

// Other sessions go on while the sink waits for its client.
void ServedIndex::WritePart(const proto::SetupPart& part, store::Sink& out) {
  const auto now = Renew();
  const auto& all = now->segments;
  const auto at = std::find_if(all.begin(), all.end(), [&](const store::SealedSegment& s) {
    return part.id == (part.table ? store::TableId(s.id) : s.id);
  });
  if (at == all.end())
    Fail(Cause::kPeer, "a segment of the index is gone since it was compacted; start the session again");
  WriteMaskedPart(*at, part.table, true, [&](View v) { out.Write(v); });
  const std::lock_guard l(m_);
  last_ = {};
}

template <class T>
run::Inputs ServedIndex::RowsOf(RowBlocks<T>& blocks, SharedInputs<Hash>& made, const ReadRows<T>& read,
                                const proto::SessionIndex& session, const Hash& list) {
  const auto all = made.Get(session.lists->back(), [&](run::Inputs& inputs) {
    const std::lock_guard l(m_);
    blocks.Fill(session.segments, read, inputs);
    last_ = {};
  });
  return InputsOfList(blocks, *all, session, list, made, list);
}

// Returns 0 for each row that this data owner may find, of the first `rows`.
WipedVector<int32_t> ServedIndex::BiasOf(const proto::SessionIndex& session, int64_t rows,
                                         const std::vector<int64_t>& deleted, const Hash& owner) const {
  const nn::Search& search = index_->index.search;
  const int32_t empty = -(int32_t{1} << (search.f + search.g + 1));
  const Hash first = session.segments.empty() ? Hash{} : session.segments[0].id;
  const auto ranges = seen_ && owner != Hash{} ? seen_(owner, number_, first) : std::nullopt;
  WipedVector<int32_t> bias(size_t(search.rows()), ranges ? empty : 0);
  if (ranges)
    for (const RowsFrom& r : *ranges)
      if (r.first < rows) std::fill(bias.begin() + r.first, bias.begin() + std::min(r.end, rows), 0);
  std::fill(bias.begin() + rows, bias.end(), empty);
  for (const int64_t row : deleted)
    if (row < rows) bias[size_t(row)] = empty;
  return bias;
}

run::Inputs ServedIndex::InputsFor(const store::Job& job, const proto::SessionIndex& session, const Hash& list,
                                   const Hash& owner) {
  const auto id = [&](size_t segment) -> const Hash& { return session.segments[segment].id; };
  if (store::IsFetch(job))
    return RowsOf<TableWord>(
        table_, fetches_, [&](size_t s, int64_t first, int64_t count) { return TableLocked(id(s), first, count); },
        session, list);
  run::Inputs inputs = RowsOf<int16_t>(
      rows_, searches_, [&](size_t s, int64_t first, int64_t count) { return RowsLocked(id(s), first, count); },
      session, list);
  const size_t known = proto::SegmentsOf(*session.lists, list).value();
  const auto now = Renew();
  if (!proto::SegmentsOf(now->lists, session.lists->back()))  // deleted rows have other numbers now
    Fail(Cause::kPeer, "the index was compacted while a search began; it must start again");
  inputs.Set(bias_name_, BiasOf(session, store::RowsOf(std::span(session.segments).first(known)), now->deleted, owner));
  return inputs;
}

}  // namespace suf::roles
