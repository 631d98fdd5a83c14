// Secret: 32 bytes that are in one place only: moved, never copied, and wiped where they were. Never printed, never
// compared.
#pragma once
#include <memory>
#include <utility>

#include "suf/base/bytes.hpp"

namespace suf {

class Secret {
 public:
  Secret() = default;
  // Of 32 bytes that the caller wipes.
  explicit Secret(View v);
  // Takes them over: they are wiped there.
  explicit Secret(Hash&& h) : Secret(View(h)) { Wipe(h.data(), h.size()); }
  Secret(Secret&& o) noexcept : v_(o.v_) { o.Clear(); }
  Secret& operator=(Secret&& o) noexcept {
    if (this != &o) v_ = o.v_, o.Clear();
    return *this;
  }
  ~Secret() { Clear(); }
  static Secret Random();
  View view() const { return v_; }

 private:
  void Clear() { Wipe(v_.data(), v_.size()); }
  Hash v_{};
};

// One secret that several hold; it goes with the last of them.
using SharedSecret = std::shared_ptr<const Secret>;
inline SharedSecret Share(Secret s) { return std::make_shared<const Secret>(std::move(s)); }

}  // namespace suf
