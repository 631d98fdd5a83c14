// Unigram (Kudo, 2018): of all ways to cut a word into pieces, the one with the largest sum of scores. Equal sums and
// unknown characters are decided as in `tokenizers`.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "suf/base/error.hpp"
#include "suf/model/internal/entries.hpp"
#include "suf/model/tokens/piece_trie.hpp"
#include "suf/model/tokens/settings.hpp"
#include "suf/model/tokens/utf8.hpp"
#include "suf/model/tokens/word_models.hpp"

namespace suf::model {
namespace {

constexpr double kUnknownPenalty = 10;  // below the least score

constexpr int kMostPower = 308;  // of ten, as a double

// Returns 10^n, rounded to the nearest double; 0 <= n <= kMostPower.
double PowerOfTen(int n) {
  static const std::vector<double> powers = [] {
    std::vector<double> all;
    for (int i = 0; i <= kMostPower; ++i) all.push_back(std::strtod(Str("1e", i).c_str(), nullptr));
    return all;
  }();
  return powers.at(size_t(n));
}

// Returns the number that `tokenizers` reads for the shortest text of x. It rounds the digits, then their quotient by a
// power of ten. So its result may be beside the nearest number. Ties between sums depend on this.
double TwiceRounded(double x) {
  char text[32] = {};  // "d.ddde-dd" and zeros
  std::to_chars(text, text + sizeof text - 1, std::abs(x), std::chars_format::scientific);
  uint64_t digits = 0;
  int exponent = 0;
  const char* at = text;
  for (bool fraction = false; *at != 'e'; ++at) {
    if (*at == '.') {
      fraction = true;
    } else {
      digits = digits * 10 + uint64_t(*at - '0');
      exponent -= fraction;
    }
  }
  exponent += std::atoi(at + 1);
  auto value = double(digits);
  if (exponent < -kMostPower) {
    value /= PowerOfTen(kMostPower);
    exponent += kMostPower;
  }
  value = exponent >= 0 ? value * PowerOfTen(exponent) : value / PowerOfTen(-exponent);
  return std::signbit(x) ? -value : value;
}

struct UnigramPieces {
  EntryIds ids;
  std::vector<double> scores;
};

UnigramPieces ReadPieces(const Fields& model) {
  const auto list = model.all().find("vocab");
  if (list == model.all().end() || !list->is_array() || list->empty())
    model.Refuse("vocab", "only a list of pieces and scores is supported; ", kSaveTokenizer);
  if (list->size() > kEntryLimit)
    Fail(Cause::kInput, model.file(), " has more than ", kEntryLimit, " entries; ", kAnother);
  UnigramPieces pieces;
  pieces.ids.reserve(list->size());
  pieces.scores.reserve(list->size());
  for (const json& pair : *list) {
    const size_t id = pieces.scores.size();
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_number())
      Fail(Cause::kInput, model.file(), ": model.vocab[", id, "] is ", Quoted(pair.dump()),
           ", only a list of a piece and a score is supported; ", kSaveTokenizer);
    const auto [first, fresh] = pieces.ids.try_emplace(pair[0].get_ref<const std::string&>(), int32_t(id));
    if (!fresh)
      Fail(Cause::kInput, model.file(), ": model.vocab[", id, "] repeats the piece ", Quoted(first->first),
           " of model.vocab[", first->second, "]; ", kSaveTokenizer);
    pieces.scores.push_back(pair[1].is_number_float() ? TwiceRounded(pair[1].get<double>()) : pair[1].get<double>());
  }
  return pieces;
}

std::vector<std::pair<CodePoints, int32_t>> PointsOf(const Fields& model, const EntryIds& ids) {
  std::vector<std::pair<CodePoints, int32_t>> pieces;
  pieces.reserve(ids.size());
  EntrySizes sizes;
  for (const auto& [piece, id] : ids) {
    pieces.emplace_back(Decode(piece, "a piece"), id);
    sizes.Add(model, piece, pieces.back().first.size());
  }
  return pieces;
}

int32_t UnknownOf(const Fields& model, size_t pieces) {
  const json id = model.Value("unk_id");
  if (!id.is_number_integer() || id < 0 || id >= pieces)
    model.Refuse("unk_id", "it must be a whole number from 0 to ", pieces - 1, "; ", kSaveTokenizer);
  return id.get<int32_t>();
}

class Unigram final : public WordModel {
 public:
  explicit Unigram(const Fields& model)
      : pieces_(ReadPieces(model)),
        trie_(PointsOf(model, pieces_.ids)),
        bytes_(pieces_.ids),
        unknown_(UnknownOf(model, pieces_.scores.size())),
        unknown_score_(*std::min_element(pieces_.scores.begin(), pieces_.scores.end()) - kUnknownPenalty),
        byte_fallback_(ReadFlag(model, "byte_fallback", false)) {
    model.Only({"type", "unk_id", "vocab", "byte_fallback"});
  }

  void Encode(PointsView word, Ids* ids) const override {
    const std::vector<Best> best = BestPaths(word);
    std::vector<size_t> ends;  // of the pieces, from the last one on
    for (size_t end = word.size(); end > 0; end = best[end].begin) ends.push_back(end);
    size_t begin = 0;
    for (size_t i = ends.size(); i-- > 0;) {
      const size_t end = ends[i];
      if (best[end].id != unknown_) {
        ids->push_back(best[end].id);
      } else if (i > 0 && best[ends[i - 1]].id == unknown_) {
        continue;  // neighbouring unknown characters are one token
      } else {
        AppendUnknown(word.substr(begin, end - begin), ids);
      }
      begin = end;
    }
  }

  const EntryIds& entries() const override { return pieces_.ids; }

 private:
  // The best way to cut the text before a place.
  struct Best {
    double score = 0;
    size_t begin = std::numeric_limits<size_t>::max();  // of the last piece
    int32_t id = 0;                                     // of the last piece
  };

  std::vector<Best> BestPaths(PointsView word) const {
    std::vector<Best> best(word.size() + 1);
    for (size_t at = 0; at < word.size(); ++at) {
      const auto offer = [&, before = best[at].score](size_t end, double score, int32_t id) {
        Best& b = best[end];
        const double sum = score + before;
        if (b.begin > end || sum > b.score) b = {sum, at, id};
      };
      bool single = false;
      uint32_t node = PieceTrie::kRoot;
      for (size_t end = at; end < word.size();) {
        node = trie_.Child(node, word[end++]);
        if (node == PieceTrie::kNone) break;
        const int32_t id = trie_.id(node);
        if (id < 0) continue;
        offer(end, pieces_.scores[size_t(id)], id);
        single |= end == at + 1;
      }
      if (!single) offer(at + 1, unknown_score_, unknown_);
    }
    return best;
  }

  // Appends the ids of unknown characters. Joined they may be a piece after all.
  void AppendUnknown(PointsView text, Ids* ids) const {
    const uint32_t node = trie_.Find(text);
    if (node != PieceTrie::kNone && trie_.id(node) >= 0)
      ids->push_back(trie_.id(node));
    else if (!byte_fallback_ || !bytes_.Append(text, ids))
      ids->push_back(unknown_);
  }

  UnigramPieces pieces_;
  PieceTrie trie_;
  ByteEntries bytes_;
  int32_t unknown_;
  double unknown_score_;
  bool byte_fallback_;
};

}  // namespace

std::unique_ptr<const WordModel> ReadUnigram(const Fields& model) { return std::make_unique<Unigram>(model); }

}  // namespace suf::model
