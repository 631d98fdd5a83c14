// The folder of pulled files: the files that it accepts, and the plan that it remembers.
#include "suf/roles/pull.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "suf/proto/catalogue.hpp"
#include "suf/roles/lane_world_test.hpp"
#include "suf/store/bundle.hpp"

namespace suf::roles {
namespace {

namespace fs = std::filesystem;

// "bert-base-uncased", as model::KnownVocabulary has it.
const char* const kPublished = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3";

std::string ReadPulled(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string& TokenizerText() {
  static const std::string words = ReadPulled("suf/model/testdata/vocab.txt");
  return words;
}

Hash HashInHex(const char* hex) {
  Hash hash;
  const Bytes bytes = FromHex(hex, hash.size(), "a hash");
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

// A P0 that offers a plan with this tokenizer. Another `calibration` makes another plan of the same model.
struct PullOffer {
  explicit PullOffer(const std::string& tokenizer, std::optional<Hash> named = {}, const Hash& calibration = {1})
      : plan(TheLaneModel().plan) {
    plan.tokenizer = named.value_or(HashOf({AsView(tokenizer)}));
    plan.calibration = Hex(calibration);
    files = {.plan = nn::Serialize(plan), .tokenizer = tokenizer};
  }
  Hash hash() const { return nn::PlanHash(plan); }
  nn::Plan plan;
  proto::PublicFiles files;
};

struct PullFolder {
  Scratch dir;
  fs::path folder = dir / "model";
  PulledFiles Take(const proto::PublicFiles& files, const std::optional<Hash>& expect = {}) {
    auto [p0, p1] = net::InProcessPair(kId[int(Role::kModel)], kId[int(Role::kData)]);
    const std::jthread serves([&files, ch = std::move(p0)]() mutable {
      try {
        proto::ServePull(*ch, ch->Recv(net::kPull, 256), &files, nullptr);
      } catch (const Error& e) {
        ADD_FAILURE() << e.what();
      }
      ch.reset();
    });
    return Pull(*p1, folder, expect);
  }
};

TEST(PulledFolder, KeepsTheFilesAndFindsThemAgain) {
  PullFolder f;
  const PullOffer offer(TokenizerText());
  EXPECT_FALSE(FindPulled(f.folder));
  const PulledFiles kept = f.Take(offer.files, offer.hash());
  EXPECT_EQ(kept.hash, offer.hash());
  EXPECT_EQ(kept.tokenizer_hash, offer.plan.tokenizer);
  EXPECT_EQ(ReadPulled(kept.plan), offer.files.plan);
  EXPECT_EQ(ReadPulled(kept.tokenizer), TokenizerText());
  EXPECT_EQ(kept.tokenizer.filename(), "vocab.txt");
  const auto found = FindPulled(f.folder);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->hash, offer.hash());
  EXPECT_EQ(found->plan, kept.plan);
  EXPECT_EQ(found->tokenizer, kept.tokenizer);
  std::ofstream(kept.tokenizer, std::ios::app) << "more\n";
  EXPECT_TRUE(FindPulled(f.folder)->tokenizer.empty()) << "an altered tokenizer is none";
  std::ofstream(kept.plan, std::ios::app) << "x";
  EXPECT_TRUE(Fails(Cause::kInput, "plan.json was altered", [&] { (void)FindPulled(f.folder); }));
}

TEST(PulledFolder, AnUnpublishedTokenizerNeedsAnExpectedPlan) {
  PullFolder f;
  const PullOffer offer(TokenizerText());
  EXPECT_TRUE(Fails(Cause::kRefused, Str("none of the published ones, its SHA-256 is ", Hex(offer.plan.tokenizer)),
                    [&] { f.Take(offer.files); }));
  EXPECT_FALSE(fs::exists(f.folder)) << "nothing is kept";
  EXPECT_TRUE(Fails(Cause::kRefused, Str("offers the plan ", Hex(offer.hash()), ", and the plan"),
                    [&] { f.Take(offer.files, Hash{1}); }));
  EXPECT_FALSE(fs::exists(f.folder));
  f.Take(offer.files, offer.hash());
}

TEST(PulledFolder, RemembersThePlanUntilAnotherOneIsExpected) {
  PullFolder f;
  const PullOffer first("", HashInHex(kPublished)), second("", HashInHex(kPublished), {2});
  ASSERT_NE(first.hash(), second.hash());
  EXPECT_TRUE(f.Take(first.files).tokenizer.empty());
  f.Take(first.files);
  EXPECT_TRUE(Fails(Cause::kRefused, Str("holds another one of an earlier pull, ", Hex(first.hash())),
                    [&] { f.Take(second.files); }));
  EXPECT_EQ(FindPulled(f.folder)->hash, first.hash());
  f.Take(second.files, second.hash());
  EXPECT_EQ(FindPulled(f.folder)->hash, second.hash());
  f.Take(second.files);
}

TEST(PulledFolder, ChecksWhatTheModelOwnerSent) {
  PullFolder f;
  const PullOffer offer(TokenizerText());
  proto::PublicFiles files = offer.files;
  files.tokenizer = "[PAD]\n";
  EXPECT_TRUE(
      Fails(Cause::kRefused, "offers a tokenizer that its plan does not name", [&] { f.Take(files, offer.hash()); }));
  files = offer.files;
  files.plan.resize(files.plan.size() / 2);
  EXPECT_TRUE(Fails(Cause::kRefused, "", [&] { f.Take(files, offer.hash()); }));
  const PullOffer broken("[PAD]\n");  // without special tokens
  EXPECT_TRUE(Fails(Cause::kInput, "the model owner's tokenizer", [&] { f.Take(broken.files, broken.hash()); }));
  EXPECT_FALSE(fs::exists(f.folder));
}

}  // namespace
}  // namespace suf::roles
