// Fuzzes a vocab.txt, and tokenizes one text under it.
#include "fuzz/fuzz.hpp"
#include "suf/model/tokenizer.hpp"

SUF_FUZZ(vocabulary) {
  using namespace suf::fuzz;
  static const Folder folder;
  WriteTo(folder / "vocab.txt", input);
  auto tokenizer = suf::model::Tokenizer::Load(folder / "vocab.txt");
  for (int32_t id : tokenizer.Encode("A b, [MASK] \xc3\xa9 word")) SUF_CHECK(id >= 0 && size_t(id) < tokenizer.size());
}
