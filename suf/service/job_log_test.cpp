#include "suf/service/job_log.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <latch>
#include <nlohmann/json.hpp>
#include <random>

#include "suf/base/digest.hpp"
#include "suf/service/log_test.hpp"

namespace suf::service {
namespace {

// Limits the files of this process, as on a full disk, for its own lifetime.
class FullDisk {
 public:
  explicit FullDisk(uint64_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

std::string HexOf(uint8_t first, size_t bytes) {
  Bytes v(bytes);
  v[0] = first;
  return Hex(v);
}

TEST(JobLog, ALineHasTheFieldsOfAJob) {
  const Scratch dir(kFastDisk);
  {
    JobLog log(dir / "log", StillOptions());
    EXPECT_EQ(log.last(), Hash{});
    log.Add(LoggedJob(7));
    EXPECT_EQ(
        log.last(),
        HashOf({AsView(LinesOf(TextOfFile(dir / "log"))[0]).first(LinesOf(TextOfFile(dir / "log"))[0].size() - 1)}));
    log.Add(LoggedJob(8));
  }
  const auto lines = LinesOf(TextOfFile(dir / "log"));
  ASSERT_EQ(lines.size(), 2u);
  const auto expected = [](int number, const std::string& prev, int serial) {
    return Str(R"({"schema":"suf.log/1","n":)", number, R"(,"prev":")", prev,
               R"(","time":"2026-11-28T15:03:46.123Z","role":"model","owner":"ann","data_owner":")", HexOf(1, 32),
               R"(","lane":")", HexOf(2, 16), R"(","serial":)", serial,
               R"(,"job":{"tokens":32,"texts":2,"variant":1},"plan":")", HexOf(3, 32), R"(","weights":")", HexOf(4, 32),
               R"(","outcome":"done"})", "\n");
  };
  EXPECT_EQ(lines[0], expected(1, HexOf(0, 32), 7));
  const std::string& first = lines[0];
  EXPECT_EQ(lines[1], expected(2, Hex(HashOf({AsView(first).first(first.size() - 1)})), 8));
  struct stat s {};
  ASSERT_EQ(stat((dir / "log").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600u);
}

TEST(JobLog, LinesOfADealerOfARefusalAndOfAReceipt) {
  const Scratch dir(kFastDisk);
  {
    JobLog log(dir / "log", StillOptions());
    JobRecord dealt = LoggedJob(1);
    dealt.role = Role::kDealer;
    dealt.owner.clear();
    dealt.model_owner = Hash{9};
    log.Add(dealt);
    JobRecord refused;
    refused.owner = "unlisted";
    refused.outcome = JobOutcome::kRefused;
    refused.reason = net::Refusal::kPartnerGone;
    log.Add(refused);
    JobRecord signed_for = LoggedJob(2);
    signed_for.audit = true;
    signed_for.outcome = JobOutcome::kBroken;
    signed_for.receipt = {{"signature", "3045"}};
    log.Add(signed_for);
  }
  const auto lines = LinesOf(TextOfFile(dir / "log"));
  ASSERT_EQ(lines.size(), 3u);
  const auto dealt = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(dealt["role"], "dealer");
  EXPECT_EQ(dealt["model_owner"], HexOf(9, 32));
  EXPECT_EQ(dealt["data_owner"], HexOf(1, 32));
  EXPECT_FALSE(dealt.contains("owner"));
  const auto refused = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(refused["outcome"], "refused");
  EXPECT_EQ(refused["reason"], "partner-gone");
  EXPECT_EQ(refused["owner"], "unlisted");
  for (const char* absent : {"serial", "lane", "job", "weights", "audit", "receipt"})
    EXPECT_FALSE(refused.contains(absent)) << absent;
  const auto receipt = nlohmann::json::parse(lines[2]);
  EXPECT_EQ(receipt["outcome"], "broken");
  EXPECT_EQ(receipt["audit"], true);
  EXPECT_EQ(receipt["receipt"]["signature"], "3045");
  EXPECT_TRUE(IsWhole({dir / "log"}, 3));
}

TEST(JobLog, NoOwnersNameBreaksALine) {
  const Scratch dir(kFastDisk);
  {
    JobLog log(dir / "log", StillOptions());
    for (const char* name : {"a\nb", "\"},{", "\xc3\xa9\xe2\x80\xa8\xe2\x80\xae", "\xff\x00"}) {
      JobRecord r = LoggedJob(1);
      r.owner = name;
      log.Add(r);
    }
  }
  const std::string text = TextOfFile(dir / "log");
  EXPECT_EQ(LinesOf(text).size(), 4u);
  for (char c : text) EXPECT_TRUE((c >= ' ' && c <= '~') || c == '\n');
  EXPECT_EQ(nlohmann::json::parse(LinesOf(text)[0])["owner"], "a\nb");
  EXPECT_TRUE(IsWhole({dir / "log"}, 4));
}

TEST(JobLog, ALineThatIsTooLongIsLostAndCounted) {
  const Scratch dir(kFastDisk);
  std::vector<std::string> notices;
  {
    JobLog log(dir / "log", StillOptions(&notices));
    JobRecord r = LoggedJob(1);
    r.receipt["signature"].assign(64 << 10, 'x');
    log.Add(r);
    log.Add(LoggedJob(2));
  }
  EXPECT_EQ(notices.size(), 1u);
  EXPECT_TRUE(IsWhole({dir / "log"}, 1));
  EXPECT_EQ(CheckLogs({dir / "log"}).lost, 1u);
}

TEST(JobLog, TheChainGoesOnAfterAStart) {
  const Scratch dir(kFastDisk);
  AddJobs(dir / "log", 1, 3);
  const Hash last = CheckLogs({dir / "log"}).last;
  {
    JobLog log(dir / "log", StillOptions());
    EXPECT_EQ(log.last(), last);
    log.Add(LoggedJob(4));
    EXPECT_NE(log.last(), last);
  }
  EXPECT_TRUE(IsWhole({dir / "log"}, 4));
}

// A crash in the middle of a write leaves any part of the last line.
TEST(JobLog, AnIncompleteLineIsCutOff) {
  const Scratch dir(kFastDisk);
  AddJobs(dir / "log", 1, 3);
  const std::string whole = TextOfFile(dir / "log");
  const size_t last = LinesOf(whole)[2].size();
  for (size_t cut = 1; cut < last; ++cut) {
    PutText(dir / "log", whole.substr(0, whole.size() - cut));
    std::vector<std::string> notices;
    JobLog log(dir / "log", StillOptions(&notices));
    ASSERT_EQ(notices.size(), 1u) << cut;
    EXPECT_NE(notices[0].find(Str("its ", last - cut, " byte")), std::string::npos) << notices[0];
    log.Add(LoggedJob(3));
    log.Close();
    ASSERT_EQ(TextOfFile(dir / "log"), whole) << cut;
  }
}

// The first line of a renamed log's successor holds the end of the chain, which a crash must not lose.
TEST(JobLog, AnIncompleteFirstLineKeepsTheChain) {
  const Scratch dir(kFastDisk);
  AddJobs(dir / "log", 1, 2);
  const auto lines = LinesOf(TextOfFile(dir / "log"));
  PutText(dir / "log.1", lines[0]);
  const size_t chained = lines[1].find(",\"time\"");
  for (size_t left = 1; left < lines[1].size(); ++left) {
    PutText(dir / "log", lines[1].substr(0, left));
    AddJobs(dir / "log", 2, 2);
    if (left >= chained) {
      ASSERT_EQ(TextOfFile(dir / "log"), lines[1]) << left;
    } else if (left + 1 < chained) {  // the last quote alone may be missing
      ASSERT_EQ(CheckLogs({dir / "log.1", dir / "log"}).fault_count, 1u) << left;
    }
    EXPECT_TRUE(IsWhole({dir / "log"}, 1));
  }
}

TEST(JobLog, ZerosOfALossOfPowerAreCutOff) {
  const Scratch dir(kFastDisk);
  AddJobs(dir / "log", 1, 3);
  const std::string whole = TextOfFile(dir / "log");
  const auto lines = LinesOf(whole);
  std::string holed = lines[2];
  std::fill(holed.begin() + 100, holed.begin() + 200, '\0');
  for (const std::string& tail : {lines[2] + std::string(5000, '\0'), std::string(5000, '\0'), holed, holed + "{"}) {
    PutText(dir / "log", lines[0] + lines[1] + tail);
    std::vector<std::string> notices;
    JobLog log(dir / "log", StillOptions(&notices));
    EXPECT_EQ(notices.size(), 1u);
    if (!tail.starts_with(lines[2])) log.Add(LoggedJob(3));
    log.Close();
    EXPECT_EQ(TextOfFile(dir / "log"), whole);
  }
}

TEST(JobLog, RefusesAFileThatIsNoLog) {
  const Scratch dir(kFastDisk);
  const auto open = [](const std::string& path) { JobLog log(path, StillOptions()); };
  PutText(dir / "text", "the dog\n");
  EXPECT_TRUE(Fails(Cause::kInput, "text is no log of jobs; name one", [&] { open(dir / "text"); }));
  PutText(dir / "json", "{\"schema\":\"suf.simulate/1\",\"i\":0}\n");
  EXPECT_TRUE(Fails(Cause::kInput, "is no log of jobs", [&] { open(dir / "json"); }));
  PutText(dir / "empty lines", "\n\n");
  EXPECT_TRUE(Fails(Cause::kInput, "is no log of jobs", [&] { open(dir / "empty lines"); }));
  EXPECT_TRUE(Fails(Cause::kInput, "is a folder; name a file", [&] { open(dir.path); }));
  EXPECT_TRUE(Fails(Cause::kInput, "is no ordinary file; name a file", [&] { open("/dev/full"); }));
  EXPECT_TRUE(Fails(Cause::kResource, "cannot open", [&] { open(dir / "none/log"); }));

  AddJobs(dir / "log", 1, 2);
  const std::string whole = TextOfFile(dir / "log");
  ASSERT_EQ(symlink((dir / "log").c_str(), (dir / "link").c_str()), 0);
  EXPECT_TRUE(Fails(Cause::kRefused, "is a symbolic link", [&] { open(dir / "link"); }));
  chmod((dir / "log").c_str(), 0620);
  EXPECT_TRUE(Fails(Cause::kRefused, "another user of this machine can change the file", [&] { open(dir / "log"); }));
  chmod((dir / "log").c_str(), 0640);  // others may read it
  EXPECT_NO_THROW(open(dir / "log"));
  {
    const JobLog first(dir / "log", StillOptions());
    EXPECT_TRUE(Fails(Cause::kResource, "another process writes the log", [&] { open(dir / "log"); }));
  }
  PutText(dir / "log", whole + "{}\n");
  EXPECT_TRUE(Fails(Cause::kRefused, "the last line of the log", [&] { open(dir / "log"); }));
  for (const char* end : {"", "\n"}) {
    PutText(dir / "log", whole + std::string(200 << 10, 'x') + end);
    EXPECT_TRUE(Fails(Cause::kInput, "is no log of jobs", [&] { open(dir / "log"); }));
    PutText(dir / "log", LinesOf(whole)[0].substr(0, 30) + std::string(64 << 10, 'x') + end);
    EXPECT_TRUE(Fails(Cause::kInput, "is no log of jobs", [&] { open(dir / "log"); }));
  }
  chmod(dir.path.c_str(), 0777);
  EXPECT_TRUE(Fails(Cause::kRefused, "another user of this machine can change the file", [&] { open(dir / "new"); }));
  EXPECT_NE(access((dir / "new").c_str(), F_OK), 0);  // it is removed again
}

TEST(JobLog, AStartReadsTheEndAlone) {
  const Scratch dir(kFastDisk);
  AddJobs(dir / "log", 1, 2);
  const auto lines = LinesOf(TextOfFile(dir / "log"));
  const uint64_t size = uint64_t{1} << 30;  // with a hole
  {
    Fd fd(open((dir / "log").c_str(), O_WRONLY));
    ASSERT_EQ(ftruncate(fd.get(), 0), 0);
    const std::string end = "\n" + lines[1];
    ASSERT_EQ(pwrite(fd.get(), lines[0].data(), lines[0].size(), 0), ssize_t(lines[0].size()));
    ASSERT_EQ(pwrite(fd.get(), end.data(), end.size(), off_t(size - end.size())), ssize_t(end.size()));
  }
  const auto bytes_read = [] {
    uint64_t n = 0;
    std::string word;
    std::ifstream in("/proc/self/io");
    while (in >> word && word != "rchar:") continue;
    in >> n;
    return n;
  };
  const uint64_t before = bytes_read();
  JobLog log(dir / "log", StillOptions());
  EXPECT_LT(bytes_read() - before, uint64_t{300} << 10);
  EXPECT_EQ(log.last(), HashOf({AsView(lines[1]).first(lines[1].size() - 1)}));
}

TEST(JobLog, ReopenContinuesTheChainInANewFile) {
  const Scratch dir(kFastDisk);
  const auto rotate = [&] {
    for (int i = 2; i > 0; --i) std::rename((dir / Str("log.", i)).c_str(), (dir / Str("log.", i + 1)).c_str());
    ASSERT_EQ(std::rename((dir / "log").c_str(), (dir / "log.1").c_str()), 0);
  };
  JobLog log(dir / "log", StillOptions());
  log.Add(LoggedJob(1));
  EXPECT_EQ(log.Reopen(), std::nullopt) << "nothing was renamed";
  log.Add(LoggedJob(2));
  EXPECT_TRUE(IsWhole({dir / "log"}, 2));
  rotate();
  log.Add(LoggedJob(3));  // before the signal
  const Hash end = log.last();
  EXPECT_EQ(log.Reopen(), end);
  log.Add(LoggedJob(4));
  rotate();
  PutText(dir / "log", "");  // as some rotations do
  log.Reopen();
  log.Add(LoggedJob(5));
  EXPECT_TRUE(IsWhole({dir / "log.2", dir / "log.1", dir / "log"}, 5));

  rotate();
  AddJobs(dir / "log", 1, 1);
  EXPECT_TRUE(Fails(Cause::kRefused, "has lines of another log", [&] { log.Reopen(); }));
  log.Add(LoggedJob(6));  // into the old file
  EXPECT_TRUE(IsWhole({dir / "log.3", dir / "log.2", dir / "log.1"}, 6));
  std::filesystem::remove(dir / "log");
  log.Reopen();
  log.Add(LoggedJob(7));
  log.Close();
  EXPECT_TRUE(IsWhole({dir / "log.3", dir / "log.2", dir / "log.1", dir / "log"}, 7));
}

TEST(JobLog, AFileThatIsGoneIsNoticedOnce) {
  for (const bool replaced : {false, true}) {
    const Scratch dir(kFastDisk);
    std::vector<std::string> notices;
    JobLog::Options options = StillOptions();
    options.notice = [&](const std::string& n) { notices.push_back(n); };
    JobLog log(dir / "log", std::move(options));
    log.Add(LoggedJob(1));
    std::filesystem::remove(dir / "log");
    if (replaced) PutText(dir / "log", "");
    log.Add(LoggedJob(2));
    log.Close();
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_NE(notices[0].find("log was removed or renamed, and lines go to its old file"), std::string::npos);
  }
}

// A program that copies the file and then empties it.
TEST(JobLog, TheChainGoesOnInAnEmptiedFile) {
  const Scratch dir(kFastDisk);
  JobLog log(dir / "log", StillOptions());
  log.Add(LoggedJob(1));
  std::filesystem::copy(dir / "log", dir / "log.1");
  ASSERT_EQ(truncate((dir / "log").c_str(), 0), 0);
  log.Add(LoggedJob(2));
  log.Close();
  EXPECT_TRUE(IsWhole({dir / "log.1", dir / "log"}, 2));
}

TEST(JobLog, TwoThreadsAdd) {
  const Scratch dir(kFastDisk);
  constexpr uint64_t kEach = 300;
  JobLog::Options options = StillOptions();
  options.interval = std::chrono::milliseconds(1);
  JobLog log(dir / "log", options);
  const auto add = [&](uint64_t first) {
    for (uint64_t i = 0; i < kEach; ++i) log.Add(LoggedJob(first + i));
  };
  { std::jthread one(add, 1000), two(add, 2000); }
  log.Close();
  EXPECT_TRUE(IsWhole({dir / "log"}, 2 * kEach));
  uint64_t next[] = {1000, 2000};
  for (const std::string& line : LinesOf(TextOfFile(dir / "log"))) {
    const uint64_t serial = nlohmann::json::parse(line)["serial"];
    EXPECT_EQ(serial, next[serial / 1000 - 1]++);
  }
}

TEST(JobLog, OneSyncServesManyLines) {
  const Scratch dir(kFastDisk);
  int syncs = 0;
  JobLog::Options options = StillOptions();
  options.sync = [&](int fd) {
    ++syncs;
    return fdatasync(fd);
  };
  JobLog log(dir / "log", options);
  for (uint64_t i = 0; i < 100; ++i) log.Add(LoggedJob(i));
  EXPECT_EQ(syncs, 0);
  log.Close();
  EXPECT_EQ(syncs, 1);
  EXPECT_TRUE(IsWhole({dir / "log"}, 100));
}

// While the disk syncs, lines are added. Each sync is counted, and no time is measured.
TEST(JobLog, AThreadSyncsWithoutDelayingLines) {
  const Scratch dir(kFastDisk);
  std::atomic<int> syncs{0};
  std::latch begun{1}, more{1}, again{1};
  JobLog::Options options = StillOptions();
  options.interval = std::chrono::milliseconds(1);
  options.sync = [&](int) {
    if (++syncs == 1) {
      begun.count_down();
      more.wait();
    } else if (syncs == 2) {
      again.count_down();
    }
    return 0;
  };
  JobLog log(dir / "log", options);
  log.Add(LoggedJob(1));
  begun.wait();
  for (uint64_t i = 2; i <= 10; ++i) log.Add(LoggedJob(i));
  EXPECT_TRUE(IsWhole({dir / "log"}, 10));
  EXPECT_EQ(syncs, 1);
  more.count_down();
  again.wait();
  log.Close();  // nothing is left
  EXPECT_EQ(syncs, 2);
}

TEST(JobLog, AFullDiskDelaysLinesAndLosesNone) {
  const Scratch dir(kFastDisk);
  std::vector<std::string> notices;
  JobLog log(dir / "log", StillOptions(&notices));
  log.Add(LoggedJob(1));
  const uint64_t line = std::filesystem::file_size(dir / "log");
  EXPECT_TRUE(log.writable());
  const Hash last = [&] {
    const FullDisk full(2 * line + line / 2);
    log.Add(LoggedJob(2));
    EXPECT_TRUE(log.writable());
    const Hash written = log.last();
    for (uint64_t i = 3; i <= 5; ++i) log.Add(LoggedJob(i));
    EXPECT_FALSE(log.writable());
    EXPECT_EQ(log.last(), written);
    return written;
  }();
  EXPECT_EQ(std::filesystem::file_size(dir / "log"), 2 * line);  // no half of a line is left
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("cannot write the log"), std::string::npos);
  EXPECT_NE(notices[0].find("File too large"), std::string::npos);
  log.Add(LoggedJob(6));
  EXPECT_NE(log.last(), last);
  log.Close();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_NE(notices[1].find("is written again"), std::string::npos);
  EXPECT_TRUE(IsWhole({dir / "log"}, 6));
}

TEST(JobLog, TheThreadWritesAgainWhenTheDiskHasSpace) {
  const Scratch dir(kFastDisk);
  std::latch again{1};
  JobLog::Options options = StillOptions();
  options.interval = std::chrono::milliseconds(1);
  options.notice = [&](const std::string& sentence) {
    if (sentence.ends_with("is written again")) again.count_down();
  };
  JobLog log(dir / "log", options);
  {
    const FullDisk full(100);
    log.Add(LoggedJob(1));
    EXPECT_FALSE(log.writable());
  }
  again.wait();
  EXPECT_TRUE(log.writable());
  EXPECT_TRUE(IsWhole({dir / "log"}, 1));
}

TEST(JobLog, LinesBeyondTheMemoryAreLostAndCounted) {
  const Scratch dir(kFastDisk);
  std::vector<std::string> notices;
  {
    JobLog log(dir / "log", StillOptions(&notices));
    {
      const FullDisk full(100);
      for (uint64_t i = 0; i < JobLog::kMostWaiting + 3; ++i) log.Add(LoggedJob(i));
    }
    EXPECT_EQ(notices.size(), 1u);
    log.Add(LoggedJob(1));  // the queue is full until the next sync
    std::rename((dir / "log").c_str(), (dir / "log.1").c_str());
    log.Reopen();
    log.Add(LoggedJob(2));
  }
  const LogCheck check = CheckLogs({dir / "log.1", dir / "log"});
  EXPECT_EQ(check.fault_count, 0u);
  EXPECT_EQ(check.lines, JobLog::kMostWaiting + 1);
  EXPECT_EQ(check.lost, 4u);

  notices.clear();
  const FullDisk full(std::filesystem::file_size(dir / "log"));
  JobLog log(dir / "log", StillOptions(&notices));
  log.Add(LoggedJob(1));
  log.Add(LoggedJob(2));
  log.Close();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_NE(notices[1].find("lacks the last 2 lines"), std::string::npos) << notices[1];
  EXPECT_EQ(log.last(), check.last);
}

// More lines than wait at most, on a healthy disk: Add syncs them itself.
TEST(JobLog, ManyLinesBetweenSyncsAreKept) {
  const Scratch dir(kFastDisk);
  int syncs = 0;
  JobLog::Options options = StillOptions();
  options.sync = [&](int) {
    ++syncs;
    return 0;
  };
  JobLog log(dir / "log", options);
  for (uint64_t i = 0; i <= JobLog::kMostWaiting; ++i) log.Add(LoggedJob(i));
  EXPECT_EQ(syncs, 1);
  log.Close();
  EXPECT_EQ(syncs, 2);
  EXPECT_TRUE(IsWhole({dir / "log"}, JobLog::kMostWaiting + 1));
}

// After a failed sync the kernel may drop pages and report no further error.
TEST(JobLog, LinesOfAFailedSyncAreWrittenAgain) {
  const Scratch dir(kFastDisk);
  std::vector<std::string> notices;
  int syncs = 0;
  uint64_t durable = 0;
  JobLog::Options options = StillOptions(&notices);
  options.sync = [&](int) {
    if (++syncs != 2) return 0;
    Fd fd(open((dir / "log").c_str(), O_WRONLY));
    const std::string zeros(std::filesystem::file_size(dir / "log") - durable, '\0');
    EXPECT_EQ(pwrite(fd.get(), zeros.data(), zeros.size(), off_t(durable)), ssize_t(zeros.size()));
    errno = EIO;
    return -1;
  };
  JobLog log(dir / "log", options);
  log.Add(LoggedJob(1));
  std::rename((dir / "log").c_str(), (dir / "log.1").c_str());
  log.Reopen();  // syncs once
  ASSERT_EQ(syncs, 1);
  for (uint64_t i = 2; i < 2 + JobLog::kMostWaiting; ++i) log.Add(LoggedJob(i));
  log.Add(LoggedJob(1));  // syncs, as too many lines wait, and fails
  EXPECT_EQ(syncs, 2);
  EXPECT_FALSE(log.writable());
  log.Close();
  EXPECT_EQ(syncs, 3);
  ASSERT_EQ(notices.size(), 3u);
  EXPECT_NE(notices[0].find("cannot sync the log"), std::string::npos);
  EXPECT_NE(notices[1].find("is written again"), std::string::npos);
  EXPECT_NE(notices[2].find("lacks the last 1 line"), std::string::npos);
  EXPECT_TRUE(IsWhole({dir / "log.1", dir / "log"}, 1 + JobLog::kMostWaiting));
}

TEST(JobLog, LinesAfterCloseAreReported) {
  const Scratch dir(kFastDisk);
  std::vector<std::string> notices;
  JobLog log(dir / "log", StillOptions(&notices));
  log.Add(LoggedJob(1));
  log.Close();
  EXPECT_FALSE(log.writable());
  EXPECT_TRUE(notices.empty());
  log.Add(LoggedJob(2));
  log.Close();
  log.Reopen();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("after its log"), std::string::npos);
  EXPECT_EQ(log.last(), CheckLogs({dir / "log"}).last);
}

// A child that adds lines is killed at a random place. It reports each line that Add has written.
TEST(JobLog, ACrashLosesNoWrittenLine) {
  const Scratch dir(kFastDisk);
  std::mt19937 random(1);
  uint64_t known = 0;
  for (int round = 0; round < 25; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      JobLog log(dir / "log", StillOptions());
      for (uint64_t i = 0;; ++i) {
        log.Add(LoggedJob(i));
        if (write(ends[1], "x", 1) != 1) _exit(1);
      }
    }
    close(ends[1]);
    const Fd reports(ends[0]);
    char byte = 0;
    for (uint32_t lines = 1 + random() % 30; lines; --lines) {
      ASSERT_EQ(read(reports.get(), &byte, 1), 1);
      ++known;
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(reports.get(), &byte, 1) == 1) ++known;
    { const JobLog repaired(dir / "log", StillOptions()); }
    const LogCheck check = CheckLogs({dir / "log"});
    ASSERT_EQ(check.fault_count, 0u) << check.faults[0].what;
    ASSERT_GE(check.lines, known);
    ASSERT_LE(check.lines, known + 1);  // the last one may be unreported
    known = check.lines;
  }
}

}  // namespace
}  // namespace suf::service
