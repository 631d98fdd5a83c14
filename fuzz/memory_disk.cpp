// A disk in memory for the libFuzzer programs of stores. The linker redirects system calls to this file (--wrap,
// CMakeLists.txt). Calls on the path of a Folder are served here, and all others go on to the system. System calls took
// most of these programs' time. fuzz_corpus runs the same targets on a real disk.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct File {
  ino_t inode;
  bool directory = false, locked = false;
  std::vector<uint8_t> bytes;
};
struct Open {
  std::shared_ptr<File> file;
  size_t at = 0;
  bool locked = false, appends = false;
};
struct Listing {
  std::vector<std::string> names;
  size_t at = 0;
  dirent entry{};
};

constexpr int kFirst = 1 << 20;  // the first descriptor of a file on this disk

struct Disk {
  std::recursive_mutex m;
  ino_t inodes = 0;
  uint64_t folders = 0;                                // made by mkdtemp so far
  std::map<std::string, std::shared_ptr<File>> files;  // by path
  std::vector<Open> open;
  std::map<DIR*, std::unique_ptr<Listing>> listings;
};
Disk& disk() {
  static Disk& d = *new Disk;
  return d;
}

bool Ours(const char* path) { return strstr(path, "/suf_fuzz_"); }
int No(int error) {
  errno = error;
  return -1;
}
std::shared_ptr<File> Find(const char* path) {
  auto it = disk().files.find(path);
  return it == disk().files.end() ? nullptr : it->second;
}
std::shared_ptr<File> Make(const std::string& path, bool directory) {
  return disk().files[path] = std::make_shared<File>(File{++disk().inodes, directory, false, {}});
}
bool Inside(const std::string& path, const std::string& dir) {
  return path.size() > dir.size() && !path.compare(0, dir.size(), dir) && path[dir.size()] == '/';
}
bool Empty(const std::string& dir) {
  auto next = disk().files.lower_bound(dir + "/");
  return next == disk().files.end() || !Inside(next->first, dir);
}
int About(const File& f, struct stat* s) {
  *s = {};
  s->st_ino = f.inode;
  s->st_size = off_t(f.bytes.size());
  s->st_mode = f.directory ? S_IFDIR | 0700 : S_IFREG | 0600;
  return 0;
}
Open& At(int fd) { return disk().open.at(size_t(fd - kFirst)); }

}  // namespace

// Declares the system's function and its replacement.
#define SYSTEM(result, name, ...)    \
  result __real_##name(__VA_ARGS__); \
  result __wrap_##name(__VA_ARGS__)
#define LOCKED std::lock_guard lock(disk().m)

extern "C" {
int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int mode = flags & O_CREAT ? va_arg(more, int) : 0;
  va_end(more);
  if (!Ours(path)) return __real_open(path, flags, mode);
  LOCKED;
  auto file = Find(path);
  if (!file && !(flags & O_CREAT)) return No(ENOENT);
  if (!file) file = Make(path, false);
  if (file->directory != bool(flags & O_DIRECTORY)) return No(file->directory ? EISDIR : ENOTDIR);
  if (flags & O_TRUNC) file->bytes.clear();
  auto& open = disk().open;
  auto free = std::find_if(open.begin(), open.end(), [](const Open& o) { return !o.file; });
  if (free == open.end()) free = open.emplace(free);
  *free = {file, 0, false, bool(flags & O_APPEND)};
  return kFirst + int(free - open.begin());
}

SYSTEM(int, close, int fd) {
  if (fd < kFirst) return __real_close(fd);
  LOCKED;
  if (At(fd).locked) At(fd).file->locked = false;
  At(fd) = {};
  return 0;
}

// Reads up to n bytes from offset `at`; returns how many.
static size_t ReadFrom(const File& file, size_t at, void* to, size_t n) {
  at = std::min(at, file.bytes.size());
  n = std::min(n, file.bytes.size() - at);
  if (n) memcpy(to, file.bytes.data() + at, n);
  return n;
}

SYSTEM(ssize_t, read, int fd, void* to, size_t n) {
  if (fd < kFirst) return __real_read(fd, to, n);
  LOCKED;
  Open& o = At(fd);
  n = ReadFrom(*o.file, o.at, to, n);
  o.at += n;
  return ssize_t(n);
}

SYSTEM(ssize_t, pread, int fd, void* to, size_t n, off_t at) {
  if (fd < kFirst) return __real_pread(fd, to, n, at);
  LOCKED;
  return ssize_t(ReadFrom(*At(fd).file, size_t(at), to, n));
}

SYSTEM(ssize_t, write, int fd, const void* from, size_t n) {
  if (fd < kFirst) return __real_write(fd, from, n);
  LOCKED;
  Open& o = At(fd);
  if (o.appends) o.at = o.file->bytes.size();
  if (o.file->bytes.size() < o.at + n) o.file->bytes.resize(o.at + n);
  if (n) memcpy(o.file->bytes.data() + o.at, from, n);
  o.at += n;
  return ssize_t(n);
}

SYSTEM(off_t, lseek, int fd, off_t at, int whence) {
  if (fd < kFirst || whence != SEEK_SET) return __real_lseek(fd, at, whence);
  LOCKED;
  At(fd).at = size_t(at);
  return at;
}

SYSTEM(int, ftruncate, int fd, off_t size) {
  if (fd < kFirst) return __real_ftruncate(fd, size);
  LOCKED;
  At(fd).file->bytes.resize(size_t(size));
  return 0;
}

SYSTEM(int, fsync, int fd) { return fd < kFirst ? __real_fsync(fd) : 0; }
SYSTEM(int, fdatasync, int fd) { return fd < kFirst ? __real_fdatasync(fd) : 0; }

SYSTEM(int, flock, int fd, int how) {
  if (fd < kFirst || how != (LOCK_EX | LOCK_NB)) return __real_flock(fd, how);
  LOCKED;
  if (At(fd).file->locked) return No(EWOULDBLOCK);
  At(fd).locked = At(fd).file->locked = true;
  return 0;
}

SYSTEM(int, fstat, int fd, struct stat* s) {
  if (fd < kFirst) return __real_fstat(fd, s);
  LOCKED;
  return About(*At(fd).file, s);
}

SYSTEM(int, statx, int fd, const char* path, int flags, unsigned mask, struct statx* s) {
  if (fd < kFirst) return __real_statx(fd, path, flags, mask, s);
  LOCKED;
  *s = {};
  s->stx_ino = At(fd).file->inode;
  s->stx_mask = STATX_INO | STATX_BTIME;
  return 0;
}

SYSTEM(int, ioctl, int fd, unsigned long what, void* to) {
  return fd < kFirst ? __real_ioctl(fd, what, to) : No(ENOTTY);
}

SYSTEM(int, stat, const char* path, struct stat* s) {
  if (!Ours(path)) return __real_stat(path, s);
  LOCKED;
  auto file = Find(path);
  return file ? About(*file, s) : No(ENOENT);
}

SYSTEM(int, access, const char* path, int mode) {
  if (!Ours(path)) return __real_access(path, mode);
  LOCKED;
  return Find(path) ? 0 : No(ENOENT);
}

SYSTEM(char*, mkdtemp, char* path) {
  if (!Ours(path)) return __real_mkdtemp(path);
  LOCKED;
  std::string number = std::to_string(100000 + disk().folders++ % 900000);  // as long as XXXXXX
  std::copy(number.begin(), number.end(), path + strlen(path) - number.size());
  Make(path, true);
  return path;
}

SYSTEM(int, mkdir, const char* path, mode_t mode) {
  if (!Ours(path)) return __real_mkdir(path, mode);
  LOCKED;
  if (Find(path)) return No(EEXIST);
  Make(path, true);
  return 0;
}

SYSTEM(int, unlink, const char* path) {
  if (!Ours(path)) return __real_unlink(path);
  LOCKED;
  auto file = Find(path);
  if (!file || file->directory) return No(file ? EISDIR : ENOENT);
  disk().files.erase(path);
  return 0;
}

SYSTEM(int, rmdir, const char* path) {
  if (!Ours(path)) return __real_rmdir(path);
  LOCKED;
  if (!Empty(path)) return No(ENOTEMPTY);
  return disk().files.erase(path) ? 0 : No(ENOENT);
}

SYSTEM(int, rename, const char* from, const char* to) {
  if (!Ours(from)) return __real_rename(from, to);
  LOCKED;
  auto file = Find(from);
  if (!file || file->directory) return No(ENOENT);
  disk().files.erase(from);
  disk().files[to] = file;
  return 0;
}

SYSTEM(DIR*, opendir, const char* path) {
  if (!Ours(path)) return __real_opendir(path);
  LOCKED;
  if (!Find(path)) {
    errno = ENOENT;
    return nullptr;
  }
  auto list = std::make_unique<Listing>();
  std::string dir = path;
  for (auto it = disk().files.lower_bound(dir + "/"); it != disk().files.end() && Inside(it->first, dir); ++it)
    if (it->first.find('/', dir.size() + 1) == std::string::npos)
      list->names.push_back(it->first.substr(dir.size() + 1));
  DIR* p = reinterpret_cast<DIR*>(list.get());
  disk().listings[p] = std::move(list);
  return p;
}

SYSTEM(dirent*, readdir, DIR* p) {
  LOCKED;
  auto it = disk().listings.find(p);
  if (it == disk().listings.end()) return __real_readdir(p);
  Listing& list = *it->second;
  if (list.at == list.names.size()) return nullptr;
  strncpy(list.entry.d_name, list.names[list.at++].c_str(), sizeof list.entry.d_name - 1);
  return &list.entry;
}

SYSTEM(int, closedir, DIR* p) {
  LOCKED;
  return disk().listings.erase(p) ? 0 : __real_closedir(p);
}
}  // extern "C"
