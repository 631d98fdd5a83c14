// Files that survive a crash: whole writes, synced directories, a temporary file and a rename. POSIX.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "suf/base/bytes.hpp"

namespace suf {

// Returns the text of errno.
std::string SystemError();

// Owner of a file descriptor.
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

// The identity of a file, independent of name and content: a copy or a restored file has another one. On ext4 an inode
// number is soon reused. The time of birth and the generation (0 if the file system has none) are not.
struct FileId {
  uint64_t inode = 0;
  int64_t birth_s = 0;
  uint32_t birth_ns = 0, generation = 0;
  bool operator==(const FileId&) const = default;
};
// Returns nothing if the file system keeps no time of birth.
std::optional<FileId> Identify(int fd);
// Writes an identity, 24 bytes.
void Put(Writer& w, const FileId& id);

// The functions below throw Cause::kResource, with the path and the system's reason.

// Whether OpenFile follows a symbolic link.
enum class Links { kRefuse, kFollow };
// Opens a file; a new one gets mode 0600. Never waits for another process. Throws Cause::kRefused for a pipe, a socket
// or a device. Throws it also for a symbolic link, unless links are followed or the file is a folder (O_DIRECTORY).
Fd OpenFile(const std::string& path, int flags, Links links = Links::kRefuse);
void MakeDir(const std::string& path);  // mode 0700; succeeds if it exists
void WriteAll(int fd, View bytes, const std::string& path);
void Sync(int fd, const std::string& path);  // fdatasync
void SyncDir(const std::string& path);
void SyncDirOf(const std::string& file);  // the directory that holds the file
void Rename(const std::string& from, const std::string& to);
// Fills `out` from byte `place` of the file. Returns the number of bytes, fewer only at the end of the file.
size_t ReadAt(int fd, uint64_t place, std::span<uint8_t> out, const std::string& path);
// Fills `out` from the current position. Returns the number of bytes, fewer only at the end of the file.
size_t ReadInto(int fd, std::span<uint8_t> out, const std::string& path);
// Reads up to `bytes` bytes from the current position; fewer only at the end of the file.
Bytes ReadSome(int fd, size_t bytes, const std::string& path);
// A file that is being written under a temporary name, FILE.part, which is always created anew. Commit renames it, so
// that a reader sees the old file or all of the new one. Without Commit it is removed. Throws Cause::kResource if the
// disk refuses, or if the name is that of a folder or a device.
class TempFile {
 public:
  explicit TempFile(const std::string& file, int mode = 0600);
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  void Add(View bytes);
  // Renames the file to its own name. It survives a crash only with a sync before and a sync of the directory after, as
  // in WriteFile.
  void Commit();
  int fd() const { return fd_.get(); }

 private:
  [[noreturn]] void Refuse() const;
  std::string file_, temp_;
  Fd fd_;
  bool committed_ = false;
};

// Throws like TempFile if `bytes` bytes cannot be written under this name. Leaves nothing behind.
void ProbeFile(const std::string& file, uint64_t bytes);
// Writes a TempFile of mode 0600, syncs it, commits it, and syncs the directory.
void WriteFile(const std::string& dir, const std::string& name, View bytes);
// Locks dir/lock (flock) as long as the Fd lives. Throws Cause::kResource if another process holds the lock.
Fd LockDir(const std::string& dir);

}  // namespace suf
