// For tests: rewrites the tensors of a model's file with other names, shapes or values.
#pragma once
#include <string>
#include <vector>

#include "suf/model/safetensors.hpp"

namespace suf::model {

// Passes the model's tensors to f(name, shape, values), which may change them and returns whether to keep them. `more`
// is the name of an additional one.
template <class F>
void Rewrite(const std::filesystem::path& file, F f, const std::string& more = "") {
  std::vector<std::vector<float>> kept;
  std::vector<NewTensor> out;
  {
    Safetensors in(file);
    for (const auto& [name, t] : in.tensors()) {
      std::string new_name = name;
      Shape shape = t.shape;
      std::vector<float> values = in.Floats(name, shape);
      if (!f(new_name, shape, values)) continue;
      kept.push_back(std::move(values));
      out.push_back({new_name, shape, std::span<const float>(kept.back())});
    }
  }
  const std::vector<float> zero(1, 0.0f);
  if (!more.empty()) out.push_back({more, {1}, std::span<const float>(zero)});
  WriteSafetensors(file, out);
}

}  // namespace suf::model
