// The folder of an index. Sealed rows come back, changes are whole, and altered or copied folders are noticed.
#include "suf/roles/index_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "suf/base/folder_test.hpp"

namespace suf::roles {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kColumns = 3;

nn::IndexPlan PlanFor(int64_t capacity) {
  nn::IndexPlan index;
  index.model = Hash{1};
  index.search.columns = kColumns;
  index.search.places = 1;
  index.search.buckets = capacity;
  index.search.k = 2;
  index.search.ring = index.search.ResultRing();
  return index;
}

// Rows whose words follow from their ids.
IndexRows RowsFor(const std::vector<std::string>& ids) {
  IndexRows rows;
  for (const std::string& id : ids) {
    for (int64_t j = 0; j < kColumns; ++j) rows.values.push_back(int16_t(id.back() * (j + 1) - 300));
    rows.documents.push_back({id, "text of " + id});
  }
  return rows;
}

std::vector<std::string> IdsOf(const IndexFolder& folder) {
  std::vector<std::string> ids;
  for (const IndexDocument& d : folder.Read().documents) ids.push_back(d.id);
  return ids;
}

void ExpectSame(const IndexRows& a, const IndexRows& b) {
  EXPECT_EQ(a.values, b.values);
  ASSERT_EQ(a.documents.size(), b.documents.size());
  for (size_t i = 0; i < a.documents.size(); ++i) {
    EXPECT_EQ(a.documents[i].id, b.documents[i].id);
    EXPECT_EQ(a.documents[i].text, b.documents[i].text);
  }
}

template <class F>
std::string Refused(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was refused";
}

// Changes byte `at` of a file, counted from its end if negative.
void Flip(const std::string& path, int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at, at < 0 ? std::ios::end : std::ios::beg);
  const char c = char(file.peek() ^ 4);
  file.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
  file.put(c);
}

struct IndexFolderTest : testing::Test {
  Scratch scratch;
  const std::string dir = scratch / "idx";
  void SetUp() override {
    IndexFolder::Create(dir, PlanFor(8));
    IndexFolder folder(dir);
    folder.Append(RowsFor({"a", "b", "c"}));
    folder.Append(RowsFor({"d"}));
  }
  std::string SegmentFile(size_t i) const {
    return Str(dir, "/", Hex(IndexFolder(dir).segments().at(i).id), ".segment");
  }
};

TEST_F(IndexFolderTest, RowsComeBackInOrder) {
  const IndexFolder folder(dir);
  EXPECT_EQ(folder.rows(), 4);
  EXPECT_EQ(folder.segments().at(1).first, 3);
  ExpectSame(folder.Read(), RowsFor({"a", "b", "c", "d"}));
  EXPECT_EQ(nn::IndexPlanHash(LoadIndexPlan(dir + "/index.json")), nn::IndexPlanHash(folder.index()));
}

TEST_F(IndexFolderTest, OnlyThePlanIsPublic) {
  for (const auto& entry : fs::directory_iterator(dir)) {
    const bool open = (entry.status().permissions() & fs::perms::others_read) != fs::perms::none;
    EXPECT_EQ(open, entry.path().filename() == "index.json") << entry.path();
  }
}

TEST_F(IndexFolderTest, DeletedRowsKeepTheirNumbersUntilCompact) {
  IndexFolder folder(dir);
  folder.Delete({"b", "d"});
  EXPECT_THAT(folder.deleted(), ElementsAre(1, 3));
  EXPECT_EQ(folder.live(), 2);
  folder.Append(RowsFor({"b"}));  // a deleted id may return
  EXPECT_THAT(IdsOf(folder), ElementsAre("a", "b", "c", "d", "b"));
  folder.Delete({"b"});
  EXPECT_THAT(folder.deleted(), ElementsAre(1, 3, 4));
  folder.Compact(PlanFor(16));
  EXPECT_EQ(folder.segments().size(), 1u);
  ExpectSame(folder.Read(), RowsFor({"a", "c"}));
  EXPECT_EQ(folder.index().capacity(), 16);
}

TEST_F(IndexFolderTest, ChangesAreThereAfterAStart) {
  IndexFolder(dir).Delete({"b"});
  IndexFolder(dir).Append(RowsFor({"e"}));
  EXPECT_THAT(IndexFolder(dir).deleted(), ElementsAre(1));
  IndexFolder(dir).Compact(PlanFor(16));
  const IndexFolder folder(dir);
  ExpectSame(folder.Read(), RowsFor({"a", "c", "d", "e"}));
  EXPECT_EQ(folder.index().capacity(), 16);
  EXPECT_EQ(LoadIndexPlan(dir + "/index.json").capacity(), 16);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), {}), 5);  // plan, key, list, lock, one segment
}

TEST_F(IndexFolderTest, AFaultyChangeChangesNothing) {
  IndexFolder folder(dir);
  EXPECT_THAT(Refused([&] { folder.Append(RowsFor({"e", "a"})); }), HasSubstr("\"a\" is in the index already"));
  EXPECT_THAT(Refused([&] { folder.Append(RowsFor({"e", "e"})); }), HasSubstr("\"e\" is in the index already"));
  EXPECT_THAT(Refused([&] {
                folder.Append(RowsFor({"1", "2", "3", "4", "5"}));
              }),
              HasSubstr("5 documents do not fit: the index has room for 4 of its 8 rows"));
  EXPECT_THAT(Refused([&] { folder.Delete({"a", "x"}); }), HasSubstr("no document \"x\"; nothing was deleted"));
  EXPECT_THAT(Refused([&] { folder.Delete({"a", "a"}); }), HasSubstr("\"a\" is named twice"));
  EXPECT_THAT(Refused([&] { folder.Compact(PlanFor(3)); }), HasSubstr("a capacity of 3 rows does not hold the 4"));
  ExpectSame(folder.Read(), RowsFor({"a", "b", "c", "d"}));
  EXPECT_EQ(folder.live(), 4);
}

TEST_F(IndexFolderTest, AThousandSegmentsAreTheMost) {
  Scratch memory("/dev/shm");
  IndexFolder::Create(memory / "idx", PlanFor(2000));
  IndexFolder folder(memory / "idx");
  while (folder.segments().size() < kMostSegments) folder.Append(RowsFor({std::to_string(folder.rows())}));
  EXPECT_THAT(Refused([&] { folder.Append(RowsFor({"x"})); }), HasSubstr("1024 segments, which is the limit"));
  folder.Compact(folder.index());
  folder.Append(RowsFor({"x"}));
  EXPECT_EQ(folder.segments().size(), 2u);
}

TEST_F(IndexFolderTest, AlteredFilesAreRefused) {
  for (const int64_t at : {0, 12, 60, -40, -1}) {
    const std::string file = SegmentFile(0);
    Flip(file, at);
    EXPECT_THAT(Refused([&] { (void)IndexFolder(dir).Read(); }), HasSubstr("was altered or cut short")) << at;
    Flip(file, at);
    Flip(dir + "/list", at);
    EXPECT_THAT(Refused([&] { IndexFolder folder(dir); }), HasSubstr("was altered or cut short")) << at;
    Flip(dir + "/list", at);
  }
  fs::resize_file(SegmentFile(1), 100);
  EXPECT_THAT(Refused([&] { (void)IndexFolder(dir).Read(); }), HasSubstr("was altered or cut short"));
}

TEST_F(IndexFolderTest, SegmentsInEachOthersPlaceAreRefused) {
  const std::string one = SegmentFile(0), two = SegmentFile(1);
  fs::copy_file(one, two, fs::copy_options::overwrite_existing);
  EXPECT_THAT(Refused([&] { (void)IndexFolder(dir).Read(); }),
              testing::AnyOf(HasSubstr("is another segment than its name says"), HasSubstr("is longer than")));
  fs::remove(two);
  EXPECT_THAT(Refused([&] { IndexFolder folder(dir); }), HasSubstr("is missing; restore the folder"));
}

TEST_F(IndexFolderTest, ALostKeyOrListIsRefused) {
  for (const char* name : {"index.key", "list"}) {
    fs::rename(Str(dir, "/", name), scratch / "away");
    EXPECT_THAT(Refused([&] { IndexFolder folder(dir); }), HasSubstr(Str("has no file ", name)));
    EXPECT_THAT(Refused([&] { IndexFolder folder(dir, IndexAccess::kAccept); }), HasSubstr(Str("has no file ", name)));
    fs::rename(scratch / "away", Str(dir, "/", name));
  }
}

TEST_F(IndexFolderTest, ACopyIsRefusedUntilItIsAccepted) {
  const std::string copy = scratch / "copy";
  fs::copy(dir, copy);
  IndexFolder(dir).Delete({"a"});
  EXPECT_THAT(Refused([&] { IndexFolder folder(copy); }), HasSubstr("was copied or put back"));
  EXPECT_EQ(IndexFolder(copy, IndexAccess::kAccept).live(), 4);
  EXPECT_EQ(IndexFolder(copy).live(), 4);
  fs::remove(dir + "/list");  // an older list is put back
  fs::copy_file(copy + "/list", dir + "/list");
  EXPECT_THAT(Refused([&] { IndexFolder folder(dir); }), HasSubstr("was copied or put back"));
}

TEST_F(IndexFolderTest, WhatACrashLeftOverGoes) {
  const std::string stray = Str(dir, "/", Hex(Hash{7}), ".segment");
  for (const std::string& file : {stray, stray + ".part"}) std::ofstream(file) << "part";
  fs::remove(dir + "/index.json");
  const IndexFolder folder(dir);
  EXPECT_FALSE(fs::exists(stray) || fs::exists(stray + ".part"));
  EXPECT_TRUE(fs::exists(dir + "/index.json"));
}

TEST_F(IndexFolderTest, AFolderWithoutAnIndexStaysAsItIs) {
  const std::string empty = scratch / "empty";
  EXPECT_THAT(Refused([&] { IndexFolder folder(empty); }), HasSubstr("has no file index.key"));
  EXPECT_FALSE(fs::exists(empty));
  EXPECT_THAT(Refused([&] {
                IndexFolder::Create(empty, PlanFor(2), RowsFor({"a", "b", "c"}));
              }),
              HasSubstr("3 documents do not fit"));
  EXPECT_TRUE(fs::is_empty(empty));
  IndexFolder::Create(empty, PlanFor(3), RowsFor({"a", "b", "c"}));
  EXPECT_EQ(IndexFolder(empty).rows(), 3);
}

TEST_F(IndexFolderTest, OneProcessHasIt) {
  const IndexFolder folder(dir);
  EXPECT_THAT(Refused([&] { IndexFolder second(dir); }), HasSubstr("is in use by another suf process"));
  EXPECT_THAT(Refused([&] { IndexFolder::Create(dir, PlanFor(8)); }), HasSubstr("is not empty"));
}

}  // namespace
}  // namespace suf::roles
