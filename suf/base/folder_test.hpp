// For tests: a scratch folder, also where there is no GoogleTest.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace suf {

// Scratch: a fresh folder, removed with what it holds.
struct Scratch {
  // parent: /dev/shm where thousands of syncs would take minutes on a disk.
  explicit Scratch(const std::string& parent = "/tmp") : path(parent + "/suf_XXXXXX") {
    if (!mkdtemp(path.data())) throw std::runtime_error("cannot make a folder in " + parent);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

}  // namespace suf
