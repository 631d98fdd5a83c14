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
#include <vector>

#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"
#include "suf/store/bundle.hpp"

namespace {

using namespace suf;
using namespace suf::net;
using Clock = std::chrono::steady_clock;

constexpr int kFlights = 200, kRounds = 5000, kFrames = 1024, kAhead = 4;
constexpr size_t kSizes[] = {64 << 10, 256 << 10, 720'000, 1 << 20};

double Seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

// Exchanges kFlights frames of `bytes` bytes each way; `first` sends first. Each buffer is posted before its frame is
// due.
void Flights(Channel& ch, bool first, size_t bytes) {
  std::array<Bytes, 2> in{Bytes(bytes), Bytes(bytes)};
  Bytes out(bytes, 7);
  const auto post = [&](int i) {
    Bytes& buffer = in[size_t(i % 2)];
    ch.Release(buffer);
    ch.Post(kFirstRun, buffer);
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
  for (Bytes& buffer : in) ch.Release(buffer);
  ch.Release(out);
}

// Returns the seconds of user and system time of this process.
std::array<double, 2> Processor() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](timeval t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return {seconds(u.ru_utime), seconds(u.ru_stime)};
}

// Receives kFrames chunks of sevens, each into a buffer that was posted kAhead frames before, and reports the end.
// Verifies one of the chunks.
void ReceiveChunks(Channel& ch) {
  std::vector<Bytes> buffers(kAhead, Bytes(store::kChunkBytes));
  int posted = 0;
  for (int i = 0; i < kFrames; ++i) {
    for (; posted < kFrames && posted < i + kAhead; ++posted) {
      Bytes& buffer = buffers[size_t(posted % kAhead)];
      ch.Release(buffer);
      ch.Post(kFirstRun, buffer);
    }
    ch.RecvUpTo(store::kChunkBytes);
    if (i == kAhead - 1) SUF_CHECK(buffers[kAhead - 1] == Bytes(store::kChunkBytes, 7));
  }
  ch.Send(kEnd, {});
  for (const Bytes& buffer : buffers) ch.Release(buffer);
}

// Serves the other end of Measure.
void Serve(Channel& ch, const Hash& own, const Hash& peer) {
  ch.Advance(PeerState::kAccepted);
  ch.TagFrames(own, peer);
  for (int i = 0; i < 2 * kRounds; ++i) ch.Send(kFirstRun, ch.Recv(kFirstRun, 64));
  ReceiveChunks(ch);
  for (size_t bytes : kSizes)
    for (int pass = 0; pass < 2; ++pass) Flights(ch, false, bytes);
  (void)ch.Transcript();
  ch.Send(kEnd, {});
}

// Returns the seconds of a round trip of 64 bytes, after as many untimed ones.
double RoundTrip(Channel& ch) {
  const auto rounds = [&] {
    for (int i = 0; i < kRounds; ++i) {
      ch.Send(kFirstRun, Bytes(64, uint8_t(i)));
      SUF_CHECK(ch.RecvExact(kFirstRun, 64)[63] == uint8_t(i));
    }
  };
  rounds();
  const auto begin = Clock::now();
  rounds();
  return Seconds(begin) / kRounds;
}

// Returns the megabytes per second of chunks in one direction.
double Throughput(Channel& ch) {
  const Bytes chunk(store::kChunkBytes, 7);
  const auto begin = Clock::now();
  for (int i = 0; i < kFrames; ++i) ch.SendUpTo(kFirstRun, chunk, chunk.size());
  ch.RecvExact(kEnd, 0);
  const double seconds = Seconds(begin);
  ch.Release(chunk);
  return double(kFrames) * double(store::kChunkBytes) / seconds / 1e6;
}

// Returns the JSON of timed flights of this size, after as many untimed ones.
std::string TimeFlights(Channel& ch, size_t bytes) {
  Flights(ch, true, bytes);
  const auto before = Processor();
  const auto begin = Clock::now();
  Flights(ch, true, bytes);
  const double flight = Seconds(begin) / kFlights / 2;
  const auto after = Processor();
  const auto each = [&](size_t i) { return (after[i] - before[i]) / kFlights / 2 / double(bytes) * 1e9; };
  char text[160];
  std::snprintf(text, sizeof text, "{\"bytes\":%zu,\"us\":%.1f,\"user_ns_per_byte\":%.2f,\"system_ns_per_byte\":%.2f}",
                bytes, flight * 1e6, each(0), each(1));
  return text;
}

// Measures a session over this many streams, and prints a JSON line.
void Measure(const Credentials& dealer, const Credentials& data, int streams) {
  const Hash keys[2] = {RandomHash(), RandomHash()};
  Listener listener(dealer, {"127.0.0.1", 0}, {Role::kData}, kTimeout, streams);
  std::thread server([&] {
    listener.Run([&](Channel& ch) { Serve(ch, keys[0], keys[1]); },
                 [](const Error& e) { std::fprintf(stderr, "%s\n", e.what()); });
  });
  const auto begin = Clock::now();
  const auto ch = Dial(data, {"127.0.0.1", listener.port()}, Role::kDealer, kTimeout, {}, streams);
  const double handshake = Seconds(begin);
  ch->TagFrames(keys[1], keys[0]);
  const double trip = RoundTrip(*ch), rate = Throughput(*ch);
  std::string flights;
  for (size_t bytes : kSizes) flights += (flights.empty() ? "" : ",") + TimeFlights(*ch, bytes);
  ch->RecvExact(kEnd, 0);
  listener.Stop();
  server.join();
  std::printf(
      "{\"bench\":\"tls loopback\",\"library\":\"%s\",\"streams\":%d,\"handshake_ms\":%.2f,"
      "\"round_trip_us\":%.1f,\"MB_per_s\":%.0f,\"flights\":[%s],\"tagged\":true}\n",
      TlsLibrary().c_str(), streams, handshake * 1e3, trip * 1e6, rate, flights.c_str());
}

}  // namespace

int main() {
  char name[] = "/tmp/suf_tls_bench_XXXXXX";
  const std::string dir = mkdtemp(name);
  MakeCerts(dir + "/c");
  const Credentials dealer(dir + "/c/dealer"), data(dir + "/c/data");
  for (int streams : {1, 2, 4, 8}) Measure(dealer, data, streams);
  std::filesystem::remove_all(dir);
}
