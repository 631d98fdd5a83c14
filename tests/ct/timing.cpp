// ct_timing measures whether the time of a kernel depends on its secrets, for variants that valgrind does not run. It
// computes Welch's t between calls on one fixed secret and on random ones, in random order. (Reparaz, Balasch,
// Verbauwhede, Dude, is my code constant time?, 2017.) This is a measurement, not a proof, and it depends on this
// machine's clock.
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/ct/cases.hpp"

namespace suf::ct {
namespace {

// The limit of |t|: a call that leaks nothing stays below it in all but 7 of a million tests. A case above it is
// measured twice more with four times the calls. The median of three separates a leak from the machine's other work. A
// case that stays above is measured in up to kProcesses processes of its own. Each has other addresses of the heap. A
// real leak appears in all of them.
constexpr double kLimit = 4.5;
constexpr int kProcesses = 5;
constexpr double kKept[] = {1, 0.99, 0.95, 0.9, 0.75, 0.5, 0.25};  // parts of the calls kept: slow ones are noise

struct Call {
  uint64_t cycles;
  bool random;
};

uint64_t Now() {
  unsigned core;
  const uint64_t t = __rdtscp(&core);
  _mm_lfence();
  return t;
}

// |t| of the calls that took at most `limit` cycles.
double Welch(const std::vector<Call>& calls, uint64_t limit) {
  double n[2] = {}, mean[2] = {}, square[2] = {};
  for (const Call& c : calls) {
    if (c.cycles > limit) continue;
    const double d = double(c.cycles) - mean[c.random];
    mean[c.random] += d / ++n[c.random];
    square[c.random] += d * (double(c.cycles) - mean[c.random]);
  }
  if (n[0] < 100 || n[1] < 100) return 0;
  const double variance = square[0] / (n[0] - 1) / n[0] + square[1] / (n[1] - 1) / n[1];
  const double apart = std::abs(mean[0] - mean[1]);
  return variance > 0 ? apart / std::sqrt(variance) : apart > 0 ? INFINITY : 0;
}

// Writes the secrets in place, by the same instructions for both classes, so that all are cached before the call.
void Fill(const Case& c, bool random, std::mt19937_64& rng) {
  const uint64_t mask = -uint64_t{random}, byte = c.fixed * 0x0101010101010101u;
  uint64_t root = 0;
  for (auto& s : c.secrets)
    for (size_t i = 0; i < s.bytes.size(); i += 8) {
      root += 0x9e3779b97f4a7c15u;
      const uint64_t fixed = s.roots ? root : byte;
      const uint64_t word = (rng() & mask) | (fixed & ~mask);
      std::memcpy(&s.bytes[i], &word, std::min<size_t>(8, s.bytes.size() - i));
    }
  _mm_mfence();
}

// The largest |t| over the parts kept, of `calls` calls.
double Measure(const Case& c, size_t calls, std::mt19937_64& rng) {
  std::vector<Call> seen(calls);
  for (Call& call : seen) {
    call.random = rng() & 1;
    Fill(c, call.random, rng);
    const uint64_t begin = Now();
    c.run();
    call.cycles = Now() - begin;
  }
  seen.erase(seen.begin(), seen.begin() + int64_t(calls / 20));  // warming up
  std::vector<uint64_t> sorted;
  for (const Call& call : seen) sorted.push_back(call.cycles);
  std::sort(sorted.begin(), sorted.end());
  double most = 0;
  for (double kept : kKept) most = std::max(most, Welch(seen, sorted[size_t(kept * double(sorted.size() - 1))]));
  return most;
}

double MedianOfThree(const Case& c, size_t calls, double first, std::mt19937_64& rng) {
  double t[3] = {first, Measure(c, 4 * calls, rng), Measure(c, 4 * calls, rng)};
  std::sort(t, t + 3);
  return t[1];
}

// Leaks that must be found: a comparison that ends at the first difference, a table read at a secret index.
std::vector<Case> Planted() {
  std::vector<Case> planted;
  {
    Case c{"planted branch"};
    auto secret = c.Secret<uint8_t>(512), out = c.Out<uint8_t>(1);
    c.run = [=] {
      size_t i = 0;
      while (i < secret->size() && static_cast<volatile uint8_t&>((*secret)[i]) == 0) ++i;
      (*out)[0] = i == secret->size();
    };
    planted.push_back(std::move(c));
  }
  Case c{"planted index"};
  auto secret = c.Secret<uint32_t>(16), out = c.Out<uint32_t>(1);
  auto table = std::make_shared<std::vector<uint32_t>>(1 << 22);
  c.run = [=] {
    for (uint32_t s : *secret) (*out)[0] += static_cast<volatile uint32_t&>((*table)[s % table->size()]);
  };
  planted.push_back(std::move(c));
  return planted;
}

// Whether a case also stands out in a process of its own.
bool StandsOutAlone(const Case& c, ring::Isa v, size_t calls) {
  std::printf("alone: ");
  std::fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    execl("/proc/self/exe", "ct_timing", std::to_string(calls).c_str(), ring::Name(v), c.name.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  SUF_CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

// Whether a case stands out in every process.
bool Leaks(const Case& c, ring::Isa v, size_t calls) {
  for (int i = 0; i < kProcesses; ++i)
    if (!StandsOutAlone(c, v, calls)) return false;
  return true;
}

int Main(int argc, char** argv) {
  const size_t calls = argc > 1 ? size_t(std::strtoul(argv[1], nullptr, 10)) : 10'000;
  if (calls < 1000) {
    std::fprintf(stderr, "usage: ct_timing [calls a kernel, at least 1000] [variant] [part of kernels' names]\n");
    return 2;
  }
  std::mt19937_64 rng(uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()));
  int found = 0;
  for (const Case& c : Planted()) {
    const double t = Measure(c, calls, rng);
    std::printf("%s: |t| %.1f, %s\n", c.name.c_str(), t, t > kLimit ? "reported" : "NOT REPORTED");
    found += t <= kLimit;
  }
  for (ring::Isa v : argc > 2 ? std::vector<ring::Isa>{ring::VariantNamed(argv[2])} : ring::Supported()) {
    double most = 0;
    int again = 0, above = 0;
    std::string worst;
    std::vector<Case> cases = Cases(v);
    if (argc > 3) std::erase_if(cases, [&](const Case& c) { return c.name.find(argv[3]) == std::string::npos; });
    for (const Case& c : cases) {
      double t = Measure(c, calls, rng);
      if (t > kLimit) {
        ++again;
        t = MedianOfThree(c, calls, t, rng);
      }
      if (t > kLimit) {
        std::printf("%s, %s: |t| %.1f\n", ring::Name(v), c.name.c_str(), t);
        if (argc <= 3 && !Leaks(c, v, 4 * calls)) t = kLimit;
        above += t > kLimit;
      }
      if (t > most) {
        most = t;
        worst = c.name;
      }
    }
    std::printf("%s: %zu kernels, %zu calls each, largest |t| %.2f (%s); %d were measured again, %d are above %.1f\n",
                ring::Name(v), cases.size(), calls, most, worst.c_str(), again, above, kLimit);
    std::fflush(stdout);
    found += above;
  }
  return found != 0;
}

}  // namespace
}  // namespace suf::ct

int main(int argc, char** argv) {
  try {
    return suf::ct::Main(argc, argv);
  } catch (const suf::Error& e) {
    std::fprintf(stderr, "ct_timing: %s\n", e.what());
    return 2;
  }
}
