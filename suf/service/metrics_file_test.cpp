#include "suf/service/metrics_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stop_token>
#include <thread>
#include <vector>

#include "suf/base/scratch_test.hpp"
#include "suf/service/metrics_text_test.hpp"

namespace suf::service {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kNever{1};

std::string Content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

double Sent(const std::string& file, const std::string& process = "m") {
  return ReadMetrics(Content(file)).Of("suf_sent_bytes_total{process=\"" + process + "\",role=\"model\"}");
}

// Limits the size of files that this process writes, as a full disk does.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &old_), 0);
    const rlimit less{bytes, old_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit old_{};
  void (*signal_)(int);
};

TEST(MetricsFile, IsForOtherUsersAndNamedAfterItself) {
  const Scratch dir;
  const Metrics metrics(Role::kModel, "v");
  const mode_t had = umask(077);
  const MetricsFile file(dir / "suf-serve 1.prom", metrics, {}, kNever);
  umask(had);
  struct stat s {};
  ASSERT_EQ(stat((dir / "suf-serve 1.prom").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0644u);
  EXPECT_EQ(Sent(dir / "suf-serve 1.prom", "suf-serve 1"), 0);
}

TEST(MetricsFile, IsWrittenEveryPeriodAndAtTheEnd) {
  const Scratch dir;
  Metrics metrics(Role::kModel, "v");
  {
    const MetricsFile file(dir / "m.prom", metrics, {}, std::chrono::milliseconds(1));
    metrics.CountBytes(7, 0);
    while (Sent(dir / "m.prom") != 7) std::this_thread::yield();  // ends by ctest's time-out if it is never written
  }
  {
    const MetricsFile file(dir / "m.prom", metrics, {}, kNever);
    metrics.CountBytes(7, 0);
    EXPECT_EQ(Sent(dir / "m.prom"), 7);
  }
  EXPECT_EQ(Sent(dir / "m.prom"), 14);
}

TEST(MetricsFile, IsWholeAtAnyMoment) {
  const Scratch dir;
  Metrics metrics(Role::kModel, "v");
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back(Str("owner ", i));
  metrics.SetOwners(names);
  MetricsFile file(dir / "m.prom", metrics, {}, kNever);
  const size_t families = ReadMetrics(metrics).types.size();
  const std::jthread writer([&](const std::stop_token& stop) {
    for (size_t i = 0; !stop.stop_requested(); ++i) {
      metrics.Ended(names[i % names.size()], {.bytes_sent = 1000});
      file.Update();
    }
  });
  double last = 0;
  for (int i = 0, changes = 0; i < 200 || changes < 20; ++i) {
    const MetricsText text = ReadMetrics(Content(dir / "m.prom"));  // throws if a line is cut
    const double sent = text.Of("suf_sent_bytes_total{process=\"m\",role=\"model\"}");
    EXPECT_EQ(text.types.size(), families);
    EXPECT_GE(sent, last);
    changes += sent > last;
    last = sent;
  }
}

TEST(MetricsFile, IsRefusedIfItCannotBeWritten) {
  const Scratch dir;
  const Metrics metrics(Role::kModel, "v");
  const auto begin = [&](const std::string& name) { MetricsFile(name, metrics, {}, kNever); };
  EXPECT_TRUE(Fails(Cause::kResource, "none/m.prom (No such file or directory)", [&] { begin(dir / "none/m.prom"); }));
  fs::create_directory(dir / "folder");
  EXPECT_TRUE(Fails(Cause::kResource, "which is a folder; name another file", [&] { begin(dir / "folder"); }));
  EXPECT_TRUE(Fails(Cause::kResource, "which is no ordinary file; name another file", [&] { begin("/dev/full"); }));
  EXPECT_TRUE(Fails(Cause::kResource, "m.prom (File too large)", [&] {
    const SmallDisk small(1000);
    begin(dir / "m.prom");
  }));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path), {}), 1);  // the folder alone
}

TEST(MetricsFile, ReportsADiskThatFillsOnceAndStaysWhole) {
  const Scratch dir;
  const std::string name = dir / "m.prom";
  Metrics metrics(Role::kModel, "v");
  std::vector<std::string> reports;
  {
    MetricsFile file(
        name, metrics, [&](const std::string& message) { reports.push_back(message); }, kNever);
    const std::string old = Content(name);
    metrics.CountBytes(5, 0);
    {
      const SmallDisk small(1000);
      for (int i = 0; i < 3; ++i) file.Update();
    }
    EXPECT_EQ(reports, std::vector<std::string>{"cannot write " + name +
                                                " (File too large); the metrics there are old, and are written as "
                                                "soon as this is possible"});
    EXPECT_EQ(Content(name), old);
    EXPECT_FALSE(fs::exists(name + ".part"));
    file.Update();
    EXPECT_EQ(Sent(name), 5);
    fs::remove_all(dir.path);
    for (int i = 0; i < 3; ++i) file.Update();
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_NE(reports[1].find("(No such file or directory); the metrics"), std::string::npos) << reports[1];
  }
  EXPECT_EQ(reports.size(), 2u);  // also after the last write
}

TEST(MetricsFile, OutlivesAReportThatThrows) {
  const Scratch dir;
  const Metrics metrics(Role::kModel, "v");
  int reports = 0;
  MetricsFile file(
      dir / "m.prom", metrics,
      [&](const std::string&) {
        ++reports;
        Fail(Cause::kResource, "the log is full, too");
      },
      kNever);
  {
    const SmallDisk small(1000);
    file.Update();
  }
  EXPECT_EQ(reports, 1);
  fs::remove(dir / "m.prom");
  file.Update();
  EXPECT_EQ(Sent(dir / "m.prom"), 0);
}

}  // namespace
}  // namespace suf::service
