// Files that survive a crash: whole writes, synced directories, temporary file and rename. POSIX.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "suf/base/bytes.hpp"

namespace suf {

// Text of errno.
std::string SystemError();

// Owns a descriptor.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd();
  Fd(Fd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Fd& operator=(Fd&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Which file this is, apart from its name and content: a copy of it and a file restored under its name are
// others. An inode number returns at once on ext4; time of birth and generation (0 where the file system has none) do
// not.
struct FileId {
  uint64_t inode = 0;
  int64_t birth_s = 0;
  uint32_t birth_ns = 0, generation = 0;
  bool operator==(const FileId&) const = default;
};
// Nothing where the file system keeps no time of birth.
std::optional<FileId> Identify(int fd);

// Each throws Cause::kResource with path and cause in the sentence.

// Opens a file; new ones get mode 0600. Throws Cause::kRefused for a symbolic link, unless links are followed or the
// file is a folder (O_DIRECTORY), and for a pipe, a socket or a device: it never waits for another process.
enum class Links { kRefuse, kFollow };
Fd OpenFile(const std::string& path, int flags, Links links = Links::kRefuse);
void MakeDir(const std::string& path);  // mode 0700; fine when it exists
void WriteAll(int fd, View bytes, const std::string& path);
void Sync(int fd, const std::string& path);  // fdatasync
void SyncDir(const std::string& path);
void Rename(const std::string& from, const std::string& to);
// ReadInto: fills `out` from the current position; how many bytes, fewer only at the end of the file. ReadSome: up to
// `bytes`. ReadAt: as ReadInto, from that place.
size_t ReadAt(int fd, uint64_t place, std::span<uint8_t> out, const std::string& path);
size_t ReadInto(int fd, std::span<uint8_t> out, const std::string& path);
Bytes ReadSome(int fd, size_t bytes, const std::string& path);
// A file that is being written under a temporary name, FILE.part, made afresh; removed unless Done gave it its
// own, so that a reader sees the old file or all of the new one. Throws Cause::kResource when the disk refuses, or when
// the name is that of a folder or a device.
class Part {
 public:
  explicit Part(const std::string& file, int mode = 0600);
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  void Add(View bytes);
  // Renamed. With a sync before it and of the directory after it, it survives a crash: WriteFile.
  void Done();
  int fd() const { return fd_.get(); }

 private:
  [[noreturn]] void Refuse() const;
  std::string file_, part_;
  Fd fd_;
  bool done_ = false;
};

// Throws as a Part would if so many bytes cannot be written under this name; leaves nothing behind.
void ProbeFile(const std::string& file, uint64_t bytes);
// A Part of mode 0600, synced, renamed, and the directory synced.
void WriteFile(const std::string& dir, const std::string& name, View bytes);
// Flock of dir/lock, held as long as the Fd lives; throws Cause::kResource when another process has it.
Fd LockDir(const std::string& dir);

}  // namespace suf
