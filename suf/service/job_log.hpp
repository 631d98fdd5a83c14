// The log of jobs that a model owner or a dealer keeps. It has a JSON line for each inference, which holds the SHA-256
// of the line before. CheckLogs (log_check.hpp) finds a line that was changed, removed, repeated or moved. A line never
// holds a result, a text, a key or a seed.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "suf/base/file.hpp"
#include "suf/base/role.hpp"
#include "suf/net/refusal.hpp"
#include "suf/service/outcome.hpp"
#include "suf/store/job.hpp"
#include "suf/store/lane_id.hpp"

namespace suf::service {

// One job in the log. The log adds the time. An empty field is left out of the line.
struct JobRecord {
  Role role = Role::kModel;         // of the process that keeps the log
  std::string owner;                // the data owner's name in the owners' file, or "unlisted"; empty at the dealer
  Hash data_owner{};                // SHA-256 of P1's public key
  std::optional<Hash> model_owner;  // SHA-256 of P0's public key; the dealer sets it
  std::optional<store::Job> job;    // none if a session was refused before it named one
  std::optional<store::LaneId> lane;
  std::optional<uint64_t> serial;  // of its lane; none if nothing was spent
  bool audit = false;              // the bundle of this serial was opened and compared
  Hash plan{};                     // its hash; zero if a start burnt the serial, whose plan may be another one
  std::optional<Hash> weights;     // the weights id
  JobOutcome outcome = JobOutcome::kDone;
  std::optional<net::Refusal> reason;          // of kRefused
  std::map<std::string, std::string> receipt;  // P1's signature, by field
};

// The file of the log. Its owner alone can read and write it. Thread-safe.
class JobLog {
 public:
  // The most lines that wait for the disk. If more come while it refuses them, they are lost. The next line that is
  // made has their number.
  static constexpr size_t kMostWaiting = 1024;

  struct Options {
    // The longest time from a line to its sync.
    std::chrono::milliseconds interval{1000};
    // The clock of the lines; the default is the system's.
    std::function<std::chrono::system_clock::time_point()> clock = {};
    // Syncs a file, and returns as fdatasync does, which is the default.
    std::function<int(int fd)> sync = {};
    // Receives a sentence if the disk refuses the log, and one when it takes the log again. Repairs and lost lines are
    // reported too. Any thread may call it, without a lock. It must not throw.
    std::function<void(const std::string& sentence)> notice = {};
  };

  // Opens the file, or makes it with mode 0600. The chain of an existing file goes on, and an incomplete last line is
  // cut off with a notice. Throws Cause::kInput if the file is no log. Throws Cause::kRefused if others can write it or
  // its last line is damaged. Throws Cause::kResource if another process has it or the disk refuses it.
  JobLog(std::string file, Options options);
  ~JobLog();
  JobLog(const JobLog&) = delete;
  JobLog& operator=(const JobLog&) = delete;

  // Appends a line by one write. A thread syncs it within the interval. If the disk refuses it, the line waits in
  // memory and is written later.
  void Add(const JobRecord& record) noexcept;
  // Returns whether the last line reached the disk. While it is false, no inference may begin; running ones end as
  // usual. The log tries again with every line, and once in an interval.
  bool writable() const;
  // Returns the hash of the last line of the file; zeros before the first one of a chain.
  Hash last() const;
  // Begins a new file that continues the chain, if the old one was renamed or removed. Does nothing otherwise. Throws
  // like the constructor, and Cause::kRefused if the new file has lines of another chain. The old file then stays in
  // use. Returns the hash of the old file's last line; nothing if no new file began.
  std::optional<Hash> Reopen();
  // Writes and syncs all lines, and closes the file. Lines that come later are lost. One thread may call it.
  void Close() noexcept;

 private:
  using Notices = std::vector<std::string>;
  struct WaitingLine {
    std::string text;  // with its newline
    Hash hash{};
  };

  void Run(const std::stop_token& stop);
  void Append(const JobRecord& record, Notices* notices);
  bool WriteLines(Notices* notices);
  bool RewriteLines(Notices* notices);
  bool SyncLines() noexcept;
  bool IsNamed() const;
  void Broke(const char* what, Notices* notices);
  void Report(const Notices& notices) noexcept;

  const std::string file_;
  Options options_;
  std::mutex syncing_;    // held during a sync, taken before m_
  mutable std::mutex m_;  // guards the members below
  std::condition_variable_any due_;
  Fd fd_;
  std::deque<WaitingLine> lines_;   // that may not be durable yet
  size_t written_ = 0;              // those of them that are in the file
  std::optional<uint64_t> torn_;    // the place of an incomplete line at the end of the file
  bool replaced_ = false;           // the name is that of no file or of another one, as a notice said
  bool rewrite_ = false;            // a sync failed, so the kernel may have dropped what was written
  uint64_t number_ = 0, lost_ = 0;  // of the last line made; of the lines lost since
  Hash head_{}, last_{};            // of the last line made; of the last line in the file
  bool writable_ = true, closed_ = false;
  std::jthread thread_;
};

}  // namespace suf::service
