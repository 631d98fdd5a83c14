// The channel alone: TLS on the loopback, with transcript tags, over 1, 2, 4 and 8 streams. Measures the handshake, the
// round trip of a short frame and the throughput of 1 MiB frames. Exchanges frames as an inference does: time per
// flight, and processor time of both ends per byte. Verifies before it times.
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"
#include "suf/store/bundle.hpp"

namespace {

using namespace suf;
using namespace suf::net;
using Clock = std::chrono::steady_clock;

constexpr int kFlights = 200;

// Exchanges kFlights frames of `bytes` bytes each way; `first` sends first. Each buffer is posted before its frame is
// due.
void Flights(Channel& ch, bool first, size_t bytes) {
  std::array<Bytes, 2> in{Bytes(bytes), Bytes(bytes)};
  Bytes out(bytes, 7);
  const auto post = [&](int i) {
    Bytes& room = in[size_t(i % 2)];
    ch.Release(room);
    ch.Post(kFirstRun, room);
  };
  post(0);
  for (int i = 0; i < kFlights; ++i) {
    const auto send = [&] {
      ch.Release(out);
      ch.SendUpTo(kFirstRun, out, bytes);
    };
    if (first) send();
    ch.RecvUpTo(bytes);
    if (i + 1 < kFlights) post(i + 1);
    if (!first) send();
  }
  SUF_CHECK(in[0] == out && in[1] == out);
  for (Bytes& room : in) ch.Release(room);
  ch.Release(out);
}

// Returns the seconds of user and system time of this process.
std::array<double, 2> Processor() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](timeval t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return {seconds(u.ru_utime), seconds(u.ru_stime)};
}

}  // namespace

int main() {
  auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
  char name[] = "/tmp/suf_tls_bench_XXXXXX";
  std::string dir = mkdtemp(name);
  MakeCerts(dir + "/c");
  Credentials dealer(dir + "/c/dealer"), data(dir + "/c/data");
  constexpr int kRounds = 5000, kFrames = 1024, kAhead = 4;
  constexpr size_t kSizes[] = {64 << 10, 256 << 10, 720'000, 1 << 20};
  const Hash keys[2] = {RandomHash(), RandomHash()};
  for (int streams : {1, 2, 4, 8}) {
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
            ch.Send(kEnd, {});
            for (size_t bytes : kSizes)
              for (int pass = 0; pass < 2; ++pass) Flights(ch, false, bytes);
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
    std::string flights;
    for (size_t bytes : kSizes) {
      Flights(*ch, true, bytes);
      const auto before = Processor();
      t = Clock::now();
      Flights(*ch, true, bytes);
      const double one = seconds(t) / kFlights / 2;
      const auto after = Processor();
      const auto each = [&](int i) {
        return (after[size_t(i)] - before[size_t(i)]) / kFlights / 2 / double(bytes) * 1e9;
      };
      char text[160];
      std::snprintf(text, sizeof text,
                    "%s{\"bytes\":%zu,\"us\":%.1f,\"user_ns_per_byte\":%.2f,\"system_ns_per_byte\":%.2f}",
                    flights.empty() ? "" : ",", bytes, one * 1e6, each(0), each(1));
      flights += text;
    }
    ch->RecvExact(kEnd, 0);
    listener.Stop();
    server.join();
    std::printf(
        "{\"bench\":\"tls loopback\",\"library\":\"%s\",\"streams\":%d,\"handshake_ms\":%.2f,"
        "\"round_trip_us\":%.1f,\"MB_per_s\":%.0f,\"flights\":[%s],\"tagged\":true}\n",
        TlsLibrary().c_str(), streams, shake * 1e3, trip * 1e6, rate, flights.c_str());
  }
  std::filesystem::remove_all(dir);
}
