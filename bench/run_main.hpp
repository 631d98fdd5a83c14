// The main function of a bench.
#pragma once
#include <iostream>

#include "apps/exit.hpp"

namespace suf::bench {

// Runs a program. An error becomes a sentence on stderr and an exit code.
inline int RunMain(int (*program)(int, char**), int argc, char** argv) {
  try {
    return program(argc, argv);
  } catch (const Error& e) {
    std::cerr << "suf: " << e.what() << "\n";
    return apps::ExitCode(e.cause());
  }
}

}  // namespace suf::bench
