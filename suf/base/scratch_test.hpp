// For tests: scratch folders, and "this ends with that cause and says this".
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "suf/base/error.hpp"

namespace suf {

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

// Fails: f throws Error with this cause, and a sentence that contains `words`.
template <class F>
testing::AssertionResult Fails(Cause code, const std::string& words, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    if (e.cause() == code && std::string(e.what()).find(words) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << Name(e.cause()) << ": " << e.what();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace suf
