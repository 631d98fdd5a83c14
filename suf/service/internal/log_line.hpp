// The lines of the log of jobs: their format, and the fields that a check reads.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "suf/service/job_log.hpp"

namespace suf::service {

// The longest line, in bytes without its newline.
inline constexpr size_t kLongestLine = size_t{64} << 10;
// The most lines of a chain.
inline constexpr uint64_t kMostLines = uint64_t{1} << 62;
// The first bytes of every line.
inline constexpr std::string_view kLineStart = R"({"schema":"suf.log/1",)";

// The last line of a chain: its number, from 1, and its hash. Both are 0 before the first line.
struct ChainEnd {
  uint64_t number = 0;
  Hash hash{};
};

// The fields of a line that a check reads.
struct LogLine {
  uint64_t number = 0;  // in the chain, from 1
  Hash prev{};          // hash of the line before
  std::string time;     // "2026-11-28T15:03:46.123Z"
  JobOutcome outcome = JobOutcome::kDone;
  uint64_t lost = 0;  // lines that were lost before this one
};

// Returns the line that follows `before`, without its newline. `lost` lines were lost between both.
std::string FormatLine(const JobRecord& record, const ChainEnd& before, std::chrono::system_clock::time_point time,
                       uint64_t lost);
// Parses a line without its newline. Throws Cause::kRefused if it is none.
LogLine ParseLine(std::string_view line);
// Returns the end of the chain before an incomplete line, from its first fields. Returns nothing if these are cut too.
std::optional<ChainEnd> EndBefore(std::string_view beginning);

}  // namespace suf::service
