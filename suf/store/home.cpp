#include "suf/store/home.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "suf/base/private_files.hpp"

namespace suf::store {

Home::Home(const std::string& dir) : dir_(dir), lock_(LockPrivateFolder(dir)) {
  lane_ = std::shared_ptr<Lane>(new Lane(*this, dir_, &notices_));
  DropSetup();
}

std::vector<std::string> Home::TakeNotices() {
  std::lock_guard l(m_);
  return std::exchange(notices_, {});
}

void Home::CheckCanKeepBundles() const {
  if (!Identify(OpenFile(dir_, O_RDONLY | O_DIRECTORY).get()))
    Fail(Cause::kResource, "the file system of ", dir_, " keeps no times of birth of files, by which a restored store ",
         "is noticed, so no keys may lie there; keep no keys ahead, or name a store on ext4, xfs, btrfs or tmpfs");
}

bool Home::HasSetup(const Hash& weights) const { return !access(SetupFile(weights).c_str(), R_OK); }
ChunkFile Home::NewSetup() { return {dir_ + "/w_hat.part", AsView("SUFWHAT1")}; }
void Home::DropSetup() noexcept { unlink((dir_ + "/w_hat.part").c_str()); }
void Home::CommitSetup(ChunkFile file, const Hash& weights) {
  file.Sync();
  file.Commit(SetupFile(weights));
}

std::optional<Bytes> Home::LoadSetup(const Hash& plan, const Hash& weights, uint64_t bytes) {
  std::string path = SetupFile(weights);
  try {
    Fd fd = OpenFile(path, O_RDONLY);
    const size_t preamble = ReadPreamble(fd.get(), path).size();
    CheckLength(fd.get(), bytes, path);
    ChunkVerifier verifier(ChunkKey(plan, weights), EvenBody(bytes));
    Bytes all, chunk;
    all.reserve(bytes);
    for (uint64_t at = AfterPreamble(preamble); verifier.left(); at = AfterChunk(at, chunk)) {
      chunk.resize(verifier.bytes());
      ReadChunk(fd.get(), at, chunk, path);
      Append(&all, verifier.Verify(chunk, path));
    }
    return all;
  } catch (const Error& e) {
    if (e.cause() == Cause::kResource) throw;
    return std::nullopt;
  }
}

Secret Home::LongLivedSecret(const std::string& name) {
  std::string path = dir_ + "/" + name;
  std::lock_guard l(m_);
  if (access(path.c_str(), F_OK)) WriteFile(dir_, name, Secret::Random().view());
  Bytes b = ReadSome(OpenFile(path, O_RDONLY).get(), 33, path);
  if (b.size() != 32)
    Fail(Cause::kResource, path, " is not a secret of 32 bytes; restore it, or remove this store and start a new one");
  Secret s{View(b)};
  return s;
}

bool Home::Pin(const net::Identity& peer) {
  std::string name = Str(Name(peer.role), ".pin"), path = dir_ + "/" + name;
  std::lock_guard l(m_);
  if (access(path.c_str(), F_OK)) {
    WriteFile(dir_, name, AsView(Hex(peer.key)));
    return true;
  }
  return Equal(ReadSome(OpenFile(path, O_RDONLY).get(), 2 * peer.key.size(), path), AsView(Hex(peer.key)));
}

}  // namespace suf::store
