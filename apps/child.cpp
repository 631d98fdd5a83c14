#include "apps/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <regex>
#include <set>

#include "suf/base/file.hpp"

extern char** environ;

namespace suf::apps {

namespace fs = std::filesystem;

namespace {

// Children and folders that end with this process. Never destroyed, because signals may come late.
struct Kept {
  std::mutex m;
  std::set<pid_t> children;
  std::set<fs::path> folders;
  std::vector<std::string> program;  // the words that start it
};
Kept& All() {
  static Kept* const all = new Kept;
  return *all;
}

// Returns the reading end of a new pipe, whose other end becomes `stream` of a child.
FILE* PipeFrom(posix_spawn_file_actions_t* actions, int stream, Fd* end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) Fail(Cause::kResource, "cannot make a pipe (", SystemError(), "); close some files");
  *end = Fd(ends[1]);
  posix_spawn_file_actions_adddup2(actions, ends[1], stream);
  return fdopen(ends[0], "r");
}

bool LineOf(FILE* in, std::string* out) {
  char* line = nullptr;
  size_t room = 0;
  ssize_t n = getline(&line, &room, in);
  if (n > 0) *out = std::string(line, size_t(n - (line[n - 1] == '\n')));
  std::free(line);
  return n > 0;
}

}  // namespace

void SetProgram(std::vector<std::string> words) { All().program = std::move(words); }

void EndChildren() noexcept {
  Kept& all = All();
  const std::lock_guard l(all.m);
  for (pid_t pid : all.children) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  all.children.clear();
  std::error_code ignored;
  for (auto& folder : all.folders) fs::remove_all(folder, ignored);
}

TempFolder::TempFolder() {
  std::error_code error;
  const fs::path under = fs::temp_directory_path(error);
  if (error)
    Fail(Cause::kResource, "there is no folder for temporary files (", std::strerror(error.value()),
         "); make /tmp, or let TMPDIR name a folder");
  std::string t = (under / "suf-XXXXXX").string();
  if (!mkdtemp(t.data()))
    Fail(Cause::kResource, "cannot make a directory under ", under.string(), " (", SystemError(),
         "); check free space and rights");
  path_ = t;
  const std::lock_guard l(All().m);
  All().folders.insert(path_);
}

TempFolder::~TempFolder() {
  const std::lock_guard l(All().m);
  All().folders.erase(path_);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Child::Child(std::string name, std::vector<std::string> args, int stream, bool passes) : name_(std::move(name)) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  Fd end, passed_end;
  in_ = PipeFrom(&actions, stream, &end);
  if (passes && stream != STDERR_FILENO) passed_ = PipeFrom(&actions, STDERR_FILENO, &passed_end);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setsigmask(&how, &none);
  std::vector<std::string> program = All().program;
  const std::string file = program.empty() ? "/proc/self/exe" : program[0];
  std::vector<char*> argv;
  for (auto& word : program) argv.push_back(word.data());
  for (auto& a : args)
    if (program.empty() || &a != args.data()) argv.push_back(a.data());
  argv.push_back(nullptr);
  int error = 0;
  {
    const std::lock_guard l(All().m);
    error = posix_spawn(&pid_, file.c_str(), &actions, &how, argv.data(), environ);
    if (!error) All().children.insert(pid_);
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&how);
  end = Fd();
  passed_end = Fd();
  if (error) {
    pid_ = -1;
    Fail(Cause::kResource, "cannot start a process for ", name_, " (", std::strerror(error),
         "); free memory or processes");
  }
  if (passed_)
    passer_ = std::thread([this] {
      for (std::string l; LineOf(passed_, &l);) std::cerr << l + "\n" << std::flush;
    });
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    (void)Wait();
  }
  for (std::thread* t : {&reader_, &passer_})
    if (t->joinable()) t->join();
  for (FILE* f : {in_, passed_})
    if (f) fclose(f);
}

bool Child::Line(std::string* out) { return LineOf(in_, out); }

void Child::Signal(int signal) const {
  const std::lock_guard l(All().m);
  if (pid_ > 0) kill(pid_, signal);
}

std::string Child::Address() {
  std::string line;
  std::smatch m;
  while (Line(&line)) {
    last_ = line;
    if (!std::regex_search(line, m, std::regex("listening on port ([0-9]+)"))) continue;
    Drain();
    return "127.0.0.1:" + m[1].str();
  }
  Fail(Cause::kResource, name_, " ended before it listened: ", last_);
}

void Child::Drain() {
  reader_ = std::thread([this] {
    for (std::string l; Line(&l);) last_ = l;
  });
}

int Child::Wait() {
  siginfo_t info{};
  while (waitid(P_PID, id_t(pid_), &info, WEXITED | WNOWAIT) && errno == EINTR) {
  }
  int status = 0;
  {
    const std::lock_guard l(All().m);  // until here no other process has its number
    waitpid(pid_, &status, 0);
    All().children.erase(pid_);
    pid_ = -1;
  }
  for (std::thread* t : {&reader_, &passer_})
    if (t->joinable()) t->join();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void Child::Stop() {
  Signal(SIGTERM);
  (void)Wait();
}

}  // namespace suf::apps
