#include "suf/store/ledger.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suf/base/digest.hpp"

namespace suf::store {
namespace {

// The place is lane, machine id, device, and the identities of the lane's directory and of the ledger. Its SHA-256
// follows.
constexpr size_t kPlace = 112, kHeader = kPlace + 32;
// A record: u64 serial, u32 kind, u32 zero, 24 bytes of detail, then 24 bytes of SHA-256(number of the record | those).
constexpr size_t kBody = 40, kRecord = 64;

std::array<uint8_t, 24> DetailOf(const FileId& id) {
  Writer w;
  Put(w, id);
  std::array<uint8_t, 24> detail;
  SUF_CHECK(w.bytes().size() == detail.size());
  std::copy(w.bytes().begin(), w.bytes().end(), detail.begin());
  return detail;
}

FileId FileOf(View detail) {
  Reader r(detail, "a ledger record");
  FileId id;
  id.inode = r.Get<uint64_t>();
  id.birth_s = r.Get<int64_t>();
  id.birth_ns = r.Get<uint32_t>();
  id.generation = r.Get<uint32_t>();
  return id;
}

Bytes PlaceOf(const std::string& dir, const LaneId& id, int ledger) {
  struct stat d;
  SUF_CHECK(!stat(dir.c_str(), &d));
  Bytes machine;
  if (!access("/etc/machine-id", R_OK))
    machine = ReadSome(OpenFile("/etc/machine-id", O_RDONLY, Links::kFollow).get(), 64, "/etc/machine-id");
  Writer w;
  w.Raw(AsView("SUFLEDG3"));
  w.Raw(id);
  w.Raw(HashOf({AsView("suf ledger"), machine}));
  w.Put(uint64_t(d.st_dev));
  // without birth times there are no keys on disk, so there is nothing to tie
  Put(w, Identify(OpenFile(dir, O_RDONLY | O_DIRECTORY).get()).value_or(FileId{d.st_ino, 0, 0, 0}));
  Put(w, Identify(ledger).value_or(FileId{}));
  SUF_CHECK(w.bytes().size() == kPlace);
  return w.Take();
}

Hash RecordCheck(uint64_t index, View body) { return HashOf({View(reinterpret_cast<uint8_t*>(&index), 8), body}); }

}  // namespace

Bytes Ledger::Encode(uint64_t index, const Record& r) {
  Writer w;
  w.Put(r.serial);
  w.Put(uint32_t(r.kind));
  w.Put(uint32_t{0});
  w.Raw(r.detail);
  Hash check = RecordCheck(index, w.bytes());
  w.Raw(View(check).first(kRecord - kBody));
  return w.Take();
}

Ledger::Ledger(const std::string& dir, const LaneId& id) : dir_(dir), path_(dir + "/ledger"), id_(id) {
  if (access(path_.c_str(), F_OK)) {
    keys_lost_ = true;  // without a ledger, bundles may have been used
    return;
  }
  fd_ = OpenFile(path_, O_RDWR);
  struct stat s;
  SUF_CHECK(!fstat(fd_.get(), &s));
  Load(ReadSome(fd_.get(), size_t(s.st_size), path_));
}

void Ledger::Settle(const std::map<uint64_t, FileId>& files) {
  files_ = files;
  if (std::exchange(loaded_, {}) != LiveRecords() || keys_lost_) Rewrite();
  for (const auto& [serial, record] : std::map<uint64_t, Record>(open_)) {
    Append(serial, RecordKind::kBurnt);
    if (record.kind == RecordKind::kClaimed) burnt_claims_.push_back(serial);
    notices_.push_back(
        record.kind == RecordKind::kReported
            ? Str("the dealer was notified of bundle ", serial, " by a session that did not use it; it is burnt")
            : Str("bundle ", serial, " was claimed by a session that did not end; it is burnt"));
  }
}

// Returns the records that must survive a rewrite.
std::vector<Ledger::Record> Ledger::LiveRecords() const {
  std::vector<Record> live;
  if (floor_) live.push_back({floor_, RecordKind::kFloor});
  for (const auto& [lane, serial] : witnessed_) live.push_back({serial, RecordKind::kWitnessed, lane});
  for (const auto& [serial, record] : open_) live.push_back(record);
  for (const auto& [serial, file] : files_) live.push_back({serial, RecordKind::kStored, DetailOf(file)});
  return live;
}

void Ledger::Rewrite() {
  // a new file beside the old one is renamed: the header names its inode, which a rename keeps
  std::string temp = path_ + ".part";
  Fd fresh = OpenFile(temp, O_RDWR | O_CREAT | O_TRUNC);
  Bytes all = PlaceOf(dir_, id_, fresh.get());
  const Hash check = HashOf({all});
  suf::Append(&all, check);
  uint64_t records = 0;
  for (const Record& r : LiveRecords()) suf::Append(&all, Encode(records++, r));
  WriteAll(fresh.get(), all, temp);
  Sync(fresh.get(), temp);
  Rename(temp, path_);
  SyncDir(dir_);
  fd_ = std::move(fresh);
  records_ = records;
}

// Reads the valid records at the front; returns how many bytes they take.
size_t Ledger::Parse(View records, std::vector<Record>* out) const {
  size_t at = 0;
  for (; at + kRecord <= records.size(); at += kRecord) {
    View body = records.subspan(at, kBody), check = records.subspan(at + kBody, kRecord - kBody);
    if (!Equal(View(RecordCheck(out->size(), body)).first(check.size()), check)) break;
    Reader r(body, "a ledger record");
    Record record;
    record.serial = r.Get<uint64_t>();
    record.kind = RecordKind(r.Get<uint32_t>());
    (void)r.Get<uint32_t>();
    if (record.kind < RecordKind::kClaimed || record.kind > RecordKind::kWitnessed) break;
    View detail = r.Raw(record.detail.size());
    std::copy(detail.begin(), detail.end(), record.detail.begin());
    out->push_back(record);
  }
  return at;
}

void Ledger::Load(View file) {
  if (file.size() < kHeader || !Equal(HashOf({file.first(kPlace)}), file.subspan(kPlace, 32))) {
    keys_lost_ = true;
    notices_.push_back(Str("the ledger ", path_, " is damaged at its start; the bundles of this store are discarded"));
    return;
  }
  if (!Equal(file.first(kPlace), PlaceOf(dir_, id_, fd_.get()))) {
    keys_lost_ = true;
    notices_.push_back(Str("the store ", dir_,
                           " was copied or restored from elsewhere; its bundles are discarded, as they may be used"));
  }
  const size_t end = kHeader + Parse(file.subspan(kHeader), &loaded_);
  for (const Record& r : loaded_) Apply(r);
  records_ = loaded_.size();
  if (end == file.size()) return;
  if (file.size() - end > kRecord) {  // more than a torn end
    keys_lost_ = true;
    notices_.push_back(
        Str("the ledger ", path_, " is damaged at byte ", end, "; the bundles of this store are discarded"));
    return;
  }
  notices_.push_back(
      Str("the last record of ", path_, " was not written to its end; it is dropped, nothing was sent under it"));
  if (ftruncate(fd_.get(), off_t(end)))
    Fail(Cause::kResource, "cannot repair ", path_, " (", SystemError(), "); see to the disk, then start again");
  Sync(fd_.get(), path_);
}

void Ledger::Apply(const Record& r) {
  if (r.kind == RecordKind::kStored) {
    if (r.serial > floor_) files_[r.serial] = FileOf(r.detail);
    return;
  }
  if (r.kind != RecordKind::kFloor && r.kind != RecordKind::kReported && r.detail != PairId{}) {
    uint64_t& known = witnessed_[r.detail];
    known = std::max(known, r.serial);
  }
  if (r.kind == RecordKind::kWitnessed) return;
  floor_ = std::max(floor_, r.serial);
  files_.erase(files_.begin(), files_.upper_bound(floor_));
  if (r.kind == RecordKind::kClaimed || r.kind == RecordKind::kReported)
    open_[r.serial] = r;
  else
    open_.erase(r.serial);
  if (r.kind == RecordKind::kBurnt)  // lower ones were not claimed yet, or are in use
    std::erase_if(open_, [&](const auto& o) { return o.first < r.serial && o.second.kind == RecordKind::kReported; });
}

// Opens the file if it is closed. If it was replaced or lost meanwhile, writes it anew, because this object is right.
void Ledger::Reopen() {
  if (fd_) return;
  if (!access(path_.c_str(), F_OK)) {
    Fd fd = OpenFile(path_, O_RDWR);
    struct stat s;
    if (!fstat(fd.get(), &s) && uint64_t(s.st_size) == kHeader + records_ * kRecord &&
        Equal(ReadSome(fd.get(), kPlace, path_), PlaceOf(dir_, id_, fd.get()))) {
      fd_ = std::move(fd);
      return;
    }
  }
  Rewrite();
}

void Ledger::Write(const Record& r) {
  Reopen();
  if (records_ >= kMostRecords && LiveRecords().size() < kMostRecords / 2) Rewrite();
  off_t at = off_t(kHeader + records_ * kRecord);
  if (lseek(fd_.get(), at, SEEK_SET) != at)
    Fail(Cause::kResource, "cannot append to ", path_, " (", SystemError(), "); see to the disk");
  WriteAll(fd_.get(), Encode(records_, r), path_);
  Sync(fd_.get(), path_);
  ++records_;
}

void Ledger::Append(uint64_t serial, RecordKind kind, const PairId& lane) {
  Record r{serial, kind, lane};
  Apply(r);  // before the write: a failed sync leaves a burnt serial
  Write(r);
}

void Ledger::Bind(uint64_t serial, const FileId& file) {
  Record r{serial, RecordKind::kStored, DetailOf(file)};
  Write(r);
  Apply(r);
}

uint64_t Ledger::witnessed(const PairId& lane) const {
  auto it = witnessed_.find(lane);
  return it == witnessed_.end() ? 0 : it->second;
}

std::map<uint64_t, RecordKind> Ledger::LastRecords() const {
  Fd fd = OpenFile(path_, O_RDONLY);
  Bytes file = ReadSome(fd.get(), kHeader + size_t(records_) * kRecord, path_);
  std::vector<Record> records;
  (void)Parse(View(file).subspan(kHeader), &records);
  std::map<uint64_t, RecordKind> last;
  for (const Record& r : records)
    if (r.kind <= RecordKind::kBurnt || r.kind == RecordKind::kReported) last[r.serial] = r.kind;
  return last;
}

}  // namespace suf::store
