// The channel alone, TLS on the loopback: hand-shake, round trip of a short frame, throughput of 1 MiB frames of an
// inference over 1, 2 and 4 streams, tags of the transcript included. Checked before timed.
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
  constexpr int kRounds = 5000, kFrames = 1024, kAhead = 4;
  const Hash keys[2] = {RandomHash(), RandomHash()};
  for (int streams : {1, 2, 4}) {
    bool right = false;
    Listener listener(dealer, {"127.0.0.1", 0}, {Role::kData}, kTimeout, streams);
    std::thread server([&] {
      listener.Run(
          [&](Channel& ch) {
            ch.Reach(Stage::kAccepted);
            ch.TagFrames(keys[0], keys[1]);
            for (int i = 0; i < 2 * kRounds; ++i) ch.Send(kFirstRun, ch.Recv(kFirstRun, 64));
            std::vector<Bytes> rooms(kAhead, Bytes(store::kChunkBytes));
            int posted = 0;
            for (int i = 0; i < kFrames; ++i) {
              for (; posted < kFrames && posted < i + kAhead; ++posted) {
                ch.Release(rooms[size_t(posted % kAhead)]);
                ch.Post(kFirstRun, rooms[size_t(posted % kAhead)]);
              }
              ch.RecvUpTo(store::kChunkBytes);
              if (i == kAhead - 1) right = rooms[kAhead - 1] == Bytes(store::kChunkBytes, 7);
            }
            (void)ch.Transcript();
            ch.Send(kEnd, {});
          },
          [](const Error& e) { std::fprintf(stderr, "%s\n", e.what()); });
    });
    auto t = Clock::now();
    auto ch = Dial(data, {"127.0.0.1", listener.port()}, Role::kDealer, kTimeout, {}, streams);
    double shake = seconds(t);
    ch->TagFrames(keys[1], keys[0]);
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
    Bytes frame(store::kChunkBytes, 7);
    t = Clock::now();
    for (int i = 0; i < kFrames; ++i) ch->SendUpTo(kFirstRun, frame, frame.size());
    ch->RecvExact(kEnd, 0);
    double rate = double(kFrames) * double(store::kChunkBytes) / seconds(t) / 1e6;
    SUF_CHECK(right);
    listener.Stop();
    server.join();
    std::printf(
        "{\"bench\":\"tls loopback\",\"streams\":%d,\"handshake_ms\":%.2f,\"round_trip_us\":%.1f,\"MB_per_s\":%.0f,"
        "\"tagged\":true}\n",
        streams, shake * 1e3, trip * 1e6, rate);
  }
  std::filesystem::remove_all(dir);
}
