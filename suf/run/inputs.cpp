#include "suf/run/inputs.hpp"

#include <atomic>
#include <type_traits>

namespace suf::run {

void Inputs::Set(const std::string& name, Any data) {
  Drop(name);
  static std::atomic<uint64_t> versions{0};
  data_[name] = {std::move(data), ++versions};
}

void Inputs::Drop(const std::string& name) {
  std::erase_if(widened_, [&](const auto& w) { return w.first.first == name; });
  data_.erase(name);
}

pfss::Io::Data Inputs::Get(const std::string& name, int bytes, size_t count) {
  auto it = data_.find(name);
  if (it == data_.end()) throw Bug(Str("internal error: the trace reads the input ", name, ", which nobody set"));
  const void* words = std::visit(
      [&](const auto& array) -> const void* {
        using T = typename std::decay_t<decltype(*array)>::value_type;
        if (array->size() != count)
          throw Bug(Str("internal error: the input ", name, " has ", array->size(), " words; the trace reads ", count));
        if (int(sizeof(T)) == bytes) return array->data();
        Bytes& out = widened_[{name, bytes}];
        if (out.empty() && count) {
          out.resize(count * size_t(bytes));
          for (size_t i = 0; i < count; ++i) {
            uint64_t v = uint64_t(int64_t((*array)[i]));  // sign-extends signed words
            std::memcpy(&out[i * size_t(bytes)], &v, size_t(bytes));
          }
        }
        return out.data();
      },
      it->second.data);
  return {words, it->second.version};
}

}  // namespace suf::run
