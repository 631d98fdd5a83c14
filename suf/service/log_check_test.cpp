#include "suf/service/log_check.hpp"

#include <nlohmann/json.hpp>

#include "suf/base/digest.hpp"
#include "suf/service/log_test.hpp"

namespace suf::service {
namespace {

// A log of nine lines, and changed copies of it.
class LogChecks : public testing::Test {
 protected:
  static constexpr size_t kLines = 9;

  LogChecks() : dir_(kFastDisk) {
    AddJobs(dir_ / "log", 1, kLines);
    lines_ = LinesOf(TextOfFile(dir_ / "log"));
  }
  std::string Put(const std::string& name, const std::string& text) const {
    PutText(dir_ / name, text);
    return dir_ / name;
  }
  LogCheck Check(const std::vector<std::string>& lines) const { return CheckLogs({Put("log", Joined(lines))}); }
  static Hash HashOfLine(const std::string& line) { return HashOf({AsView(line).first(line.size() - 1)}); }
  // Puts the hashes and numbers of the lines right from line `from` on, as a forger can.
  static void Chain(std::vector<std::string>* lines, size_t from) {
    for (size_t i = from; i < lines->size(); ++i) {
      auto line = nlohmann::ordered_json::parse((*lines)[i]);
      line["n"] = i + 1;
      line["prev"] = Hex(i ? HashOfLine((*lines)[i - 1]) : Hash{});
      (*lines)[i] = line.dump() + "\n";
    }
  }

  const Scratch dir_;
  std::vector<std::string> lines_;
};

// Succeeds if there is one fault, at this line, and its sentence has these words.
testing::AssertionResult OneFault(const LogCheck& check, uint64_t line, const std::string& words) {
  if (check.fault_count != 1) {
    auto failure = testing::AssertionFailure() << check.fault_count << " faults";
    for (const LogFault& f : check.faults) failure << "\n" << f.place.line << ": " << f.what;
    return failure;
  }
  const LogFault& f = check.faults[0];
  if (f.place.line != line || f.what.find(words) == std::string::npos)
    return testing::AssertionFailure() << "line " << f.place.line << ": " << f.what;
  return testing::AssertionSuccess();
}

TEST_F(LogChecks, AWholeLogIsSummedUp) {
  const Scratch dir(kFastDisk);
  auto now = std::chrono::system_clock::time_point(std::chrono::milliseconds(1795878226123));
  {
    JobLog::Options options = StillOptions();
    options.clock = [&] { return now; };
    JobLog log(dir / "log", options);
    log.Add(LoggedJob(1));
    now += std::chrono::hours(24 * 40);
    log.Add(LoggedJob(2));
    now -= std::chrono::hours(24 * 41);  // a clock that was set back
    JobRecord refused = LoggedJob(3);
    refused.outcome = JobOutcome::kRefused;
    refused.reason = net::Refusal::kBusy;
    log.Add(refused);
  }
  const LogCheck check = CheckLogs({dir / "log"});
  EXPECT_EQ(check.fault_count, 0u);
  EXPECT_EQ(check.lines, 3u);
  EXPECT_EQ(check.first, 1u);
  EXPECT_EQ(check.end, 3u);
  EXPECT_EQ(check.outcomes, (std::array<uint64_t, 3>{2, 0, 1}));
  EXPECT_EQ(check.earliest, "2026-11-27T15:03:46.123Z");
  EXPECT_EQ(check.latest, "2027-01-07T15:03:46.123Z");
  EXPECT_EQ(check.last, HashOfLine(LinesOf(TextOfFile(dir / "log"))[2]));
}

TEST_F(LogChecks, ARemovedLineIsMissed) {
  for (size_t i = 1; i + 1 < kLines; ++i) {
    auto lines = lines_;
    lines.erase(lines.begin() + std::ptrdiff_t(i));
    EXPECT_TRUE(OneFault(Check(lines), i + 1, Str("1 line is missing before this one, from number ", i + 1)));
  }
  auto lines = lines_;
  lines.erase(lines.begin() + 2, lines.begin() + 5);
  EXPECT_TRUE(OneFault(Check(lines), 3, "3 lines are missing before this one, from number 3"));
}

// The first line may be in an older file, and the last one shows by its hash alone.
TEST_F(LogChecks, ARemovedFirstOrLastLineShowsInTheSummary) {
  LogCheck check = Check({lines_.begin() + 1, lines_.end()});
  EXPECT_EQ(check.fault_count, 0u);
  EXPECT_EQ(check.first, 2u);
  const Hash kept = HashOfLine(lines_.back());
  check = CheckLogs({Put("log", Joined({lines_.begin(), lines_.end() - 1}))}, kept);
  EXPECT_EQ(check.fault_count, 0u);
  EXPECT_FALSE(check.found);
}

TEST_F(LogChecks, ARepeatedLineIsFound) {
  for (size_t i = 0; i < kLines; ++i)
    for (size_t to = i; to < kLines; ++to) {
      auto lines = lines_;
      lines.insert(lines.begin() + std::ptrdiff_t(to) + 1, lines_[i]);
      EXPECT_TRUE(OneFault(Check(lines), to + 2, Str("the line repeats line ", i + 1)));
    }
}

TEST_F(LogChecks, SwappedLinesAreFound) {
  for (size_t i = 1; i + 1 < kLines; ++i) {
    auto lines = lines_;
    std::swap(lines[i], lines[i + 1]);
    EXPECT_TRUE(OneFault(Check(lines), i + 1, "the line and the next one have changed places"));
  }
  for (size_t i = 0; i < kLines; ++i)
    for (size_t j = i + 1; j < kLines; ++j) {
      auto lines = lines_;
      std::swap(lines[i], lines[j]);
      EXPECT_GE(Check(lines).fault_count, 1u) << i << " " << j;
    }
}

TEST_F(LogChecks, AChangedFieldNamesItsLine) {
  const nlohmann::json changes{{"schema", "suf.log/2"},
                               {"n", 77},
                               {"prev", std::string(64, 'a')},
                               {"time", "2026-11-28T15:03:46.124Z"},
                               {"role", "dealer"},
                               {"owner", "bob"},
                               {"data_owner", std::string(64, 'b')},
                               {"lane", std::string(32, 'c')},
                               {"serial", 99},
                               {"job", {{"tokens", 31}}},
                               {"plan", std::string(64, 'd')},
                               {"weights", std::string(64, 'e')},
                               {"outcome", "broken"}};
  const auto fields = nlohmann::ordered_json::parse(lines_[4]);
  ASSERT_EQ(fields.size(), changes.size());
  for (const auto& [name, value] : fields.items())
    for (size_t i : {size_t{0}, size_t{4}, kLines - 2}) {
      auto lines = lines_;
      auto line = nlohmann::ordered_json::parse(lines[i]);
      line[name] = changes[name];
      lines[i] = line.dump() + "\n";
      EXPECT_TRUE(OneFault(Check(lines), i + 1, "")) << name << " " << i;
      line.erase(name);
      lines[i] = line.dump() + "\n";
      EXPECT_TRUE(OneFault(Check(lines), i + 1, "")) << name << " " << i;
    }
}

TEST_F(LogChecks, EveryChangedBitNamesItsLine) {
  for (size_t at = 0; at + 1 < lines_[4].size(); ++at) {
    auto lines = lines_;
    lines[4][at] = char(lines[4][at] ^ 1 << at % 7);
    if (lines[4][at] == '\n') continue;  // two lines
    const LogCheck check = Check(lines);
    ASSERT_TRUE(OneFault(check, 5, "")) << lines[4];
  }
}

TEST_F(LogChecks, AnAddedLineIsFound) {
  auto lines = lines_;
  lines.insert(lines.begin() + 4, "{\"a\":1}\n");
  EXPECT_TRUE(OneFault(Check(lines), 5, "its schema is another one"));
  lines[4] = "\n";
  EXPECT_TRUE(OneFault(Check(lines), 5, "is not JSON text"));
  // a forged line with the right hash and number, and the old lines behind it
  lines = {lines_.begin(), lines_.begin() + 5};
  lines[4].replace(lines[4].find("ann"), 3, "eve");
  lines.insert(lines.end(), lines_.begin() + 4, lines_.end());
  const LogCheck check = Check(lines);
  EXPECT_GE(check.fault_count, 1u);
  EXPECT_EQ(check.faults[0].place.line, 6u);
}

// A forger who writes all later lines anew leaves a sound chain. A hash that was kept elsewhere shows it.
TEST_F(LogChecks, AForgedTailIsFoundByAKeptHash) {
  auto lines = lines_;
  lines[4].replace(lines[4].find("ann"), 3, "eve");
  Chain(&lines, 5);
  const std::string path = Put("log", Joined(lines));
  EXPECT_TRUE(IsWhole({path}, kLines));
  EXPECT_FALSE(CheckLogs({path}, HashOfLine(lines_.back())).found);
  EXPECT_TRUE(CheckLogs({path}, HashOfLine(lines_[3])).found);
}

TEST_F(LogChecks, AKeptHashIsFoundInAnyLine) {
  for (size_t i = 0; i < kLines; ++i) {
    const LogCheck check = CheckLogs({dir_ / "log"}, HashOfLine(lines_[i]));
    ASSERT_TRUE(check.found);
    EXPECT_EQ(check.found->line, i + 1);
    EXPECT_EQ(check.after, kLines - i - 1);
  }
  const std::string second = Put("second", Joined({lines_.begin() + 4, lines_.end()}));
  const LogCheck check = CheckLogs({second}, HashOfLine(lines_[3]));
  ASSERT_TRUE(check.found);
  EXPECT_EQ(check.found->line, 0u);
  EXPECT_EQ(check.after, kLines - 4);
  EXPECT_FALSE(CheckLogs({second}, HashOfLine(lines_[2])).found);
  EXPECT_TRUE(CheckLogs({Put("empty", "")}, Hash{}).found);
  EXPECT_FALSE(CheckLogs({Put("empty", "")}, Hash{1}).found);
}

TEST_F(LogChecks, ACutLineHasNoEnd) {
  for (size_t left = 1; left + 1 < lines_[5].size(); left += 7) {
    auto lines = std::vector(lines_.begin(), lines_.begin() + 6);
    lines[5].resize(left);
    EXPECT_TRUE(OneFault(Check(lines), 6, "the line has no end"));
    // at the end of a renamed file the chain goes on in the next one
    lines[5] = lines_[5].substr(0, left);
    const std::string first = Put("first", Joined(lines));
    EXPECT_TRUE(OneFault(CheckLogs({first, Put("next", Joined({lines_.begin() + 5, lines_.end()}))}), 6,
                         "the line has no end"));
  }
}

TEST_F(LogChecks, RenamedFilesAreOneChain) {
  const std::string a = Put("a", Joined({lines_.begin(), lines_.begin() + 3})),
                    b = Put("b", Joined({lines_.begin() + 3, lines_.begin() + 6})),
                    c = Put("c", Joined({lines_.begin() + 6, lines_.end()})), none = Put("none", "");
  EXPECT_TRUE(IsWhole({a, none, b, c, none}, kLines));
  EXPECT_EQ(CheckLogs({a, b, c}).last, HashOfLine(lines_.back()));
  EXPECT_TRUE(OneFault(CheckLogs({a, c}), 1, "3 lines are missing before this one, from number 4; is a file missing?"));
  EXPECT_TRUE(OneFault(CheckLogs({b, a}), 1, "a new chain begins here, and the one before ends with number 6"));
  EXPECT_TRUE(OneFault(CheckLogs({c, b}), 1, "has number 4, after number 9; give the oldest file first"));
  LogCheck twice = CheckLogs({a, b, b, c});
  EXPECT_EQ(twice.fault_count, 3u);
  EXPECT_NE(twice.faults[0].what.find("the line repeats line 1 of " + b), std::string::npos);
  // the last line of a file has its hash in the next one
  auto lines = lines_;
  lines[2].replace(lines[2].find("ann"), 3, "eve");
  const LogCheck check = CheckLogs({Put("a", Joined({lines.begin(), lines.begin() + 3})), b, c});
  EXPECT_TRUE(OneFault(check, 3, "the line was changed: the next one holds another hash of it"));
  EXPECT_EQ(check.faults[0].place.file, a);
}

TEST_F(LogChecks, ANewChainIsReported) {
  AddJobs(dir_ / "other", 1, 2);
  auto lines = lines_;
  for (const std::string& line : LinesOf(TextOfFile(dir_ / "other"))) lines.push_back(line);
  lines[kLines].replace(lines[kLines].find("ann"), 3, "eve");
  Chain(&lines, kLines + 2);
  const LogCheck check = Check(lines);
  EXPECT_GE(check.fault_count, 1u);
  EXPECT_EQ(check.faults[0].place.line, kLines + 1);
  EXPECT_NE(check.faults[0].what.find("a new chain begins here"), std::string::npos);
}

TEST_F(LogChecks, LongLinesAreRefused) {
  auto lines = lines_;
  auto line = nlohmann::ordered_json::parse(lines[4]);
  const size_t rest = (64 << 10) - (lines[4].size() - 1) - std::string(R"(,"x":"")").size();
  line["x"] = std::string(rest, 'x');
  lines[4] = line.dump() + "\n";
  Chain(&lines, 5);
  EXPECT_EQ(Check(lines).fault_count, 0u);  // 64 kB
  line["x"] = std::string(rest + 1, 'x');
  lines[4] = line.dump() + "\n";
  Chain(&lines, 5);
  EXPECT_TRUE(OneFault(Check(lines), 5, "the line has more than 65536 bytes"));
  lines[4] = std::string(1 << 20, 'x') + "\n";
  EXPECT_TRUE(OneFault(Check(lines), 5, "the line has more than 65536 bytes"));
}

TEST_F(LogChecks, ManyFaultsAreCounted) {
  std::vector<std::string> lines = lines_;
  for (int i = 0; i < 300; ++i) lines.insert(lines.begin() + 5, lines_[1]);
  const LogCheck check = Check(lines);
  EXPECT_EQ(check.fault_count, 300u);
  EXPECT_EQ(check.faults.size(), LogCheck::kMostFaults);
}

TEST_F(LogChecks, AFileThatIsNoLogIsRefused) {
  const auto check = [](const std::string& path) { (void)CheckLogs({path}); };
  EXPECT_TRUE(Fails(Cause::kInput, "is no log of jobs; name one, or unpack it", [&] { check(Put("x", "the dog\n")); }));
  EXPECT_TRUE(Fails(Cause::kInput, "is no log of jobs", [&] { check(Put("x", "\x1f\x8b")); }));
  EXPECT_TRUE(Fails(Cause::kInput, "there is no log", [&] { check(dir_ / "none"); }));
  EXPECT_TRUE(Fails(Cause::kInput, "there is no log \"\"", [&] { check(""); }));
  EXPECT_TRUE(Fails(Cause::kInput, "is a folder", [&] { check(dir_.path); }));
  EXPECT_TRUE(Fails(Cause::kInput, "is no ordinary file", [&] { check("/dev/full"); }));
  EXPECT_TRUE(Fails(Cause::kInput, "is no log of jobs", [&] {
    (void)CheckLogs({dir_ / "log", Put("x", "{\"schema\":\"suf.simulate/1\"}\n")});
  }));
}

}  // namespace
}  // namespace suf::service
