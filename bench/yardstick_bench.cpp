// Measures this machine, for comparison: memory read by one core, and a TCP round trip of one byte. The round trip is
// on the loopback, between two processes. prg_bench and gemm_bench measure AES and float32.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "suf/base/error.hpp"

namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// Bytes a second of summing 512 MB, more than any cache holds; the best of five runs.
double ReadRate() {
  std::vector<uint64_t> words(size_t{64} << 20, 3);
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    auto t = Clock::now();
    uint64_t sum[8] = {};
    for (size_t i = 0; i < words.size(); i += 8)
      for (size_t k = 0; k < 8; ++k) sum[k] += words[i + k];
    best = std::min(best, Since(t));
    uint64_t all = 0;
    for (uint64_t s : sum) all += s;
    SUF_CHECK(all == 3 * words.size());
  }
  return double(words.size() * 8) / best;
}

// Seconds of a round trip; the median of five means.
double RoundTrip() {
  constexpr int kTrips = 4000, kRuns = 5;
  int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  SUF_CHECK(!bind(listener, reinterpret_cast<sockaddr*>(&at), size) && !listen(listener, 1) &&
            !getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size));
  pid_t child = fork();
  int s = child ? accept(listener, nullptr, nullptr) : socket(AF_INET, SOCK_STREAM, 0);
  if (!child) SUF_CHECK(!connect(s, reinterpret_cast<sockaddr*>(&at), size));
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  uint8_t byte = 7;
  if (!child) {
    while (read(s, &byte, 1) == 1 && write(s, &byte, 1) == 1) {
    }
    _exit(0);
  }
  std::vector<double> means;
  for (int run = 0; run < kRuns; ++run) {
    auto t = Clock::now();
    for (int i = 0; i < kTrips; ++i) SUF_CHECK(write(s, &byte, 1) == 1 && read(s, &byte, 1) == 1 && byte == 7);
    means.push_back(Since(t) / kTrips);
  }
  close(s);
  close(listener);
  waitpid(child, nullptr, 0);
  std::sort(means.begin(), means.end());
  return means[kRuns / 2];
}

}  // namespace

int main() {
  std::printf("{\"bench\":\"yardstick\",\"memory_read_gb_per_s\":%.1f,\"tcp_round_trip_us\":%.1f}\n", ReadRate() / 1e9,
              RoundTrip() * 1e6);
}
