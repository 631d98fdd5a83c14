// The roles as processes of this machine, for the commands that play all three: a private folder and children of this
// program.
#pragma once
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace suf::apps {

// Folder: a private temporary directory, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Child: one role's process; its stdout or stderr comes through a pipe, line by line.
class Child {
 public:
  // stream: 1 or 2, which of its outputs is read; the other one stays ours.
  Child(std::string name, std::vector<std::string> args, int stream);
  ~Child();
  int pid() const { return pid_; }
  // Line: the next line, or false at the end.
  bool Line(std::string* out);
  // Port: reads its log until it says where it listens.
  int Port();
  // Drain: reads on in the background, so that the process never waits for us.
  void Drain();
  // Wait: its exit code.
  int Wait();
  void Stop();
  const std::string& last() const { return last_; }

 private:
  std::string name_, last_;
  pid_t pid_ = -1;
  FILE* in_ = nullptr;
  std::thread reader_;
};

}  // namespace suf::apps
