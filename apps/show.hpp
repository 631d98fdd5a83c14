// What a person looks at: progress on stderr, tables on stdout, numbers in readable units.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/base/plural.hpp"
#include "suf/roles/engine.hpp"

namespace suf::apps {

// Progress of a long phase: a line at the bottom of the terminal on stderr; elsewhere lines of the log.
class Bar {
 public:
  // What the log gets where stderr is no terminal: a line for each step, one every ten seconds and the time that all
  // took; or the second alone.
  enum class Log { kSteps, kRare };
  explicit Bar(std::string title, Log log = Log::kSteps);
  ~Bar();
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;
  // So much is done, 0 to 1, and this step is under way; `of`: what it belongs to, such as "text 3 of 12".
  void At(double done, const std::string& what, const std::string& of = {});
  // At, for who reports progress; of use as long as the bar lives.
  roles::Progress Hook() {
    return [this](double done, const std::string& what) { At(done, what); };
  }
  // The phase is over; the next At begins another one.
  void Clear();

 private:
  struct Ticker;
  const std::string title_;
  const Log log_;
  const bool terminal_;
  bool begun_ = false;
  std::chrono::steady_clock::time_point since_{}, last_{};
  std::string what_;
  std::unique_ptr<Ticker> ticker_;  // off a terminal
};

using Rows = std::vector<std::vector<std::string>>;  // the first one: names of the columns
// Columns as wide as their longest cell; the first is left-aligned, the others right. Where it is wider than
// `columns` (0: any width is fine), the columns of these names go, one after another, until it fits; a line under the
// table says which.
std::string Table(const Rows& rows, const std::vector<std::string>& drop, size_t columns);
std::string Table(const Rows& rows, const std::vector<std::string>& drop = {});  // as wide as stdout's terminal
// Text in columns without a line under their names, the last one folded within itself.
std::string Listing(const Rows& rows, const std::vector<std::string>& drop, size_t columns);
std::string Listing(const Rows& rows, const std::vector<std::string>& drop = {});
std::string Bytes10(int64_t bytes);  // "43.0 MB", powers of ten
std::string Count10(int64_t n);      // "43.0 M"
std::string Fixed(double v, int digits);
// Whose vocab.txt the plan was made for, in words.
std::string VocabularyOf(const Hash& sha256);
// The most memory a process held, MB; 0 when unknown. pid 0: this one.
double PeakRss(int pid = 0);

}  // namespace suf::apps
