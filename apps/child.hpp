// The roles as processes of this machine, for the commands that play all three: a private folder and children of this
// program.
#pragma once
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace suf::apps {

// A private temporary directory, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Kills every child and removes every folder; for a process that ends by a signal.
void EndChildren() noexcept;

// One role's process, in a process group of its own, so that a terminal's Ctrl-C is ours to pass on. Its stdout
// or stderr comes through a pipe, line by line.
class Child {
 public:
  // stream: 1 or 2, which of its outputs is read. The other one stays ours; if it is stderr and `passes`, its lines
  // come out of our std::cerr, so that they do not run into our line of progress.
  Child(std::string name, std::vector<std::string> args, int stream, bool passes = false);
  ~Child();
  int pid() const { return pid_; }
  // The next line, or false at the end.
  bool Line(std::string* out);
  // Reads its log until it says where it listens.
  int Port();
  // Reads on in the background, so that the process never waits for us.
  void Drain();
  // Its exit code; 128 after a signal.
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
