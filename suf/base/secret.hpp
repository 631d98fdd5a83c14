// 32 secret bytes that exist in one place only: moved, never copied, wiped at the old place, never printed or compared.
#pragma once
#include <memory>
#include <utility>

#include "suf/base/bytes.hpp"

namespace suf {

class Secret {
 public:
  Secret() = default;
  // Copies 32 bytes, which the caller wipes.
  explicit Secret(View v);
  // Takes 32 bytes over and wipes them in `h`.
  explicit Secret(Hash&& h) : Secret(View(h)) { Wipe(h.data(), h.size()); }
  Secret(Secret&& o) noexcept : v_(o.v_) { o.Clear(); }
  Secret& operator=(Secret&& o) noexcept {
    if (this != &o) {
      v_ = o.v_;
      o.Clear();
    }
    return *this;
  }
  ~Secret() { Clear(); }
  static Secret Random();
  View view() const { return v_; }

 private:
  void Clear() { Wipe(v_.data(), v_.size()); }
  Hash v_{};
};

// One secret with several holders. The last one wipes it.
using SharedSecret = std::shared_ptr<const Secret>;
inline SharedSecret Share(Secret s) { return std::make_shared<const Secret>(std::move(s)); }

}  // namespace suf
