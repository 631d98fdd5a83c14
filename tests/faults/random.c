// Writes what the program draws from the operating system to the file named by SUF_DRAWN, a line of hexadecimal digits
// a draw. Preloaded into the roles by memory_test.py, which has no other way to know their seeds; keeps nothing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  ssize_t n = syscall(SYS_getrandom, to, bytes, flags);
  if (n != 32) return n;  // secrets, nonces and hashes
  char line[65];
  for (int i = 0; i < 32; ++i) {
    unsigned char b = ((unsigned char*)to)[i];
    line[2 * i] = "0123456789abcdef"[b >> 4], line[2 * i + 1] = "0123456789abcdef"[b & 15];
  }
  line[64] = '\n';
  int fd = open(getenv("SUF_DRAWN"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, sizeof line) != sizeof line) abort();
  close(fd);
  explicit_bzero(line, sizeof line);
  return n;
}
