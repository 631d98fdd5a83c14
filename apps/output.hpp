// stdout of every command: the first write that fails ends the command, so that nothing is computed or spent for a
// reader that has gone.
#pragma once
#include <streambuf>
#include <string>

#include "suf/base/error.hpp"

namespace suf::apps {

// What a failed write to stdout throws.
class OutputError : public Error {
 public:
  // error: errno of the write.
  explicit OutputError(int error);
  // True if the program that read stdout has ended, which is no fault: `suf .. | head` does that.
  bool closed() const { return closed_; }

 private:
  bool closed_;
};

// Takes the place of std::cout's buffer, and makes std::cout throw OutputError. One for a process, while main runs.
class Output : public std::streambuf {
 public:
  Output();
  ~Output() override;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize n) override;
  int sync() override;
  void Flush();

  std::string waiting_;
  const bool terminal_;  // each line is written at once
  std::streambuf* const before_;
};

// Throws OutputError if stdout is closed or its reader has gone. It asks the system and writes nothing, so that the
// answer depends on the reader alone and on no result.
void CheckOutput();
// Returns whether CheckOutput throws.
bool OutputGone();

// Opens /dev/null in place of stdin, stdout and stderr that are closed, such that reads and writes fail: else the next
// file that is opened would take its number, and our output.
void HoldStandardStreams();

}  // namespace suf::apps
