// The time that a shared count adds to a job. Its reservation and its confirmation are one commit of the server each.
// The table has 1,000 owners. Alternates with a statement that writes nothing.
// Also measures releases, and reservations that 8 threads of a process begin at once. Verifies before it times. Prints
// a JSON line. tests/network/postgres.py starts a server for it.
#include <algorithm>
#include <barrier>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/base/error.hpp"
#include "suf/service/postgres_counts.hpp"

namespace {

using namespace suf;
using namespace suf::service;

constexpr int kOwners = 1000, kCounts = 2000, kThreads = 8;
constexpr Amount kJob{1, 32};

// Times of one step, in seconds.
class StepTimes {
 public:
  template <class F>
  void Add(F&& f) {
    const double t = bench::Now();
    f();
    all_.push_back(bench::Now() - t);
  }
  void Add(const StepTimes& o) { all_.insert(all_.end(), o.all_.begin(), o.all_.end()); }
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

uint64_t Reserve(PostgresCounts& counts, int i) {
  return std::get<uint64_t>(counts.Reserve(OwnerOf(i), kJob, {1'000'000, 1'000'000'000}));
}

void Measure(const std::string& url, const std::string& dir) {
  PostgresCounts counts(PostgresAddress::Parse(url), dir);
  for (int i = 0; i < kOwners; ++i) counts.Confirm(Reserve(counts, i));
  bench::Verify(counts.Today(OwnerOf(5)) == kJob, "a count");
  StepTimes reserve, confirm, release, read, threads;
  for (int i = 0; i < kCounts; ++i) {
    uint64_t one = 0;
    reserve.Add([&] { one = Reserve(counts, i); });
    confirm.Add([&] { counts.Confirm(one); });
    read.Add([&] { (void)counts.Today(OwnerOf(i)); });
  }
  bench::Verify(counts.Today(OwnerOf(5)).texts == 1 + kCounts / kOwners, "a count");
  for (int i = 0; i < kCounts / 10; ++i) {
    const uint64_t one = Reserve(counts, i);
    release.Add([&] { counts.Release(one); });
  }
  std::vector<StepTimes> of(kThreads);
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
  for (const StepTimes& t : of) threads.Add(t);
  std::printf("{\"bench\":\"postgres counts\",\"owners\":%d,\"counts\":%d,\"unit\":\"us\",%s,%s,%s,%s,%s}\n", kOwners,
              kCounts, reserve.Text("reserve").c_str(), confirm.Text("confirm").c_str(),
              release.Text("release").c_str(), read.Text("read").c_str(), threads.Text("by_8_threads").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "give the URL of a database and an empty folder: postgres_counts_bench URL DIR\n");
    return 2;
  }
  Measure(argv[1], argv[2]);
}
