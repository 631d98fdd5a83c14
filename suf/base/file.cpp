#include "suf/base/file.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace suf {

std::string SystemError() { return std::strerror(errno); }

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

namespace {
[[noreturn]] void Cannot(const char* what, const std::string& path) {
  std::string cause = SystemError();
  Fail(Cause::kResource, "cannot ", what, " ", path, " (", cause,
       "); see to the disk and its permissions, then start again");
}

bool WroteAll(int fd, View bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(size_t(n));
  }
  return true;
}
}  // namespace

std::optional<FileId> Identify(int fd) {
  struct statx s {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &s) || !(s.stx_mask & STATX_BTIME)) return std::nullopt;
  FileId id{s.stx_ino, s.stx_btime.tv_sec, s.stx_btime.tv_nsec, 0};
  long generation = 0;  // the kernel writes an int, declared as a long
  if (!ioctl(fd, FS_IOC_GETVERSION, &generation)) id.generation = uint32_t(generation);
  return id;
}

void Put(Writer& w, const FileId& id) {
  w.Put(id.inode);
  w.Put(id.birth_s);
  w.Put(id.birth_ns);
  w.Put(id.generation);
}

Fd OpenFile(const std::string& path, int flags, Links links) {
  if (links == Links::kRefuse && !(flags & O_DIRECTORY)) flags |= O_NOFOLLOW;
  Fd fd(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!fd && errno == ELOOP && (flags & O_NOFOLLOW))
    Fail(Cause::kRefused, path, " is a symbolic link, which is not followed here; remove it");
  if (!fd && errno != ENXIO) Cannot("open", path);  // ENXIO: a socket, or a pipe without a reader
  struct stat s {};
  if (!fd || fstat(fd.get(), &s) || !(S_ISREG(s.st_mode) || S_ISDIR(s.st_mode)))
    Fail(Cause::kRefused, path, " is no ordinary file; name another one");
  return fd;
}

void MakeDir(const std::string& path) {
  if (mkdir(path.c_str(), 0700) && errno != EEXIST) Cannot("make", path);
}

void WriteAll(int fd, View bytes, const std::string& path) {
  if (!WroteAll(fd, bytes)) Cannot("write", path);
}

void Sync(int fd, const std::string& path) {
  if (fdatasync(fd)) Cannot("sync", path);
}

void SyncDir(const std::string& path) {
  Fd fd = OpenFile(path, O_RDONLY | O_DIRECTORY);
  if (fsync(fd.get())) Cannot("sync", path);
}

void SyncDirOf(const std::string& file) {
  const size_t slash = file.rfind('/');
  SyncDir(slash == file.npos ? "." : file.substr(0, std::max<size_t>(slash, 1)));
}

void Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str())) Cannot("rename", from);
}

namespace {
template <class F>
size_t ReadFully(std::span<uint8_t> out, const std::string& path, const F& more) {
  size_t at = 0;
  while (at < out.size()) {
    ssize_t n = more(out.data() + at, out.size() - at, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) Cannot("read", path);
    if (n == 0) break;
    at += size_t(n);
  }
  return at;
}
}  // namespace

size_t ReadInto(int fd, std::span<uint8_t> out, const std::string& path) {
  return ReadFully(out, path, [&](uint8_t* to, size_t n, size_t) { return read(fd, to, n); });
}

size_t ReadAt(int fd, uint64_t place, std::span<uint8_t> out, const std::string& path) {
  return ReadFully(out, path, [&](uint8_t* to, size_t n, size_t at) { return pread(fd, to, n, off_t(place + at)); });
}

Bytes ReadSome(int fd, size_t bytes, const std::string& path) {
  Bytes out(bytes);
  out.resize(ReadInto(fd, out, path));
  return out;
}

TempFile::TempFile(const std::string& file, int mode) : file_(file), temp_(file + ".part") {
  struct stat s {};
  if (!stat(file_.c_str(), &s) && !S_ISREG(s.st_mode))
    Fail(Cause::kResource, "cannot write ", file_, ", which is ", S_ISDIR(s.st_mode) ? "a folder" : "no ordinary file",
         "; name another file");
  unlink(temp_.c_str());  // left by a killed process; it is never written through
  fd_ = Fd(open(temp_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd_) Refuse();
}

TempFile::~TempFile() {
  if (fd_ && !committed_) unlink(temp_.c_str());
}

void TempFile::Add(View bytes) {
  if (!WroteAll(fd_.get(), bytes)) Refuse();
}

void TempFile::Commit() {
  if (rename(temp_.c_str(), file_.c_str())) Refuse();
  committed_ = true;
}

void TempFile::Refuse() const { Cannot("write", file_); }

void ProbeFile(const std::string& file, uint64_t bytes) {
  TempFile temp(file);
  if (fallocate(temp.fd(), 0, 0, off_t(std::max<uint64_t>(bytes, 1))) && errno != EOPNOTSUPP && errno != ENOSYS &&
      errno != EINTR)
    Fail(Cause::kResource, "cannot write ", file, " of ", bytes, " bytes (", SystemError(),
         "); see to the disk, then start again");
}

void WriteFile(const std::string& dir, const std::string& name, View bytes) {
  TempFile temp(dir + "/" + name);
  temp.Add(bytes);
  Sync(temp.fd(), dir + "/" + name);
  temp.Commit();
  SyncDir(dir);
}

Fd LockDir(const std::string& dir) {
  Fd fd = OpenFile(dir + "/lock", O_RDWR | O_CREAT);
  if (flock(fd.get(), LOCK_EX | LOCK_NB))
    Fail(Cause::kResource, "the directory ", dir,
         " is in use by another suf process; end that one or name another directory");
  return fd;
}

}  // namespace suf
