#include "suf/store/draws.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "suf/base/random_below.hpp"

namespace suf::store {
namespace {

// A file of records, each a kind, the tag of a text and the key of its dealer.
enum class DrawKind : uint8_t { kDrawn = 1, kSettled = 2 };
constexpr size_t kDrawBytes = 1 + 2 * sizeof(Hash);
constexpr const char* kDrawsFile = "draws";

void Put(Bytes& out, DrawKind kind, const Hash& tag, const Hash& dealer) {
  out.push_back(uint8_t(kind));
  suf::Append(&out, tag);
  suf::Append(&out, dealer);
}

}  // namespace

Draws::Draws(Home& home, std::vector<Hash> dealers)
    : path_(home.folder() + "/" + kDrawsFile), dealers_(std::move(dealers)), key_(home.LongLivedSecret("draws.key")) {
  SUF_CHECK(dealers_.size() >= 2);
  Load();
  Bytes live;  // the file without the texts that are settled
  for (const auto& [tag, dealer] : unfinished_) Put(live, DrawKind::kDrawn, tag, dealer);
  WriteFile(home.folder(), kDrawsFile, live);
  file_ = OpenFile(path_, O_RDWR | O_APPEND);
  end_ = live.size();
}

void Draws::Load() {
  if (access(path_.c_str(), F_OK)) return;
  const Fd file = OpenFile(path_, O_RDONLY);
  struct stat s;
  SUF_CHECK(!fstat(file.get(), &s));
  const Bytes all = ReadSome(file.get(), size_t(s.st_size), path_);
  // a torn record at the end is of a draw that was never used
  for (size_t at = 0; at + kDrawBytes <= all.size(); at += kDrawBytes) {
    Reader r(View(all).subspan(at, kDrawBytes), "a draw");
    const auto kind = DrawKind(r.Get<uint8_t>());
    const Hash tag = r.GetHash(), dealer = r.GetHash();
    const auto [from, to] = unfinished_.equal_range(tag);
    const auto it = std::find_if(from, to, [&](const auto& d) { return d.second == dealer; });
    if (kind == DrawKind::kDrawn)
      unfinished_.emplace(tag, dealer);
    else if (kind == DrawKind::kSettled && it != to)
      unfinished_.erase(it);
    else
      Fail(Cause::kResource, "the file ", path_, " is damaged at byte ", at,
           "; it has the dealers of texts without a result; remove it only if their model owner has not refused any");
  }
}

Hash Draws::TagOf(View text) const { return Hmac(key_.view(), {text}); }

std::vector<size_t> Draws::Draw(std::span<const Hash> tags) {
  const std::lock_guard l(m_);
  std::vector<size_t> drawn;
  std::vector<std::multimap<Hash, Hash>::node_type> taken;  // of unfinished_
  Bytes records;
  try {
    for (const Hash& tag : tags) {
      const auto before = unfinished_.find(tag);
      if (before == unfinished_.end()) {
        drawn.push_back(size_t(RandomBelow(dealers_.size())));
        Put(records, DrawKind::kDrawn, tag, dealers_[drawn.back()]);
        continue;
      }
      const auto it = std::find(dealers_.begin(), dealers_.end(), before->second);
      if (it == dealers_.end())
        Fail(Cause::kInput, "a text without a result has dealer=", Hex(before->second),
             " from an earlier run, which is not listed now; list that dealer again. Remove ", path_,
             " only if you had a reason of your own, or a wrong pin: a model owner that refuses texts can cause this");
      drawn.push_back(size_t(it - dealers_.begin()));
      taken.push_back(unfinished_.extract(before));
    }
    Append(records);
  } catch (...) {
    for (auto& node : taken) unfinished_.insert(std::move(node));
    throw;
  }
  return drawn;
}

// Writes records that are durable when it returns. After a failure, none of them counts.
void Draws::Append(const Bytes& records) {
  if (records.empty()) return;
  try {
    WriteAll(file_.get(), records, path_);
    Sync(file_.get(), path_);
  } catch (...) {
    if (ftruncate(file_.get(), off_t(end_))) {  // the error is thrown in any case
    }
    throw;
  }
  end_ += records.size();
}

void Draws::Settle(const Hash& tag, size_t dealer) noexcept {
  try {
    const std::lock_guard l(m_);
    Bytes record;
    Put(record, DrawKind::kSettled, tag, dealers_[dealer]);
    WriteAll(file_.get(), record, path_);
    end_ += record.size();
  } catch (const std::exception&) {
    if (ftruncate(file_.get(), off_t(end_))) {  // a later start reports a damaged file
    }
  }
}

void Draws::Keep(const Hash& tag, size_t dealer) noexcept {
  try {
    const std::lock_guard l(m_);
    unfinished_.emplace(tag, dealers_[dealer]);
  } catch (const std::exception&) {  // the file still has it
  }
}

}  // namespace suf::store
