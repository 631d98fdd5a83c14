// The file of a log of jobs, opened for its next line.
#pragma once
#include <string>
#include <vector>

#include "suf/service/internal/log_line.hpp"

namespace suf::service {

// Throws Cause::kInput if the path is that of a folder, a device or another thing without lines. Does nothing if it
// does not exist.
void ExpectLines(const std::string& path);

// A log that this process alone appends to, and the end of its chain.
struct LogFile {
  Fd fd;
  ChainEnd end;
};

// Opens a log, or makes it with mode 0600. Cuts off an incomplete last line, with a notice. Errors as those of JobLog's
// constructor.
LogFile OpenLog(const std::string& path, std::vector<std::string>* notices);

}  // namespace suf::service
