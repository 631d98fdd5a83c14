// The command `suf log check`.
#include <algorithm>
#include <iostream>

#include "apps/commands.hpp"
#include "apps/show.hpp"
#include "suf/base/plural.hpp"
#include "suf/base/printable.hpp"
#include "suf/service/log_check.hpp"

namespace suf::apps {

namespace {

// Returns the days of a log, from the times of its lines.
std::string DaysOf(const service::LogCheck& log) {
  constexpr size_t kDay = 10;  // "2026-11-28"
  const std::string begin = log.earliest.substr(0, kDay), end = log.latest.substr(0, kDay);
  return begin == end ? begin : begin + " to " + end;
}

std::string OutcomesOf(const service::LogCheck& log) {
  std::string out;
  for (size_t i = 0; i < log.outcomes.size(); ++i)
    out += Str(out.empty() ? "" : ", ", log.outcomes[i], " ", service::Name(service::JobOutcome(i)));
  return out;
}

}  // namespace

int RunLogCheck(const LogCheckArgs& a) {
  std::optional<Hash> kept;
  if (!a.last.empty()) {
    const Bytes bytes = FromHex(a.last, sizeof(Hash), "--last");
    std::copy(bytes.begin(), bytes.end(), kept.emplace().begin());
  }
  const service::LogCheck log = service::CheckLogs(a.files, kept);
  PrintedRows rows{{"lines", Str(log.lines)}};
  if (log.first) rows[0][1] += Str(", numbers ", log.first, " to ", log.end, " of their chain");
  if (log.first > 1) rows.push_back({"before", Str(Plural(log.first - 1, "line"), " in older files, not checked")});
  if (log.lost) rows.push_back({"lost", Str(Plural(log.lost, "line"), " that the disk refused")});
  if (!log.latest.empty()) rows.push_back({"days", DaysOf(log)});
  rows.push_back({"outcomes", OutcomesOf(log)});
  rows.push_back({"last hash", Hex(log.last)});
  if (log.found)
    rows.push_back({"kept hash", log.found->line ? Str("line ", log.found->line, " of ", log.found->file, ", and ",
                                                       Plural(log.after, "line"), " after it")
                                                 : Str("of the line before the first one of ", log.found->file)});
  std::cout << Listing(rows);
  for (const service::LogFault& f : log.faults)
    std::cout << Printable(f.place.file) << ":" << f.place.line << ": " << f.what << "\n";
  if (log.fault_count > log.faults.size())
    std::cout << "and " << Plural(log.fault_count - log.faults.size(), "fault") << " more\n";
  if (log.fault_count)
    Fail(Cause::kRefused, "the chain of the log breaks at ", Plural(log.fault_count, "line"),
         ", the first of them line ", log.faults[0].place.line, " of ", log.faults[0].place.file,
         "; keep the files, and compare them with a copy");
  if (kept && !log.found)
    Fail(Cause::kRefused,
         "the log has no line with the hash of --last; its end was cut off or written anew, so compare it "
         "with a copy");
  return 0;
}

}  // namespace suf::apps
