#include "suf/proto/store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace suf::proto {
namespace {

constexpr size_t kMaxPreamble = 4096;

std::vector<std::string> FilesIn(const std::string& dir) {
  std::vector<std::string> names;
  struct Close {
    void operator()(DIR* p) const { closedir(p); }
  };
  std::unique_ptr<DIR, Close> d(opendir(dir.c_str()));
  if (!d) Fail(Exit::kResource, "cannot read the directory ", dir, " (", SystemError(), "); see to its permissions");
  while (dirent* e = readdir(d.get()))
    if (e->d_name[0] != '.') names.push_back(e->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

// ReadPreamble: throws Exit::kRefused when it was altered. Its hash has no key, so `least` is checked too.
Bytes ReadPreamble(int fd, const std::string& path, size_t least = 0) {
  Bytes length = ReadSome(fd, sizeof(uint32_t), path);
  size_t n = Reader(length, path).Get<uint32_t>();
  if (n > kMaxPreamble || n < least) Fail(Exit::kRefused, path, " was altered; it is burnt, start again");
  Bytes all = ReadSome(fd, n + 32, path);
  Reader r(all, path);
  View preamble = r.Raw(n);
  if (!Equal(HashOf({preamble}), r.Raw(32))) Fail(Exit::kRefused, path, " was altered; it is burnt, start again");
  all.resize(n);
  return all;
}

Bytes ReadChunks(int fd, Chain& chain, const std::string& path) {
  struct stat s;
  if (fstat(fd, &s) || uint64_t(s.st_size) < chain.left())
    Fail(Exit::kRefused, path, " is cut short; it is burnt, start again");
  Bytes body;
  body.reserve(chain.left());
  while (chain.left()) {
    Bytes length = ReadSome(fd, sizeof(uint32_t), path);
    size_t n = Reader(length, path).Get<uint32_t>();
    Bytes chunk = ReadSome(fd, std::min(n, kMaxChunk), path);
    if (chunk.size() != n) Fail(Exit::kRefused, path, " is cut short or too long; it is burnt, start again");
    View data = chain.Next(chunk, path);
    Append(&body, data);
  }
  return body;
}

}  // namespace

ChunkFile::ChunkFile(const std::string& temp, View preamble)
    : temp_(temp), fd_(OpenFile(temp, O_WRONLY | O_CREAT | O_TRUNC)) {
  Writer w;
  w.Put(uint32_t(preamble.size())), w.Raw(preamble), w.Raw(HashOf({preamble}));
  Bytes b = w.Take();
  WriteAll(fd_.get(), b, temp_);
  Wipe(b.data(), b.size());
}

void ChunkFile::Add(View chunk) {
  uint32_t n = uint32_t(chunk.size());
  WriteAll(fd_.get(), View(reinterpret_cast<uint8_t*>(&n), sizeof n), temp_);
  WriteAll(fd_.get(), chunk, temp_);
}

void ChunkFile::Commit(const std::string& dir, const std::string& name) {
  Sync(fd_.get(), temp_);
  Rename(temp_, dir + "/" + name);
  SyncDir(dir);
}

Store::Store(const std::string& dir)
    : dir_((MakeDir(dir), dir)),
      bundles_(dir + "/bundles"),
      lock_(LockDir(dir)),
      ledger_(dir),
      notices_(ledger_.notices()) {
  MakeDir(bundles_);
  Recover();
}

void Store::Recover() {
  for (const std::string& name : FilesIn(bundles_)) {
    std::string path = bundles_ + "/" + name;
    if (ledger_.keys_lost() || !name.ends_with(".bundle")) {  // the rest of a delivery that broke
      Discard(path);
      continue;
    }
    try {
      Bytes preamble = ReadPreamble(OpenFile(path, O_RDONLY).get(), path, 32);
      BundleHeader h = DecodeHeader(View(preamble).first(preamble.size() - 32));
      Wipe(preamble.data(), preamble.size());
      if (h.serial > ledger_.floor() && name == BundleName(h.serial)) {
        slots_[h.serial] = {h, {}, true};
        continue;
      }
      notices_.push_back(Str("the bundle ", path, " is of a serial that is spent; it is discarded"));
    } catch (const Error& e) {
      if (e.code() == Exit::kResource) throw;
      notices_.push_back(e.what());
    }
    Discard(path);
  }
  SyncDir(bundles_);
}

// Discard: key and pair secret are overwritten, then the file goes; the caller syncs the directory.
void Store::Discard(const std::string& path) {
  {
    Fd fd = OpenFile(path, O_WRONLY);
    WriteAll(fd.get(), Bytes(kMaxPreamble), path);
    Sync(fd.get(), path);
  }
  if (unlink(path.c_str()))
    Fail(Exit::kResource, "cannot remove ", path, " (", SystemError(), "); see to its permissions");
}

std::string Store::BundleName(uint64_t serial) const {
  std::string digits = std::to_string(serial);
  return std::string(20 - digits.size(), '0') + digits + ".bundle";
}

Store::Incoming::Incoming(Store& s, const BundleHeader& h, Secret key, bool to_disk)
    : store_(s), chain_(ChunkKey(h), h.body_bytes) {
  std::lock_guard l(s.m_);
  if (h.serial <= s.ledger_.floor() || s.slots_.count(h.serial))
    Fail(Exit::kRefused, "the dealer sent bundle ", h.serial, ", which this store has had (it is at ",
         s.ledger_.floor(), "); give the dealer its old state back, or start with a new store");
  bundle_.header = h;
  if (!to_disk) {
    bundle_.key = std::move(key);
    bundle_.body.reserve(h.body_bytes);
    return;
  }
  Bytes preamble = Encode(h);
  preamble.insert(preamble.end(), key.view().begin(), key.view().end());
  file_ = std::make_unique<ChunkFile>(s.bundles_ + "/incoming.part", preamble);
  Wipe(preamble.data(), preamble.size());
}

void Store::Incoming::Add(View chunk) {
  View data = chain_.Next(chunk, Str("bundle ", bundle_.header.serial));
  if (file_)
    file_->Add(chunk);
  else
    Append(&bundle_.body, data);
}

void Store::Incoming::Commit() {
  SUF_CHECK(chain_.left() == 0);
  uint64_t serial = bundle_.header.serial;
  if (file_) file_->Commit(store_.bundles_, store_.BundleName(serial));
  Slot slot{bundle_.header, {}, file_ != nullptr};
  if (!file_) slot.memory = std::move(bundle_);
  std::lock_guard l(store_.m_);
  store_.slots_[serial] = std::move(slot);
}

std::vector<BundleHeader> Store::Bundles() const {
  std::lock_guard l(m_);
  std::vector<BundleHeader> all;
  for (const auto& [serial, slot] : slots_) all.push_back(slot.header);
  return all;
}

const Store::Slot& Store::Find(uint64_t serial) const {
  auto it = slots_.find(serial);
  if (it == slots_.end())
    Fail(Exit::kRefused, "bundle ", serial, " is used, burnt or was never here (the store is at ", ledger_.floor(),
         "); start again");
  return it->second;
}

BundleHeader Store::Header(uint64_t serial) const {
  std::lock_guard l(m_);
  return Find(serial).header;
}

void Store::Forget() {
  std::lock_guard l(m_);
  std::erase_if(slots_, [](const auto& s) { return !s.second.on_disk; });
}

Bundle Store::Load(uint64_t serial) {
  std::string path = bundles_ + "/" + BundleName(serial);
  Fd fd = OpenFile(path, O_RDONLY);
  Bytes preamble = ReadPreamble(fd.get(), path, 32);
  Bundle b;
  View rest = View(preamble).first(preamble.size() - 32);
  b.header = DecodeHeader(rest);
  b.key = Secret(View(preamble).last(32));
  Wipe(preamble.data(), preamble.size());
  if (b.header.serial != serial) Fail(Exit::kRefused, path, " was altered; it is burnt, start again");
  Chain chain(ChunkKey(b.header), b.header.body_bytes);
  b.body = ReadChunks(fd.get(), chain, path);
  return b;
}

Bundle Store::Take(uint64_t serial, Fate fate) {
  std::lock_guard l(m_);
  bool on_disk = Find(serial).on_disk;
  SUF_CHECK(serial > ledger_.floor());
  // from here the serial is spent, whatever fails
  Slot slot = std::move(slots_[serial]);
  std::exception_ptr failed;
  Bundle b;
  try {
    ledger_.Append(serial, fate);
    b = on_disk ? Load(serial) : std::move(slot.memory);
  } catch (...) {
    failed = std::current_exception();
  }
  BurnUpTo(serial);
  if (!failed) return b;
  try {
    ledger_.Append(serial, Fate::kBurnt);
  } catch (const Error&) {  // burnt at the next start
  }
  std::rethrow_exception(failed);
}

// BurnUpTo: claims are monotone; what lies below can never be claimed, so its keys go too.
void Store::BurnUpTo(uint64_t serial) {
  bool disk = false;
  while (!slots_.empty() && slots_.begin()->first <= serial) {
    auto it = slots_.begin();
    if (it->second.on_disk) Discard(bundles_ + "/" + BundleName(it->first)), disk = true;
    slots_.erase(it);
  }
  if (disk) SyncDir(bundles_);
}

size_t Store::BurnAll() {
  std::lock_guard l(m_);
  if (slots_.empty()) return 0;
  size_t count = slots_.size();
  uint64_t last = slots_.rbegin()->first;
  std::exception_ptr failed;
  try {
    ledger_.Append(last, Fate::kBurnt);  // burns what is lower too
  } catch (...) {
    failed = std::current_exception();
  }
  BurnUpTo(last);
  if (failed) std::rethrow_exception(failed);
  return count;
}

void Store::Finish(uint64_t serial) {
  std::lock_guard l(m_);
  ledger_.Append(serial, Fate::kDone);
}

void Store::Burn(uint64_t serial) noexcept {
  std::lock_guard l(m_);
  try {
    ledger_.Append(serial, Fate::kBurnt);
  } catch (...) {
  }
}

bool Store::HasSetup(const Hash& weights) const {
  return !access((dir_ + "/" + Hex(weights) + ".w_hat").c_str(), R_OK);
}
ChunkFile Store::NewSetup() { return {dir_ + "/w_hat.part", AsView("SUFWHAT1")}; }
void Store::CommitSetup(ChunkFile file, const Hash& weights) { file.Commit(dir_, Hex(weights) + ".w_hat"); }

Bytes Store::LoadSetup(const Hash& plan, const Hash& weights, uint64_t bytes) {
  std::string path = dir_ + "/" + Hex(weights) + ".w_hat";
  try {
    Fd fd = OpenFile(path, O_RDONLY);
    (void)ReadPreamble(fd.get(), path);
    Chain chain(ChunkKey(plan, weights), bytes);
    return ReadChunks(fd.get(), chain, path);
  } catch (const Error& e) {
    if (e.code() == Exit::kResource) throw;
    unlink(path.c_str());
    Fail(Exit::kRefused, "the masked weights in ", path, " were altered; they are removed, start again to fetch them");
  }
}

Secret Store::LongLived(const std::string& name) {
  std::string path = dir_ + "/" + name;
  if (access(path.c_str(), F_OK)) WriteFile(dir_, name, Secret::Random().view());
  Bytes b = ReadSome(OpenFile(path, O_RDONLY).get(), 33, path);
  if (b.size() != 32)
    Fail(Exit::kResource, path, " is not a secret of 32 bytes; restore it, or remove this store and start a new one");
  Secret s{View(b)};
  Wipe(b.data(), b.size());
  return s;
}

bool Store::Pin(const Identity& peer) {
  std::string name = Str(Name(peer.role), ".pin"), path = dir_ + "/" + name;
  if (access(path.c_str(), F_OK)) {
    WriteFile(dir_, name, AsView(Hex(peer.key)));
    return true;
  }
  return Equal(ReadSome(OpenFile(path, O_RDONLY).get(), 2 * peer.key.size(), path), AsView(Hex(peer.key)));
}

DealerState::DealerState(const std::string& dir) : dir_((MakeDir(dir), dir)), lock_(LockDir(dir)) {
  std::string path = dir_ + "/serial";
  if (access(path.c_str(), F_OK)) return;
  Bytes b = ReadSome(OpenFile(path, O_RDONLY).get(), 64, path);
  if (b.size() != 40 || !Equal(HashOf({View(b).first(8)}), View(b).subspan(8)))
    Fail(Exit::kResource, "the dealer's serial in ", path,
         " is damaged; name a new state directory, and new stores for both parties");
  next_ = Reader(b, path).Get<uint64_t>();
}

uint64_t DealerState::Reserve(uint64_t count) {
  uint64_t first = next_;
  if (count > ~uint64_t{0} - next_)
    Fail(Exit::kResource, "the dealer's serials in ", dir_,
         " are used up; name a new state directory, and new stores for both parties");
  next_ += count;
  Writer w;
  w.Put(next_), w.Raw(HashOf({View(w.bytes()).first(8)}));
  WriteFile(dir_, "serial", w.bytes());
  return first;
}

}  // namespace suf::proto
