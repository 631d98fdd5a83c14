// Fuzzes model weights: the header and every tensor that passes the checks.
#include "suf/model/safetensors.hpp"

#include "fuzz/fuzz.hpp"

SUF_FUZZ(safetensors) {
  using namespace suf::fuzz;
  static const Folder folder;
  WriteTo(folder / "x", input);
  suf::model::Safetensors file(folder / "x");
  for (const auto& [name, tensor] : file.tensors()) {
    size_t values = 1;
    for (int64_t n : tensor.shape) values *= size_t(n);
    Quietly([&] { SUF_CHECK(file.Floats(name, tensor.shape).size() == values); });
    Quietly([&] { SUF_CHECK(file.Integers(name, tensor.shape).size() == values); });
  }
}
