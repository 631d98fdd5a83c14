#include "suf/base/private_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

namespace suf {

namespace {

namespace fs = std::filesystem;

constexpr int kMostSteps = 1000;  // folders and links; the kernel follows 40 links
constexpr mode_t kOthers = S_IWGRP | S_IWOTH;

std::string Octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", unsigned(mode & 07777));
  return text;
}

// The checked "folder" or "file" and its path, for error messages.
struct Subject {
  const char* kind;
  const std::string& path;
};

[[noreturn]] void Refuse(const Subject& what, const std::string& at, const struct stat& s, const std::string& remedy) {
  Fail(Cause::kRefused, "another user of this machine can change the ", what.kind, " ", what.path, ": ", at,
       S_ISLNK(s.st_mode) ? " is a symbolic link that" : "", " belongs to user ", s.st_uid, ", mode ", Octal(s.st_mode),
       "; ", remedy, ", or use another ", what.kind);
}

// Checks one folder, file or link. `above` says that it lies above the subject.
void CheckOne(const Subject& what, const std::string& at, const struct stat& s, bool above) {
  const uid_t user = geteuid();
  if (s.st_uid != user && s.st_uid != 0)
    Refuse(what, at, s, user ? Str("give it to user ", user, " or 0") : "give it to user 0");
  if (S_ISLNK(s.st_mode) || !(s.st_mode & kOthers)) return;  // a link has no mode of its own
  if (above && (s.st_mode & S_ISVTX)) return;                // others cannot rename or remove our files
  Refuse(what, at, s, "let nobody else write it (chmod go-w)");
}

struct stat Status(const Subject& what, const std::string& at) {
  struct stat s {};
  if (lstat(at.c_str(), &s))
    Fail(Cause::kResource, "cannot check the ", what.kind, " ", what.path, ": ", at, " (", SystemError(),
         "); see to its permissions, or use another ", what.kind);
  return s;
}

// Returns the path from the root on, or the path itself if there is no working directory.
fs::path Absolute(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return error ? path : whole;
}

// Returns the path without a slash at its end, which would follow a link.
std::string Bare(const fs::path& path) { return (path.has_filename() ? path : path.parent_path()).string(); }
std::string Parent(const fs::path& path) { return path.parent_path().string(); }

void Check(const Subject& what) {
  std::vector<std::pair<std::string, bool>> todo;  // a path, and whether it lies above the subject
  todo.emplace_back(Bare(Absolute(what.path)), false);
  for (int steps = 0; !todo.empty(); ++steps) {
    const auto [at, above] = todo.back();
    todo.pop_back();
    const struct stat s = Status(what, at);
    CheckOne(what, at, s, above);
    if (steps > kMostSteps)
      Fail(Cause::kRefused, "the ", what.kind, " ", what.path, " has more than ", kMostSteps,
           " folders and symbolic links above it; use another ", what.kind);
    if (S_ISLNK(s.st_mode)) {
      std::error_code error;
      const fs::path target = fs::read_symlink(at, error);
      if (error) Fail(Cause::kResource, "cannot read the symbolic link ", at, " (", std::strerror(error.value()), ")");
      todo.emplace_back(Parent(at), true);
      todo.emplace_back(Bare(fs::path(Parent(at)) / target), above);  // an absolute target replaces the path before it
    } else if (at != "/" && !(above && (s.st_uid == 0 || (s.st_mode & S_ISVTX)))) {
      todo.emplace_back(Parent(at), true);
    }
  }
}

void CheckFolder(const std::string& path) {
  struct stat s {};
  if (!stat(path.c_str(), &s) && !S_ISDIR(s.st_mode))
    Fail(Cause::kResource, path, " is not a folder; use another name, or remove it");
  Check({"folder", path});
}

}  // namespace

void MakePrivateFolder(const std::string& path) {
  struct stat s {};
  const bool there = !lstat(path.c_str(), &s);
  MakeDir(path);
  try {
    CheckFolder(path);
  } catch (...) {
    if (!there) rmdir(path.c_str());
    throw;
  }
}

Fd LockPrivateFolder(const std::string& path) {
  MakePrivateFolder(path);
  return LockDir(path);
}

void MakePrivateFolderIn(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  MakeDir(path);
  struct stat s {};
  if (!lstat(path.c_str(), &s) && S_ISLNK(s.st_mode))
    Fail(Cause::kRefused, path, " is a symbolic link, through which nothing is written; remove it");
  CheckFolder(path);
}

void CheckPrivateFile(const std::string& path) {
  struct stat s {};
  if (!lstat(path.c_str(), &s)) Check({"file", path});
}

bool OthersCanRead(const std::string& path) {
  struct stat s {};
  return !stat(path.c_str(), &s) && (s.st_mode & (s.st_uid == geteuid() ? 077 : 007));
}

}  // namespace suf
