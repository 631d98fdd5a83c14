// A role's own data by name: P0's weights, P1's weights minus B, the dealer's B, and P1's text. Each array is held
// once, at the width of its source. It is wiped when it is replaced, dropped, or destroyed. Others are made when a
// backend reads them.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "suf/pfss/backend.hpp"

namespace suf::run {

class Inputs {
 public:
  template <class T>
  using SharedArray = std::shared_ptr<const WipedVector<T>>;
  using AnyArray = std::variant<SharedArray<int16_t>, SharedArray<int32_t>, SharedArray<int64_t>, SharedArray<uint16_t>,
                                SharedArray<uint32_t>, SharedArray<uint64_t>>;

  void Set(const std::string& name, AnyArray data);
  template <class T>
  void Set(const std::string& name, WipedVector<T> data) {
    Set(name, AnyArray(std::make_shared<const WipedVector<T>>(std::move(data))));
  }
  // Copies the data, which is no secret at its source.
  template <class T>
  void Set(const std::string& name, const std::vector<T>& data) {
    Set(name, WipedVector<T>(data.begin(), data.end()));
  }
  // Sets `count` words that `make` makes for each reader, so that no memory holds them in between. It is thread-safe.
  template <class T>
  void SetMade(const std::string& name, size_t count, std::function<WipedVector<T>()> make) {
    Put(name, count,
        {[make = std::move(make)]() -> std::shared_ptr<const void> {
           const auto made = std::make_shared<const WipedVector<T>>(make());
           return {made, made->data()};
         },
         int(sizeof(T)), std::is_signed_v<T>, 0});
  }
  bool Has(const std::string& name) const { return data_.count(name) != 0; }
  // Returns `count` words. Their version is from Set or SetMade and unique in the process. Throws Bug if there is no
  // such array of that size.
  pfss::Io::Data Get(const std::string& name, size_t count) const;
  // Sets all arrays of another object here, which share their data and their versions.
  void Add(const Inputs& other);
  // Forgets one array.
  void Drop(const std::string& name);

 private:
  struct InputEntry {
    size_t count;
    pfss::Io::Data data;
  };
  // Sets an array and gives it a version.
  void Put(const std::string& name, size_t count, pfss::Io::Data data);
  std::map<std::string, InputEntry> data_;
};

}  // namespace suf::run
