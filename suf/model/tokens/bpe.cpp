// Byte pair encoding (Sennrich et al., 2016). A word begins as its characters. The pair with the least rank is merged,
// until no pair has a rank. The words of byte-level tokenizers are in the alphabet of byte_alphabet.hpp.
#include <algorithm>
#include <queue>

#include "suf/base/error.hpp"
#include "suf/model/tokens/settings.hpp"
#include "suf/model/tokens/utf8.hpp"
#include "suf/model/tokens/word_models.hpp"

namespace suf::model {
namespace {

struct BpeMerge {
  int32_t left = 0, right = 0;  // ids of a pair
  uint32_t rank = 0;            // its place in the file
  int32_t id = 0;               // of the entry that replaces the pair
};

// The merges by pair.
class MergeTable {
 public:
  // `names` says where the merges are, in error messages.
  MergeTable(std::vector<BpeMerge> merges, size_t entries, const std::string& names)
      : merges_(std::move(merges)), starts_(entries + 1) {
    const auto pair = [](const BpeMerge& m) { return std::pair(m.left, m.right); };
    std::sort(merges_.begin(), merges_.end(), [&](const BpeMerge& a, const BpeMerge& b) {
      return std::pair(pair(a), a.rank) < std::pair(pair(b), b.rank);
    });
    const auto same = [&](const BpeMerge& a, const BpeMerge& b) { return pair(a) == pair(b); };
    if (const auto twice = std::adjacent_find(merges_.begin(), merges_.end(), same); twice != merges_.end())
      Fail(Cause::kInput, names, " ", twice->rank, " and ", twice[1].rank, " join the same pair; ", kSaveTokenizer);
    for (const BpeMerge& m : merges_) ++starts_[size_t(m.left) + 1];
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  }

  // Returns the merge of a pair, or null.
  const BpeMerge* Find(int32_t left, int32_t right) const {
    const auto begin = merges_.begin() + starts_[size_t(left)], end = merges_.begin() + starts_[size_t(left) + 1];
    const auto at = std::lower_bound(begin, end, right, [](const BpeMerge& m, int32_t r) { return m.right < r; });
    return at != end && at->right == right ? &*at : nullptr;
  }

 private:
  std::vector<BpeMerge> merges_;  // sorted by pair
  std::vector<uint32_t> starts_;  // the first merge of each left id
};

// A character or an entry of a word, linked to its neighbours.
struct BpeSymbol {
  int32_t id = 0;
  int32_t before = -1, after = -1;  // places of the neighbours, or -1
  bool gone = false;                // merged into the symbol before it
};

// Merges the ids from `first` on. The heap makes this n log n for n ids.
class BpeMerger {
 public:
  BpeMerger(const MergeTable& merges, const Ids& ids, size_t first) : merges_(merges), symbols_(ids.size() - first) {
    const auto n = int32_t(symbols_.size());
    std::vector<Step> steps;
    steps.reserve(symbols_.size());
    for (int32_t i = 0; i < n; ++i) {
      symbols_[size_t(i)] = {ids[first + size_t(i)], i - 1, i + 1 < n ? i + 1 : -1};
      if (i == 0) continue;
      if (const BpeMerge* m = merges_.Find(At(i - 1).id, At(i).id)) steps.push_back({m->rank, i - 1, m->id});
    }
    steps_ = Steps(std::greater<>(), std::move(steps));
  }

  void Run() {
    while (!steps_.empty()) {
      const Step step = steps_.top();
      steps_.pop();
      BpeSymbol& left = At(step.at);
      if (left.gone || left.after < 0) continue;
      BpeSymbol& right = At(left.after);
      // A step may be older than its symbols.
      const BpeMerge* now = merges_.Find(left.id, right.id);
      if (!now || now->id != step.id) continue;
      left.id = step.id;
      left.after = right.after;
      right.gone = true;
      if (left.after >= 0) At(left.after).before = step.at;
      if (left.before >= 0) Push(left.before);
      if (left.after >= 0) Push(step.at);
    }
  }

  // Replaces the ids from `first` on by those that are left.
  void Write(Ids* ids, size_t first) const {
    ids->resize(first);
    for (const BpeSymbol& s : symbols_)
      if (!s.gone) ids->push_back(s.id);
  }

 private:
  // A pair to merge. The least rank comes first, then the leftmost place.
  struct Step {
    uint32_t rank = 0;
    int32_t at = 0;
    int32_t id = 0;
    bool operator>(const Step& o) const { return std::pair(rank, at) > std::pair(o.rank, o.at); }
  };
  using Steps = std::priority_queue<Step, std::vector<Step>, std::greater<>>;

  BpeSymbol& At(int32_t i) { return symbols_[size_t(i)]; }
  void Push(int32_t at) {
    const BpeSymbol& s = At(at);
    if (const BpeMerge* m = merges_.Find(s.id, At(s.after).id)) steps_.push({m->rank, at, m->id});
  }

  const MergeTable& merges_;
  std::vector<BpeSymbol> symbols_;
  Steps steps_;
};

// Returns the two texts of a merge, which is a list of two or a text with one space.
std::pair<std::string, std::string> PairOf(const Fields& model, const json& merge, size_t i) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != text.npos && text.find(' ', space + 1) == text.npos)
      return {text.substr(0, space), text.substr(space + 1)};
  }
  Fail(Cause::kInput, model.file(), ": model.merges[", i, "] is ", Quoted(merge.dump()),
       ", only two texts, or one text with one space, are supported; ", kSaveTokenizer);
}

MergeTable ReadMerges(const Fields& model, const EntryIds& entries) {
  const auto list = model.all().find("merges");
  if (list == model.all().end() || !list->is_array())
    model.Refuse("merges", "only a list is supported; ", kSaveTokenizer);
  std::vector<BpeMerge> merges;
  merges.reserve(list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    const json& merge = (*list)[i];
    if (merge.type() != list->front().type())
      Fail(Cause::kInput, model.file(), ": model.merges[", i, "] is ", Quoted(merge.dump()),
           ", and the first one has another form; ", kSaveTokenizer);
    if (merge.is_string() && merge.get_ref<const std::string&>().starts_with("#version")) continue;
    const auto [a, b] = PairOf(model, merge, i);
    const auto id = [&](const std::string& entry) {
      const auto found = entries.find(entry);
      if (found == entries.end())
        Fail(Cause::kInput, model.file(), ": model.merges[", i, "] is ", Quoted(merge.dump()), ", and ", Quoted(entry),
             " is no entry of the vocabulary; ", kSaveTokenizer);
      return found->second;
    };
    merges.push_back({id(a), id(b), uint32_t(i), id(a + b)});
  }
  return MergeTable(std::move(merges), entries.size(), model.file() + ": the merges");
}

class Bpe final : public WordModel {
 public:
  explicit Bpe(const Fields& model)
      : entries_(ReadVocab(model)),
        merges_(ReadMerges(model, entries_)),
        bytes_(entries_),
        unknown_(model.Null("unk_token") ? -1 : EntryOf(model, "unk_token", entries_)),
        fuse_unknown_(ReadFlag(model, "fuse_unk", false)),
        byte_fallback_(ReadFlag(model, "byte_fallback", false)),
        ignore_merges_(ReadFlag(model, "ignore_merges", false)) {
    if (!model.Null("dropout") && model.Value("dropout") != json(0))
      model.Refuse("dropout", "only null is supported; ", kSaveTokenizer);
    for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) model.Empty(field);
    model.Only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                "byte_fallback", "ignore_merges", "vocab", "merges"});
    for (const auto& [entry, id] : entries_)
      if (entry.size() <= 4)  // bytes of the longest character
        if (const CodePoints points = Decode(entry, "an entry"); points.size() == 1) chars_.emplace(points[0], id);
  }

  void Encode(PointsView word, Ids* ids) const override {
    SUF_CHECK(word.size() <= size_t(1) << 28);
    if (ignore_merges_) {
      if (const auto whole = entries_.find(ToUtf8(word)); whole != entries_.end()) {
        ids->push_back(whole->second);
        return;
      }
    }
    const size_t first = ids->size();
    AppendCharacters(word, ids);
    if (ids->size() < first + 2) return;
    BpeMerger merger(merges_, *ids, first);
    merger.Run();
    merger.Write(ids, first);
  }

  const EntryIds& entries() const override { return entries_; }

 private:
  // Appends the ids of the characters. An unknown token waits for the next known character, as in `tokenizers`. So the
  // bytes of a later unknown character come before it.
  void AppendCharacters(PointsView word, Ids* ids) const {
    bool waiting = false;
    for (size_t i = 0; i < word.size(); ++i) {
      if (const auto known = chars_.find(word[i]); known != chars_.end()) {
        if (waiting) ids->push_back(unknown_);
        waiting = false;
        ids->push_back(known->second);
      } else if (!(byte_fallback_ && bytes_.Append(word.substr(i, 1), ids)) && unknown_ >= 0) {
        if (waiting && !fuse_unknown_) ids->push_back(unknown_);
        waiting = true;
      }
    }
    if (waiting) ids->push_back(unknown_);
  }

  EntryIds entries_;
  MergeTable merges_;
  ByteEntries bytes_;
  std::unordered_map<char32_t, int32_t> chars_;  // the entries of one character
  int32_t unknown_;                              // or -1: unknown characters are left out
  bool fuse_unknown_, byte_fallback_, ignore_merges_;
};

}  // namespace

std::unique_ptr<const WordModel> ReadBpe(const Fields& model) { return std::make_unique<Bpe>(model); }

}  // namespace suf::model
