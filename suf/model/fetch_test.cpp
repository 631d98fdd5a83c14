#include "suf/model/fetch.hpp"

#include <gtest/gtest.h>

#include "suf/base/folder_test.hpp"
#include "suf/model/testing.hpp"

namespace suf::model {
namespace {

TEST(Fetch, ThePathFollowsTheCacheFolder) {
  const Variable home("HOME", "/home/u");
  {
    const Variable cache("XDG_CACHE_HOME", "/c");
    EXPECT_EQ(ModelPath(), "/c/suf/all-MiniLM-L6-v2");
  }
  for (const char* ignored : {static_cast<const char*>(nullptr), "", "relative"}) {
    const Variable cache("XDG_CACHE_HOME", ignored);
    EXPECT_EQ(ModelPath(), "/home/u/.cache/suf/all-MiniLM-L6-v2");
  }
  const Variable cache("XDG_CACHE_HOME", nullptr), none("HOME", nullptr);
  ExpectSentence([] { (void)ModelPath(); }, "neither XDG_CACHE_HOME nor HOME");
}

TEST(Fetch, AnAbsentModelNamesTheTool) {
  const ModelFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().c_str());
  ExpectSentence([] { (void)FetchedModel(); }, "put the files of");
  std::filesystem::create_directories(ModelPath());
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
    ExpectSentence([] { (void)FetchedModel(); }, file);
    folder.Write(std::string("suf/all-MiniLM-L6-v2/") + file, "x");
  }
  EXPECT_EQ(FetchedModel(), ModelPath());
}

}  // namespace
}  // namespace suf::model
