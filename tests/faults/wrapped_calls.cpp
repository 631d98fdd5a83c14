// The calls that change a disk. The linker redirects a program's calls to these functions (ld --wrap), so the product
// has no hook.
#include <fcntl.h>

#include <cstdarg>

#include "tests/faults/deaths.hpp"

extern "C" {
using namespace suf::faults;
int __real_open(const char*, int, ...);
int __real_mkdir(const char*, mode_t);
ssize_t __real_write(int, const void*, size_t);
int __real_fdatasync(int);
int __real_fsync(int);
int __real_rename(const char*, const char*);
int __real_unlink(const char*);
int __real_rmdir(const char*);
int __real_ftruncate(int, off_t);

int __wrap_open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? mode_t(va_arg(list, int)) : 0;
  va_end(list);
  if (!(flags & O_CREAT)) return __real_open(path, flags);
  return Call([&] { return __real_open(path, flags, mode); }, None);
}
int __wrap_mkdir(const char* path, mode_t mode) {
  return Call(
      [&] {
        int r = __real_mkdir(path, mode);
        if (disk && !r) disk->Sync(path);
        return r;
      },
      None);
}
ssize_t __wrap_write(int fd, const void* p, size_t n) {
  return Call([&] { return __real_write(fd, p, n); }, [&] { (void)!__real_write(fd, p, n / 2); });
}
int __wrap_fdatasync(int fd) {
  return Call([&] { return Synced(fd, __real_fdatasync(fd)); }, None);
}
int __wrap_fsync(int fd) {
  return Call([&] { return Synced(fd, __real_fsync(fd)); }, None);
}
int __wrap_rename(const char* from, const char* to) {
  if (disk) disk->Unnamed(to);
  return Call([&] { return __real_rename(from, to); }, None);
}
int __wrap_unlink(const char* path) {
  if (disk) disk->Unnamed(path);
  return Call([&] { return __real_unlink(path); }, None, true);
}
int __wrap_rmdir(const char* path) {
  return Call(
      [&] {
        int r = __real_rmdir(path);
        if (disk && !r) disk->Gone(path);
        return r;
      },
      None, true);
}
int __wrap_ftruncate(int fd, off_t size) {
  return Call([&] { return __real_ftruncate(fd, size); }, None);
}
}
