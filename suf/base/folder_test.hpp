// For tests, also those without GoogleTest: a scratch folder, and a variable of the environment.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace suf {

// A fresh folder, removed with its content.
struct Scratch {
  // `parent` is /dev/shm if thousands of syncs would take minutes on a disk.
  explicit Scratch(const std::string& parent = "/tmp") : path(parent + "/suf_XXXXXX") {
    if (!mkdtemp(path.data())) throw std::runtime_error("cannot make a folder in " + parent);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

// Sets a variable of the environment, or unsets it if the value is null, for its own lifetime.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = getenv(name)) {
      old_ = old;
      had_ = true;
    }
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

}  // namespace suf
