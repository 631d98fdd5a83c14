#include "suf/roles/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "suf/base/error.hpp"
#include "suf/base/file.hpp"

namespace suf::roles {

namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

// Returns standard input. It can be read once, so only one of a process's files can be it.
Fd StandardInput() {
  static std::atomic<bool> taken{false};
  if (taken.exchange(true))
    Fail(Cause::kInput, "standard input was named as two files; name it once, and give the other file a path");
  return Fd(dup(STDIN_FILENO));
}

}  // namespace

std::string FileName(const std::string& path) { return path == kStandardInput ? "standard input" : path; }

std::string ReadFile(const std::string& path, const char* what, const char* remedy) {
  const bool standard = path == kStandardInput;
  const std::string file = Str(what, standard && *what ? "from " : "", FileName(path));
  const Fd fd = standard ? StandardInput() : Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text, block(1 << 16, 0);
  ssize_t n = fd ? 1 : -1;
  while (n > 0) {
    n = read(fd.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR)
      n = 1;
    else if (n > 0)
      text.append(block, 0, size_t(n));
    if (text.size() > kMostBytes)
      Fail(Cause::kInput, file, " holds more than 1 GiB, which is the limit; name another file");
  }
  if (n < 0) Fail(Cause::kInput, "cannot read ", file, "; ", remedy);  // also if it is a directory
  return text;
}

std::string WithoutMark(std::string bytes, const std::string& path) {
  using namespace std::string_literals;
  for (const auto& [mark, name] : {std::pair{"\xff\xfe\0\0"s, "UTF-32"},
                                   {"\0\0\xfe\xff"s, "UTF-32"},
                                   {"\xff\xfe"s, "UTF-16"},
                                   {"\xfe\xff"s, "UTF-16"}})
    if (bytes.starts_with(mark)) Fail(Cause::kInput, FileName(path), " is text in ", name, "; save it as UTF-8");
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.erase(0, 3);
  return bytes;
}

std::string ReadText(const std::string& path, const char* what, const char* remedy) {
  return WithoutMark(ReadFile(path, what, remedy), path);
}

}  // namespace suf::roles
