// What the targets share: how one is declared, a scratch folder, and reading numbers off the front of an input.
// A target may end by suf::Error only; anything else (Bug, another exception, a sanitizer's report) is a finding.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "suf/base/bytes.hpp"

namespace suf::fuzz {

// By name. A libFuzzer program holds one, fuzz_corpus holds all.
inline std::map<std::string, std::function<void(View)>>& Targets() {
  static std::map<std::string, std::function<void(View)>> all;
  return all;
}

// SUF_FUZZ(name) { .. }: the body of a target; `input` is what is fuzzed.
#define SUF_FUZZ(name)                                                                                   \
  static void Fuzz_##name(::suf::View input);                                                            \
  [[maybe_unused]] static const bool known_##name = (::suf::fuzz::Targets()[#name] = Fuzz_##name, true); \
  static void Fuzz_##name(::suf::View input)

// Files go by system calls, not by streams: those are what memory_disk.cpp takes over, and streams were most of what
// the small targets did.
inline void WriteTo(const std::string& path, View bytes) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  SUF_CHECK(fd >= 0 && write(fd, bytes.data(), bytes.size()) == ssize_t(bytes.size()));
  close(fd);
}
inline Bytes ReadFrom(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat s;
  SUF_CHECK(fd >= 0 && !fstat(fd, &s));
  Bytes bytes(size_t(s.st_size));
  SUF_CHECK(read(fd, bytes.data(), bytes.size()) == ssize_t(bytes.size()));
  close(fd);
  return bytes;
}
// A file, or a folder with what it holds.
inline void Remove(const std::string& path) {
  if (DIR* d = opendir(path.c_str())) {
    while (dirent* e = readdir(d))
      if (std::string name = e->d_name; name != "." && name != "..") Remove(path + "/" + name);
    closedir(d);
    SUF_CHECK(!rmdir(path.c_str()));
  } else {
    SUF_CHECK(!unlink(path.c_str()));
  }
}

// A fresh one, removed with what it holds. On a RAM disk where there is one: stores sync every write.
class Folder {
 public:
  Folder() : path_(std::filesystem::is_directory("/dev/shm") ? "/dev/shm/suf_fuzz_XXXXXX" : "/tmp/suf_fuzz_XXXXXX") {
    SUF_CHECK(mkdtemp(path_.data()));
  }
  ~Folder() { Remove(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string TextOf(View v) { return std::string(v.begin(), v.end()); }

// Pull: a number off the front of `v`; what is not there reads as zero.
template <class T>
T Pull(View& v) {
  T x{};
  size_t n = std::min(v.size(), sizeof x);
  std::memcpy(&x, v.data(), n);
  v = v.subspan(n);
  return x;
}
inline View PullBytes(View& v, size_t n) {
  View head = v.first(std::min(n, v.size()));
  v = v.subspan(head.size());
  return head;
}

// Quietly: f may end by Error.
template <class F>
bool Quietly(F&& f) {
  try {
    f();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace suf::fuzz
