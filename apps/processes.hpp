// The three roles of a plan as processes of this machine, over TLS on the loopback.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "apps/child.hpp"
#include "apps/signals.hpp"

namespace suf::apps {

// Seconds of the dealer's work and of P1's online part.
struct ProcessTimes {
  double deal = 0, online = 0;
};

// Three processes with a private folder, which the destructor removes. Ctrl-C ends all of them.
class ThreeProcesses {
 public:
  ThreeProcesses();
  // Returns the path of a file in the folder.
  std::string operator/(const char* name) const { return dir_ / name; }
  // Runs `suf deal`, `suf COMMAND serve` and `suf COMMAND ask` on the backend packed, for a plan of this text.
  // `options` are those of P0 and P1 for values and results. Throws the error of a process that fails.
  ProcessTimes Run(const std::string& command, const std::string& plan,
                   const std::array<std::vector<std::string>, 2>& options) const;

 private:
  const SignalTaker taker_;
  const TempFolder dir_;
};

}  // namespace suf::apps
