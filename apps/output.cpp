#include "apps/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

namespace suf::apps {

namespace {

constexpr size_t kWaiting = 1 << 16;  // bytes to collect before a write

std::string Sentence(int error) {
  if (error == EBADF) return "cannot write to stdout, which is closed; open it, or send it to a file";
  return Str("cannot write to stdout (", std::strerror(error), "); see to the disk or the program behind it");
}

// Returns the errno that a write would give; 0 if none is foreseen.
int Foreseen() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return EBADF;
  pollfd p{STDOUT_FILENO, 0, 0};
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP)) ? EPIPE : 0;
}

}  // namespace

OutputError::OutputError(int error)
    : Error(Cause::kResource, Sentence(error)), closed_(error == EPIPE || error == ECONNRESET) {}

CheckedStdout::CheckedStdout() : terminal_(isatty(STDOUT_FILENO)), before_(std::cout.rdbuf(this)) {
  std::cout.exceptions(std::ios::badbit);
  std::cerr.tie(nullptr);  // a line on stderr must not flush stdout, which can throw
}

CheckedStdout::~CheckedStdout() {
  std::cout.exceptions(std::ios::goodbit);
  std::cout.rdbuf(before_);
}

void CheckedStdout::Flush() {
  const std::string text = std::exchange(waiting_, {});
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (n >= 0) {
      at += size_t(n);
    } else if (errno == EAGAIN) {  // a program that shares it made it non-blocking
      pollfd p{STDOUT_FILENO, POLLOUT, 0};
      (void)poll(&p, 1, -1);
    } else if (errno != EINTR) {
      throw OutputError(errno);
    }
  }
}

std::streamsize CheckedStdout::xsputn(const char* text, std::streamsize n) {
  waiting_.append(text, size_t(n));
  if (waiting_.size() >= kWaiting || (terminal_ && std::memchr(text, '\n', size_t(n)))) Flush();
  return n;
}

CheckedStdout::int_type CheckedStdout::overflow(int_type c) {
  const char one = traits_type::to_char_type(c);
  if (!traits_type::eq_int_type(c, traits_type::eof())) xsputn(&one, 1);
  return traits_type::not_eof(c);
}

int CheckedStdout::sync() {
  Flush();
  return 0;
}

void CheckOutput() {
  if (const int error = Foreseen()) throw OutputError(error);
}

bool OutputGone() { return Foreseen() != 0; }

void HoldStandardStreams() {
  for (const auto& [fd, flags] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}})
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", flags);
}

}  // namespace suf::apps
