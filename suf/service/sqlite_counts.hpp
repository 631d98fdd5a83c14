// Counts in an SQLite file, STORE/counts.sqlite, of one process. A count is one write and one sync of its log.
//
// The largest day ever seen is stored, and the day never goes back. The file knows its inode and time of birth. A
// second file, counts.sqlite-seen, has the number of its starts and ends. By both, a file that was put back, copied or
// removed is noticed. The quotas of that day then count as used.
//
// The following stay unnoticed: a disk that goes back with its inodes, and the removal of all files counts.sqlite*.
// After a crash, so do the removal of counts.sqlite-wal and a copy that is written into the file itself.
#pragma once
#include <memory>
#include <mutex>
#include <unordered_map>

#include "suf/base/file.hpp"
#include "suf/service/counts.hpp"
#include "suf/service/day.hpp"

namespace suf::service {

class SqliteCounts : public Counts {
 public:
  // Opens or makes the file. The folder exists, belongs to this process alone, and outlives it. Throws Cause::kResource
  // if the file is damaged, of a newer version or in use. Throws Cause::kRefused for a symbolic link or a device.
  explicit SqliteCounts(const std::string& dir, WallClock clock = std::chrono::system_clock::now);
  ~SqliteCounts() override;

  std::variant<uint64_t, RetryAfter> Reserve(const std::string& owner, const Amount& amount,
                                             const Quota& quota) override;
  void Confirm(uint64_t reservation) override;
  void Release(uint64_t reservation) noexcept override;
  Amount Today(const std::string& owner) override;
  std::vector<std::string> TakeNotices() override;

 private:
  class Database;
  struct HeldAmount {
    std::string owner;
    Day day;
    Amount amount;
  };
  // The day and the number of starts and ends, as counts.sqlite-seen has them.
  struct Sight {
    int64_t number = 0;
    Day day;
  };
  std::optional<Sight> ReadSight() const;
  void WriteSight(const Sight& sight) const;
  void Start(Instant now);
  Day Advance(Instant now);
  Amount Used(const std::string& owner, Day day);
  void Note(const std::string& notice);

  const std::string dir_, path_;
  const WallClock clock_;
  std::mutex m_;  // guards all below
  Fd file_;       // open as long as the database, because closing it would end SQLite's lock
  std::unique_ptr<Database> db_;
  int64_t number_ = 0;           // of starts and ends
  Day day_;                      // the largest day seen
  std::optional<Day> full_day_;  // its quotas count as used
  std::unordered_map<uint64_t, HeldAmount> held_;
  uint64_t last_ = 0;  // reservation
  bool clock_noted_ = false;
  std::vector<std::string> notices_;
};

}  // namespace suf::service
