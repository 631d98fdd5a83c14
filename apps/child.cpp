#include "apps/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <regex>

#include "suf/base/error.hpp"

extern char** environ;

namespace suf::apps {

namespace fs = std::filesystem;

Folder::Folder() {
  std::string t = (fs::temp_directory_path() / "suf-XXXXXX").string();
  if (!mkdtemp(t.data()))
    Fail(Cause::kResource, "cannot make a directory under ", fs::temp_directory_path().string(),
         "; check free space and rights");
  path_ = t;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Child::Child(std::string name, std::vector<std::string> args, int stream) : name_(std::move(name)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) Fail(Cause::kResource, "cannot make a pipe; close some files");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], stream);
  std::vector<char*> argv;
  for (auto& a : args) argv.push_back(a.data());
  argv.push_back(nullptr);
  int error = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  in_ = fdopen(ends[0], "r");
  if (error || !in_) Fail(Cause::kResource, "cannot start a process for ", name_, "; free memory or processes");
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (reader_.joinable()) reader_.join();
  if (in_) fclose(in_);
}

bool Child::Line(std::string* out) {
  char* line = nullptr;
  size_t room = 0;
  ssize_t n = getline(&line, &room, in_);
  if (n > 0) *out = std::string(line, size_t(n - (line[n - 1] == '\n')));
  std::free(line);
  return n > 0;
}

int Child::Port() {
  std::string line;
  std::smatch m;
  while (Line(&line)) {
    last_ = line;
    if (std::regex_search(line, m, std::regex("listening on port ([0-9]+)"))) return std::stoi(m[1]);
  }
  Fail(Cause::kResource, name_, " ended before it listened: ", last_);
}

void Child::Drain() {
  reader_ = std::thread([this] {
    for (std::string l; Line(&l);) last_ = l;
  });
}

int Child::Wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (reader_.joinable()) reader_.join();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void Child::Stop() {
  kill(pid_, SIGTERM);
  (void)Wait();
}

}  // namespace suf::apps
