// The stack of a thread that waits for long.
#pragma once

namespace suf {

// Frees the pages of the calling thread's stack that no call in progress uses. A long wait after deep calls then keeps
// few pages. Does nothing in the process's first thread, or on a stack that the thread brought itself.
void ReleaseUnusedStack() noexcept;

}  // namespace suf
