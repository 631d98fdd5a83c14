// WordPiece (Devlin et al., "BERT", 2019): a word is covered greedily, the longest entry first. All entries after the
// first one begin with a prefix, such as "##".
#include "suf/model/tokens/piece_trie.hpp"
#include "suf/model/tokens/text.hpp"
#include "suf/model/tokens/word_models.hpp"

namespace suf::model {
namespace {

constexpr int64_t kWordLimits = 1 << 30;  // the largest supported limit of a word

std::vector<std::pair<CodePoints, int32_t>> PiecesOf(const EntryIds& entries) {
  std::vector<std::pair<CodePoints, int32_t>> pieces;
  pieces.reserve(entries.size());
  for (const auto& [entry, id] : entries) pieces.emplace_back(Decode(entry, "an entry"), id);
  return pieces;
}

class WordPiece final : public WordModel {
 public:
  explicit WordPiece(const Fields& model)
      : entries_(ReadVocab(model)),
        trie_(PiecesOf(entries_)),
        unknown_(EntryOf(model, "unk_token", entries_)),
        limit_(size_t(model.Count("max_input_chars_per_word", kWordLimits))) {
    if (!model.Value("continuing_subword_prefix").is_string())
      model.Refuse("continuing_subword_prefix", "only a text is supported; ", kSaveTokenizer);
    rest_ = trie_.Find(Decode(model.Text("continuing_subword_prefix"), "a prefix"));
    model.Only({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  }

  // A word that cannot be covered is one unknown token.
  void Encode(PointsView word, Ids* ids) const override {
    const size_t before = ids->size();
    for (size_t at = 0; at < word.size() && word.size() <= limit_;) {
      const Match match = LongestAt(word, at);
      if (match.length == 0) break;
      ids->push_back(match.id);
      at += match.length;
      if (at == word.size()) return;
    }
    ids->resize(before);
    if (!word.empty()) ids->push_back(unknown_);
  }

  const EntryIds& entries() const override { return entries_; }

 private:
  struct Match {
    size_t length = 0;
    int32_t id = 0;
  };
  Match LongestAt(PointsView word, size_t at) const {
    Match match;
    uint32_t node = at == 0 ? PieceTrie::kRoot : rest_;
    for (size_t end = at; end < word.size() && node != PieceTrie::kNone;) {
      node = trie_.Child(node, word[end++]);
      if (node != PieceTrie::kNone && trie_.id(node) >= 0) match = {end - at, trie_.id(node)};
    }
    return match;
  }

  EntryIds entries_;
  PieceTrie trie_;
  uint32_t rest_ = PieceTrie::kNone;  // the node of the prefix
  int32_t unknown_;
  size_t limit_;  // characters of a word; a longer one is unknown
};

}  // namespace

std::unique_ptr<const WordModel> ReadWordPiece(const Fields& model) { return std::make_unique<WordPiece>(model); }

}  // namespace suf::model
