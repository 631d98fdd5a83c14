// Checks the chain of a log of jobs. Each line holds the SHA-256 of the line before, also across renamed files.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "suf/service/job_log.hpp"

namespace suf::service {

// A line of a file, from 1.
struct LogPlace {
  std::string file;
  uint64_t line = 0;
};

// A place at which the chain breaks, and the reason.
struct LogFault {
  LogPlace place;
  std::string what;
};

// The content of a log, and its faults.
struct LogCheck {
  // The most faults that are listed.
  static constexpr size_t kMostFaults = 100;

  uint64_t lines = 0;                              // of all files
  uint64_t first = 0, end = 0;                     // numbers of the first and the last line in their chain
  std::array<uint64_t, kOutcomeCount> outcomes{};  // lines by JobOutcome
  uint64_t lost = 0;                               // lines that the disk refused while the log was written
  std::string earliest, latest;                    // times
  Hash last{};                                     // hash of the last line
  uint64_t fault_count = 0;
  std::vector<LogFault> faults;  // the first ones
  // The line with the kept hash, and the number of lines after it. Line 0 stands for the line before the first one.
  std::optional<LogPlace> found;
  uint64_t after = 0;
};

// Checks files that were written one after the other, the oldest first. `kept` is a line's hash that was kept
// elsewhere. Without one, lines that were cut from the end do not show. Throws Cause::kInput if a file does not exist
// or is no log. Memory does not grow with the files.
LogCheck CheckLogs(const std::vector<std::string>& files, const std::optional<Hash>& kept = std::nullopt);

}  // namespace suf::service
