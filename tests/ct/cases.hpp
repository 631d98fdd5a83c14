// The calls of all kernels that process secrets, which both checks of constant time repeat.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "suf/ring/cpu.hpp"

namespace suf::ct {

// The memory of `words` words. The fixed value of `roots` is random: a DPF's or DCF's two roots never agree by chance.
// With equal roots, alpha 0 and beta 0, the whole key is zero, and AVX-512 on Zen 5 writes it 0.03 % faster.
struct Memory {
  std::span<uint8_t> bytes;
  size_t words;
  bool roots = false;
};

// One call of a kernel; `run` holds its memory.
struct Case {
  std::string name;
  std::function<void()> run = {};
  std::vector<Memory> secrets = {}, out = {};
  uint8_t fixed = 0;  // the byte of fixed secrets, which no public value may distinguish from random ones

  template <class T>
  std::shared_ptr<std::vector<T>> Secret(size_t n) {
    return Keep<T>(n, &secrets);
  }
  std::shared_ptr<std::vector<uint8_t>> Roots(size_t keys) {
    auto v = Secret<uint8_t>(16 * keys);
    secrets.back().roots = true;
    return v;
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

// All cases of one variant; public inputs are the same in each call. (kernels.cpp)
std::vector<Case> Cases(ring::Isa v);

}  // namespace suf::ct
