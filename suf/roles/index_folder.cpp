#include "suf/roles/index_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <set>

#include "suf/base/digest.hpp"
#include "suf/base/plural.hpp"
#include "suf/base/printable.hpp"
#include "suf/base/private_files.hpp"
#include "suf/roles/files.hpp"

namespace suf::roles {

namespace fs = std::filesystem;

namespace {

constexpr const char *kPlanFile = "index.json", *kKeyFile = "index.key", *kListFile = "list",
                     *kDocumentsFile = "documents.sealed";
constexpr std::string_view kListMagic = "SUFINDX1", kSegmentMagic = "SUFSEGM1", kSegmentEnding = ".segment";
constexpr size_t kTag = sizeof(Hash), kMostListBytes = size_t{1} << 28, kMostPlanBytes = size_t{1} << 16;

Bytes ReadAll(const Fd& fd, const std::string& path, size_t most, const char* remedy) {
  struct stat s {};
  SUF_CHECK(!fstat(fd.get(), &s));
  Bytes all = ReadSome(fd.get(), std::min(size_t(s.st_size), most) + 1, path);
  if (all.size() > most) Fail(Cause::kRefused, path, " is longer than ", most, " bytes; ", remedy);
  return all;
}

Bytes ReadAll(const std::string& path, size_t most, const char* remedy) {
  return ReadAll(OpenFile(path, O_RDONLY), path, most, remedy);
}

// Returns the bytes of a sealed file before its tag. Throws Cause::kRefused if they do not belong to it.
View Checked(const Bytes& all, const Secret& key, const std::string& path) {
  if (all.size() >= kTag) {
    const View body = View(all).first(all.size() - kTag);
    if (Equal(Hmac(key.view(), {body}), View(all).last(kTag))) return body;
  }
  Fail(Cause::kRefused, path, " was altered or cut short; restore the folder from a copy, or create the index again");
}

// Adds documents, whose rows are numbered from `first` on. Throws Cause::kInput for an id that is there.
void AddIds(const std::vector<IndexDocument>& documents, int64_t first, std::map<std::string, int64_t>* rows) {
  for (const IndexDocument& d : documents)
    if (!rows->emplace(d.id, first++).second)
      Fail(Cause::kInput, "the document ", Quoted(d.id),
           " is in the index already; delete it first, or give another id");
}

// Locks the folder of an index to change it; returns nothing to read it. Throws Cause::kInput if it has none.
Fd OpenIndex(const std::string& dir, IndexAccess mode) {
  for (const char* name : {kKeyFile, kListFile})
    if (access((dir + "/" + name).c_str(), F_OK)) {
      if (errno != ENOENT && errno != ENOTDIR)
        Fail(Cause::kResource, "cannot read ", dir, "/", name, " (", SystemError(), "); see to its permissions");
      Fail(Cause::kInput, dir, " has no file ", name, "; name the folder of an index, or create one");
    }
  return mode == IndexAccess::kRead ? Fd() : LockPrivateFolder(dir);
}

[[noreturn]] void RefuseFull(const std::string& dir) {
  Fail(Cause::kInput, "the folder ", dir, " is not empty; name another one, or remove what is there");
}

std::string NameOf(const Hash& segment) { return Hex(segment) + std::string(kSegmentEnding); }

}  // namespace

nn::IndexPlan LoadIndexPlan(const std::string& path) {
  return nn::ParseIndexPlan(ReadText(path, "the index plan ", "name the file index.json of an index"));
}

std::vector<int16_t> RowOf(const nn::Search& search, double row_factor, const std::vector<double>& embedding) {
  SUF_CHECK(embedding.size() == size_t(search.columns));
  double length = 0;
  for (const double v : embedding) length += v * v;
  length = std::sqrt(length);
  if (!(length > 0) || !std::isfinite(length))
    Fail(Cause::kInput, "the embedding of this document has no direction; change the text");
  std::vector<int16_t> row;
  const double factor = std::ldexp(row_factor / length, search.g);
  for (const double v : embedding) row.push_back(int16_t(std::lround(v * factor)));
  return row;
}

std::vector<uint16_t> TableRowOf(const std::string& text, int64_t words) {
  SUF_CHECK(text.size() <= 2 * size_t(words - 1));
  std::vector<uint16_t> row(static_cast<size_t>(words));
  row[0] = uint16_t(text.size());
  for (size_t i = 0; i < text.size(); ++i) row[1 + i / 2] |= uint16_t(uint8_t(text[i]) << (i % 2 * 8));
  return row;
}

std::string DocumentOf(std::span<const uint16_t> row) {
  const size_t length = row[0];
  if (length > 2 * (row.size() - 1))
    Fail(Cause::kPeer, "a fetched document names a length of ", length, " bytes, the limit is ", 2 * (row.size() - 1),
         "; report it to the operator of the model owner");
  std::string text;
  for (size_t i = 0; i < length; ++i) text += char(uint8_t(row[1 + i / 2] >> (i % 2 * 8)));
  return text;
}

void IndexFolder::CheckNew(const std::string& dir) {
  std::error_code error;
  if (fs::exists(dir, error) && !fs::is_empty(dir, error)) RefuseFull(dir);
}

void IndexFolder::Create(const std::string& dir, const nn::IndexPlan& index, IndexRows rows) {
  std::map<std::string, int64_t> ids;
  AddIds(rows.documents, 0, &ids);
  MakePrivateFolder(dir);
  CheckNew(dir);
  const IndexFolder made(dir, index, rows);
}

IndexFolder::IndexFolder(const std::string& dir, const nn::IndexPlan& index, const IndexRows& rows)
    : dir_(dir), lock_(LockPrivateFolder(dir)), key_(Secret::Random()), index_(index) {
  if (index_.search.g > 14) throw Bug("a row does not fit its words");
  if (!access(PathOf(kKeyFile).c_str(), F_OK)) RefuseFull(dir_);  // another process was faster
  try {
    CheckRoom(int64_t(rows.documents.size()));
    WriteFile(dir_, kKeyFile, key_.view());
    WriteList(index_, Sealed(index_, rows, {}), {});
    WritePlan();
    WriteDocuments();
  } catch (const Error&) {
    segments_.clear();
    RemoveStrays();
    for (const char* name : {kListFile, kPlanFile, kDocumentsFile, kKeyFile, "lock"}) unlink(PathOf(name).c_str());
    throw;
  }
}

IndexFolder::IndexFolder(const std::string& dir, IndexAccess access) : dir_(dir), lock_(OpenIndex(dir, access)) {
  Bytes key = ReadAll(PathOf(kKeyFile), sizeof(Hash), "create the index again");
  if (key.size() != sizeof(Hash))
    Fail(Cause::kRefused, PathOf(kKeyFile), " has ", key.size(), " bytes instead of ", sizeof(Hash),
         "; restore the folder from a copy, or create the index again");
  key_ = Secret(View(key));
  ReadList(access);
  if (!lock_) return;
  WritePlan();
  WriteDocuments();
}

bool IndexFolder::ListChanged() const {
  return Identify(OpenFile(PathOf(kListFile), O_RDONLY).get()).value_or(FileId{}) != list_;
}

bool IndexFolder::Renew() {
  SUF_CHECK(!lock_);
  if (!ListChanged()) return false;
  *this = IndexFolder(dir_, IndexAccess::kRead);
  return true;
}

Secret IndexFolder::MaskSeed() const { return Hkdf({}, key_.view(), AsView("suf index seed")); }

int64_t IndexFolder::rows() const { return segments_.empty() ? 0 : segments_.back().first + segments_.back().rows; }

// --- the list ---

void IndexFolder::ReadList(IndexAccess access) {
  const std::string path = PathOf(kListFile);
  const Fd file = OpenFile(path, O_RDONLY);  // another process may replace it meanwhile
  list_ = Identify(file.get()).value_or(FileId{});
  const Bytes all = ReadAll(file, path, kMostListBytes, "create the index again");
  Reader r(Checked(all, key_, path), path);
  if (!Equal(r.Raw(kListMagic.size()), AsView(kListMagic)))
    Fail(Cause::kRefused, path, " is of another version; create the index again");
  FileId own;
  own.inode = r.Get<uint64_t>();
  own.birth_s = r.Get<int64_t>();
  own.birth_ns = r.Get<uint32_t>();
  own.generation = r.Get<uint32_t>();
  index_ = nn::ParseIndexPlan(r.Text(kMostPlanBytes));
  bool fits = true;
  const auto segments = r.Get<uint32_t>();
  for (uint32_t i = 0; i < segments && fits; ++i) {
    IndexSegment s;
    s.id = r.GetHash();
    s.first = rows();
    s.rows = r.Get<int64_t>();
    fits = i < kMostSegments && s.rows > 0 && s.rows <= index_.capacity() - s.first;
    segments_.push_back(s);
  }
  const auto deleted = fits ? r.Get<uint64_t>() : 0;
  for (uint64_t i = 0; i < deleted && fits; ++i) {
    deleted_.push_back(r.Get<int64_t>());
    fits = deleted_.back() >= 0 && deleted_.back() < rows() && (i == 0 || deleted_[i - 1] < deleted_[i]);
  }
  if (!fits)
    Fail(Cause::kRefused, path, " has rows that do not fit the index of ", index_.capacity(),
         " rows; restore the folder from a copy, or create the index again");
  r.ExpectEnd();
  for (const IndexSegment& s : segments_) {
    if (!::access(PathOf(NameOf(s.id)).c_str(), F_OK)) continue;
    if (!lock_ && ListChanged()) {  // another process has compacted the index meanwhile
      segments_.clear();
      deleted_.clear();
      return ReadList(access);
    }
    Fail(Cause::kRefused, "the segment ", NameOf(s.id), " of ", dir_,
         " is missing; restore the folder from a copy, or create the index again");
  }
  if (own != list_) {
    if (access != IndexAccess::kAccept)
      Fail(Cause::kRefused, dir_,
           " was copied or put back, so deleted documents may be there again; accept the folder, then delete them");
    WriteList(index_, segments_, deleted_);
  }
  if (lock_) RemoveStrays();
}

void IndexFolder::WriteList(nn::IndexPlan index, std::vector<IndexSegment> segments, std::vector<int64_t> deleted) {
  const std::string path = PathOf(kListFile);
  TempFile file(path);
  Writer w;
  w.Raw(AsView(kListMagic));
  Put(w, Identify(file.fd()).value_or(FileId{}));
  w.Sized(nn::Serialize(index));
  w.Put(uint32_t(segments.size()));
  for (const IndexSegment& s : segments) {
    w.Raw(s.id);
    w.Put(s.rows);
  }
  w.Put(uint64_t(deleted.size()));
  for (const int64_t row : deleted) w.Put(row);
  w.Raw(Hmac(key_.view(), {w.bytes()}));
  file.Add(w.bytes());
  Sync(file.fd(), path);
  file.Commit();
  index_ = std::move(index);
  segments_ = std::move(segments);
  deleted_ = std::move(deleted);
  live_.reset();
  SyncDir(dir_);
}

// Writes the public copy of the plan, if it is not there.
void IndexFolder::WritePlan() const {
  const std::string path = PathOf(kPlanFile), text = nn::Serialize(index_, 2);
  if (!access(path.c_str(), F_OK) && ReadFile(path, "", "") == text) return;
  TempFile file(path, 0644);
  file.Add(AsView(text));
  Sync(file.fd(), path);
  file.Commit();
  SyncDir(dir_);
}

Hash IndexFolder::ListHash() const {
  store::SegmentList list;
  for (const IndexSegment& s : segments_) list.push_back({s.id, uint32_t(s.rows)});
  return store::ListHashes(nn::IndexPlanHash(index_), list).back();
}

Secret IndexFolder::DocumentKey(const Hash& segment, size_t i) const {
  Writer info;
  info.Raw(AsView("suf document"));
  info.Put(uint64_t{i});
  return Hkdf(segment, key_.view(), info.bytes());
}

std::vector<uint16_t> IndexFolder::TableRow(const IndexSegment& s, size_t i, const IndexDocument& document) const {
  if (index_.table != kKeyTableWords) return TableRowOf(document.text, index_.table);
  const Secret key = DocumentKey(s.id, i);
  std::vector<uint16_t> row(static_cast<size_t>(kKeyTableWords));
  std::memcpy(row.data(), key.view().data(), kAeadKeyBytes);
  return row;
}

// Writes the public file of sealed documents if the table has keys. Does nothing if the file is that of this list.
void IndexFolder::WriteDocuments() const {
  if (index_.table != kKeyTableWords) return;
  const std::string path = PathOf(kDocumentsFile);
  const Hash list = ListHash();
  if (!access(path.c_str(), F_OK) &&
      ListOfSealedDocuments(ReadSome(OpenFile(path, O_RDONLY).get(), kSealedDocumentsHead, path)) == list)
    return;
  TempFile file(path, 0644);
  file.Add(SealedDocumentsHead(list));
  for (const IndexSegment& s : segments_) {
    const IndexRows rows = ReadSegment(s);
    for (size_t i = 0; i < rows.documents.size(); ++i)
      file.Add(
          SealDocument(DocumentKey(s.id, i).view().first(kAeadKeyBytes), s.first + int64_t(i), rows.documents[i].text));
  }
  Sync(file.fd(), path);
  file.Commit();
  SyncDir(dir_);
}

// Removes segments, and parts of them, that a crash left over.
void IndexFolder::RemoveStrays() const {
  std::set<std::string> known;
  for (const IndexSegment& s : segments_) known.insert(NameOf(s.id));
  std::vector<std::string> all;
  std::error_code error;  // a later start removes the others
  for (const auto& entry : fs::directory_iterator(dir_, error)) all.push_back(entry.path().filename());
  for (const std::string& name : all)
    if (name.find(kSegmentEnding) != name.npos && !known.contains(name)) unlink(PathOf(name).c_str());
}

// --- segments ---

// A segment: magic, id of the plan, first row, counts, rows, documents; then the tag, from which its name follows.
std::vector<IndexSegment> IndexFolder::Sealed(const nn::IndexPlan& index, const IndexRows& rows,
                                              std::vector<IndexSegment> before) const {
  IndexSegment s{{}, before.empty() ? 0 : before.back().first + before.back().rows, int64_t(rows.documents.size())};
  if (s.rows == 0) return before;
  SUF_CHECK(rows.values.size() == size_t(s.rows * index.search.columns));
  Writer w;
  w.Raw(AsView(kSegmentMagic));
  w.Raw(nn::IndexPlanHash(index));
  w.Put(s.first);
  w.Put(s.rows);
  w.Put(index.search.columns);
  w.Raw({reinterpret_cast<const uint8_t*>(rows.values.data()), rows.values.size() * sizeof(int16_t)});
  for (const IndexDocument& d : rows.documents) {
    w.Sized(d.id);
    w.Sized(d.text);
  }
  s.id = Hmac(key_.view(), {w.bytes()});
  w.Raw(s.id);
  WriteFile(dir_, NameOf(s.id), w.bytes());
  before.push_back(s);
  return before;
}

IndexRows IndexFolder::ReadSegment(const IndexSegment& s) const {
  const std::string path = PathOf(NameOf(s.id));
  const size_t most = size_t(s.rows) * (size_t(index_.search.columns) * sizeof(int16_t) + kMostDocumentId +
                                        kMostDocumentText + 2 * sizeof(uint64_t)) +
                      256;
  const Bytes all = ReadAll(path, most, "restore the folder from a copy, or create the index again");
  Reader r(Checked(all, key_, path), path);
  (void)r.Raw(kSegmentMagic.size());
  const Hash plan = r.GetHash();
  const auto first = r.Get<int64_t>(), count = r.Get<int64_t>(), columns = r.Get<int64_t>();
  if (!Equal(View(all).last(kTag), s.id) || plan != nn::IndexPlanHash(index_) || first != s.first || count != s.rows ||
      columns != index_.search.columns)
    Fail(Cause::kRefused, path, " is another segment than its name says; restore the folder from a copy");
  IndexRows out;
  out.values.resize(size_t(count * columns));
  const View words = r.Raw(out.values.size() * sizeof(int16_t));
  std::memcpy(out.values.data(), words.data(), words.size());
  for (int64_t i = 0; i < count; ++i) {
    IndexDocument d;
    d.id = r.Text(kMostDocumentId);
    d.text = r.Text(kMostDocumentText);
    out.documents.push_back(std::move(d));
  }
  r.ExpectEnd();
  return out;
}

IndexFolder::FirstRow IndexFolder::FirstLive() const {
  int64_t row = 0;
  for (const int64_t deleted : deleted_) row += deleted == row;
  for (const IndexSegment& s : segments_) {
    if (row >= s.first + s.rows) continue;
    const IndexRows rows = ReadSegment(s);
    const auto at = rows.values.begin() + std::ptrdiff_t((row - s.first) * index_.search.columns);
    return {{at, at + std::ptrdiff_t(index_.search.columns)}, rows.documents[size_t(row - s.first)]};
  }
  throw Bug("the index has no live row");
}

IndexRows IndexFolder::Read() const {
  IndexRows all;
  for (const IndexSegment& s : segments_) {
    IndexRows one = ReadSegment(s);
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
    std::move(one.documents.begin(), one.documents.end(), std::back_inserter(all.documents));
  }
  return all;
}

// --- changes ---

// Returns the rows of live documents, by id.
std::map<std::string, int64_t> IndexFolder::LiveRows() {
  if (live_) return *live_;
  const IndexRows all = Read();
  live_.emplace();
  for (size_t i = 0; i < all.documents.size(); ++i)
    if (!std::binary_search(deleted_.begin(), deleted_.end(), int64_t(i))) (*live_)[all.documents[i].id] = int64_t(i);
  return *live_;
}

void IndexFolder::CheckRoom(int64_t rows) const {
  if (const int64_t left = index_.capacity() - this->rows(); rows > left)
    Fail(Cause::kInput, Plural(rows, "document"), rows == 1 ? " does" : " do", " not fit: the index has room for ",
         left, " of its ", index_.capacity(), " rows; compact it, which frees deleted rows and can raise the capacity");
  if (segments_.size() == kMostSegments)
    Fail(Cause::kInput, "the index has ", kMostSegments, " segments, which is the limit; compact it");
}

void IndexFolder::Append(IndexRows rows) {
  const auto count = int64_t(rows.documents.size());
  if (count == 0) return;
  CheckRoom(count);
  std::map<std::string, int64_t> live = LiveRows();
  AddIds(rows.documents, this->rows(), &live);
  WriteList(index_, Sealed(index_, rows, segments_), deleted_);
  live_ = std::move(live);
  WriteDocuments();
}

void IndexFolder::Delete(const std::vector<std::string>& ids) {
  std::map<std::string, int64_t> live = LiveRows();
  std::vector<int64_t> deleted = deleted_;
  for (const std::string& id : ids) {
    const auto at = live.find(id);
    if (at == live.end())
      Fail(Cause::kInput,
           std::count(ids.begin(), ids.end(), id) > 1 ? Str("the document ", Quoted(id), " is named twice")
                                                      : Str("the index has no document ", Quoted(id)),
           "; nothing was deleted");
    deleted.push_back(at->second);
    live.erase(at);
  }
  std::sort(deleted.begin(), deleted.end());
  WriteList(index_, segments_, std::move(deleted));
  live_ = std::move(live);
}

void IndexFolder::Compact(const nn::IndexPlan& index) {
  const IndexRows all = Read();
  const auto columns = size_t(index_.search.columns);
  if (index.model != index_.model || size_t(index.search.columns) != columns || index.search.f != index_.search.f ||
      index.search.g != index_.search.g)
    throw Bug("an index is compacted to one of other rows");
  IndexRows live;
  for (size_t i = 0; i < all.documents.size(); ++i) {
    if (std::binary_search(deleted_.begin(), deleted_.end(), int64_t(i))) continue;
    live.documents.push_back(all.documents[i]);
    live.values.insert(live.values.end(), all.values.begin() + std::ptrdiff_t(i * columns),
                       all.values.begin() + std::ptrdiff_t((i + 1) * columns));
  }
  if (index.capacity() < int64_t(live.documents.size()))
    Fail(Cause::kInput, "a capacity of ", index.capacity(), " rows does not hold the ", live.documents.size(),
         " rows of the index; raise it");
  WriteList(index, Sealed(index, live, {}), {});
  WritePlan();
  WriteDocuments();
  RemoveStrays();
}

// --- weights ---

void IndexFolder::AddWeights(const nn::Plan& plan, nn::QuantisedWeights* weights) const {
  const nn::Search& search = index_.search;
  const IndexRows all = Read();
  const nn::SearchInputNames names = nn::SearchInputsOf(plan);
  for (int64_t b = 0; b < search.blocks(); ++b) {
    const int64_t count = search.rows_of(b);
    nn::Ints w(size_t(search.columns * count), 0);
    for (int64_t i = 0; i < count && b * search.block + i < rows(); ++i)
      for (int64_t j = 0; j < search.columns; ++j)
        w[size_t(j * count + i)] = all.values[size_t((b * search.block + i) * search.columns + j)];
    (*weights)[names.rows[size_t(b)]] = nn::Tensor({search.columns, count}, w);
  }
  nn::Ints bias(size_t(search.rows()), -(int64_t{1} << (search.f + search.g + 1)));
  std::fill(bias.begin(), bias.begin() + rows(), 0);
  for (const int64_t row : deleted_) bias[size_t(row)] = -(int64_t{1} << (search.f + search.g + 1));
  (*weights)[names.bias] = nn::Tensor({search.rows()}, bias);
}

}  // namespace suf::roles
