// stdout of every command. The first write that fails ends the command, so that nothing is spent for a reader that has
// gone.
#pragma once
#include <streambuf>
#include <string>

#include "suf/base/error.hpp"

namespace suf::apps {

// The error of a failed write to stdout.
class OutputError : public Error {
 public:
  // `error` is the errno of the write.
  explicit OutputError(int error);
  // Returns whether the program that read stdout has ended, which is no fault: `suf .. | head` does that.
  bool closed() const { return closed_; }

 private:
  bool closed_;
};

// Replaces the buffer of std::cout, and makes std::cout throw OutputError. A process has one, while main runs.
class CheckedStdout : public std::streambuf {
 public:
  CheckedStdout();
  ~CheckedStdout() override;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize n) override;
  int sync() override;
  void Flush();

  std::string waiting_;
  const bool terminal_;  // if true, writes each line at once
  std::streambuf* const before_;
};

// Throws OutputError if stdout is closed or its reader has gone. It polls the descriptor and writes nothing, so that
// the outcome depends on the reader alone and on no result.
void CheckOutput();
// Returns whether CheckOutput throws.
bool OutputGone();

// Replaces each closed one of stdin, stdout and stderr by /dev/null, such that reads and writes fail. Otherwise the
// next file would take its number, and receive our output.
void HoldStandardStreams();

}  // namespace suf::apps
