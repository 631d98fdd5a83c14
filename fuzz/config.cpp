// A model directory's JSON: config.json, tokenizer_config.json and 1_Pooling/config.json, joined by zero bytes.
#include "suf/model/config.hpp"

#include <algorithm>

#include "fuzz/fuzz.hpp"

SUF_FUZZ(config) {
  using namespace suf::fuzz;
  static const Folder folder;
  std::filesystem::create_directories(folder / "1_Pooling");
  for (const char* name : {"config.json", "tokenizer_config.json", "1_Pooling/config.json"}) {
    auto end = std::find(input.begin(), input.end(), 0);
    std::filesystem::remove(folder / name);
    if (!input.empty()) WriteTo(folder / name, PullBytes(input, size_t(end - input.begin())));
    if (!input.empty()) input = input.subspan(1);
  }
  auto c = suf::model::ReadConfig(folder.path());
  SUF_CHECK(c.dims.d > 0 && c.dims.heads > 0 && c.dims.d % c.dims.heads == 0 && c.dims.layers > 0 && c.types > 0);
}
