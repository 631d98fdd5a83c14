// For tests of this module: a temporary folder, and the assertion that a call fails with one sentence.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "suf/base/error.hpp"
#include "suf/base/folder_test.hpp"

namespace suf::model {

// A fresh folder, removed with its content.
class ModelFolder {
 public:
  std::filesystem::path path() const { return scratch_.path; }
  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name, std::ios::binary) << text;
    return path() / name;
  }

 private:
  Scratch scratch_;
};

// Expects that f throws Error{code} with one line that contains `part` and names a remedy after a semicolon.
template <class F>
void ExpectSentence(F f, const std::string& part, Cause code = Cause::kInput) {
  try {
    f();
    ADD_FAILURE() << "no error; expected: " << part;
  } catch (const Error& e) {
    const std::string said = e.what();
    EXPECT_EQ(e.cause(), code) << said;
    EXPECT_NE(said.find(part), said.npos) << said << "\nlacks: " << part;
    EXPECT_NE(said.find("; "), said.npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 0) << said;
  }
}

}  // namespace suf::model
