#include "suf/store/dealer_state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "suf/base/digest.hpp"
#include "suf/base/private_files.hpp"

namespace suf::store {
namespace {

// Encodes words, followed by their SHA-256.
Bytes Checked(std::initializer_list<uint64_t> words) {
  Writer w;
  for (uint64_t x : words) w.Put(x);
  w.Raw(HashOf({View(w.bytes())}));
  return w.Take();
}

// Reads a file of `words` words. Throws Cause::kResource if it was altered.
std::vector<uint64_t> ReadChecked(const std::string& path, size_t words, const char* what) {
  Bytes b = ReadSome(OpenFile(path, O_RDONLY).get(), words * 8 + 33, path);
  if (b.size() != words * 8 + 32 || !Equal(HashOf({View(b).first(words * 8)}), View(b).subspan(words * 8)))
    Fail(Cause::kResource, what, " in ", path,
         " is damaged; name a new state directory, and new stores for both parties");
  Reader r(b, path);
  std::vector<uint64_t> all(words);
  for (uint64_t& x : all) x = r.Get<uint64_t>();
  return all;
}

}  // namespace

DealerState::DealerState(const std::string& dir) : dir_(dir), lock_(LockPrivateFolder(dir)) {
  MakePrivateFolderIn(dir_, "pairs");
  std::string path = dir_ + "/serial";
  if (!access(path.c_str(), F_OK)) next_ = ReadChecked(path, 1, "the dealer's serial")[0];
}

uint64_t DealerState::Reserve(uint64_t count) {
  std::lock_guard l(m_);
  uint64_t first = next_;
  if (count > ~uint64_t{0} - next_)
    Fail(Cause::kResource, "the dealer's serials in ", dir_,
         " are used up; name a new state directory, and new stores for both parties");
  next_ += count;
  WriteFile(dir_, "serial", Checked({next_}));
  return first;
}

void DealerState::AddPair(const PairId& pair) {
  std::lock_guard l(m_);
  if (access((dir_ + "/pairs/" + Hex(pair)).c_str(), F_OK)) WriteFile(dir_ + "/pairs", Hex(pair), {});
}

// Makes the folder for the file of another lane.
void DealerState::AddLane(const PairId& pair) {
  auto known = lanes_.find(pair);
  if (known == lanes_.end()) {
    MakePrivateFolderIn(dir_, "lanes");
    MakePrivateFolderIn(dir_ + "/lanes", Hex(pair));
    SyncDir(dir_);
    SyncDir(dir_ + "/lanes");
    known = lanes_.emplace(pair, NamesIn(FolderOf(pair)).size()).first;
  }
  size_t& count = known->second;
  if (count >= kMostLanesOfPair)
    throw TooManyLanes(Cause::kRefused, Str("two parties have ", count, " lanes in ", dir_, ", and ", kMostLanesOfPair,
                                            " are allowed; let them use lanes that exist"));
  ++count;
}

uint64_t DealerState::RecordUse(const PairId& pair, const PairId& lane, int party, uint64_t serial) {
  std::lock_guard l(m_);
  if (serial >= next_ || access((dir_ + "/pairs/" + Hex(pair)).c_str(), F_OK))
    Fail(Cause::kRefused, "a party is about to use bundle ", serial, ", which this dealer never dealt to it (it is at ",
         next_, "): the state in ", dir_, " was restored or lost; give it back, or start new stores");
  const std::string path = FolderOf(pair) + "/" + Hex(lane);
  const bool known = !access(path.c_str(), F_OK);
  std::vector<uint64_t> used{0, 0};
  if (known) used = ReadChecked(path, 2, "the dealer's record of a lane");
  const uint64_t before = used[size_t(party)];
  if (serial > before) {
    if (!known) AddLane(pair);
    used[size_t(party)] = serial;
    WriteFile(FolderOf(pair), Hex(lane), Checked({used[0], used[1]}));
  }
  return before;
}

}  // namespace suf::store
