// A model directory's JSON: config.json, tokenizer_config.json and 1_Pooling/config.json, joined by zero bytes.
#include <algorithm>

#include "fuzz/fuzz.hpp"
#include "suf/model/family.hpp"

SUF_FUZZ(config) {
  using namespace suf::fuzz;
  static const Folder folder;
  static const bool made = std::filesystem::create_directories(folder / "1_Pooling");
  SUF_CHECK(made);
  for (const char* name : {"config.json", "tokenizer_config.json", "1_Pooling/config.json"}) {
    auto end = std::find(input.begin(), input.end(), 0);
    if (input.empty()) {
      (void)unlink((folder / name).c_str());
      continue;
    }
    WriteTo(folder / name, PullBytes(input, size_t(end - input.begin())));
    if (!input.empty()) input = input.subspan(1);
  }
  const suf::nn::Graph g = suf::model::ReadGraph(folder.path());
  SUF_CHECK(g.size() > 0 && !g.leaves().empty());
}
