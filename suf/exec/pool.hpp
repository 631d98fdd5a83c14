// A pool of threads that splits an index range. The caller works as well; nested ranges run inline.
#pragma once
#include <cstddef>
#include <functional>

#include "suf/base/bytes.hpp"

namespace suf::exec {

// A pool of `threads` threads, including the caller.
class Pool {
 public:
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  int threads() const;
  // Calls f(begin, end) over disjoint ranges that cover [0, n), each a multiple of `grain` long except the last. A
  // grain is work that is worth a thread: at most one thread per grain is woken and waited for. If several ranges
  // throw, rethrows the exception of the lowest one.
  void For(size_t n, size_t grain, const std::function<void(size_t, size_t)>& f);

 private:
  struct State;
  State* s_;
};

// Returns the process's pool, of Cores() threads.
Pool& Default();

// Copies long memory with several threads, because one does not reach the memory's bandwidth. They are not Default()'s,
// so that the caller may hold a lock that a range of Default() waits for.
void Copy(View from, uint8_t* to);

}  // namespace suf::exec
