// Fuzzes the log of jobs: its check, and the reading of its end at a start. The first byte says whether the numbers and
// hashes of the lines are put right, as a forger can do.
#include "fuzz/fuzz.hpp"
#include "suf/base/digest.hpp"
#include "suf/service/log_check.hpp"

namespace {
using namespace suf;
using namespace suf::service;

// Returns lines that hold each other's hash. Each gets its further fields from a line of the input.
std::string Chained(View input) {
  std::string rest = fuzz::TextOf(input), text;
  Hash last{};
  for (uint64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line =
        Str(R"({"schema":"suf.log/1","n":)", number, R"(,"prev":")", Hex(last), "\",", rest.substr(0, end));
    last = HashOf({AsView(line)});
    text += line + "\n";
    rest.erase(0, end + 1);
  }
  return text;
}

bool Whole(const std::vector<std::string>& files) {
  bool whole = false;
  fuzz::Quietly([&] { whole = CheckLogs(files).fault_count == 0; });
  return whole;
}

// A whole chain goes on after a start, and is whole in two files as well.
void CheckWhole(const fuzz::Folder& folder, const std::string& text, const LogCheck& before, const LogCheck& after) {
  SUF_CHECK(after.fault_count == 0 && after.lines == before.lines + 1);
  SUF_CHECK(CheckLogs({folder / "log"}, before.last).after == 1);
  const size_t half = text.find('\n', text.size() / 2) + 1;
  fuzz::WriteTo(folder / "log.1", AsView(text.substr(0, half)));
  fuzz::WriteTo(folder / "log", AsView(text.substr(half)));
  SUF_CHECK(Whole({folder / "log.1", folder / "log"}));
}
}  // namespace

SUF_FUZZ(job_log) {
  static const fuzz::Folder folder;
  const bool chained = fuzz::Pull<uint8_t>(input) % 2;
  const std::string text = chained ? Chained(input) : fuzz::TextOf(input), path = folder / "log";
  fuzz::WriteTo(path, AsView(text));
  LogCheck before;
  const bool whole = fuzz::Quietly([&] { before = CheckLogs({path}); }) && before.fault_count == 0;
  JobLog::Options options;
  options.clock = [] { return std::chrono::system_clock::time_point(); };
  options.sync = [](int) { return 0; };
  Hash last{};
  const bool opened = fuzz::Quietly([&] {
    JobLog log(path, options);
    log.Add({});
    SUF_CHECK(log.writable());
    log.Close();
    last = log.last();
  });
  SUF_CHECK(opened || !whole || before.end >> 62);  // no more lines fit into its chain
  if (!opened) SUF_CHECK(fuzz::TextOf(fuzz::ReadFrom(path)) == text);
  if (!opened) return;
  const LogCheck after = CheckLogs({path});
  SUF_CHECK(after.lines > 0);
  if (!whole) return;
  SUF_CHECK(after.last == last);
  CheckWhole(folder, text, before, after);
}
