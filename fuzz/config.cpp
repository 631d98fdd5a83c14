// A model directory's JSON: config.json, tokenizer_config.json and 1_Pooling/config.json, joined by zero bytes.
#include "suf/model/config.hpp"

#include <algorithm>

#include "fuzz/fuzz.hpp"

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
  auto c = suf::model::ReadConfig(folder.path());
  SUF_CHECK(c.dims.d > 0 && c.dims.heads > 0 && c.dims.d % c.dims.heads == 0 && c.dims.layers > 0 && c.types > 0);
}
