// For tests of net only: certificates of two CAs, and a listener that records its errors.
#pragma once
#include <arpa/inet.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <thread>

#include "suf/base/file.hpp"
#include "suf/base/sanitized_test.hpp"
#include "suf/base/scratch_test.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"

namespace suf::net {

// Time limits of tests: kQuick for a silent peer, kAmple if time does not matter. A loaded machine answers within
// kQuick.
inline constexpr Millis kQuick{1000}, kAmple{60'000};

// Two runs of `suf certs`, made once: two CAs that do not know each other.
struct Certs {
  Scratch dir;
  Certs() {
    MakeCerts(dir / "a");
    MakeCerts(dir / "b");
  }
  static const Certs& Get() {
    static Certs c;
    return c;
  }
  static Credentials Of(Role r, const char* ca = "a") {
    return Credentials(Get().dir / (std::string(ca) + "/" + Name(r)));
  }
};

// A listener of the dealer in its own thread, which records its errors. Its sessions may finish.
struct TestServer {
  explicit TestServer(std::function<void(Channel&)> session, Millis timeout = kAmple,
                      std::vector<Role> peers = {Role::kModel, Role::kData}, int streams = 1)
      : listener(Certs::Of(Role::kDealer), {"127.0.0.1", 0}, std::move(peers), timeout, streams),
        thread([this, session] {
          auto engaged = [&](Channel& ch) {
            ch.Advance(PeerState::kAccepted);
            ch.Advance(PeerState::kEngaged);
            session(ch);
          };
          listener.Run(engaged, [this](const Error& e) {
            errors.push_back(e);
            ++count;
          });
        }) {}
  ~TestServer() { Join(); }
  void Join() {
    listener.Stop();
    if (thread.joinable()) thread.join();
  }
  Address address() const { return {"127.0.0.1", listener.port()}; }
  // Waits for an error and stops. Succeeds if exactly one error, of this kind, was reported.
  testing::AssertionResult Heard(Cause code, const std::string& words) {
    for (auto end = std::chrono::steady_clock::now() + kAmple; !count && std::chrono::steady_clock::now() < end;)
      std::this_thread::sleep_for(Millis{5});
    Join();
    if (errors.size() != 1) return testing::AssertionFailure() << errors.size() << " errors";
    return Fails(code, words, [&] { throw errors[0]; });
  }
  Listener listener;
  std::vector<Error> errors;
  std::atomic<int> count{0};
  std::thread thread;
};

// Returns a socket that is connected to the server and sends nothing.
inline Fd Connected(const TestServer& s) {
  Fd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(s.listener.port());
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  SUF_CHECK(connect(fd.get(), reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
  return fd;
}

inline void Echo(Channel& ch) { ch.Send(kFirstRun, ch.Recv(kFirstRun, kMaxFrame)); }

}  // namespace suf::net
