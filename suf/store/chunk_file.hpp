// The file format of bundles and of W_hat: {u32 length, preamble, its SHA-256, then per chunk u32 length, chunk}.
#pragma once
#include <span>
#include <string>

#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"

namespace suf::store {

// A file of this format that is being written.
class ChunkFile {
 public:
  ChunkFile(const std::string& temp, View preamble);
  void Add(View chunk);
  // Makes all that was added durable.
  void Sync() {
    if (fd_) suf::Sync(fd_.get(), temp_);
  }
  // Does that, and closes the file, which only waits for Commit then.
  void Close() {
    Sync();
    fd_ = Fd();
  }
  // Renames the file to `path` and syncs its directory. Called after Sync.
  void Commit(const std::string& path);
  int fd() const { return fd_.get(); }

 private:
  std::string temp_;
  Fd fd_;
};

// Returns the place of a file's first chunk, after a preamble of `bytes` bytes.
constexpr uint64_t AfterPreamble(size_t bytes) { return sizeof(uint32_t) + bytes + 32; }
// Returns the place of the chunk after this one.
inline uint64_t AfterChunk(uint64_t at, View chunk) { return at + sizeof(uint32_t) + chunk.size(); }

// The functions below throw Cause::kRefused, with the path, if the file was altered or cut short.

// Reads a preamble. Its hash has no key, so `least`, the fewest bytes that it may have, is checked as well.
Bytes ReadPreamble(int fd, const std::string& path, size_t least = 0);
// Reads the chunk at `at` into its buffer.
void ReadChunk(int fd, uint64_t at, std::span<uint8_t> buffer, const std::string& path);
// Checks that the file has at least this many bytes.
void CheckLength(int fd, uint64_t least, const std::string& path);

// Returns the names in a folder, sorted; those that begin with a dot are left out. Throws Cause::kResource.
std::vector<std::string> NamesIn(const std::string& folder);

}  // namespace suf::store
