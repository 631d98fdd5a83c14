// Fuzzes a user's text under fixed tokenizers of each word model: ids are in range, between the special tokens.
#include <array>

#include "fuzz/fuzz.hpp"
#include "suf/model/tokenizer.hpp"

namespace {

using suf::model::Tokenizer;

constexpr std::string_view kWords =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\ne\nth\n##e\n##s\n##ing\nword\n##word\n.\n,\n'\n1\n##2\n[\n]"
    "\n\xe4\xb8\xad\n"
    "\xce\xb1\n##\xce\xb2\n";
constexpr std::string_view kPieces = R"({"version": "1.0",
  "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": true, "rstrip": false, "normalized": false, "special": true},
                   {"id": 1, "content": "ab", "single_word": true, "lstrip": false, "rstrip": true, "normalized": true, "special": false}],
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Replace", "pattern": {"String": "  "}, "content": " "}]},
  "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true},
  "post_processor": {"type": "BertProcessing", "sep": ["<s>", 0], "cls": ["<s>", 0]},
  "model": {"type": "Unigram", "unk_id": 2, "byte_fallback": false,
            "vocab": [["<s>", 0.0], ["ab", -1.0], ["<unk>", 0.0], ["▁", -2.0], ["a", -3.0], ["b", -3.5], ["▁the", -4.0], ["e", -4.5], ["word", -5.0]]}})";
constexpr std::string_view kBytes = R"({"version": "1.0",
  "added_tokens": [{"id": 6, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
  "post_processor": {"type": "RobertaProcessing", "sep": ["<s>", 6], "cls": ["<s>", 6], "trim_offsets": true, "add_prefix_space": false},
  "model": {"type": "BPE", "dropout": null, "unk_token": "?", "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": false,
            "vocab": {"?": 0, "a": 1, "b": 2, "Ġ": 3, "ab": 4, "Ġab": 5}, "merges": [["a", "b"], ["Ġ", "ab"]]}})";

}  // namespace

SUF_FUZZ(text) {
  static const std::array<Tokenizer, 3> tokenizers = {Tokenizer::Of(kWords, "words"), Tokenizer::Of(kPieces, "pieces"),
                                                      Tokenizer::Of(kBytes, "bytes")};
  static constexpr std::array<int32_t, 3> kBegin = {2, 0, 6}, kEnd = {3, 0, 6};
  const auto text = suf::fuzz::TextOf(input);
  for (size_t k = tokenizers.size(); k-- > 0;) {
    const suf::model::Ids ids = tokenizers[k].Encode(text);
    SUF_CHECK(ids.size() >= 3 && ids.front() == kBegin[k] && ids.back() == kEnd[k]);
    for (int32_t id : ids) SUF_CHECK(id >= 0 && size_t(id) < tokenizers[k].size());
    const size_t n = suf::model::CheckLength(ids.size(), 4, true);
    SUF_CHECK(n <= 4 && tokenizers[k].Shorten(ids, n).size() == n);
  }
}
