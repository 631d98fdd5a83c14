// Where work runs: a pool of threads that splits an index range. The caller works too; nesting runs inline.
#pragma once
#include <cstddef>
#include <functional>

#include "suf/base/bytes.hpp"

namespace suf::exec {

// `threads` workers including the caller.
class Pool {
 public:
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  int threads() const;
  // Calls f(begin, end) over disjoint ranges that cover [0, n), each a multiple of `grain` long but the last.
  // grain is what is worth a thread: no more are called, woken or waited for. Of exceptions the caller gets the one of
  // the lowest range, whichever thread is faster.
  void For(size_t n, size_t grain, const std::function<void(size_t, size_t)>& f);

 private:
  struct State;
  State* s_;
};

// One pool for the process, of Cores() threads.
Pool& Default();

// A long piece by several threads, as one moves less than a memory does. None is Default's, so that the caller
// may hold a lock that a range of Default's waits for.
void Copy(View from, uint8_t* to);

}  // namespace suf::exec
