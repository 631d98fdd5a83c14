// The sessions of P0's process: their turns, and which of them idle.
#pragma once
#include <functional>
#include <list>
#include <mutex>

#include "suf/proto/admission.hpp"

namespace suf::proto {

// Thread-safe.
class SessionTable {
 public:
  explicit SessionTable(const Turns::Limits& limits) : admission_(limits) {}
  Admission& admission() { return admission_; }

 private:
  struct SessionRow {
    TurnKey key;
    net::Channel* channel;
    bool idles = false;
  };

 public:
  // Lists a session while it exists. It must end before the session's channel and before the table.
  class SessionEntry {
   public:
    SessionEntry(SessionTable& table, const TurnKey& key, net::Channel& ch) : table_(table) {
      const std::lock_guard l(table_.m_);
      at_ = table_.rows_.insert(table_.rows_.end(), {key, &ch});
    }
    ~SessionEntry() {
      const std::lock_guard l(table_.m_);
      table_.rows_.erase(at_);
    }
    SessionEntry(const SessionEntry&) = delete;
    SessionEntry& operator=(const SessionEntry&) = delete;
    // Marks that the session idles, or does so no more.
    void Idle(bool idles) {
      const std::lock_guard l(table_.m_);
      at_->idles = idles;
    }

   private:
    SessionTable& table_;
    std::list<SessionRow>::iterator at_;
  };

  // Hangs up the session of this lane if it idles. It then ends soon.
  void HangUpIdle(const TurnKey& key) {
    HangUp([&](const SessionRow& row) { return row.key == key && row.idles; });
  }
  // Hangs up all idle sessions of data owners that `chosen` selects.
  void HangUpIdleOf(const std::function<bool(const Hash& owner)>& chosen) {
    HangUp([&](const SessionRow& row) { return row.idles && chosen(row.key.owner); });
  }
  // Hangs up all sessions of this data owner except one.
  void HangUpOthers(const Hash& owner, const net::Channel& except) {
    HangUp([&](const SessionRow& row) { return row.key.owner == owner && row.channel != &except; });
  }

 private:
  template <class F>
  void HangUp(const F& chosen) {
    const std::lock_guard l(m_);
    for (const SessionRow& row : rows_)
      if (chosen(row)) row.channel->HangUp();
  }

  Admission admission_;
  std::mutex m_;
  std::list<SessionRow> rows_;
};

}  // namespace suf::proto
