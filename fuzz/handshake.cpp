// Fuzzes the bytes of a stranger who has shown no certificate. The first byte chooses whether the stranger connects to
// us or accepts our connection. The rest is sent, and then the stranger is silent. The code around OpenSSL is
// instrumented, OpenSSL is not.
#include "suf/net/internal/handshake.hpp"

#include <sys/socket.h>

#include "fuzz/fuzz.hpp"
#include "suf/net/certs.hpp"

SUF_FUZZ(handshake) {
  using namespace suf;
  using namespace suf::net;
  static const fuzz::Folder folder;
  static const Credentials own = [] {
    MakeCerts(folder / "c");
    return Credentials(folder / "c/model");
  }();
  const bool server = fuzz::Pull<uint8_t>(input) & 1;
  int pair[2];
  SUF_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
  struct Close {
    int fd;
    ~Close() { close(fd); }
  } stranger{pair[0]};
  SUF_CHECK(write(pair[0], input.data(), input.size()) == ssize_t(input.size()) && !shutdown(pair[0], SHUT_WR));
  (void)DoHandshake(std::make_shared<TlsLink>(own, Fd(pair[1])), server, {Role::kData}, Millis{5000}, "the stranger");
  SUF_CHECK(!"a stranger was let in");
}
