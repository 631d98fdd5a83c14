// Every kernel that meets secrets, as calls that can be repeated: what the two checks of constant time share.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "suf/ring/cpu.hpp"

namespace suf::ct {

// Of some words.
struct Memory {
  std::span<uint8_t> bytes;
  size_t words;
};

// One call of a kernel; `run` holds its memory.
struct Case {
  std::string name;
  std::function<void()> run = {};
  std::vector<Memory> secrets = {}, out = {};
  uint8_t fixed = 0;  // bytes of secrets that may be told from random ones by nothing that is public

  template <class T>
  std::shared_ptr<std::vector<T>> Secret(size_t n) {
    return Keep<T>(n, &secrets);
  }
  template <class T>
  std::shared_ptr<std::vector<T>> Out(size_t n) {
    return Keep<T>(n, &out);
  }

 private:
  template <class T>
  static std::shared_ptr<std::vector<T>> Keep(size_t n, std::vector<Memory>* list) {
    auto v = std::make_shared<std::vector<T>>(n);
    list->push_back({{reinterpret_cast<uint8_t*>(v->data()), n * sizeof(T)}, n});
    return v;
  }
};

// Of one variant; public inputs are the same in each call. (kernels.cpp)
std::vector<Case> Cases(ring::Variant v);

}  // namespace suf::ct
