// The time that a count adds to a job: a reservation, which is durable, and its confirmation. The table has 1,000
// owners. Alternates with the disk alone: one write of 4 KiB and its sync.
// Also measures releases, and reservations that 8 threads begin at once. Verifies before it times. Prints a JSON line.
#include <fcntl.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/service/sqlite_counts.hpp"

namespace {

using namespace suf;
using namespace suf::service;

constexpr int kOwners = 1000, kCounts = 2000, kThreads = 8;
constexpr Amount kJob{1, 32};

// Times of one step, in seconds.
class Times {
 public:
  template <class F>
  void Add(F&& f) {
    const double t = bench::Now();
    f();
    all_.push_back(bench::Now() - t);
  }
  void Add(const Times& o) { all_.insert(all_.end(), o.all_.begin(), o.all_.end()); }
  // Returns the JSON of median, 90th and 99th percentile and maximum, in microseconds.
  std::string Text(const char* name) {
    std::sort(all_.begin(), all_.end());
    const auto at = [&](double share) { return all_[size_t(share * double(all_.size() - 1))] * 1e6; };
    char text[160];
    std::snprintf(text, sizeof text, "\"%s\":{\"p50\":%.0f,\"p90\":%.0f,\"p99\":%.0f,\"max\":%.0f}", name, at(0.5),
                  at(0.9), at(0.99), at(1));
    return text;
  }

 private:
  std::vector<double> all_;
};

std::string OwnerOf(int i) { return Str("owner-", i * 7919 % kOwners); }

uint64_t Reserve(SqliteCounts& counts, int i) {
  return std::get<uint64_t>(counts.Reserve(OwnerOf(i), kJob, {1'000'000, 1'000'000'000}));
}

// Writes 4 KiB over an old block of a file, and syncs it.
void WriteOne(int fd, int i) {
  const Bytes block(4096, uint8_t(i));
  bench::Verify(pwrite(fd, block.data(), block.size(), off_t(i % 256) * 4096) == 4096 && !fdatasync(fd), "a write");
}

void Measure(const std::string& dir) {
  SqliteCounts counts(dir);
  const Fd raw(open((dir + "/raw").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  for (int i = 0; i < 256; ++i) WriteOne(raw.get(), i);
  for (int i = 0; i < kOwners; ++i) counts.Confirm(Reserve(counts, i));
  bench::Verify(counts.Today(OwnerOf(5)) == kJob, "a count");
  Times reserve, confirm, release, disk, threads;
  for (int i = 0; i < kCounts; ++i) {
    uint64_t one = 0;
    reserve.Add([&] { one = Reserve(counts, i); });
    confirm.Add([&] { counts.Confirm(one); });
    disk.Add([&] { WriteOne(raw.get(), i); });
  }
  bench::Verify(counts.Today(OwnerOf(5)).texts == 1 + kCounts / kOwners, "a count");
  for (int i = 0; i < kCounts / 10; ++i) {
    const uint64_t one = Reserve(counts, i);
    release.Add([&] { counts.Release(one); });
  }
  std::vector<Times> of(kThreads);
  {
    std::barrier begin(kThreads);
    std::vector<std::jthread> all;
    for (int t = 0; t < kThreads; ++t)
      all.emplace_back([&, t] {
        for (int i = 0; i < kCounts / kThreads; ++i) {
          begin.arrive_and_wait();
          of[size_t(t)].Add([&] { counts.Confirm(Reserve(counts, i)); });
        }
      });
  }
  for (const Times& t : of) threads.Add(t);
  std::printf("{\"bench\":\"sqlite counts\",\"owners\":%d,\"counts\":%d,\"unit\":\"us\",%s,%s,%s,%s,%s}\n", kOwners,
              kCounts, reserve.Text("reserve").c_str(), confirm.Text("confirm").c_str(),
              release.Text("release").c_str(), disk.Text("write_and_sync").c_str(),
              threads.Text("by_8_threads").c_str());
}

}  // namespace

int main() {
  char name[] = "/tmp/suf_counts_bench_XXXXXX";
  const std::string dir = mkdtemp(name);
  Measure(dir);
  std::filesystem::remove_all(dir);
}
