#include "suf/service/internal/log_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "suf/base/digest.hpp"
#include "suf/base/plural.hpp"
#include "suf/base/private_files.hpp"

namespace suf::service {

namespace {

// The bytes at the end of a file that hold an incomplete line and a whole one before it.
constexpr size_t kTail = 2 * (kLongestLine + 1);

// The parts of a file's tail: whole lines, then an incomplete one.
struct TailParts {
  std::string_view whole, torn;
};

// Returns the last whole line of a text that ends with a newline.
std::string_view LastLine(std::string_view whole) {
  whole.remove_suffix(1);
  return whole.substr(whole.rfind('\n') + 1);  // npos + 1 is 0
}

// A line is incomplete if it has no newline. It is too if it has zeros, which stand in for lost data after a loss of
// power.
TailParts Parts(std::string_view tail) {
  std::string_view whole = tail.substr(0, tail.rfind('\n') + 1);
  while (!whole.empty() && LastLine(whole).find('\0') != whole.npos) whole.remove_suffix(LastLine(whole).size() + 1);
  return {whole, tail.substr(whole.size())};
}

uint64_t SizeOf(int fd, const std::string& path) {
  struct stat s {};
  if (fstat(fd, &s))
    Fail(Cause::kResource, "cannot check the log ", path, " (", SystemError(), "); see to the disk, then start again");
  return uint64_t(s.st_size);
}

[[noreturn]] void NoLog(const std::string& path) {
  Fail(Cause::kInput, path, " is no log of jobs; name one, or a file that does not exist yet");
}

// Returns the end of the chain of an open file, which keeps its whole lines alone.
ChainEnd ReadEnd(int fd, const std::string& path, std::vector<std::string>* notices) {
  const uint64_t size = SizeOf(fd, path);
  Bytes head(size_t(std::min<uint64_t>(size, kLineStart.size())));
  if (ReadAt(fd, 0, head, path) != head.size() || !Equal(head, AsView(kLineStart.substr(0, head.size())))) NoLog(path);
  Bytes bytes(size_t(std::min<uint64_t>(size, kTail)));
  bytes.resize(ReadAt(fd, size - bytes.size(), bytes, path));
  const std::string_view tail(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto [whole, torn] = Parts(tail);
  ChainEnd end;
  if (!whole.empty()) {
    const std::string_view line = LastLine(whole);
    if (line.size() > kLongestLine) NoLog(path);
    try {
      end = {ParseLine(line).number, HashOf({AsView(line)})};
    } catch (const Error& e) {
      Fail(Cause::kRefused, "the last line of the log ", path, " is damaged: ", e.what(),
           "; keep the file under another name, and begin a new one");
    }
  } else if (tail.size() < size || torn.size() > kLongestLine) {
    NoLog(path);
  } else {
    end = EndBefore(torn).value_or(ChainEnd{});
  }
  if (end.number >= kMostLines)
    Fail(Cause::kRefused, "the log ", path, " has number ", end.number,
         " at its end and cannot go on; begin a new one");
  if (torn.empty()) return end;
  if (ftruncate(fd, off_t(size - torn.size())))
    Fail(Cause::kResource, "cannot repair the log ", path, " (", SystemError(), "); see to the disk, then start again");
  Sync(fd, path);
  notices->push_back(Str("the last line of the log ", path, " was not written to its end; its ",
                         Plural(torn.size(), "byte"), " are cut off"));
  return end;
}

}  // namespace

void ExpectLines(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) || S_ISREG(s.st_mode)) return;
  Fail(Cause::kInput, path, " is ", S_ISDIR(s.st_mode) ? "a folder" : "no ordinary file", "; name a file");
}

LogFile OpenLog(const std::string& path, std::vector<std::string>* notices) {
  ExpectLines(path);
  struct stat s {};
  const bool existed = !lstat(path.c_str(), &s);
  LogFile log{OpenFile(path, O_RDWR | O_CREAT | O_APPEND), {}};
  if (flock(log.fd.get(), LOCK_EX | LOCK_NB))
    Fail(Cause::kResource, "another process writes the log ", path, "; end it, or name another file");
  try {
    CheckPrivateFile(path);
  } catch (...) {
    if (!existed) unlink(path.c_str());
    throw;
  }
  if (SizeOf(log.fd.get(), path)) log.end = ReadEnd(log.fd.get(), path, notices);
  if (!existed) SyncDirOf(path);
  return log;
}

}  // namespace suf::service
