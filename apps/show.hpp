// Output for people: progress on stderr, tables on stdout, numbers in readable units.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/base/plural.hpp"
#include "suf/nn/plan/about.hpp"
#include "suf/roles/engine.hpp"

namespace suf::apps {

// Progress of a long phase: a line at the bottom of the terminal. Without a terminal it is lines of the log.
// Thread-safe: threads that share a bar show their latest report.
class Bar {
 public:
  // The lines of the log if stderr is no terminal. `kSteps` logs each step, the state every ten seconds, and the total
  // time. `kRare` logs the state alone.
  enum class Log { kSteps, kRare };
  explicit Bar(std::string title, Log log = Log::kSteps);
  ~Bar();
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;
  // Reports that the fraction `done` (0 to 1) is complete and that the step `what` runs. `of` is the whole that the
  // step belongs to, such as "text 3 of 12".
  void At(double done, const std::string& what, const std::string& of = {});
  // Returns At as a callback, valid as long as the bar lives.
  roles::Progress Hook() {
    return [this](double done, const std::string& what) { At(done, what); };
  }
  // Ends the phase; the next At begins another one.
  void Clear();

 private:
  struct Ticker;
  const std::string title_;
  const Log log_;
  const bool terminal_;
  std::mutex m_;  // guards the members below
  bool begun_ = false;
  std::chrono::steady_clock::time_point since_{}, last_{};
  std::string what_;
  std::unique_ptr<Ticker> ticker_;  // unless stderr is a terminal
};

using PrintedRows = std::vector<std::vector<std::string>>;  // the first one has the names of the columns
// Formats a table. Columns are as wide as their longest cell; the first is left-aligned, the others right-aligned. If
// it is wider than `columns` (0: any width is fine), columns of `drop` are removed in that order. A line under the
// table lists them.
std::string Table(const PrintedRows& rows, const std::vector<std::string>& drop, size_t columns);
std::string Table(const PrintedRows& rows, const std::vector<std::string>& drop = {});  // for stdout's terminal
// Formats text in columns, without a line under their names; folds the last column within itself.
std::string Listing(const PrintedRows& rows, const std::vector<std::string>& drop, size_t columns);
std::string Listing(const PrintedRows& rows, const std::vector<std::string>& drop = {});
std::string Bytes10(int64_t bytes);      // "43.0 MB", powers of ten
std::string Count10(int64_t n);          // "43.0 M"
std::string Duration10(double seconds);  // "43.0 us", "43.00 ms", "43.00 s"
std::string Fixed(double v, int digits);
// Names the vocabulary with this hash, or says that it is unknown.
std::string VocabularyOf(const Hash& sha256);
// Describes a plan's result, labels and prompts, a line each.
std::string AboutOf(const nn::About& about);
// Returns the first three of a result's values and the last one. They have so many digits behind the point; -1: all.
std::string FirstOf(const nlohmann::ordered_json& values, int digits = -1);
// Returns the peak memory of a process in MB; 0 if unknown. pid 0 is this process.
double PeakRss(int pid = 0);

}  // namespace suf::apps
