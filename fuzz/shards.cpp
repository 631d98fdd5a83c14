// Fuzzes weights in several files. The input has the index's text, a zero byte, and up to three files. Their names are
// a, b and c, and each has a length of two bytes before it. A file a in the folder above must stay out of reach.
#include "suf/model/shards.hpp"

#include <algorithm>

#include "fuzz/fuzz.hpp"

SUF_FUZZ(shards) {
  using namespace suf::fuzz;
  static const Folder outer;
  static const std::string folder = outer / "in";
  static const bool made = [] {
    const std::vector<float> zero(1);
    const suf::model::NewTensor outside[] = {{"outside", {1}, std::span<const float>(zero)}};
    suf::model::WriteSafetensors(outer / "a", outside);
    return std::filesystem::create_directory(folder);
  }();
  SUF_CHECK(made);
  const auto end = std::find(input.begin(), input.end(), 0);
  WriteTo(folder + "/" + suf::model::kWeightsIndex, PullBytes(input, size_t(end - input.begin())));
  (void)Pull<uint8_t>(input);
  for (const char* name : {"/a", "/b", "/c"}) {
    (void)unlink((folder + name).c_str());
    if (input.empty()) continue;
    const size_t length = Pull<uint16_t>(input);
    WriteTo(folder + name, PullBytes(input, length));
  }
  suf::model::Shards all(folder);
  for (const std::filesystem::path& file : all.files()) {
    SUF_CHECK(file.parent_path() == folder && std::filesystem::is_regular_file(file));
    const suf::model::Safetensors one(file);
    for (const auto& [name, tensor] : one.tensors()) {
      SUF_CHECK(all.Has(name) && all.FileOf(name) == file);
      size_t values = 1;
      for (int64_t n : tensor.shape) values *= size_t(n);
      Quietly([&] { SUF_CHECK(all.Floats(name, tensor.shape).size() == values); });
    }
  }
}
