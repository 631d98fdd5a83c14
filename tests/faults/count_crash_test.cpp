// SIGKILL and loss of power at every system call by which the counts change the disk, SQLite's own calls included. The
// program has functions of their names, which stand before libc's for the shared library, too. The life of the counts
// runs in a child, which notes its operations in shared memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <cstdarg>

#include "fuzz/fuzz.hpp"
#include "suf/base/scratch_test.hpp"
#include "suf/service/sqlite_counts.hpp"
#include "tests/faults/deaths.hpp"

namespace suf::faults {
namespace {
bool has_birth = true;  // whether statx reports times of birth

// Makes a system call whose last argument is the mode of a new file.
template <class... A>
int Open(int flags, A... arguments) {
  const auto call = [&] { return int(syscall(SYS_openat, AT_FDCWD, arguments...)); };
  return flags & O_CREAT ? Call(call, None) : call();
}
}  // namespace
}  // namespace suf::faults

extern "C" {
using namespace suf::faults;

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? mode_t(va_arg(list, int)) : 0;
  va_end(list);
  return Open(flags, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? mode_t(va_arg(list, int)) : 0;
  va_end(list);
  return Open(flags, path, flags, mode);
}
ssize_t write(int fd, const void* p, size_t n) {
  return Call([&] { return ssize_t(syscall(SYS_write, fd, p, n)); }, [&] { (void)syscall(SYS_write, fd, p, n / 2); });
}
ssize_t pwrite64(int fd, const void* p, size_t n, off64_t at) {
  return Call([&] { return ssize_t(syscall(SYS_pwrite64, fd, p, n, at)); },
              [&] { (void)syscall(SYS_pwrite64, fd, p, n / 2, at); });
}
int fdatasync(int fd) {
  return Call([&] { return Synced(fd, int(syscall(SYS_fdatasync, fd))); }, None);
}
int fsync(int fd) {
  return Call([&] { return Synced(fd, int(syscall(SYS_fsync, fd))); }, None);
}
int rename(const char* from, const char* to) noexcept {
  if (disk) disk->Unnamed(to);
  return Call([&] { return int(syscall(SYS_rename, from, to)); }, None);
}
int unlink(const char* path) noexcept {
  if (disk) disk->Unnamed(path);
  return Call([&] { return int(syscall(SYS_unlink, path)); }, None);
}
int ftruncate64(int fd, off64_t size) noexcept {
  return Call([&] { return int(syscall(SYS_ftruncate, fd, size)); }, None);
}
int statx(int dir, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  const int r = int(syscall(SYS_statx, dir, path, flags, mask, out));
  if (!r && !has_birth) out->stx_mask &= ~STATX_BTIME;
  return r;
}
}

namespace suf::faults {
namespace {

using namespace service;
using namespace std::chrono_literals;

constexpr Day kFirst = 2026y / 11 / 28;
constexpr uint64_t kMost = 6;
const Quota kQuota{kMost, {}};

// The operations that the life has begun and completed, for each of two days.
struct ToldCounts {
  uint64_t tried[2], reserved[2], confirmed[2], releasing[2], released[2];
};
ToldCounts* told;

// Counts at a given day.
class DayCounts {
 public:
  DayCounts(const std::string& dir, int day) : day_(day), counts_(dir, [this] { return Noon(); }) {}
  void Set(int day) { day_ = day; }
  SqliteCounts& operator*() { return counts_; }
  SqliteCounts* operator->() { return &counts_; }
  // Returns nothing if the quota is used up. `on` is the day on which it counts.
  std::optional<uint64_t> Reserve(int on) {
    ++told->tried[on];
    const auto answer = counts_.Reserve("ann", {1, 32}, kQuota);
    if (std::holds_alternative<RetryAfter>(answer)) return std::nullopt;
    ++told->reserved[on];
    return std::get<uint64_t>(answer);
  }
  void Job(int on) {
    const auto one = Reserve(on);
    ASSERT_TRUE(one);
    counts_.Confirm(*one);
    ++told->confirmed[on];
  }
  void Release(uint64_t one, int on) {
    ++told->releasing[on];
    counts_.Release(one);
    ++told->released[on];
  }

 private:
  Instant Noon() const { return kFirst + std::chrono::days{day_} + 12h; }
  int day_;
  SqliteCounts counts_;
};

// Runs every operation of the counts that changes the disk, two starts and two ends. The clock goes on and back.
void Life(const std::string& dir) {
  {
    DayCounts counts(dir, 0);
    for (int i = 0; i < 2; ++i) counts.Job(0);
    const auto given_back = counts.Reserve(0);
    (void)counts.Reserve(0);  // neither final nor released
    (void)counts->Reserve("bob", {1, 1}, {});
    counts.Release(given_back.value(), 0);
  }
  DayCounts counts(dir, 0);
  counts.Job(0);
  const auto of_first = counts.Reserve(0);
  counts.Set(1);
  counts.Job(1);
  const auto given_back = counts.Reserve(1);
  counts.Release(of_first.value(), 0);
  counts.Release(given_back.value(), 1);
  counts.Set(0);
  counts.Job(1);
}

// Checks the state that a start finds after the death. The clock may have gone back.
void Check(const std::string& dir) {
  const int on = told->tried[1] ? 1 : 0;
  for (int start = 0; start < 2; ++start) {
    const bool back = told->reserved[1] && start;
    DayCounts counts(dir, back ? 0 : on);
    EXPECT_EQ(counts->TakeNotices().size(), size_t(back));  // of the clock alone
    const uint64_t used = counts->Today("ann").texts;
    EXPECT_GE(used, told->reserved[on] - told->releasing[on]);
    EXPECT_LE(used, std::min(kMost, told->tried[on] - told->released[on]));
    EXPECT_GE(used, told->confirmed[on]);
    EXPECT_EQ(counts->Today("ann").tokens, 32 * used);
  }
  DayCounts counts(dir, 0);
  const uint64_t before = told->confirmed[on];
  uint64_t jobs = 0;
  counts.Set(on);
  for (; counts.Reserve(on); ++jobs) EXPECT_LT(jobs, kMost);
  EXPECT_LE(before + jobs, kMost);
  EXPECT_EQ(counts->Today("ann").texts, kMost);
}

struct CountCrash : testing::Test {
  static void SetUpTestSuite() {
    told = static_cast<ToldCounts*>(
        mmap(nullptr, sizeof(ToldCounts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(told, MAP_FAILED);
  }
  // Runs a life that ends at call `at`; returns false if it ends by itself.
  static bool Begin(const fuzz::Folder& folder, int at, Death how) {
    *told = {};
    std::filesystem::create_directory(folder / "w");
    return InChild(folder / "w", at, how, [&] { Life(folder / "w"); });
  }
  // Dies at every `step`-th call, in each way. Returns the number of deaths.
  static int Sweep(int step) {
    int deaths = 0;
    for (Death how : {Death::kBefore, Death::kTorn, Death::kAfter, Death::kPower})
      for (int at = 1 + int(how) % step;; at += step, ++deaths) {
        const fuzz::Folder folder;
        const bool died = Begin(folder, at, how);
        SCOPED_TRACE(Str("death ", int(how), " at call ", at));
        Check(folder / "w");
        if (HasFailure() || !died) break;
      }
    std::printf("%d deaths\n", deaths);
    return deaths;
  }
};

TEST_F(CountCrash, AtSomeCallsExceedsNoQuota) { EXPECT_GT(Sweep(9), 20); }

TEST_F(CountCrash, AtEveryCallExceedsNoQuota) { EXPECT_GT(Sweep(1), 200); }

TEST_F(CountCrash, AgainWhileTheStartRepairsExceedsNoQuota) {
  int deaths = 0;
  for (Death how : {Death::kBefore, Death::kPower})
    for (int first = 1, done = false; !done; first += 5)
      for (int at = 1;; ++at, ++deaths) {
        const fuzz::Folder folder;
        done = !Begin(folder, first, Death::kBefore);
        const bool died = InChild(folder / "w", at, how, [&] { DayCounts(folder / "w", told->tried[1] ? 1 : 0); });
        SCOPED_TRACE(Str("death at call ", first, ", then ", int(how), " at call ", at, " of the start"));
        Check(folder / "w");
        if (HasFailure()) return;
        if (!died) break;
      }
  EXPECT_GT(deaths, 500);
  std::printf("%d deaths\n", deaths);
}

// A start that brings a file of version 1 up to date dies at each of its calls.
TEST_F(CountCrash, WhileVersion1IsBroughtUpKeepsItsCounts) {
  int deaths = 0;
  for (Death how : {Death::kBefore, Death::kTorn, Death::kAfter, Death::kPower})
    for (int at = 1;; ++at, ++deaths) {
      const fuzz::Folder folder;
      ASSERT_FALSE(Begin(folder, INT_MAX, how));
      sqlite3* db = nullptr;
      ASSERT_EQ(sqlite3_open((folder / "w/counts.sqlite").c_str(), &db), SQLITE_OK);
      ASSERT_EQ(sqlite3_exec(db, "ALTER TABLE counts DROP COLUMN searches; PRAGMA user_version = 1", nullptr, nullptr,
                             nullptr),
                SQLITE_OK);
      sqlite3_close(db);
      const bool died = InChild(folder / "w", at, how, [&] { DayCounts(folder / "w", 1); });
      SCOPED_TRACE(Str("death ", int(how), " at call ", at));
      Check(folder / "w");
      if (HasFailure()) return;
      if (!died) break;
    }
  EXPECT_GT(deaths, 40);
  std::printf("%d deaths\n", deaths);
}

// The inode alone is compared; a notice says so.
TEST(CountsWithoutBirth, AreUsedWithANotice) {
  const Scratch dir("/dev/shm");
  has_birth = false;
  for (int starts = 0; starts < 2; ++starts) {
    DayCounts counts(dir.path, 0);
    const auto notices = counts->TakeNotices();
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0], Str("the file system of ", dir.path,
                              " keeps no times of birth, so a file of counts that is put back may go unnoticed; keep "
                              "this folder on ext4, xfs, btrfs or tmpfs"));
    EXPECT_TRUE(std::holds_alternative<uint64_t>(counts->Reserve("ann", {1, 32}, kQuota)));
    EXPECT_EQ(counts->Today("ann").texts, uint64_t(starts) + 1);
  }
  const std::string file = dir / "counts.sqlite";
  std::filesystem::copy_file(file, dir / "copy");
  std::filesystem::rename(dir / "copy", file);
  {
    DayCounts counts(dir.path, 0);
    EXPECT_EQ(counts->TakeNotices().size(), 2u);
    EXPECT_TRUE(std::holds_alternative<RetryAfter>(counts->Reserve("ann", {1, 32}, kQuota)));
  }
  has_birth = true;
}

}  // namespace
}  // namespace suf::faults
