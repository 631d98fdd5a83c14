// Shared by all targets: the declaration of a target, a scratch folder, numbers read from the front of an input.
// A target may end only by suf::Error. Anything else (Bug, another exception, a sanitizer's report) is a finding.
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

// All targets of this program, by name. A libFuzzer program has one, fuzz_corpus has all.
inline std::map<std::string, std::function<void(View)>>& Targets() {
  static std::map<std::string, std::function<void(View)>> all;
  return all;
}

// Defines a target: SUF_FUZZ(name) { .. }. Its `input` is the fuzzed bytes.
#define SUF_FUZZ(name)                                                                                         \
  static void Fuzz_##name(::suf::View input);                                                                  \
  [[maybe_unused]] static const bool known_##name = ::suf::fuzz::Targets().emplace(#name, Fuzz_##name).second; \
  static void Fuzz_##name(::suf::View input)

// Writes a file by system calls, not by streams. Streams took most of the time of small targets, and memory_disk.cpp
// replaces only system calls.
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
// Removes a file, or a folder with its contents.
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

// A fresh scratch folder, removed with its contents. It is on a RAM disk if there is one, because stores sync every
// write.
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

// Takes a number off the front of `v`; missing bytes read as zero.
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

// Runs f, which may end by Error; returns whether it did not.
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
