// The program `suf` as a function, for its main and for the Python package.
#pragma once
#include <string>
#include <vector>

namespace suf::apps {

// Runs a command line and returns its exit code. A process calls it once, before it has other threads. `self` are the
// words that start this program, for the processes of `suf demo`; empty: the file of this process.
int RunProgram(int argc, char** argv, std::vector<std::string> self = {});

}  // namespace suf::apps
