// Fuzzes the files of an index folder. The first byte chooses the file. It also says whether the file's tag is put
// right, as an attacker with access to the disk can do. A folder that opens holds what its list says, takes every
// change, and opens again.
#include "suf/roles/index_folder.hpp"

#include <algorithm>
#include <functional>

#include "fuzz/base_plan.hpp"
#include "suf/base/digest.hpp"

namespace {
using namespace suf;
using fuzz::BasePlan, fuzz::Pull, fuzz::WriteTo;
using roles::IndexFolder;

constexpr Hash kKey{1};
constexpr int64_t kRows = 6;  // of the sound index, in two segments

const nn::IndexPlan& Index() {
  static const nn::IndexPlan index = nn::ParseIndexPlan(nn::Serialize(fuzz::SmallIndex(BasePlan())));
  return index;
}
const nn::Plan& IndexedPlan() {
  static const nn::Plan plan = nn::WithIndex(BasePlan(), Index());
  return plan;
}

Bytes Tagged(View body) {
  Writer w;
  w.Raw(body);
  w.Raw(Hmac(kKey, {body}));
  return w.Take();
}

// Returns a list with these bytes behind its plan: counts, segments and deleted rows.
Bytes ListOf(View rest) {
  Writer w;
  w.Raw(AsView(std::string_view("SUFINDX1")));
  Put(w, FileId{});
  w.Sized(nn::Serialize(Index()));
  w.Raw(rest);
  return Tagged(w.bytes());
}

roles::IndexRows RowsOf(int64_t first, int64_t count) {
  roles::IndexRows rows;
  for (int64_t i = first; i < first + count; ++i) {
    for (int64_t j = 0; j < Index().search.columns; ++j) rows.values.push_back(int16_t(100 * i - j));
    rows.documents.push_back({Str("id", i), Str("text ", i)});
  }
  return rows;
}

// The files of a sound index, by name.
const std::map<std::string, Bytes>& SoundFiles() {
  static const std::map<std::string, Bytes> files = [] {
    const fuzz::Folder folder;
    WriteTo(folder / "index.key", kKey);
    WriteTo(folder / "list", ListOf(Bytes(12)));
    {
      IndexFolder index(folder.path(), suf::roles::IndexAccess::kAccept);
      index.Append(RowsOf(0, 4));
      index.Append(RowsOf(4, kRows - 4));
      index.Delete({"id1"});
    }
    std::map<std::string, Bytes> all;
    for (const auto& e : std::filesystem::directory_iterator(folder.path()))
      all[e.path().filename()] = fuzz::ReadFrom(e.path());
    return all;
  }();
  return files;
}

// A segment's file is named by its tag. Returns the list of an index that has only this one.
Bytes ListOfOne(View segment, int64_t rows) {
  Writer w;
  w.Put(uint32_t{1});
  w.Raw(segment.last(sizeof(Hash)));
  w.Put(rows);
  w.Put(uint64_t{0});
  return ListOf(w.bytes());
}

// Returns a list of the sound segments, or of missing ones, with any numbers of rows. Then any rows are deleted.
Bytes ListOfSegments(View input) {
  std::vector<std::string> sound;
  for (const auto& [name, bytes] : SoundFiles())
    if (name.ends_with(".segment")) sound.push_back(name);
  Writer w;
  const uint32_t segments = Pull<uint8_t>(input) % 4;
  w.Put(segments);
  for (uint32_t i = 0; i < segments; ++i) {
    const size_t which = Pull<uint8_t>(input);
    const Bytes& file = SoundFiles().at(sound[which % sound.size()]);
    w.Raw(which < 128 ? View(file).last(sizeof(Hash)) : View(kKey));
    w.Put(Pull<int64_t>(input));
  }
  const uint64_t deleted = Pull<uint8_t>(input);
  w.Put(deleted);
  w.Raw(input);
  return ListOf(w.bytes());
}

// Reads an open index, as a server does.
void Use(const IndexFolder& folder) {
  const std::vector<int64_t>& deleted = folder.deleted();
  SUF_CHECK(folder.rows() <= folder.index().capacity() && folder.segments().size() <= roles::kMostSegments);
  SUF_CHECK(std::adjacent_find(deleted.begin(), deleted.end(), std::greater_equal<>()) == deleted.end());
  SUF_CHECK(deleted.empty() || (deleted.front() >= 0 && deleted.back() < folder.rows()));
  const roles::IndexRows all = folder.Read();
  SUF_CHECK(int64_t(all.documents.size()) == folder.rows());
  SUF_CHECK(int64_t(all.values.size()) == folder.rows() * folder.index().search.columns);
  if (nn::IndexPlanHash(folder.index()) != nn::IndexPlanHash(Index())) return;
  nn::QuantisedWeights weights;
  folder.AddWeights(IndexedPlan(), &weights);
}

// Changes an open index in every way.
void Change(IndexFolder& folder) {
  const roles::IndexRows all = folder.Read();
  fuzz::Quietly([&] { folder.Append(RowsOf(90, 1)); });
  for (const roles::IndexDocument& d : all.documents)
    if (fuzz::Quietly([&] { folder.Delete({d.id}); })) break;
  Use(folder);
  fuzz::Quietly([&] { folder.Compact(folder.index()); });
  SUF_CHECK(folder.deleted().empty());
}
}  // namespace

SUF_FUZZ(index_folder) {
  const fuzz::Folder folder;
  std::map<std::string, Bytes> files = SoundFiles();
  const uint8_t mode = Pull<uint8_t>(input) % 8;
  if (mode == 0) files["list"] = Bytes(input.begin(), input.end());
  if (mode == 1) files["list"] = Tagged(input);
  if (mode == 2) files["list"] = ListOfSegments(input);
  if (mode == 3) files["index.key"] = Bytes(input.begin(), input.end());
  if (mode == 4) files["index.json"] = Bytes(input.begin(), input.end());
  if (mode == 5)  // the first segment, under its own name
    for (auto& [name, bytes] : files)
      if (name.ends_with(".segment") && bytes.size() > 300) bytes.assign(input.begin(), input.end());
  if (mode > 5) {
    const auto rows = mode == 6 ? int64_t(Pull<uint8_t>(input)) : Pull<int64_t>(input);
    const Bytes segment = Tagged(input);
    files["list"] = ListOfOne(segment, rows);
    files[Hex(View(segment).last(sizeof(Hash))) + ".segment"] = segment;
  }
  for (const auto& [name, bytes] : files) WriteTo(folder / name, bytes);
  int64_t rows = 0;
  {
    IndexFolder index(folder.path(), suf::roles::IndexAccess::kAccept);
    Use(index);
    Change(index);
    rows = index.rows();
  }
  SUF_CHECK(IndexFolder(folder.path()).rows() == rows);
}
