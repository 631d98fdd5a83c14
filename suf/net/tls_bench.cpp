// One TLS link on the loopback: hand-shake, round trip of a short frame, throughput of 1 MiB frames. Checked before
// timed.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"
#include "suf/store/bundle.hpp"

int main() {
  using namespace suf;
  using namespace suf::net;
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
  char name[] = "/tmp/suf_tls_bench_XXXXXX";
  std::string dir = mkdtemp(name);
  MakeCerts(dir + "/c");
  Credentials dealer(dir + "/c/dealer"), data(dir + "/c/data");
  constexpr int kRounds = 5000, kFrames = 1024;
  Listener listener(dealer, {"127.0.0.1", 0}, {Role::kData});
  std::thread server([&] {
    listener.Run(
        [&](Channel& ch) {
          for (int i = 0; i < 2 * kRounds; ++i) ch.Send(kFirstRun, ch.Recv(kFirstRun, 64));
          for (int i = 0; i < kFrames; ++i) ch.RecvExact(kFirstRun, store::kChunkBytes);
          ch.Send(kEnd, {});
        },
        [](const Error& e) { std::fprintf(stderr, "%s\n", e.what()); });
  });
  auto t = Clock::now();
  auto ch = Dial(data, {"127.0.0.1", listener.port()}, Role::kDealer);
  double shake = seconds(t);
  auto rounds = [&] {
    for (int i = 0; i < kRounds; ++i) {
      ch->Send(kFirstRun, Bytes(64, uint8_t(i)));
      SUF_CHECK(ch->RecvExact(kFirstRun, 64)[63] == uint8_t(i));
    }
  };
  rounds();
  t = Clock::now();
  rounds();
  double trip = seconds(t) / kRounds;
  Bytes frame(store::kChunkBytes);
  t = Clock::now();
  for (int i = 0; i < kFrames; ++i) ch->Send(kFirstRun, frame);
  ch->RecvExact(kEnd, 0);
  double rate = double(kFrames) * double(store::kChunkBytes) / seconds(t) / 1e6;
  listener.Stop();
  server.join();
  std::filesystem::remove_all(dir);
  std::printf(
      "{\"bench\":\"tls loopback\",\"handshake_ms\":%.2f,\"round_trip_us\":%.1f,\"MB_per_s\":%.0f,\"hashed\":true}\n",
      shake * 1e3, trip * 1e6, rate);
}
