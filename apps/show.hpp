// What a person looks at: progress on stderr, tables on stdout, numbers in readable units.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/roles/engine.hpp"

namespace suf::apps {

// Bar: a progress bar on stderr where that is a terminal; else nothing.
class Bar {
 public:
  explicit Bar(std::string title);
  ~Bar();
  void At(double done, const std::string& what);
  // Hook: At, for who reports progress; of use as long as the bar lives.
  roles::Progress Hook() {
    return [this](double done, const std::string& what) { At(done, what); };
  }
  // Clear: the line is free for others; the next At draws it again.
  void Clear();
  bool terminal() const { return terminal_; }

 private:
  std::string title_;
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// Stages: what a role does before it is ready: a bar on a terminal, elsewhere a line of the log for each.
class Stages {
 public:
  explicit Stages(std::string command) : command_(command), bar_(std::move(command)) {}
  void At(double done, const std::string& what);
  void Clear() { bar_.Clear(); }

 private:
  std::string command_, last_;
  Bar bar_;
};

// Table: columns as wide as their longest cell; the first is left-aligned, the others right.
std::string Table(std::vector<std::vector<std::string>> rows);
std::string Bytes10(int64_t bytes);  // "43.0 MB", powers of ten
std::string Count10(int64_t n);      // "43.0 M"
std::string Fixed(double v, int digits);
// VocabularyOf: whose vocab.txt the plan was made for, in words.
std::string VocabularyOf(const Hash& sha256);
// PeakRss: the most memory a process held, MB; 0 when unknown. pid 0: this one.
double PeakRss(int pid = 0);

}  // namespace suf::apps
