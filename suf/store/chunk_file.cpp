#include "suf/store/chunk_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>

namespace suf::store {
namespace {

constexpr size_t kMaxPreamble = 4096;

}  // namespace

ChunkFile::ChunkFile(const std::string& temp, View preamble)
    : temp_(temp), fd_(OpenFile(temp, O_WRONLY | O_CREAT | O_TRUNC)) {
  Writer w;
  w.Put(uint32_t(preamble.size()));
  w.Raw(preamble);
  w.Raw(HashOf({preamble}));
  Bytes b = w.Take();
  WriteAll(fd_.get(), b, temp_);
}

void ChunkFile::Add(View chunk) {
  uint32_t n = uint32_t(chunk.size());
  WriteAll(fd_.get(), View(reinterpret_cast<uint8_t*>(&n), sizeof n), temp_);
  WriteAll(fd_.get(), chunk, temp_);
}

void ChunkFile::Commit(const std::string& path) {
  Rename(temp_, path);
  SyncDir(path.substr(0, path.rfind('/')));
}

Bytes ReadPreamble(int fd, const std::string& path, size_t least) {
  Bytes length = ReadSome(fd, sizeof(uint32_t), path);
  size_t n = Reader(length, path).Get<uint32_t>();
  if (n > kMaxPreamble || n < least) Fail(Cause::kRefused, path, " was altered; it is burnt, start again");
  Bytes all = ReadSome(fd, n + 32, path);
  Reader r(all, path);
  View preamble = r.Raw(n);
  if (!Equal(HashOf({preamble}), r.Raw(32))) Fail(Cause::kRefused, path, " was altered; it is burnt, start again");
  all.resize(n);
  return all;
}

void ReadChunk(int fd, uint64_t at, std::span<uint8_t> buffer, const std::string& path) {
  std::array<uint8_t, sizeof(uint32_t)> length;
  if (ReadAt(fd, at, length, path) != length.size() || Reader(length, path).Get<uint32_t>() != buffer.size() ||
      ReadAt(fd, at + length.size(), buffer, path) != buffer.size())
    Fail(Cause::kRefused, path, " is cut short or too long; it is burnt, start again");
}

void CheckLength(int fd, uint64_t least, const std::string& path) {
  struct stat s;
  if (fstat(fd, &s) || uint64_t(s.st_size) < least)
    Fail(Cause::kRefused, path, " is cut short; it is burnt, start again");
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  struct Close {
    void operator()(DIR* p) const { closedir(p); }
  };
  std::unique_ptr<DIR, Close> d(opendir(folder.c_str()));
  if (!d)
    Fail(Cause::kResource, "cannot read the directory ", folder, " (", SystemError(), "); see to its permissions");
  while (dirent* e = readdir(d.get()))
    if (e->d_name[0] != '.') names.push_back(e->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace suf::store
