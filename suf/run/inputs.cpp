#include "suf/run/inputs.hpp"

#include <atomic>
#include <type_traits>

namespace suf::run {

void Inputs::Set(const std::string& name, AnyArray data) {
  Drop(name);
  static std::atomic<uint64_t> versions{0};
  data_[name] = {std::move(data), ++versions};
}

const Inputs::AnyArray& Inputs::Array(const std::string& name) const {
  const auto it = data_.find(name);
  if (it == data_.end()) throw Bug(Str("internal error: there is no input ", name));
  return it->second.data;
}

void Inputs::Add(const Inputs& other) {
  for (const auto& [name, entry] : other.data_) data_.insert_or_assign(name, entry);
}

void Inputs::Drop(const std::string& name) { data_.erase(name); }

pfss::Io::Data Inputs::Get(const std::string& name, size_t count) const {
  auto it = data_.find(name);
  if (it == data_.end()) throw Bug(Str("internal error: the trace reads the input ", name, ", which nobody set"));
  return std::visit(
      [&](const auto& array) -> pfss::Io::Data {
        using T = typename std::decay_t<decltype(*array)>::value_type;
        if (array->size() != count)
          throw Bug(Str("internal error: the input ", name, " has ", array->size(), " words; the trace reads ", count));
        return {array->data(), int(sizeof(T)), std::is_signed_v<T>, it->second.version};
      },
      it->second.data);
}

}  // namespace suf::run
