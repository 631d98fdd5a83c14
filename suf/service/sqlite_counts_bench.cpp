// The time that a count adds to a job: a reservation, which is durable, and its confirmation. The table has 1,000
// owners. Alternates with the disk alone: one write of 4 KiB and its sync.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "suf/service/counts_bench.hpp"
#include "suf/service/sqlite_counts.hpp"

namespace {

using namespace suf;
using namespace suf::service;

// Writes 4 KiB over an old block of a file, and syncs it.
void WriteOne(int fd, int i) {
  const Bytes block(4096, uint8_t(i));
  bench::Verify(pwrite(fd, block.data(), block.size(), off_t(i % 256) * 4096) == 4096 && !fdatasync(fd), "a write");
}

void Measure(const std::string& dir) {
  SqliteCounts counts(dir);
  const Fd raw(open((dir + "/raw").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  for (int i = 0; i < 256; ++i) WriteOne(raw.get(), i);
  MeasureCounts(counts, "sqlite counts", "write_and_sync", [&](int i) { WriteOne(raw.get(), i); });
}

}  // namespace

int main() {
  char name[] = "/tmp/suf_counts_bench_XXXXXX";
  const std::string dir = mkdtemp(name);
  Measure(dir);
  std::filesystem::remove_all(dir);
}
