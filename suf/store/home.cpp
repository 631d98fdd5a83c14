#include "suf/store/home.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "suf/base/private_files.hpp"

namespace suf::store {

namespace {

constexpr Hash kOwn{};  // the owner of P1's lanes

bool Exists(const std::string& path) { return !access(path.c_str(), F_OK); }

// Reads the name of a folder, two digits for each byte of the id; nothing if it is none.
template <class Id>
std::optional<Id> IdOf(const std::string& name) {
  try {
    Id id;
    const Bytes bytes = FromHex(name, id.size(), "a name");
    std::copy(bytes.begin(), bytes.end(), id.begin());
    if (Hex(id) == name) return id;
  } catch (const Error&) {
  }
  return std::nullopt;
}

// Calls f(id) for each private folder in another one. Other names are left alone, with a notice.
template <class Id, class F>
void ForEachFolder(const std::string& in, const char* whose, std::vector<std::string>* notices, F f) {
  for (const std::string& name : NamesIn(in)) {
    const auto id = IdOf<Id>(name);
    if (!id) {
      notices->push_back(Str(in, "/", name, " is named like no ", whose, "; it is left alone"));
      continue;
    }
    MakePrivateFolderIn(in, name);
    f(*id);
  }
}

void RemoveFolder(const std::string& path) {
  if (rmdir(path.c_str()))
    Fail(Cause::kResource, "cannot remove ", path, " (", SystemError(), "); see to its permissions");
}

}  // namespace

// Closes a lane at the end of a session.
struct Home::OpenLane {
  Home& home;
  const std::shared_ptr<Lane> lane;
  ~OpenLane() { home.Close(*lane); }
};

Home::Home(const std::string& dir) : dir_(dir), lock_(LockPrivateFolder(dir)) {
  WipeOldStore();
  if (Exists(FolderOf(kOwn))) {
    MakePrivateFolderIn(dir_, "lanes");
    RecoverLanes(kOwn);
  }
  if (const std::string owners = dir_ + "/owners"; Exists(owners)) {
    MakePrivateFolderIn(dir_, "owners");
    ForEachFolder<Hash>(owners, "data owner", &notices_, [&](const Hash& owner) { RecoverLanes(owner); });
  }
  for (const std::string& name : NamesIn(dir_))
    if (name.starts_with("w_hat") && name.ends_with(".part")) unlink((dir_ + "/" + name).c_str());
}

// Up to wire version 6 there was one ledger, with its bundles beside it. Those bundles are refused by their version.
// The serials that the ledger names may be dealt again, because each bundle pair has another rho.
void Home::WipeOldStore() {
  const std::string bundles = dir_ + "/bundles", ledger = dir_ + "/ledger";
  if (Exists(bundles)) {
    MakePrivateFolderIn(dir_, "bundles");
    size_t count = 0;
    for (const std::string& name : NamesIn(bundles)) {
      DiscardBundle(bundles + "/" + name);
      count += name.ends_with(".bundle");
    }
    SyncDir(bundles);
    if (count)
      notices_.push_back(Str("bundles of the store ", dir_, " that an older version of suf wrote: ", count,
                             "; they are wiped, and fresh ones are dealt"));
    RemoveFolder(bundles);
  }
  bool removed = false;
  for (const std::string& path : {ledger, ledger + ".part"}) removed |= Exists(path) && !unlink(path.c_str());
  if (removed) SyncDir(dir_);
}

std::string Home::FolderOf(const Hash& owner) const {
  return owner == kOwn ? dir_ + "/lanes" : Str(dir_, "/owners/", Hex(owner));
}

// Recovers the lanes of an owner. A folder without a ledger is that of a new lane: the process died after it had made
// the folder.
void Home::RecoverLanes(const Hash& owner) {
  const std::string folder = FolderOf(owner);
  ForEachFolder<LaneId>(folder, "lane", &notices_, [&](const LaneId& id) {
    auto lane = std::shared_ptr<Lane>(new Lane(*this, owner, id, Str(folder, "/", Hex(id)), &notices_));
    lane->CloseFile();
    for (const uint64_t serial : lane->ledger().burnt_claims()) burnt_claims_.push_back({owner, id, serial});
    lanes_[{owner, id}] = {std::move(lane)};
  });
}

std::pair<Home::LaneMap::iterator, Home::LaneMap::iterator> Home::LanesOf(const Hash& owner) {
  LaneId last;
  last.fill(0xff);
  return {lanes_.lower_bound({owner, {}}), lanes_.upper_bound({owner, last})};
}

// Forgets the idle lane without bundles that was used longest ago; returns whether there was one. That is safe: a
// serial that is dealt again has another rho.
bool Home::Forget(LaneMap::iterator from, LaneMap::iterator to) {
  LaneMap::iterator oldest = to;
  int64_t last = 0;
  for (auto it = from; it != to; ++it) {
    if (it->second.open || !it->second.lane->IsEmpty()) continue;
    if (const int64_t use = it->second.lane->LastUse(); oldest == to || use < last) {
      oldest = it;
      last = use;
    }
  }
  if (oldest == to) return false;
  const Hash owner = oldest->first.first;
  const std::shared_ptr<Lane> lane = oldest->second.lane;
  lane->Remove();
  lanes_.erase(oldest);
  SyncDir(FolderOf(owner));
  const auto [first, end] = LanesOf(owner);
  if (owner != kOwn && first == end) RemoveFolder(FolderOf(owner));
  return true;
}

// Makes a lane.
Home::LaneMap::iterator Home::Add(const Hash& owner, const LaneId& id) {
  const auto make_place = [&](size_t lanes, size_t most, const auto& all, const char* whose) {
    if (lanes < most) return;
    const auto [from, to] = all();
    if (!Forget(from, to))
      throw TooManyLanes(Cause::kResource, Str(whose, " ", lanes, " lanes, each of them open or with bundles, and ",
                                               most, " are allowed; use lanes that exist, and use up their bundles"));
  };
  const auto [from, to] = LanesOf(owner);
  make_place(
      size_t(std::distance(from, to)), kMostLanes, [&] { return LanesOf(owner); },
      owner == kOwn ? "this store has" : "this data owner has");
  make_place(
      lanes_.size(), kMostLanesInAll, [&] { return std::pair(lanes_.begin(), lanes_.end()); },
      "the data owners of this store have");
  const std::string folder = FolderOf(owner), name = Hex(id);
  MakePrivateFolderIn(dir_, owner == kOwn ? "lanes" : "owners");
  SyncDir(dir_);
  if (owner != kOwn) {
    MakePrivateFolderIn(dir_ + "/owners", Hex(owner));
    SyncDir(dir_ + "/owners");
  }
  MakePrivateFolderIn(folder, name);
  SyncDir(folder);
  auto lane = std::shared_ptr<Lane>(new Lane(*this, owner, id, folder + "/" + name, &notices_));
  return lanes_.insert_or_assign({owner, id}, HomeEntry{std::move(lane)}).first;
}

std::shared_ptr<Lane> Home::Open(HomeEntry& entry) {
  const auto open = std::make_shared<OpenLane>(*this, entry.lane);
  entry.open = true;
  return {open, entry.lane.get()};
}

void Home::Close(const Lane& lane) noexcept {
  std::lock_guard l(m_);
  const auto it = lanes_.find({lane.owner(), lane.id()});
  it->second.open = false;
  it->second.lane->CloseFile();
}

std::shared_ptr<Lane> Home::Open(const Hash& owner, const LaneId& id) {
  std::lock_guard l(m_);
  auto it = lanes_.find({owner, id});
  if (it == lanes_.end()) it = Add(owner, id);
  if (it->second.open)
    throw LaneInUse(Cause::kPeer, Str("the lane ", Hex(View(id).first(4)),
                                      ".. is in use by another session; let it end, or use another lane"));
  return Open(it->second);
}

std::shared_ptr<Lane> Home::OpenAny(const LaneWish& wish) {
  std::lock_guard l(m_);
  const auto [from, to] = LanesOf(kOwn);
  auto best = to;
  for (auto it = from; it != to; ++it)
    if (!it->second.open && wish.Takes(it->first.second, it->second.lane->IsEmpty()) &&
        (best == to || (best->second.lane->IsEmpty() && !it->second.lane->IsEmpty())))
      best = it;
  if (best == to) best = Add(kOwn, wish.Draw());
  return Open(best->second);
}

std::vector<LaneId> Home::Lanes(const Hash& owner) const {
  std::lock_guard l(m_);
  std::vector<LaneId> ids;
  for (auto it = lanes_.lower_bound({owner, {}}); it != lanes_.end() && it->first.first == owner; ++it)
    ids.push_back(it->first.second);
  return ids;
}

std::shared_ptr<const Lane> Home::Find(const Hash& owner, const LaneId& id) const {
  std::lock_guard l(m_);
  const auto it = lanes_.find({owner, id});
  return it == lanes_.end() ? nullptr : it->second.lane;
}

// Takes one lane at a time. It holds no lock of its own then, because a session of a lane may call it.
size_t Home::BurnPair(const Hash& owner) {
  std::vector<std::shared_ptr<Lane>> all;
  {
    std::lock_guard l(m_);
    const auto [from, to] = LanesOf(owner);
    for (auto it = from; it != to; ++it) all.push_back(it->second.lane);
  }
  size_t count = 0;
  std::exception_ptr failed;
  for (const auto& lane : all) try {
      count += lane->BurnAll();
    } catch (...) {
      failed = std::current_exception();
    }
  std::lock_guard l(m_);
  for (const auto& lane : all)
    if (const auto it = lanes_.find({owner, lane->id()}); it != lanes_.end() && !it->second.open) lane->CloseFile();
  if (failed) std::rethrow_exception(failed);
  return count;
}

std::vector<std::string> Home::TakeNotices() {
  std::lock_guard l(m_);
  return std::exchange(notices_, {});
}

std::vector<BurntClaim> Home::TakeBurntClaims() {
  std::lock_guard l(m_);
  return std::exchange(burnt_claims_, {});
}

void Home::CheckCanKeepBundles() const {
  if (!Identify(OpenFile(dir_, O_RDONLY | O_DIRECTORY).get()))
    Fail(Cause::kResource, "the file system of ", dir_, " keeps no times of birth of files, by which a restored store ",
         "is noticed, so no keys may lie there; keep no keys ahead, or name a store on ext4, xfs, btrfs or tmpfs");
}

std::string Home::FileOf(const SetupName& name) {
  return (name.index == Hash{} ? "" : PrefixOf(name.index)) + Hex(name.id) + ".w_hat";
}

bool Home::HasSetup(const SetupName& name) const { return !access(SetupFile(name).c_str(), R_OK); }
ChunkFile Home::NewSetup(const LaneId& by, size_t number) { return {SetupPart(by, number), AsView("SUFWHAT1")}; }
void Home::DropSetup(const LaneId& by, size_t number) noexcept { unlink(SetupPart(by, number).c_str()); }
void Home::CommitSetup(ChunkFile file, const SetupName& name) {
  file.Sync();
  file.Commit(SetupFile(name));
}

void Home::KeepParts(const Hash& index, const std::vector<Hash>& ids) noexcept try {
  std::set<std::string> keep;
  for (const Hash& id : ids) keep.insert(FileOf({id, index}));
  for (const std::string& name : NamesIn(dir_))
    if (name.starts_with(PrefixOf(index)) && !keep.contains(name)) unlink((dir_ + "/" + name).c_str());
} catch (const std::exception&) {  // they only take space
}

std::optional<Bytes> Home::LoadSetup(const Hash& plan, const SetupName& name, uint64_t bytes) {
  std::string path = SetupFile(name);
  try {
    Fd fd = OpenFile(path, O_RDONLY);
    const size_t preamble = ReadPreamble(fd.get(), path).size();
    CheckLength(fd.get(), bytes, path);
    ChunkVerifier verifier(ChunkKey(plan, name.id), EvenBody(bytes));
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
