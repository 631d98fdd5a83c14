#include "suf/model/internal/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>

#include "suf/base/error.hpp"

namespace suf::model {

std::string ReadText(const std::filesystem::path& file, size_t limit) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    Fail(Cause::kInput, "there is no file ", file.string(), "; name a model directory that has it");
  }
  const uint64_t size = std::filesystem::file_size(file, error);
  if (error || size > limit) {
    Fail(Cause::kInput, file.string(), " is ", size, " bytes long, the limit is ", limit,
         "; it belongs to no BERT model");
  }
  std::string text(size, '\0');
  std::ifstream in(file, std::ios::binary);
  if (!in.read(text.data(), std::streamsize(size))) {
    Fail(Cause::kInput, file.string(), " cannot be read; check its permissions and the disk");
  }
  return text;
}

namespace {

// Part: the temporary name of a file that is being written, made afresh; removed unless it was given its own name.
class Part {
 public:
  Part(const std::filesystem::path& file, int mode) : file_(file), part_(file) {
    part_ += ".part";
    std::error_code ignored;
    const auto target = std::filesystem::status(file_, ignored);
    if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)) Refuse();
    unlink(part_.c_str());  // of a process that was killed; what lies there is not written through
    fd_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd_ < 0) Refuse();
  }
  ~Part() {
    if (fd_ >= 0) close(fd_);
    if (!done_) unlink(part_.c_str());
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  void Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) Refuse();
      bytes.remove_prefix(size_t(n));
    }
  }
  void Done() {
    if (close(std::exchange(fd_, -1)) || rename(part_.c_str(), file_.c_str())) Refuse();
    done_ = true;
  }

 private:
  [[noreturn]] void Refuse() const {
    Fail(Cause::kResource, "cannot write ", file_.string(), "; check the folder, its permissions and the free space");
  }
  std::filesystem::path file_, part_;
  int fd_ = -1;
  bool done_ = false;
};

}  // namespace

void WriteWhole(const std::filesystem::path& file, std::initializer_list<std::string_view> parts, int mode) {
  Part part(file, mode);
  for (std::string_view p : parts) part.Add(p);
  part.Done();
}

void ProbeWhole(const std::filesystem::path& file) { Part part(file, 0600); }

std::string Quoted(std::string_view name) {
  constexpr size_t kLongest = 100;
  std::string out = "\"";
  for (char c : name.substr(0, kLongest)) out += c < ' ' || c > '~' || c == '"' ? '?' : c;
  return out + (name.size() > kLongest ? "..\"" : "\"");
}

}  // namespace suf::model
