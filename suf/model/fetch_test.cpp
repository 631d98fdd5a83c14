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
    EXPECT_EQ(ModelPath("multilingual-e5-small"), "/c/suf/multilingual-e5-small");
  }
  for (const char* ignored : {static_cast<const char*>(nullptr), "", "relative"}) {
    const Variable cache("XDG_CACHE_HOME", ignored);
    EXPECT_EQ(ModelPath(), "/home/u/.cache/suf/all-MiniLM-L6-v2");
  }
  const Variable cache("XDG_CACHE_HOME", nullptr), none("HOME", nullptr);
  ExpectSentence([] { (void)ModelPath(); }, "neither XDG_CACHE_HOME nor HOME");
}

TEST(Fetch, AnUnknownNameIsRefusedWithTheKnownOnes) {
  ASSERT_EQ(FetchedModels().size(), 3u);
  EXPECT_EQ(FetchedModels().front(), "all-MiniLM-L6-v2");
  for (const char* name : {"", "minilm", "all-MiniLM-L6-v2/", "..", "/", "all-MiniLM-L6-v2\n"}) {
    for (const std::string& known : FetchedModels()) {
      ExpectSentence([&] { (void)ModelPath(name); }, known);
      ExpectSentence([&] { (void)FetchedModel(name); }, known);
    }
  }
}

TEST(Fetch, AnAbsentModelNamesTheFile) {
  for (const std::string& name : FetchedModels()) {
    const ModelFolder folder;
    const Variable cache("XDG_CACHE_HOME", folder.path().c_str());
    ExpectSentence([&] { (void)FetchedModel(name); }, "put the files of " + name);
    std::filesystem::create_directories(ModelPath(name));
    const std::string tokenizer = name == FetchedModels().front() ? "vocab.txt" : "tokenizer.json";
    for (const std::string& file : {std::string("config.json"), std::string("model.safetensors"), tokenizer}) {
      ExpectSentence([&] { (void)FetchedModel(name); }, file);
      folder.Write("suf/" + name + "/" + file, "x");
    }
    EXPECT_EQ(FetchedModel(name), ModelPath(name));
  }
}

}  // namespace
}  // namespace suf::model
