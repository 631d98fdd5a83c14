#include "suf/proto/ledger.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suf/base/digest.hpp"

namespace suf::proto {
namespace {

// Place: machine id, device and inode of the store directory, inode of the ledger. 64 bytes, then their SHA-256.
constexpr size_t kPlace = 64, kHeader = kPlace + 32;
// Record: u64 serial, u32 fate, u32 zero, then 16 bytes of SHA-256(number of the record | those).
constexpr size_t kBody = 16, kRecord = 32;

Bytes PlaceOf(const std::string& dir, int ledger) {
  struct stat d, l;
  SUF_CHECK(!stat(dir.c_str(), &d) && !fstat(ledger, &l));
  Bytes machine;
  if (!access("/etc/machine-id", R_OK))
    machine = ReadSome(OpenFile("/etc/machine-id", O_RDONLY).get(), 64, "/etc/machine-id");
  Writer w;
  w.Raw(AsView("SUFLEDG1"));
  w.Raw(HashOf({AsView("suf ledger"), machine}));
  w.Put(uint64_t(d.st_dev)), w.Put(uint64_t(d.st_ino)), w.Put(uint64_t(l.st_ino));
  SUF_CHECK(w.bytes().size() == kPlace);
  return w.Take();
}

Hash RecordCheck(uint64_t index, View body) { return HashOf({View(reinterpret_cast<uint8_t*>(&index), 8), body}); }

Bytes RecordOf(uint64_t index, uint64_t serial, Fate fate) {
  Writer w;
  w.Put(serial), w.Put(uint32_t(fate)), w.Put(uint32_t{0});
  Hash check = RecordCheck(index, w.bytes());
  w.Raw(View(check).first(kRecord - kBody));
  return w.Take();
}

}  // namespace

Ledger::Ledger(const std::string& dir) : dir_(dir), path_(dir + "/ledger") {
  if (!access(path_.c_str(), F_OK)) {
    fd_ = OpenFile(path_, O_RDWR);
    struct stat s;
    SUF_CHECK(!fstat(fd_.get(), &s));
    Load(ReadSome(fd_.get(), size_t(s.st_size), path_));
    if (keys_lost_) Begin();
  } else {
    keys_lost_ = true;  // bundles without a ledger cannot be trusted to be unused
    Begin();
  }
  std::vector<uint64_t> open;
  for (auto [serial, fate] : fates_)
    if (fate == Fate::kClaimed) open.push_back(serial);
  for (uint64_t serial : open) {
    Append(serial, Fate::kBurnt);
    notices_.push_back(Str("bundle ", serial, " was claimed by a session that did not end; it is burnt"));
  }
}

void Ledger::Begin() {
  // a new file beside the old one, then renamed: the header names its inode, which a rename keeps
  std::string temp = path_ + ".part";
  Fd fresh = OpenFile(temp, O_RDWR | O_CREAT | O_TRUNC);
  Bytes place = PlaceOf(dir_, fresh.get());
  WriteAll(fresh.get(), place, temp);
  WriteAll(fresh.get(), HashOf({place}), temp);
  records_ = 0;
  for (auto [serial, fate] : fates_) WriteAll(fresh.get(), RecordOf(records_++, serial, fate), temp);
  Sync(fresh.get(), temp);
  Rename(temp, path_);
  SyncDir(dir_);
  fd_ = std::move(fresh);
}

void Ledger::Load(View file) {
  if (file.size() < kHeader || !Equal(HashOf({file.first(kPlace)}), file.subspan(kPlace, 32))) {
    keys_lost_ = true;
    notices_.push_back(Str("the ledger ", path_, " is damaged at its start; the bundles of this store are discarded"));
    return;
  }
  if (!Equal(file.first(kPlace), PlaceOf(dir_, fd_.get()))) {
    keys_lost_ = true;
    notices_.push_back(Str("the store ", dir_,
                           " was copied or restored from elsewhere; its bundles are discarded, as they may be used"));
  }
  size_t at = kHeader;
  for (; at + kRecord <= file.size(); at += kRecord, ++records_) {
    View body = file.subspan(at, kBody), check = file.subspan(at + kBody, kRecord - kBody);
    if (!Equal(View(RecordCheck(records_, body)).first(check.size()), check)) break;
    Reader r(body, "a ledger record");
    uint64_t serial = r.Get<uint64_t>();
    fates_[serial] = Fate(r.Get<uint32_t>());
    floor_ = std::max(floor_, serial);
  }
  if (at == file.size()) return;
  if (file.size() - at > kRecord) {  // more than a torn end
    keys_lost_ = true;
    notices_.push_back(
        Str("the ledger ", path_, " is damaged at byte ", at, "; the bundles of this store are discarded"));
    return;
  }
  notices_.push_back(
      Str("the last record of ", path_, " was not written to its end; it is dropped, nothing was sent under it"));
  if (ftruncate(fd_.get(), off_t(at)))
    Fail(Exit::kResource, "cannot repair ", path_, " (", SystemError(), "); see to the disk, then start again");
  Sync(fd_.get(), path_);
}

void Ledger::Append(uint64_t serial, Fate fate) {
  floor_ = std::max(floor_, serial);  // before the write: a failed sync leaves a burnt serial
  fates_[serial] = fate;
  off_t at = off_t(kHeader + records_ * kRecord);
  if (lseek(fd_.get(), at, SEEK_SET) != at)
    Fail(Exit::kResource, "cannot append to ", path_, " (", SystemError(), "); see to the disk");
  WriteAll(fd_.get(), RecordOf(records_, serial, fate), path_);
  Sync(fd_.get(), path_);
  ++records_;
}

}  // namespace suf::proto
