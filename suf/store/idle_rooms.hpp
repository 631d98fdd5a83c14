// Memory of chunks: what one has left serves others.
#pragma once
#include <algorithm>
#include <deque>

#include "suf/exec/host.hpp"

namespace suf::store {

// Of one body's chunks. While chunks come and go little is wiped, at the end all of it.
class IdleRooms {
 public:
  // usual: bytes of a room that is made, where no more are asked for. window: bytes of chunks that are in use at once.
  IdleRooms(size_t usual, uint64_t window) : usual_(usual), most_(window + std::min(window, ~window)) {}
  // A room of so many bytes: of those that were given back the smallest, unless that is twice as large, else a
  // new one. Where all rooms are twice the window then, idle ones go, the oldest first.
  exec::HostBuffer Take(size_t bytes) {
    const size_t made = std::max(bytes, usual_);
    auto best = idle_.end();
    for (auto i = idle_.begin(); i != idle_.end(); ++i)
      if (i->size() >= bytes && i->size() <= 2 * made && (best == idle_.end() || i->size() < best->size())) best = i;
    if (best != idle_.end()) {
      exec::HostBuffer room = std::move(*best);
      idle_.erase(best);
      return room;
    }
    for (all_ += made; all_ > most_ && !idle_.empty(); idle_.pop_front()) all_ -= idle_.front().size();
    return exec::HostBuffer(made);
  }
  void Give(exec::HostBuffer room) {
    if (!room.empty()) idle_.push_back(std::move(room));
  }

 private:
  const size_t usual_;
  const uint64_t most_;
  uint64_t all_ = 0;  // bytes of all rooms
  std::deque<exec::HostBuffer> idle_;
};

}  // namespace suf::store
