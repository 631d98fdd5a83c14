// SIGKILL and loss of power at every system call by which a store or the dealer's state changes the disk. Deaths also
// happen halfway through a write, and during the repairs of the next start. The linker redirects the calls (--wrap), so
// the product has no hook. The life of a store runs in a child, which notes its completed operations in shared memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdarg>
#include <optional>

#include "fuzz/fuzz.hpp"
#include "suf/store/dealer_state.hpp"
#include "suf/store/home.hpp"
#include "suf/store/witnessed_test.hpp"
#include "tests/faults/disk.hpp"

namespace suf::faults {
namespace {

using namespace net;
using namespace store;

constexpr uint64_t kSerials = 8, kBody = 2000;

// The operations that the life has completed, on which it would have acted.
struct Told {
  int calls;
  bool received[kSerials], asked[kSerials], claimed[kSerials], finished[kSerials], audited[kSerials];
  uint64_t reserved, raised;
  bool seeded, pinned, set_up, other;
  Hash seed;
};
Told* told;

enum class Death { kBefore, kTorn, kAfter, kPower };
int due = 0;  // the call at which this process dies; 0: calls are not counted
Death death;
std::optional<Disk> disk;

[[noreturn]] void Die() {
  if (death == Death::kPower) disk->Lose();
  raise(SIGKILL);
  abort();
}

// Makes one system call; `half` does a part of it.
template <class F, class H>
auto Call(F&& call, H&& half) {
  if (!due) return call();
  bool now = ++told->calls == due;
  if (now && death == Death::kTorn) half();
  if (now && death != Death::kAfter) Die();
  auto r = call();
  if (now) Die();
  return r;
}
void None() {}

std::string PathOf(int fd) { return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)); }
// Tells the disk of a sync that succeeded.
int Synced(int fd, int r) {
  if (disk && !r) disk->Sync(PathOf(fd));
  return r;
}

}  // namespace
}  // namespace suf::faults

extern "C" {
using namespace suf::faults;
int __real_open(const char*, int, ...);
int __real_mkdir(const char*, mode_t);
ssize_t __real_write(int, const void*, size_t);
int __real_fdatasync(int);
int __real_fsync(int);
int __real_rename(const char*, const char*);
int __real_unlink(const char*);
int __real_ftruncate(int, off_t);

int __wrap_open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? mode_t(va_arg(list, int)) : 0;
  va_end(list);
  if (!(flags & O_CREAT)) return __real_open(path, flags);
  return Call([&] { return __real_open(path, flags, mode); }, None);
}
int __wrap_mkdir(const char* path, mode_t mode) {
  return Call(
      [&] {
        int r = __real_mkdir(path, mode);
        if (disk && !r) disk->Sync(path);
        return r;
      },
      None);
}
ssize_t __wrap_write(int fd, const void* p, size_t n) {
  return Call([&] { return __real_write(fd, p, n); }, [&] { (void)!__real_write(fd, p, n / 2); });
}
int __wrap_fdatasync(int fd) {
  return Call([&] { return Synced(fd, __real_fdatasync(fd)); }, None);
}
int __wrap_fsync(int fd) {
  return Call([&] { return Synced(fd, __real_fsync(fd)); }, None);
}
int __wrap_rename(const char* from, const char* to) {
  if (disk) disk->Unnamed(to);
  return Call([&] { return __real_rename(from, to); }, None);
}
int __wrap_unlink(const char* path) {
  if (disk) disk->Unnamed(path);
  return Call([&] { return __real_unlink(path); }, None);
}
int __wrap_ftruncate(int fd, off_t size) {
  return Call([&] { return __real_ftruncate(fd, size); }, None);
}
}

namespace suf::faults {
namespace {

Bytes BodyOf(uint64_t serial) { return Bytes(kBody, uint8_t(serial)); }
Bytes ChunkOf(const Hash& key, View data) {
  Writer w;
  w.Raw(ChunkTags(key).Next(data));
  w.Raw(data);
  return w.Take();
}

void Put(Lane& s, uint64_t serial) {
  BundleHeader h;
  h.job = JobOf(4);
  h.serial = serial;
  h.lane = s.id();
  h.body_bytes = kBody;
  auto in = s.Receive(h, Secret(Hash{5}), EvenBody(kBody), true);
  suf::store::Add(in, ChunkOf(ChunkKey(h), BodyOf(serial)));
  in.Commit();
}

void Receive(Lane& s, uint64_t serial) {
  Put(s, serial);
  told->received[serial] = true;
}

constexpr PairId kPair{1}, kItsLane{2};
constexpr LaneId kOther{3};

void Witness(Lane& s, uint64_t serial) {
  told->asked[serial] = true;
  s.BeginWitness(serial, kItsLane);
  s.EndWitness(serial, s.ledger().witnessed(kItsLane));
}

void Claim(Lane& s, uint64_t serial, bool finish = true) {
  Witness(s, serial);
  EXPECT_EQ(suf::store::BodyOf(s.Claim(serial, EvenBody(kBody))), BodyOf(serial));
  told->claimed[serial] = true;
  if (!finish) return;
  s.Finish(serial);
  told->finished[serial] = true;
}

// Runs every operation of a store and of the dealer's state that changes the disk, and two starts.
void Life(const std::string& dir) {
  {
    DealerState dealer(dir + "/dealer");
    for (uint64_t count : {1, 3}) told->reserved = dealer.Reserve(count) + count - 1;
    dealer.AddPair(kPair);
    for (uint64_t serial : {1, 3}) {
      (void)dealer.RecordUse(kPair, kItsLane, 1, serial);
      told->raised = serial;
    }
    OneLane s(dir + "/store");
    Secret seed = s.home.LongLivedSecret("b.seed");
    std::copy(seed.view().begin(), seed.view().end(), told->seed.begin());
    told->seeded = true;
    told->pinned = s.home.Pin({Role::kDealer, Hash{9}});
    ChunkFile f = s.home.NewSetup(kLane);
    f.Add(ChunkOf(ChunkKey(Hash{1}, Hash{2}), BodyOf(0)));
    s.home.CommitSetup(std::move(f), Hash{2});
    told->set_up = true;
    for (uint64_t serial : {1, 2, 3}) Receive(s, serial);
    Claim(s, 1);
    Claim(s, 3);  // burns 2
    for (uint64_t serial : {4, 5, 6}) Receive(s, serial);
    Put(*s.home.Open({}, kOther), 3);
    told->other = true;
    Witness(s, 4);
    (void)s->Audit(4, EvenBody(kBody));
    told->audited[4] = true;
    Claim(s, 5, false);
  }
  OneLane s(dir + "/store");
  Receive(s, 7);
  Claim(s, 6, false);
  s->Burn(6);
}

// Runs f, which dies at call `at`; false if it made fewer calls.
bool InChild(const std::string& dir, int at, Death how, const std::function<void()>& f) {
  told->calls = 0;
  pid_t child = fork();
  if (!child) {
    death = how;
    disk.emplace(dir, dir + ".lost");
    due = at;
    try {
      f();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      _exit(1);
    }
    _exit(testing::Test::HasFailure());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(killed || status == 0) << "status " << status;
  return killed;
}

bool Says(const OneLane& s, const std::string& words) {
  for (const auto& n : s.notices)
    if (n.find(words) != std::string::npos) return true;
  return false;
}

// Compares ledger and bundles with the operations of the life. `first`: this is the first start after the death, so its
// notices are checked.
void CheckSerials(OneLane& s, bool first) {
  std::map<uint64_t, bool> there;
  for (const BundleHeader& h : s->Bundles()) there[h.serial] = true;
  const std::map<uint64_t, RecordKind> fates = s->ledger().LastRecords();
  uint64_t asked = 0;
  for (uint64_t k = 1; k < kSerials; ++k)
    if (told->asked[k]) asked = k;
  for (uint64_t k = 1; k < kSerials; ++k) {
    const auto fate = fates.find(k);
    const bool spent = told->claimed[k] || told->audited[k], burnt_now = Says(s, Str("bundle ", k, " was claimed"));
    EXPECT_TRUE(fate == fates.end() || fate->second == RecordKind::kBurnt) << k;
    EXPECT_FALSE(spent && (there[k] || s->ledger().floor() < k)) << k;
    EXPECT_FALSE((told->finished[k] || told->audited[k]) && burnt_now) << k;
    EXPECT_FALSE(there[k] && s->ledger().floor() >= k) << k;
    // Never requested, and not below a requested one: still there.
    EXPECT_TRUE(!told->received[k] || k <= asked || there[k]) << k;
    if (first && fate != fates.end()) {
      EXPECT_TRUE(burnt_now || Says(s, Str("was notified of bundle ", k))) << k;
    }
  }
  EXPECT_LE(s->ledger().witnessed(kItsLane), asked);
}

// Checks the state that a start finds after the death.
void Sound(const std::string& dir, bool first) {
  {
    OneLane s(dir + "/store");
    for (const char* words : {"copied", "damaged", "missing", "may have been used"})
      EXPECT_FALSE(Says(s, words)) << testing::PrintToString(s.notices);
    CheckSerials(s, first);
  }
  OneLane s(dir + "/store");  // nothing is left to repair
  EXPECT_TRUE(s.notices.empty()) << testing::PrintToString(s.notices);
  CheckSerials(s, false);
  size_t files = 0;
  for (const auto& e : std::filesystem::directory_iterator(LaneFolder(dir + "/store") + "/bundles"))
    files += e.is_regular_file();
  EXPECT_EQ(files, s->Bundles().size());
  for (const BundleHeader& h : s->Bundles()) {
    s->BeginWitness(h.serial, kItsLane);
    s->EndWitness(h.serial, s->ledger().witnessed(kItsLane));
    EXPECT_EQ(suf::store::BodyOf(s->Claim(h.serial, EvenBody(kBody))), BodyOf(h.serial));
  }
  for (uint64_t k = 1; k < kSerials; ++k) EXPECT_TRUE(!told->claimed[k] || k <= s->ledger().floor());
  EXPECT_TRUE(!told->seeded || Equal(s.home.LongLivedSecret("b.seed").view(), told->seed));
  EXPECT_EQ(s.home.LongLivedSecret("b.seed").view().size(), 32u);
  if (told->other) {
    EXPECT_EQ(s.home.Find({}, kOther)->Bundles().size(), 1u);
  }
  EXPECT_TRUE(!told->pinned || !s.home.Pin({Role::kDealer, Hash{8}}));
  EXPECT_TRUE(!told->set_up || s.home.HasSetup(Hash{2}));
  if (s.home.HasSetup(Hash{2})) {
    EXPECT_EQ(s.home.LoadSetup(Hash{1}, Hash{2}, kBody), BodyOf(0));
  }
  DealerState dealer(dir + "/dealer");
  EXPECT_GT(dealer.Reserve(1), told->reserved);
  dealer.AddPair(kPair);
  EXPECT_GE(dealer.RecordUse(kPair, kItsLane, 1, 1), told->raised);
}

struct Crash : testing::Test {
  static void SetUpTestSuite() {
    told = static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(told, MAP_FAILED);
  }
  // Runs a life that ends at call `at`.
  bool Begin(const fuzz::Folder& folder, int at, Death how) {
    *told = {};
    std::filesystem::create_directory(folder / "w");
    return InChild(folder / "w", at, how, [&] { Life(folder / "w"); });
  }
};

TEST_F(Crash, AtEveryCallLeavesASoundLedgerAndNoBundleThatServesTwice) {
  int deaths = 0;
  for (Death how : {Death::kBefore, Death::kTorn, Death::kAfter, Death::kPower})
    for (int at = 1;; ++at, ++deaths) {
      fuzz::Folder folder;
      bool died = Begin(folder, at, how);
      SCOPED_TRACE(Str("death ", int(how), " at call ", at));
      Sound(folder / "w", true);
      if (HasFailure()) return;
      if (!died) break;
    }
  EXPECT_GT(deaths, 400);
  RecordProperty("deaths", deaths);
  std::printf("%d deaths\n", deaths);
}

TEST_F(Crash, AgainWhileTheStartRepairsLeavesThemSoundToo) {
  int deaths = 0;
  for (Death how : {Death::kBefore, Death::kPower})
    for (int first = 1, done = false; !done; ++first)
      for (int at = 1;; ++at, ++deaths) {
        fuzz::Folder folder;
        done = !Begin(folder, first, Death::kBefore);
        bool died = InChild(folder / "w", at, how, [&] { OneLane s(folder / "w/store"); });
        SCOPED_TRACE(Str("death at call ", first, ", then ", int(how), " at call ", at, " of the start"));
        Sound(folder / "w", false);
        if (HasFailure()) return;
        if (!died) break;
      }
  EXPECT_GT(deaths, 1000);
  std::printf("%d deaths\n", deaths);
}

}  // namespace
}  // namespace suf::faults
