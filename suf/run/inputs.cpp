#include "suf/run/inputs.hpp"

#include <atomic>

namespace suf::run {

void Inputs::Put(const std::string& name, size_t count, pfss::Io::Data data) {
  static std::atomic<uint64_t> versions{0};
  data.version = ++versions;
  data_.insert_or_assign(name, InputEntry{count, std::move(data)});
}

void Inputs::Set(const std::string& name, AnyArray data) {
  std::visit(
      [&](const auto& array) {
        using T = typename std::decay_t<decltype(*array)>::value_type;
        const auto words = [array]() -> std::shared_ptr<const void> { return {array, array->data()}; };
        Put(name, array->size(), {words, int(sizeof(T)), std::is_signed_v<T>, 0});
      },
      data);
}

void Inputs::Add(const Inputs& other) {
  for (const auto& [name, entry] : other.data_) data_.insert_or_assign(name, entry);
}

void Inputs::Drop(const std::string& name) { data_.erase(name); }

pfss::Io::Data Inputs::Get(const std::string& name, size_t count) const {
  const auto it = data_.find(name);
  if (it == data_.end()) throw Bug(Str("internal error: the trace reads the input ", name, ", which nobody set"));
  if (it->second.count != count)
    throw Bug(Str("internal error: the input ", name, " has ", it->second.count, " words; the trace reads ", count));
  return it->second.data;
}

}  // namespace suf::run
