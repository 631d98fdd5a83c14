#include "suf/roles/sealed_documents.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "suf/base/scratch_test.hpp"

namespace suf::roles {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kTexts{"", "a", std::string(252, 'x'), std::string(253, 'y'), "\xc3\xa9 last"};

Bytes KeyOf(size_t row) { return Bytes(kAeadKeyBytes, uint8_t(row + 1)); }

// A file of these texts.
struct SealedDocumentsTest : testing::Test {
  SealedDocumentsTest() {
    Append(&all, SealedDocumentsHead(Hash{7}));
    for (size_t i = 0; i < kTexts.size(); ++i) {
      places.push_back(all.size());
      Append(&all, SealDocument(KeyOf(i), int64_t(i), kTexts[i]));
    }
    Write(all);
  }
  void Write(View bytes) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  }
  std::string Refused(const std::function<void()>& f) const {
    try {
      f();
    } catch (const Error& e) {
      EXPECT_EQ(e.cause(), Cause::kInput);
      return e.what();
    }
    return "not refused";
  }
  Scratch dir;
  const std::string file = dir / "documents.sealed";
  Bytes all;
  std::vector<size_t> places;
};

TEST_F(SealedDocumentsTest, EachKeyOpensItsRow) {
  const SealedDocuments documents(file);
  ASSERT_EQ(documents.rows(), int64_t(kTexts.size()));
  for (size_t i = 0; i < kTexts.size(); ++i) EXPECT_EQ(documents.Open(int64_t(i), KeyOf(i)), kTexts[i]);
  EXPECT_THAT(Refused([&] { (void)documents.Open(1, KeyOf(2)); }), HasSubstr("the key of row 1 does not open"));
  for (const int64_t row : {int64_t{-1}, int64_t(kTexts.size())})
    EXPECT_THAT(Refused([&] { (void)documents.Open(row, KeyOf(0)); }), HasSubstr("has 5 documents, and row"));
}

TEST_F(SealedDocumentsTest, LengthsShowInStepsAlone) {
  EXPECT_EQ(SealDocument(KeyOf(0), 0, "").size(), SealDocument(KeyOf(0), 0, std::string(252, 'x')).size());
  EXPECT_EQ(SealDocument(KeyOf(0), 0, std::string(253, 'x')).size(),
            SealDocument(KeyOf(0), 0, "").size() + kDocumentStep);
}

TEST_F(SealedDocumentsTest, AlteredEntriesDoNotOpen) {
  for (size_t at = places[1] + sizeof(uint32_t); at < places[2]; at += 7) {
    Bytes other = all;
    other[at] ^= 1;
    Write(other);
    EXPECT_THAT(Refused([&] { (void)SealedDocuments(file).Open(1, KeyOf(1)); }), HasSubstr("does not open")) << at;
    EXPECT_EQ(SealedDocuments(file).Open(4, KeyOf(4)), kTexts[4]);
  }
}

TEST_F(SealedDocumentsTest, OtherFilesAreRefused) {
  for (size_t size = 0; size < all.size(); ++size) {
    const bool whole = size == kSealedDocumentsHead || std::count(places.begin(), places.end(), size);
    if (whole) continue;
    Write(View(all).first(size));
    EXPECT_THAT(Refused([&] { SealedDocuments documents(file); }), HasSubstr("is no file of sealed documents")) << size;
  }
  Bytes other = all;
  other[0] ^= 1;
  Write(other);
  EXPECT_THAT(Refused([&] { SealedDocuments documents(file); }), HasSubstr("is no file of sealed documents"));
  EXPECT_THAT(Refused([&] { SealedDocuments documents(dir / "none"); }), HasSubstr("cannot read the documents"));
  EXPECT_THAT(Refused([&] { SealedDocuments documents(dir / ""); }), HasSubstr("is no file of sealed documents"));
}

}  // namespace
}  // namespace suf::roles
