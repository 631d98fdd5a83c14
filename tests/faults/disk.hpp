// A folder after a loss of power. Files are as of their last fdatasync, names as of the last fsync of their folder.
// Directories themselves are assumed to be durable at once.
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace suf::faults {

class Disk {
 public:
  // The contents of `root` are durable now. Files that lose their names are kept in `trash`, beside it.
  Disk(const std::string& root, const std::string& trash) : trash_(trash) {
    std::filesystem::create_directory(trash);
    Sync(root);
    for (const auto& e : std::filesystem::recursive_directory_iterator(root)) Sync(e.path());
  }
  // Makes a file or a folder durable.
  void Sync(const std::string& path) {
    if (std::filesystem::is_directory(path))
      names_[path] = NamesIn(path);
    else
      content_[Number(path)] = Read(path);
  }
  // Must be called before `path` loses its name.
  void Unnamed(const std::string& path) const {
    if (std::filesystem::exists(path)) (void)!::link(path.c_str(), TrashPath(Number(path)).c_str());
  }
  // Must be called when an empty folder is gone.
  void Gone(const std::string& path) { names_.erase(path); }
  // Loses power: restores the durable state.
  void Lose() const {
    for (const auto& [dir, names] : names_)
      for (const auto& [name, number] : NamesIn(dir)) {
        Unnamed(dir + "/" + name);
        if (auto it = names.find(name); it == names.end() || it->second != number)
          std::filesystem::remove(dir + "/" + name);
      }
    for (const auto& [dir, names] : names_)
      for (const auto& [name, number] : names) (void)!::link(TrashPath(number).c_str(), (dir + "/" + name).c_str());
    for (const auto& e : std::filesystem::directory_iterator(trash_)) {
      auto it = content_.find(Number(e.path()));
      std::ofstream(e.path(), std::ios::binary | std::ios::trunc) << (it == content_.end() ? "" : it->second);
    }
  }

 private:
  static ino_t Number(const std::string& path) {
    struct stat s {};
    (void)::stat(path.c_str(), &s);
    return s.st_ino;
  }
  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::map<std::string, ino_t> NamesIn(const std::string& dir) {
    std::map<std::string, ino_t> names;
    for (const auto& e : std::filesystem::directory_iterator(dir))
      if (e.is_regular_file()) names[e.path().filename()] = Number(e.path());
    return names;
  }
  std::string TrashPath(ino_t number) const { return trash_ + "/" + std::to_string(number); }

  std::string trash_;
  std::map<ino_t, std::string> content_;
  std::map<std::string, std::map<std::string, ino_t>> names_;
};

}  // namespace suf::faults
