// fuzz_corpus DIR runs every target once over DIR/<target>/* without libFuzzer, so any compiler checks all targets.
#include <algorithm>
#include <iostream>
#include <vector>

#include "fuzz/fuzz.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_corpus DIR\n";
    return 2;
  }
  for (const auto& [name, target] : suf::fuzz::Targets()) {
    std::vector<std::filesystem::path> files;
    for (const auto& e : std::filesystem::directory_iterator(std::filesystem::path(argv[1]) / name))
      files.push_back(e.path());
    std::sort(files.begin(), files.end());
    if (files.empty()) {
      std::cerr << "no inputs for " << name << "\n";
      return 1;
    }
    size_t accepted = 0;
    for (const auto& file : files) {
      suf::Bytes bytes = suf::fuzz::ReadFrom(file);
      try {
        accepted += suf::fuzz::Quietly([&] { target(bytes); });
      } catch (const std::exception& e) {
        std::cerr << file << ": " << e.what() << "\n";
        return 1;
      }
    }
    std::cout << name << ": " << files.size() << " inputs, " << accepted << " accepted\n";
  }
}
