// Reading an owners' file of 10,000 and of 100,000 owners, and finding a key. Each size runs in a process of its own,
// whose peak of memory is that of one reading. Verifies before it times. Prints JSON lines.
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "suf/base/bench.hpp"
#include "suf/base/digest.hpp"
#include "suf/service/owners.hpp"

namespace {

using namespace suf;
using namespace suf::service;

Hash KeyOf(int i) { return HashOf({AsView(Str("owner ", i))}); }

void WriteOwners(const std::string& file, int count) {
  std::ofstream out(file);
  for (int i = 0; i < count; ++i)
    out << "[[owner]]\nname = \"owner-" << i << "\"\nkeys = [\"data=" << Hex(KeyOf(i))
        << "\"]\ntexts = 1000\ntokens = 50000\nat_once = 2\nlanes = 8\nuntil = 9999-01-01\n\n";
}

// Returns the peak of this process's memory in MB.
double Peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) * 1024 / 1e6;
  return 0;
}

void Measure(const std::string& file, int count) {
  const double before = Peak();
  const double t = bench::Now();
  const OwnerList first = OwnerList::Read(file);
  const double cold = bench::Now() - t, peak = Peak() - before, processor = double(std::clock()) / CLOCKS_PER_SEC;
  bench::Verify(first.size() == size_t(count) && first.Find(KeyOf(count / 2)) == &first.owners()[size_t(count) / 2] &&
                    !first.Find(KeyOf(count)),
                "the list");
  const double best = bench::BestSeconds([&] { (void)OwnerList::Read(file); }, 3);
  int next = 0;
  const double find = bench::BestSeconds([&] { bench::Verify(first.Find(KeyOf(next++ % count)), "a key"); });
  std::printf(
      "{\"bench\":\"owners\",\"owners\":%d,\"bytes\":%zu,\"first_ms\":%.1f,\"first_processor_ms\":%.1f,\"ms\":%.1f,"
      "\"peak_MB\":%.1f,"
      "\"find_us\":%.2f}\n",
      count, size_t(std::filesystem::file_size(file)), cold * 1e3, processor * 1e3, best * 1e3, peak, find * 1e6);
}

}  // namespace

int main() {
  char name[] = "/tmp/suf_owners_bench_XXXXXX";
  const std::string dir = mkdtemp(name);
  int status = 0;
  for (const int count : {10'000, 100'000}) {
    const std::string file = dir + "/owners.toml";
    WriteOwners(file, count);
    std::fflush(stdout);
    const pid_t child = fork();
    if (!child) {
      Measure(file, count);
      std::fflush(stdout);
      _exit(0);
    }
    bench::Verify(waitpid(child, &status, 0) == child && !status, "a reading");
  }
  std::filesystem::remove_all(dir);
}
