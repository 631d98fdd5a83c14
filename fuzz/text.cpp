// Fuzzes a user's text under a fixed vocabulary: ids are in range, between [CLS] and [SEP].
#include "fuzz/fuzz.hpp"
#include "suf/model/tokenizer.hpp"

namespace {
constexpr char kVocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\ne\nth\n##e\n##s\n##ing\nword\n##word\n.\n,\n'\n1\n##2\n[\n]"
    "\n\xe4\xb8\xad\n"
    "\xce\xb1\n##\xce\xb2\n";
}

SUF_FUZZ(text) {
  using namespace suf::fuzz;
  static const Folder folder;
  static const auto tokenizer = [] {
    WriteTo(folder / "vocab.txt", suf::View(reinterpret_cast<const uint8_t*>(kVocabulary), sizeof kVocabulary - 1));
    return suf::model::Tokenizer::Load(folder / "vocab.txt");
  }();
  auto ids = tokenizer.Encode(TextOf(input));
  SUF_CHECK(ids.size() >= 3 && ids.front() == 2 && ids.back() == 3);
  for (int32_t id : ids) SUF_CHECK(id >= 0 && size_t(id) < tokenizer.size());
  SUF_CHECK(suf::model::CheckLength(ids.size(), 4, true) <= 4);
}
