// metrics_bench [owners]: metrics of many owners, all of whom have series. Prints a JSON line. It has the memory, the
// time of a new list and of a write of the file. It also has the longest call of Ended, without and during writes.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/base/folder_test.hpp"
#include "suf/service/metrics_file.hpp"

namespace {

using suf::bench::Now;

// Returns the resident memory in MB.
double ResidentMb() {
  std::ifstream in("/proc/self/statm");
  double all = 0, resident = 0;
  in >> all >> resident;
  return resident * 4096 / 1e6;
}

// Returns the processor time of this thread in seconds.
double ThreadSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

// Returns the microseconds of the longest call of Ended until `over`.
double LongestEnded(suf::service::Metrics& metrics, const std::vector<std::string>& names,
                    const std::function<bool()>& over) {
  double longest = 0;
  for (size_t i = 0; !over(); ++i) {
    const double t = Now();
    metrics.Ended(names[i % names.size()], {.texts = 1, .tokens = 32, .waited_s = 0.01, .duration_s = 0.4});
    longest = std::max(longest, Now() - t);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return longest * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const int owners = argc > 1 ? std::max(1, std::atoi(argv[1])) : 10'000;
  const suf::Scratch dir;
  const std::string name = dir / "m.prom";
  std::vector<std::string> names;
  for (int i = 0; i < owners; ++i) names.push_back("data owner " + std::to_string(i));
  suf::service::Metrics metrics(suf::Role::kModel, "bench");
  suf::service::MetricsFile file(name, metrics, {}, std::chrono::hours(1));

  const double before = ResidentMb();
  double t = ThreadSeconds();
  metrics.SetOwners(names);
  const double set = ThreadSeconds() - t, listed = ResidentMb();
  for (const std::string& n : names) metrics.Ended(n, {});
  t = ThreadSeconds();
  metrics.SetOwners(names);
  const double reload = ThreadSeconds() - t;
  const double used = ResidentMb();
  file.Update();
  const double written = ResidentMb();

  t = ThreadSeconds();
  constexpr int kWrites = 10;
  std::vector<double> took;
  for (int i = 0; i < kWrites; ++i) {
    const double begun = Now();
    file.Update();
    took.push_back(Now() - begun);
  }
  const double cpu = (ThreadSeconds() - t) / kWrites;
  std::sort(took.begin(), took.end());

  const double until = Now() + 2;
  const double alone = LongestEnded(metrics, names, [&] { return Now() > until; });
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (int i = 0; i < kWrites; ++i) file.Update();
    over = true;
  });
  const double beside = LongestEnded(metrics, names, [&] { return over.load(); });
  writer.join();
  t = ThreadSeconds();
  constexpr int kCalls = 1'000'000;
  for (int i = 0; i < kCalls; ++i) metrics.Ended(names[size_t(i) % names.size()], {});
  const double ended = (ThreadSeconds() - t) / kCalls;
  std::printf(
      "{\"bench\":\"metrics\",\"owners\":%d,\"listed_mb\":%.2f,\"used_mb\":%.2f,\"written_mb\":%.2f,\"set_cpu_ms\":%."
      "2f,"
      "\"reload_cpu_ms\":%.2f,\"write_ms\":%.1f,\"write_cpu_ms\":%.1f,\"file_mb\":%.2f,\"ended_cpu_us\":%.2f,"
      "\"longest_ended_us\":%.0f,\"longest_ended_in_writes_us\":%.0f}\n",
      owners, listed - before, used - before, written - before, set * 1e3, reload * 1e3, took[took.size() / 2] * 1e3,
      cpu * 1e3, double(std::filesystem::file_size(name)) / 1e6, ended * 1e6, alone, beside);
}
