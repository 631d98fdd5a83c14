#include "suf/service/sqlite_counts.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "suf/base/scratch_test.hpp"

namespace suf::service {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr Day kFirst = 2026y / 11 / 28;
constexpr Amount kText{1, 32};
const Quota kTen{10, {}};

// A folder with counts, and the clock that they use. It is on a RAM disk, because counts sync each write.
struct Counted {
  std::string file() const { return dir / "counts.sqlite"; }
  void Open() {
    counts.reset();
    counts.emplace(dir.path, [this] { return now.load(); });
  }
  // Opens the counts; returns the notices.
  std::vector<std::string> Reopen() {
    Open();
    return counts->TakeNotices();
  }
  // Returns how many texts the quota admits, one after another.
  int Use(const std::string& owner, const Quota& quota) {
    int count = 0;
    for (; count < 1000; ++count) {
      const auto answer = counts->Reserve(owner, kText, quota);
      if (std::holds_alternative<RetryAfter>(answer)) break;
      counts->Confirm(std::get<uint64_t>(answer));
    }
    return count;
  }
  uint64_t Reserve(const std::string& owner, const Amount& amount = kText, const Quota& quota = {}) {
    return std::get<uint64_t>(counts->Reserve(owner, amount, quota));
  }
  uint32_t Refusal(const std::string& owner, const Amount& amount, const Quota& quota) {
    return std::get<RetryAfter>(counts->Reserve(owner, amount, quota)).seconds;
  }

  const Scratch dir{"/dev/shm"};
  std::atomic<Instant> now{kFirst + 13h};
  std::optional<SqliteCounts> counts;
};

struct SqliteCount : testing::Test, Counted {
  SqliteCount() { Open(); }
  // Runs a statement in the closed file, as an operator's program could.
  void Sql(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  int64_t Value(const std::string& sql) const {
    sqlite3* db = nullptr;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
  }
  testing::AssertionResult OpenFails(const std::string& words) {
    counts.reset();
    return Fails(Cause::kResource, words, [&] { Open(); });
  }
};

TEST_F(SqliteCount, AddsTextsAndTokensByOwner) {
  const uint64_t a = Reserve("ann"), b = Reserve("bob", {3, 100}), c = Reserve("ann", {2, 10});
  EXPECT_EQ((std::vector<uint64_t>{a, b, c}), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(counts->Today("ann"), (Amount{3, 42}));
  EXPECT_EQ(counts->Today("bob"), (Amount{3, 100}));
  EXPECT_EQ(counts->Today("cy"), Amount{});
  counts->Confirm(a);
  counts->Release(a);  // too late
  counts->Release(b);
  counts->Release(b);  // and again
  counts->Release(99);
  EXPECT_EQ(counts->Today("ann"), (Amount{3, 42}));
  EXPECT_EQ(counts->Today("bob"), Amount{});
  EXPECT_THROW(counts->Confirm(a), Bug);
  EXPECT_THROW(counts->Confirm(b), Bug);
  EXPECT_TRUE(counts->TakeNotices().empty());
}

TEST_F(SqliteCount, AdmitsExactlyTheQuota) {
  EXPECT_EQ(Use("ann", kTen), 10);
  EXPECT_EQ(Use("bob", {{}, 320}), 10);
  EXPECT_EQ(Use("cy", {7, 320}), 7);
  EXPECT_EQ(Use("dan", {10, 319}), 9);
  EXPECT_EQ(Use("ann", {11, {}}), 1);  // a quota that was raised
  EXPECT_EQ(Use("ann", {5, {}}), 0);   // and lowered
  const uint64_t held = Reserve("eve", {9, 0}, kTen);
  EXPECT_EQ(Refusal("eve", {2, 0}, kTen), 11u * 3600);
  counts->Release(held);
  Reserve("eve", {10, 0}, kTen);
  EXPECT_EQ(Refusal("eve", {1, 0}, kTen), 11u * 3600);
}

TEST_F(SqliteCount, AdmitsExactlyTheQuotaOfSearches) {
  const Quota quota{.texts = 6, .searches = 3};
  const Amount search{1, 32, 1};
  const uint64_t first = Reserve("ann", search, quota);
  (void)Reserve("ann", {2, 64, 2}, quota);
  EXPECT_EQ(counts->Today("ann"), (Amount{3, 96, 3}));
  EXPECT_EQ(Refusal("ann", search, quota), 11u * 3600);
  (void)Reserve("ann", kText, quota);  // an embedding is no search
  counts->Release(first);
  EXPECT_EQ(counts->Today("ann"), (Amount{3, 96, 2}));
  (void)Reserve("ann", search, quota);
  EXPECT_EQ(Refusal("ann", {4, 128, 4}, quota), 0u) << "the quota of a whole day does not admit it";
  (void)Reserve("ann", kText, {.searches = 1});  // a quota that was lowered holds for searches alone
  now = kFirst + 24h;
  EXPECT_EQ(counts->Today("ann"), Amount{});
  counts->Confirm(Reserve("ann", {3, 96, 3}, quota));
  EXPECT_EQ(Refusal("ann", search, quota), 86'400u);
  EXPECT_EQ(Use("ann", quota), 3);
}

// Searches and embeddings side by side, against a quota of each.
TEST_F(SqliteCount, OfSearchesIsExactUnderEightThreads) {
  const Quota quota{.texts = 100, .searches = 40};
  std::atomic<uint64_t> searches = 0, texts = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 30; ++i) {
          const Amount one{1, 32, uint64_t(t % 2)};
          const auto answer = counts->Reserve("ann", one, quota);
          if (std::holds_alternative<RetryAfter>(answer)) continue;
          if ((i + t) % 3 == 0) {
            counts->Release(std::get<uint64_t>(answer));
            continue;
          }
          counts->Confirm(std::get<uint64_t>(answer));
          ++texts;
          searches += one.searches;
        }
      });
  }
  EXPECT_EQ(counts->Today("ann"), (Amount{texts, 32 * texts, searches}));
  EXPECT_LE(searches, 40u);
  for (; searches < 40 && texts < 100; ++searches, ++texts) counts->Confirm(Reserve("ann", {1, 32, 1}, quota));
  EXPECT_EQ(Refusal("ann", {1, 32, 1}, quota), 11u * 3600);
  texts += uint64_t(Use("ann", quota));
  EXPECT_EQ(counts->Today("ann"), (Amount{100, 3200, searches}));
}

TEST_F(SqliteCount, SaysWhenToReturn) {
  Reserve("ann", {10, 1}, kTen);
  EXPECT_EQ(Refusal("ann", {1, 1}, kTen), 11u * 3600);
  now = kFirst + 24h - 1ms;
  EXPECT_EQ(Refusal("ann", {1, 1}, kTen), 1u);
  now = kFirst - 8760h;
  EXPECT_EQ(Refusal("ann", {1, 1}, kTen), 86'400u);
  // The quota of a whole day does not admit these.
  EXPECT_EQ(Refusal("ann", {11, 1}, kTen), 0u);
  EXPECT_EQ(Refusal("bob", {1, 6}, {{}, 5}), 0u);
  EXPECT_EQ(Refusal("bob", {1, 1}, {0, {}}), 0u);
  EXPECT_EQ(counts->Today("bob"), Amount{});
}

TEST_F(SqliteCount, IsExactUnderEightThreads) {
  const Quota quota{100, {}};
  std::atomic<int> reserved = 0, refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 30; ++i) {
          const auto answer = counts->Reserve("ann", kText, quota);
          if (std::holds_alternative<RetryAfter>(answer)) {
            ++refused;
          } else if ((i + t) % 3 == 0) {
            counts->Release(std::get<uint64_t>(answer));
          } else {
            counts->Confirm(std::get<uint64_t>(answer));
            ++reserved;
          }
          (void)counts->Today("ann");
        }
      });
  }
  EXPECT_EQ(counts->Today("ann").texts, uint64_t(reserved));
  reserved += Use("ann", quota);
  EXPECT_EQ(reserved, 100);
  EXPECT_EQ(counts->Today("ann"), (Amount{100, 3200}));
}

TEST_F(SqliteCount, OutlivesAProcessThatEndsOrDies) {
  counts->Confirm(Reserve("ann"));
  (void)Reserve("ann");  // neither final nor released
  EXPECT_TRUE(Reopen().empty());
  EXPECT_EQ(counts->Today("ann"), (Amount{2, 64}));
  counts.reset();
  const pid_t child = fork();
  if (!child) {
    Open();
    const uint64_t first = Reserve("ann");
    (void)Reserve("ann");
    counts->Release(first);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_GT(fs::file_size(file() + "-wal"), 0u);
  EXPECT_TRUE(Reopen().empty());
  EXPECT_EQ(counts->Today("ann"), (Amount{3, 96}));
  EXPECT_EQ(Use("ann", kTen), 7);
}

TEST_F(SqliteCount, BeginsAtZeroEachDayAndForgetsTheDayBefore) {
  for (int day = 0; day < 30; ++day) {
    now = kFirst + std::chrono::days{day} + 13h;
    EXPECT_EQ(counts->Today("ann"), Amount{});
    EXPECT_EQ(Use("ann", kTen), 10);
    (void)Reserve(Str("guest-", day));
  }
  counts.reset();
  EXPECT_EQ(Value("SELECT count(*) FROM counts"), 2);
  EXPECT_EQ(Value("SELECT count(DISTINCT day) FROM counts"), 1);
  now = kFirst + 720h + 13h;
  EXPECT_TRUE(Reopen().empty());
  counts.reset();
  EXPECT_EQ(Value("SELECT count(*) FROM counts"), 0);
}

TEST_F(SqliteCount, OfALaterDayIsNotLoweredByARelease) {
  const uint64_t held = Reserve("ann"), other = Reserve("bob");
  now = kFirst + 24h;
  (void)Reserve("ann", {1, 5});
  counts->Release(held);
  counts->Release(other);
  EXPECT_EQ(counts->Today("ann"), (Amount{1, 5}));
  EXPECT_EQ(counts->Today("bob"), Amount{});
  EXPECT_TRUE(counts->TakeNotices().empty());
}

TEST_F(SqliteCount, RefundsNothingIfTheClockIsSetBack) {
  for (const auto back : {24h, 8760h, 24h * 20'000}) {  // before 1970, too
    now = kFirst + 13h;
    counts.reset();
    for (const auto& e : fs::directory_iterator(dir.path)) fs::remove(e);
    Open();
    EXPECT_EQ(Use("ann", kTen), 10);
    now = kFirst + 13h - back;
    EXPECT_EQ(Use("ann", kTen), 0);
    EXPECT_EQ(counts->Today("ann").texts, 10u);
    (void)Reserve("bob");
    const auto notices = counts->TakeNotices();
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0],
              Str("the clock says ", DayText(DayOf(now)), ", and ", file(),
                  " has counts of 2026-11-28, whose quotas hold until that day ends; set the clock, or, if it was "
                  "wrong before, end this process and remove ",
                  file(), "*, which forgets all counts"));
    ASSERT_EQ(Reopen().size(), 1u);  // also at a start
    EXPECT_EQ(Use("ann", kTen), 0);
    EXPECT_EQ(counts->Today("bob").texts, 1u);
    now = kFirst + 24h;
    EXPECT_EQ(Use("ann", kTen), 10);
  }
}

TEST_F(SqliteCount, SaysNothingOfAClockThatIsCorrectedAtMidnight) {
  now = kFirst + 24h + 2s;
  (void)Reserve("ann");
  now = kFirst + 24h - 2s;
  (void)Reserve("ann");
  EXPECT_EQ(counts->Today("ann").texts, 2u);
  EXPECT_TRUE(counts->TakeNotices().empty());
  EXPECT_EQ(Refusal("ann", kText, {2, {}}), 86'400u);
}

// A clock that was a year ahead leaves the day there, until the operator removes the counts.
TEST_F(SqliteCount, StaysAtTheDayOfAClockThatWasAhead) {
  now = kFirst + 8760h;
  EXPECT_EQ(Use("ann", kTen), 10);
  now = kFirst + 13h;
  EXPECT_EQ(Use("ann", kTen), 0);
  EXPECT_EQ(Refusal("ann", kText, kTen), 86'400u);
  EXPECT_EQ(counts->TakeNotices().size(), 1u);
  counts.reset();
  for (const char* end : {"", "-seen"}) EXPECT_TRUE(fs::remove(file() + end));
  EXPECT_TRUE(fs::is_empty(dir.path));
  EXPECT_TRUE(Reopen().empty());
  EXPECT_EQ(Use("ann", kTen), 10);
}

// Ways in which an operator may put the file back; each begins with counts that are closed.
void PutBackUnderItsName(const Counted& c) {
  fs::copy_file(c.file(), c.dir / "copy");
  fs::remove(c.file());
  fs::rename(c.dir / "copy", c.file());
}
void PutBackByABackup(const Counted& c) {  // of an hour ago, and rename
  fs::copy_file(c.dir / "kept", c.file() + ".new");
  fs::rename(c.file() + ".new", c.file());
}
void PutBackIntoTheFile(const Counted& c) {
  std::ifstream in(c.dir / "kept", std::ios::binary);
  std::ofstream(c.file(), std::ios::binary | std::ios::trunc) << in.rdbuf();
}
void Remove(const Counted& c) { fs::remove(c.file()); }
void Empty(const Counted& c) { fs::resize_file(c.file(), 0); }
void DamageTheSight(const Counted& c) { std::ofstream(c.file() + "-seen") << "damaged"; }

TEST_F(SqliteCount, CountsTheQuotasAsUsedIfTheFileWasPutBack) {
  for (const auto put_back :
       {PutBackUnderItsName, PutBackByABackup, PutBackIntoTheFile, Remove, Empty, DamageTheSight}) {
    counts.reset();
    for (const auto& e : fs::directory_iterator(dir.path)) fs::remove(e);
    now = kFirst + 13h;
    Open();
    counts->Confirm(Reserve("ann"));
    counts.reset();
    fs::copy_file(file(), dir / "kept");
    EXPECT_TRUE(Reopen().empty());
    EXPECT_EQ(Use("ann", kTen), 9);
    counts.reset();
    put_back(*this);
    const std::vector<std::string> notice{
        Str("the file ", file(),
            " was put back, copied or removed; the quotas of 2026-11-28 count as used until that "
            "day ends in UTC")};
    for (int starts = 0; starts < 2; ++starts) {
      EXPECT_EQ(Reopen(), notice);
      EXPECT_EQ(Refusal("ann", kText, kTen), 11u * 3600);
      EXPECT_EQ(Refusal("bob", kText, {{}, 1000}), 11u * 3600);
      (void)Reserve("cy");  // no quota limits it
    }
    now = kFirst + 24h;
    EXPECT_EQ(Use("ann", kTen), 10);
    EXPECT_EQ(Use("bob", kTen), 10);
    EXPECT_TRUE(Reopen().empty());
    EXPECT_EQ(counts->Today("bob").texts, 10u);
  }
}

// A folder that goes to another machine is a new place.
TEST_F(SqliteCount, CountsTheQuotasAsUsedInACopyOfTheFolder) {
  (void)Reserve("ann");
  counts.reset();
  const Scratch other("/dev/shm");
  for (const auto& e : fs::directory_iterator(dir.path)) fs::copy(e.path(), other / e.path().filename());
  SqliteCounts copy(other.path, [&] { return now.load(); });
  EXPECT_EQ(copy.TakeNotices().size(), 1u);
  EXPECT_TRUE(std::holds_alternative<RetryAfter>(copy.Reserve("bob", kText, kTen)));
  EXPECT_TRUE(Reopen().empty());
}

// The day is kept in counts.sqlite-seen, too: a file that is put back does not bring an earlier day back.
TEST_F(SqliteCount, KeepsTheDayIfAnEarlierFileIsPutBack) {
  counts.reset();
  fs::copy_file(file(), dir / "kept");
  now = kFirst + 48h;
  Open();
  (void)Reserve("ann");
  counts.reset();
  PutBackByABackup(*this);
  now = kFirst + 13h;
  EXPECT_EQ(Reopen().size(), 2u);  // of the file and of the clock
  EXPECT_EQ(Refusal("ann", kText, kTen), 86'400u);
  now = kFirst + 24h;
  EXPECT_EQ(Refusal("ann", kText, kTen), 86'400u);
  now = kFirst + 72h;
  EXPECT_EQ(Use("ann", kTen), 10);
}

TEST_F(SqliteCount, IsPrivate) {
  const auto mode = [](const std::string& path) {
    struct stat s {};
    EXPECT_EQ(stat(path.c_str(), &s), 0) << path;
    return s.st_mode & 07777;
  };
  (void)Reserve("ann");
  for (const char* end : {"", "-wal", "-seen"}) EXPECT_EQ(mode(file() + end), 0600u) << end;
  EXPECT_FALSE(fs::exists(file() + "-shm"));
  counts.reset();
  EXPECT_FALSE(fs::exists(file() + "-wal"));
  fs::permissions(file(), fs::perms(0644));
  Open();
  EXPECT_EQ(mode(file()), 0600u);
}

TEST_F(SqliteCount, IsRefusedIfTheFileIsNotOurs) {
  counts.reset();
  const std::string damaged =
      "(it is damaged); end this process and remove the file, after which the quotas of the "
      "day count as used";
  fs::copy_file(file(), dir / "kept");
  Sql("PRAGMA user_version = 3");
  EXPECT_TRUE(OpenFails(file() + " has version 3 of the counts, and this program knows up to 2; use the program that "
                                 "wrote it, or a newer one"));
  Sql("PRAGMA user_version = 2; PRAGMA application_id = 7");
  EXPECT_TRUE(OpenFails(file() + " is a database of another program; move it elsewhere"));
  for (const char* harm : {"DROP TABLE state", "DROP TABLE counts", "DELETE FROM state", "UPDATE state SET day = -1",
                           "UPDATE state SET day = 99999999", "UPDATE state SET number = -1", "PRAGMA user_version = 0",
                           "PRAGMA user_version = 1"}) {
    PutBackIntoTheFile(*this);
    Sql(harm);
    EXPECT_TRUE(OpenFails(damaged)) << harm;
  }
  PutBackIntoTheFile(*this);
  Open();
  for (int i = 0; i < 500; ++i) (void)Reserve(Str("an-owner-with-a-long-name-", i));
  counts.reset();
  const auto size = fs::file_size(file());
  ASSERT_GT(size, 16'384u);
  {
    std::fstream f(file(), std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(std::streamoff(size) - 4096);
    f << std::string(4096, 'x');
  }
  EXPECT_TRUE(OpenFails(damaged));
  std::ofstream(file(), std::ios::trunc) << std::string(20'000, 'x');
  EXPECT_TRUE(OpenFails(damaged));
  fs::remove(file());
  EXPECT_EQ(Reopen().size(), 1u);  // the remedy
  counts.reset();
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_TRUE(OpenFails(file() + " is a folder, and counts belong into a file of this name; remove the folder"));
  fs::remove(file());
  fs::create_symlink(dir / "kept", file());
  EXPECT_TRUE(Fails(Cause::kRefused, "is a symbolic link", [&] { Open(); }));
}

TEST_F(SqliteCount, IsRefusedIfARowIsDamaged) {
  counts.reset();
  Sql(Str("INSERT INTO counts VALUES ('ann', ", (kFirst.time_since_epoch()).count(), ", -5, 0, 0), ('cy', ",
          (kFirst.time_since_epoch()).count(), ", 5, 0, -1)"));
  Open();
  EXPECT_TRUE(Fails(Cause::kResource, "damaged", [&] { (void)Reserve("ann"); }));
  EXPECT_TRUE(Fails(Cause::kResource, "damaged", [&] { (void)counts->Today("ann"); }));
  EXPECT_TRUE(Fails(Cause::kResource, "damaged", [&] { (void)counts->Today("cy"); }));
  (void)Reserve("bob");
}

// A file that the version before has written. Its counts go on, and its searches begin at 0.
TEST_F(SqliteCount, GoesOnWithAFileOfVersion1) {
  (void)Reserve("bob");
  counts.reset();
  Sql(Str(
      "DROP TABLE counts; CREATE TABLE counts (owner TEXT PRIMARY KEY, day INTEGER NOT NULL, texts INTEGER NOT NULL, "
      "tokens INTEGER NOT NULL) WITHOUT ROWID; INSERT INTO counts VALUES ('ann', ",
      kFirst.time_since_epoch().count(), ", 7, 224); PRAGMA user_version = 1"));
  for (int starts = 0; starts < 2; ++starts) {
    EXPECT_TRUE(Reopen().empty());
    EXPECT_EQ(counts->Today("ann"), (Amount{7 + uint64_t(starts), 224 + 32 * uint64_t(starts), uint64_t(starts)}));
    counts->Confirm(Reserve("ann", {1, 32, 1}, {.texts = 10, .searches = 2}));
  }
  EXPECT_EQ(Refusal("ann", {1, 32, 1}, {.searches = 2}), 11u * 3600);
  EXPECT_EQ(Use("ann", kTen), 1);
  counts.reset();
  EXPECT_EQ(Value("PRAGMA user_version"), 2);
}

// Both directions: a program that holds the file as we start, and one that comes while we count.
TEST_F(SqliteCount, IsRefusedIfAnotherProcessHasTheFile) {
  EXPECT_TRUE(Fails(Cause::kResource, "cannot count in " + file() + " (another process uses it); end that process",
                    [&] { SqliteCounts second(dir.path); }));
  (void)Reserve("ann");
  counts.reset();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE(OpenFails("(another process uses it); end that process"));
  sqlite3_close(db);
  EXPECT_TRUE(Reopen().empty());
  EXPECT_EQ(counts->Today("ann").texts, 1u);
}

// Makes SQLite's writes fail with `error` while it lives.
std::atomic<int> write_error = 0;
ssize_t FailingWrite(int fd, const void* p, size_t n, off_t at) {
  if (write_error) errno = write_error;
  return write_error ? -1 : pwrite(fd, p, n, at);
}
class FailingDisk {
 public:
  explicit FailingDisk(int error) {
    write_error = error;
    sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
    for (const char* call : {"pwrite", "pwrite64"})
      vfs->xSetSystemCall(vfs, call, reinterpret_cast<sqlite3_syscall_ptr>(FailingWrite));
  }
  ~FailingDisk() {
    write_error = 0;
    sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
    for (const char* call : {"pwrite", "pwrite64"}) vfs->xSetSystemCall(vfs, call, nullptr);
  }
};

TEST_F(SqliteCount, IsUsableAgainOnceTheDiskIs) {
  for (const auto& [error, words] : {std::pair{ENOSPC, "(the disk is full); make space on it"},
                                     {EIO, "(a read or write failed); see to the disk and its limits"},
                                     {EDQUOT, "(a read or write failed); see to the disk and its limits"}}) {
    const Amount before = counts->Today("ann");
    const uint64_t held = Reserve("ann"), kept = Reserve("ann");
    {
      const FailingDisk disk(error);
      for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(Fails(Cause::kResource, "cannot count in " + file() + " " + words, [&] { (void)Reserve("ann"); }));
      counts->Release(held);  // stays counted
      counts->Confirm(kept);
      EXPECT_EQ(counts->Today("ann").texts, before.texts + 2);
    }
    const auto notices = counts->TakeNotices();
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0], Str("a job of owner \"ann\" did not begin and stays counted, because the count cannot be "
                              "lowered: cannot count in ",
                              file(), " ", words));
    counts->Release(held);
    (void)Reserve("ann");
    EXPECT_EQ(counts->Today("ann").texts, before.texts + 3);
    EXPECT_TRUE(Reopen().empty());
    EXPECT_EQ(counts->Today("ann").texts, before.texts + 3);
  }
  counts.reset();
  const FailingDisk disk(ENOSPC);
  EXPECT_TRUE(OpenFails("(the disk is full)"));
}

TEST_F(SqliteCount, KeepsFewNoticesOfAFullDisk) {
  std::vector<uint64_t> held;
  for (int i = 0; i < 300; ++i) held.push_back(Reserve("ann"));
  const FailingDisk disk(ENOSPC);
  for (const uint64_t one : held) counts->Release(one);
  EXPECT_EQ(counts->TakeNotices().size(), 100u);
}

TEST_F(SqliteCount, NeverOverflows) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  for (const uint64_t huge : {uint64_t(INT64_MAX), uint64_t(INT64_MAX) + 1, UINT64_MAX, kMost - 1}) {
    const std::string owner = Str("o", huge);
    (void)Reserve(owner, {1, huge});
    const uint64_t second = Reserve(owner, {huge, huge});
    EXPECT_EQ(counts->Today(owner), (Amount{std::min(huge, kMost - 1) + 1, kMost}));
    counts->Release(second);  // gives back the part that was added
    EXPECT_EQ(counts->Today(owner), (Amount{1, std::min(huge, kMost)}));
    EXPECT_EQ(Refusal(owner, {UINT64_MAX, 0}, {UINT64_MAX, {}}), 11u * 3600);
    EXPECT_EQ(Refusal(owner, {1, UINT64_MAX}, {{}, 1'000'000'000'000}), 0u);
    for (int i = 0; i < 2; ++i) (void)Reserve(owner + "s", {0, 0, huge});
    EXPECT_EQ(counts->Today(owner + "s"), (Amount{0, 0, kMost}));
  }
}

TEST(Quotas, AdmitWithoutOverflow) {
  const Quota most{UINT64_MAX, UINT64_MAX};
  EXPECT_TRUE(most.Admits({0, 0}, {UINT64_MAX, UINT64_MAX}));
  EXPECT_FALSE(most.Admits({1, 0}, {UINT64_MAX, 0}));
  EXPECT_FALSE(most.Admits({0, UINT64_MAX}, {0, 1}));
  EXPECT_TRUE(Quota{}.Admits({UINT64_MAX, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}));
  EXPECT_FALSE((Quota{5, {}}.Admits({6, 0}, {1, 0})));
  EXPECT_TRUE((Quota{5, {}}.Admits({6, 0}, {0, 1}))) << "nothing is added to the texts";
  EXPECT_FALSE((Quota{.searches = 5}.Admits({0, 0, 6}, {1, 1, 1})));
  EXPECT_TRUE((Quota{.searches = 5}.Admits({0, 0, 6}, {1, 1, 0})));
  EXPECT_FALSE(Quota{}.Limits({1, 1, 1}));
  EXPECT_TRUE((Quota{{}, 5}.Limits({1, 1, 0})));
  EXPECT_FALSE((Quota{.searches = 5}.Limits({1, 1, 0})));
  EXPECT_TRUE((Quota{.searches = 5}.Limits({1, 1, 1})));
}

TEST(Amounts, OfAJobDependOnItsEntry) {
  store::Job job = store::JobOf(7, 0, 3);
  EXPECT_EQ(AmountOf(job), (Amount{3, 21, 0}));
  job.entry = store::SearchEntry(2);
  EXPECT_EQ(AmountOf(job), (Amount{3, 21, 3}));
  job.entry = store::FetchEntry(2);
  EXPECT_EQ(AmountOf(job), Amount{});
  EXPECT_EQ(AmountOf(store::JobOf(UINT32_MAX, 0, UINT32_MAX)).tokens, uint64_t{UINT32_MAX} * UINT32_MAX);
}

// A name that SQLite would take for an address, and one that is no SQL.
TEST(SqliteCountNames, AreTakenAsTheyAre) {
  const Scratch dir("/dev/shm");
  const std::string odd = dir / "file:a?mode=memory&b='";
  fs::create_directory(odd);
  for (int starts = 1; starts <= 2; ++starts) {
    SqliteCounts counts(odd);
    (void)counts.Reserve("x'); DROP TABLE counts; --", kText, {});
    EXPECT_EQ(counts.Today("x'); DROP TABLE counts; --").texts, uint64_t(starts));
  }
  EXPECT_TRUE(fs::exists(odd + "/counts.sqlite"));
}

}  // namespace
}  // namespace suf::service
