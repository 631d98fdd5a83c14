// The shared part of the benches of counts: the steps of a job, their times, and the line of results.
#pragma once
#include <algorithm>
#include <barrier>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/base/error.hpp"
#include "suf/service/counts.hpp"

namespace suf::service {

inline constexpr int kBenchOwners = 1000, kBenchCounts = 2000, kBenchThreads = 8;

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

inline std::string BenchOwner(int i) { return Str("owner-", i * 7919 % kBenchOwners); }

// Times the counts of jobs: reservation and confirmation, releases, and reservations that 8 threads begin at once. A
// step that is no count (`other`, of this name) alternates with them. Verifies before it times. Prints a JSON line.
inline void MeasureCounts(Counts& counts, const char* bench, const char* name, const std::function<void(int)>& other) {
  constexpr Amount kJob{1, 32};
  const auto reserve_one = [&](int i) {
    return std::get<uint64_t>(counts.Reserve(BenchOwner(i), kJob, {1'000'000, 1'000'000'000}));
  };
  for (int i = 0; i < kBenchOwners; ++i) counts.Confirm(reserve_one(i));
  bench::Verify(counts.Today(BenchOwner(5)) == kJob, "a count");
  StepTimes reserve, confirm, release, beside, threads;
  for (int i = 0; i < kBenchCounts; ++i) {
    uint64_t one = 0;
    reserve.Add([&] { one = reserve_one(i); });
    confirm.Add([&] { counts.Confirm(one); });
    beside.Add([&] { other(i); });
  }
  bench::Verify(counts.Today(BenchOwner(5)).texts == 1 + kBenchCounts / kBenchOwners, "a count");
  for (int i = 0; i < kBenchCounts / 10; ++i) {
    const uint64_t one = reserve_one(i);
    release.Add([&] { counts.Release(one); });
  }
  std::vector<StepTimes> of(kBenchThreads);
  {
    std::barrier begin(kBenchThreads);
    std::vector<std::jthread> all;
    for (int t = 0; t < kBenchThreads; ++t)
      all.emplace_back([&, t] {
        for (int i = 0; i < kBenchCounts / kBenchThreads; ++i) {
          begin.arrive_and_wait();
          of[size_t(t)].Add([&] { counts.Confirm(reserve_one(i)); });
        }
      });
  }
  for (const StepTimes& t : of) threads.Add(t);
  std::printf("{\"bench\":\"%s\",\"owners\":%d,\"counts\":%d,\"unit\":\"us\",%s,%s,%s,%s,%s}\n", bench, kBenchOwners,
              kBenchCounts, reserve.Text("reserve").c_str(), confirm.Text("confirm").c_str(),
              release.Text("release").c_str(), beside.Text(name).c_str(), threads.Text("by_8_threads").c_str());
}

}  // namespace suf::service
