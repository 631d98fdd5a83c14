// Writes the random bytes that the program draws from the operating system to the file named by SUF_DRAWN, one line of
// hexadecimal digits for each draw. Preloaded into the roles by memory_test.py, which cannot learn their seeds
// otherwise. Keeps nothing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  ssize_t n = syscall(SYS_getrandom, to, bytes, flags);
  if (n != 32) return n;  // secrets, nonces and hashes have 32 bytes
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
