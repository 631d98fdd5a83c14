// For tests: scratch folders (folder_test.hpp), and an assertion about the error that a call throws.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "suf/base/error.hpp"
#include "suf/base/folder_test.hpp"

namespace suf {

// Succeeds if f throws an Error with this cause and a message that contains `words`.
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
