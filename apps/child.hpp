// Child processes of this program and private folders, for the commands that run all three roles on one machine.
#pragma once
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace suf::apps {

// A private temporary directory, which the destructor removes.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Sets the words that start this program; empty: the file of this process.
void SetProgram(std::vector<std::string> words);

// Kills every child and removes every folder, before a signal ends this process.
void EndChildren() noexcept;

// The process of one role. It has its own process group, so that Ctrl-C reaches this process alone, which passes it on.
// Its stdout or stderr is read line by line through a pipe.
class Child {
 public:
  // Starts this program with `args`. `stream` (1 or 2) is the output that is read; the other one is inherited. If that
  // is stderr and `passes` is true, its lines go to our std::cerr, clear of the line of progress.
  Child(std::string name, std::vector<std::string> args, int stream, bool passes = false);
  ~Child();
  int pid() const { return pid_; }
  // Reads the next line; false at the end.
  bool Line(std::string* out);
  // Reads the log up to the line with the listening port, and drains it from there on. Returns the address. Throws
  // Cause::kResource if the process ends first.
  std::string Address();
  // Keeps reading in the background, so that a full pipe never blocks the process.
  void Drain();
  // Waits for the end; returns the exit code, or 128 after a signal.
  int Wait();
  void Signal(int signal) const;
  void Stop();
  const std::string& last() const { return last_; }

 private:
  std::string name_, last_;
  pid_t pid_ = -1;
  FILE *in_ = nullptr, *passed_ = nullptr;
  std::thread reader_, passer_;
};

}  // namespace suf::apps
