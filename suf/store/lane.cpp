#include "suf/store/lane.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "suf/base/private_files.hpp"
#include "suf/exec/pool.hpp"
#include "suf/store/home.hpp"

namespace suf::store {
namespace {

// The place of the first chunk in a bundle's file, behind length, header, K_p and SHA-256.
constexpr size_t kBundlePreamble = AfterPreamble(kHeaderBytes + 32);

// Feeds the chunks of a bundle's file, several at a time. One thread reads and verifies fewer bytes than a device
// takes.
void FeedFile(KeySource& keys, int fd, const std::string& path, const Hash& key) {
  constexpr int kReaders = 8;
  auto tags = net::ChunkTags::Several(key, kReaders);
  exec::Pool pool(int(tags.size()));
  uint64_t at = kBundlePreamble, number = 0;
  for (auto buffers = keys.NextBuffers(tags.size()); !buffers.empty(); buffers = keys.NextBuffers(tags.size())) {
    std::vector<uint64_t> places;
    for (const auto& buffer : buffers) places.push_back(std::exchange(at, AfterChunk(at, buffer)));
    pool.For(buffers.size(), 1, [&](size_t lo, size_t hi) {
      for (size_t i = lo; i < hi; ++i) {
        ReadChunk(fd, places[i], buffers[i], path);
        CheckChunk(tags[i], number + i, buffers[i], path);
      }
    });
    number += buffers.size();
    keys.MarkFilled(buffers.size());
  }
}

}  // namespace

uint64_t BundleFileBytes(const BodyLayout& body) {
  return kBundlePreamble + body.chunks().size() * (sizeof(uint32_t) + net::ChunkTags::kBytes) + body.bytes();
}

void DiscardBundle(const std::string& path) {
  {
    Fd fd = OpenFile(path, O_WRONLY);
    WriteAll(fd.get(), Bytes(kBundlePreamble), path);
    Sync(fd.get(), path);
  }
  if (unlink(path.c_str()))
    Fail(Cause::kResource, "cannot remove ", path, " (", SystemError(), "); see to its permissions");
}

Lane::Lane(Home& home, const Hash& owner, const LaneId& id, const std::string& dir, std::vector<std::string>* notices)
    : home_(home), owner_(owner), id_(id), dir_(dir), bundles_(dir + "/bundles"), ledger_(dir, id) {
  MakePrivateFolderIn(dir_, "bundles");
  Recover(notices);
}

bool Lane::IsEmpty() const {
  std::lock_guard l(m_);
  return slots_.empty();
}

int64_t Lane::LastUse() const {
  struct stat s {};
  const std::string path = dir_ + "/ledger";
  return stat(path.c_str(), &s) ? 0 : int64_t(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec;
}

void Lane::CloseFile() noexcept {
  std::lock_guard l(m_);
  ledger_.Close();
}

// The ledger goes first. A folder without one and without bundles is that of a new lane.
void Lane::Remove() {
  std::lock_guard l(m_);
  SUF_CHECK(slots_.empty());
  for (const char* name : {"/ledger", "/ledger.part"}) unlink((dir_ + name).c_str());
  for (const std::string& name : NamesIn(bundles_)) DiscardBundle(bundles_ + "/" + name);  // of broken deliveries
  for (const std::string& folder : {bundles_, dir_})
    if (rmdir(folder.c_str()))
      Fail(Cause::kResource, "cannot remove ", folder, " (", SystemError(), "); see to its permissions");
}

// Keeps the bundles that the ledger knows; wipes the others and reports them.
void Lane::Recover(std::vector<std::string>* notices) {
  LaneScan found;
  const size_t before = notices->size();
  for (const std::string& name : NamesIn(bundles_)) RecoverFile(name, &found, notices);
  SyncDir(bundles_);
  if (found.strange)
    notices->push_back(Str("bundles of the store ", dir_, " that were copied or restored: ", found.strange,
                           "; they may have been used before and are wiped"));
  if (size_t known = found.known + found.strange; !ledger_.keys_lost() && ledger_.files().size() > known)
    notices->push_back(Str("bundles that are missing in the store ", dir_, ": ", ledger_.files().size() - known));
  ledger_.Settle(found.files);
  notices->insert(notices->begin() + long(before), ledger_.notices().begin(), ledger_.notices().end());
}

void Lane::RecoverFile(const std::string& name, LaneScan* found, std::vector<std::string>* notices) {
  std::string path = bundles_ + "/" + name;
  const auto id = Identify(OpenFile(path, O_RDONLY).get());
  const auto& bound = ledger_.files();
  const auto it = std::find_if(bound.begin(), bound.end(), [&](const auto& f) { return id && f.second == *id; });
  const bool ours = it != bound.end() && !ledger_.keys_lost();
  const bool named = name.ends_with(".bundle");
  if (!named && !ours) return DiscardBundle(path);  // the rest of a broken delivery
  found->known += ours;
  try {
    Bytes preamble = ReadPreamble(OpenFile(path, O_RDONLY).get(), path, 32);
    BundleHeader h = DecodeHeader(View(preamble).first(preamble.size() - 32));
    const bool whole = ours && h.serial == it->first && h.lane == id_;
    if (whole && !named) Rename(std::exchange(path, PathOf(h)), PathOf(h));  // stopped between Bind and Rename
    if (whole && path == PathOf(h)) {
      found->files.insert(*it);
      slots_[h.serial] = {h, {}, true};
      return;
    }
    if (h.serial > ledger_.floor() || h.lane != id_)
      ++found->strange;
    else
      notices->push_back(Str("the bundle ", path, " is of a serial that is spent; it is discarded"));
  } catch (const Error& e) {
    if (e.cause() == Cause::kResource) throw;
    notices->push_back(e.what());
  }
  DiscardBundle(path);
}

std::string Lane::PathOf(const BundleHeader& h) const {
  const std::string digits = std::to_string(h.serial);
  const Job& j = h.job;
  return Str(bundles_, "/", std::string(20 - digits.size(), '0'), digits, "-", j.entry, "-", j.variant, "-", j.tokens,
             "-", j.past, "-", j.texts, ".bundle");
}

Lane::IncomingBundle::IncomingBundle(Lane& s, const BundleHeader& h, Secret key, SharedLayout body, bool to_disk,
                                     uint64_t window)
    : lane_(s), header_(h), verifier_(ChunkKey(h), body) {
  SUF_CHECK(h.body_bytes == body->bytes() && h.lane == s.id_);
  std::lock_guard l(s.m_);
  burns_ = s.burns_;
  std::erase_if(s.slots_, [](const auto& slot) { return slot.second.DeliveryError(); });
  if (h.serial <= s.ledger_.floor() || s.slots_.count(h.serial))
    Fail(Cause::kRefused, "the dealer sent bundle ", h.serial, ", which this store has had (it is at ",
         s.ledger_.floor(), "); give the dealer its old state back, or start with a new store");
  if (uint64_t last = s.slots_.empty() ? s.ledger_.floor() : std::max(s.ledger_.floor(), s.slots_.rbegin()->first);
      h.serial > last && h.serial - last > kMaxSerialJump)
    Fail(Cause::kRefused, "the dealer sent bundle ", h.serial, "; this store is at ", last,
         " and takes serials up to 2^40 ", "above that; ask the dealer's operator why it leaps");
  if (!to_disk) {
    keys_ = std::make_shared<KeySource>(body, window);
    s.slots_[h.serial] = {h, {h, std::move(key), keys_}, false};
    return;
  }
  Bytes preamble = Encode(h);
  Append(&preamble, key.view());
  file_ = std::make_unique<ChunkFile>(s.bundles_ + "/incoming.part", preamble);
}

// An incomplete bundle cannot be claimed any more. An earlier claim gets the error when it reads, a later one at once.
Lane::IncomingBundle::~IncomingBundle() {
  if (!keys_ || committed_) return;
  Abort(std::make_exception_ptr(
      Error(Cause::kPeer, Str("bundle ", header_.serial, " did not come whole; it is burnt, start again"))));
}

void Lane::IncomingBundle::Abort(std::exception_ptr error) noexcept {
  if (keys_) keys_->Fail(std::move(error));
}

std::vector<std::span<uint8_t>> Lane::IncomingBundle::NextBuffers(size_t most) {
  most = std::min({most, kAhead, verifier_.chunks()});
  std::vector<std::span<uint8_t>> buffers;
  if (keys_ && most) buffers = keys_->NextBuffers(most);
  for (size_t i = 0; !keys_ && i < most; ++i) {
    exec::HostBuffer& to = to_disk_[(verifier_.next() + i) % kAhead];
    if (to.empty()) to = exec::HostBuffer(verifier_.largest());
    buffers.push_back(to.span().first(verifier_.bytes(i)));
  }
  buffer_ = buffers.empty() ? std::span<uint8_t>() : buffers[0];
  return buffers;
}

void Lane::IncomingBundle::MarkFilled() {
  (void)verifier_.Verify(buffer_, Str("bundle ", header_.serial));
  if (keys_)
    keys_->MarkFilled();
  else
    file_->Add(buffer_);
}

void Lane::IncomingBundle::Commit() {
  if (verifier_.left()) Fail(Cause::kPeer, "bundle ", header_.serial, " is not wanted any more; it is burnt");
  committed_ = true;
  if (keys_) return;
  std::lock_guard l(lane_.m_);
  if (burns_ != lane_.burns_) {
    DiscardBundle(lane_.bundles_ + "/incoming.part");
    Fail(Cause::kRefused, "bundle ", header_.serial, " arrived while all bundles of its lane were burnt; it is burnt");
  }
  // synced, then bound, then renamed: a start in between can identify the bundle
  file_->Sync();
  SyncDir(lane_.bundles_);
  lane_.home_.CheckCanKeepBundles();
  lane_.ledger_.Bind(header_.serial, *Identify(file_->fd()));
  file_->Commit(lane_.PathOf(header_));
  lane_.slots_[header_.serial] = {header_, {}, true};
}

std::vector<BundleHeader> Lane::Bundles() const {
  std::lock_guard l(m_);
  std::vector<BundleHeader> all;
  for (const auto& [serial, slot] : slots_)
    if (!slot.reported_to && !slot.DeliveryError()) all.push_back(slot.header);
  return all;
}

std::vector<BundleHeader> Lane::Bundles(const Job& job) const {
  std::vector<BundleHeader> all = Bundles();
  std::erase_if(all, [&](const BundleHeader& h) { return h.job != job; });
  return all;
}

const Lane::LaneSlot& Lane::Find(uint64_t serial) const {
  auto it = slots_.find(serial);
  if (it == slots_.end())
    Fail(Cause::kRefused, "bundle ", serial, " is used, burnt or was never here (the store is at ", ledger_.floor(),
         "); start again");
  return it->second;
}

BundleHeader Lane::Header(uint64_t serial) const {
  std::lock_guard l(m_);
  return Find(serial).header;
}

void Lane::DropUnclaimed() noexcept {
  std::lock_guard l(m_);
  for (auto it = slots_.begin(); it != slots_.end();) {
    if (it->second.on_disk && !it->second.reported_to) {
      it->second.memory = {};
      ++it;
      continue;
    }
    try {
      if (it->second.reported_to) ledger_.Append(it->first, RecordKind::kBurnt);
      if (it->second.on_disk) DiscardBundle(PathOf(it->second.header));
    } catch (...) {  // at the next start
    }
    it = slots_.erase(it);
  }
}

void Lane::BeginWitness(uint64_t serial, const PairId& lane) {
  std::lock_guard l(m_);
  LaneSlot& slot = Find(serial);
  SUF_CHECK(serial > ledger_.floor());
  slot.reported_to = lane;
  ledger_.Append(serial, RecordKind::kReported);
}

void Lane::EndWitness(uint64_t serial, uint64_t known) {
  std::lock_guard l(m_);
  LaneSlot& slot = Find(serial);
  SUF_CHECK(slot.reported_to && !slot.witnessed);
  const uint64_t before = ledger_.witnessed(*slot.reported_to);
  if (known >= serial) {
    size_t count = BurnAllLocked();
    Fail(Cause::kRefused, "the dealer knows that bundles up to ", known, " were used, and this store would have used ",
         serial, ": it was rolled back; its ", count, count == 1 ? " bundle is" : " bundles are",
         " burnt, start again with fresh ones and find out who restored it");
  }
  if (known < before)
    Fail(Cause::kRefused, "the dealer knows of bundles up to ", known, ", and this store announced ", before,
         ": its state was restored; bundle ", serial,
         " is burnt, give the dealer its state back, or start with new stores");
  slot.witnessed = true;
}

Bundle Lane::Load(const BundleHeader& known, SharedLayout body, uint64_t window) {
  std::string path = PathOf(known);
  auto fd = std::make_shared<Fd>(OpenFile(path, O_RDONLY));
  Bytes preamble = ReadPreamble(fd->get(), path, 32);
  Bundle b;
  View rest = View(preamble).first(preamble.size() - 32);
  b.header = DecodeHeader(rest);
  b.key = Secret(View(preamble).last(32));
  if (b.header.serial != known.serial || b.header.lane != id_ || b.header.job != known.job ||
      b.header.body_bytes != body->bytes())
    Fail(Cause::kRefused, path, " was altered; it is burnt, start again");
  CheckLength(fd->get(), BundleFileBytes(*body), path);
  b.keys = std::make_shared<KeySource>(body, window);
  b.keys->Feed([fd, path, key = ChunkKey(b.header)](KeySource& keys) { FeedFile(keys, fd->get(), path, key); });
  return b;
}

void Lane::ReadAhead(uint64_t serial, SharedLayout body, uint64_t window) {
  std::lock_guard l(m_);
  const auto it = slots_.find(serial);
  if (it == slots_.end() || !it->second.on_disk || it->second.memory.keys) return;
  try {
    it->second.memory = Load(it->second.header, std::move(body), window);
  } catch (const Error&) {  // the claim reports it
  }
}

Bundle Lane::Take(uint64_t serial, RecordKind kind, SharedLayout body, uint64_t window) {
  std::lock_guard l(m_);
  SUF_CHECK(Find(serial).witnessed || !Find(serial).on_disk);
  SUF_CHECK(Find(serial).witnessed || serial > ledger_.floor());
  if (const std::exception_ptr error = Find(serial).DeliveryError()) {  // it was not used either
    slots_.erase(serial);
    std::rethrow_exception(error);
  }
  // from here the serial is spent, whatever fails
  LaneSlot slot = std::move(slots_[serial]);
  std::exception_ptr failed;
  Bundle b;
  try {
    ledger_.Append(serial, kind, slot.reported_to.value_or(PairId{}));
    const auto& keys = slot.memory.keys;  // on disk: read ahead with this window, and no error so far
    const bool here = !slot.on_disk || (keys && keys->window() == window && !keys->failed());
    b = here ? std::move(slot.memory) : Load(slot.header, std::move(body), window);
  } catch (...) {
    failed = std::current_exception();
  }
  BurnUpTo(serial);
  if (!failed) return b;
  try {
    ledger_.Append(serial, RecordKind::kBurnt);
  } catch (const Error&) {  // burnt at the next start
  }
  std::rethrow_exception(failed);
}

// Removes the keys of all bundles up to this serial. Claims are monotone, so these can never be claimed.
void Lane::BurnUpTo(uint64_t serial) {
  bool disk = false;
  while (!slots_.empty() && slots_.begin()->first <= serial) {
    auto it = slots_.begin();
    if (it->second.on_disk) {
      DiscardBundle(PathOf(it->second.header));
      disk = true;
    }
    slots_.erase(it);
  }
  if (disk) SyncDir(bundles_);
}

size_t Lane::BurnAll() {
  std::lock_guard l(m_);
  return BurnAllLocked();
}

size_t Lane::BurnAllLocked() {
  ++burns_;
  if (slots_.empty()) return 0;
  size_t count = slots_.size();
  uint64_t last = slots_.rbegin()->first;
  std::exception_ptr failed;
  try {
    ledger_.Append(last, RecordKind::kBurnt);  // burns all lower ones as well
  } catch (...) {
    failed = std::current_exception();
  }
  BurnUpTo(last);
  if (failed) std::rethrow_exception(failed);
  return count;
}

void Lane::Finish(uint64_t serial) {
  std::lock_guard l(m_);
  ledger_.Append(serial, RecordKind::kDone);
}

void Lane::Burn(uint64_t serial) noexcept {
  std::lock_guard l(m_);
  try {
    ledger_.Append(serial, RecordKind::kBurnt);
  } catch (...) {
  }
}

}  // namespace suf::store
