// For tests of the log of jobs: a record, a clock that stands still, and the lines of a file.
#pragma once
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "suf/base/scratch_test.hpp"
#include "suf/service/job_log.hpp"
#include "suf/service/log_check.hpp"

namespace suf::service {

// Stores and logs sync often, which takes minutes on some disks.
inline constexpr const char* kFastDisk = "/dev/shm";

// A log at 2026-11-28T15:03:46.123Z that appends its notices to `notices`. Its thread never syncs by itself.
inline JobLog::Options StillOptions(std::vector<std::string>* notices = nullptr) {
  JobLog::Options options;
  options.interval = std::chrono::hours(1);
  options.clock = [] { return std::chrono::system_clock::time_point(std::chrono::milliseconds(1795878226123)); };
  if (notices) options.notice = [notices](const std::string& sentence) { notices->push_back(sentence); };
  return options;
}

// A job of a listed data owner.
inline JobRecord LoggedJob(uint64_t serial) {
  JobRecord r;
  r.owner = "ann";
  r.data_owner = Hash{1};
  r.job = store::JobOf(32, 1, 2);
  r.lane = store::LaneId{2};
  r.serial = serial;
  r.plan = Hash{3};
  r.weights = Hash{4};
  return r;
}

inline std::string TextOfFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void PutText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  std::filesystem::permissions(path, std::filesystem::perms(0600));
}
// Returns the lines of a text, with their newlines.
inline std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}
inline std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}
// Appends jobs with these serials to a log.
inline void AddJobs(const std::string& path, uint64_t first, uint64_t last) {
  JobLog log(path, StillOptions());
  for (uint64_t serial = first; serial <= last; ++serial) log.Add(LoggedJob(serial));
}

// Succeeds if the chain of these files is whole and has that many lines.
inline testing::AssertionResult IsWhole(const std::vector<std::string>& files, uint64_t lines) {
  const LogCheck check = CheckLogs(files);
  if (check.fault_count)
    return testing::AssertionFailure() << check.faults[0].place.file << ":" << check.faults[0].place.line << ": "
                                       << check.faults[0].what;
  if (check.lines != lines) return testing::AssertionFailure() << check.lines << " lines";
  return testing::AssertionSuccess();
}

}  // namespace suf::service
