#include "suf/store/secrets.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "suf/base/scratch_test.hpp"

namespace suf::store {
namespace {

const net::Identity kOwnerA{Role::kModel, Hash{1}}, kOwnerB{Role::kModel, Hash{2}};

void PutFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
}

TEST(Secrets, AreMadeOnceAndReadByMany) {
  Scratch dir;
  MakeSecrets(dir / "s", kOwnerA);
  const OwnerSecrets one = ReadSecrets(dir / "s", kOwnerA), two = ReadSecrets(dir / "s", kOwnerA);
  EXPECT_TRUE(Equal(one.weights_key->view(), two.weights_key->view()));
  EXPECT_TRUE(Equal(one.b_seed->view(), two.b_seed->view()));
  EXPECT_FALSE(Equal(one.weights_key->view(), one.b_seed->view()));
  EXPECT_FALSE(Equal(one.weights_key->view(), Secret().view()));
  for (const char* name : {"weights.key", "b.seed", "owner"}) {
    struct stat s {};
    ASSERT_EQ(stat(Str(dir / "s", "/", name).c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0600u);
  }
  EXPECT_TRUE(Fails(Cause::kInput, "weights.key exists", [&] { MakeSecrets(dir / "s", kOwnerA); }));
}

// A read-only folder, and links as Kubernetes mounts them.
TEST(Secrets, AReadOnlyPlaceSuffices) {
  Scratch dir;
  MakeSecrets(dir / "data", kOwnerA);
  std::filesystem::create_directory(dir / "mounted");
  for (const char* name : {"weights.key", "b.seed", "owner"}) {
    ASSERT_EQ(chmod(Str(dir / "data", "/", name).c_str(), 0400), 0);
    std::filesystem::create_symlink(Str("../data/", name), Str(dir / "mounted", "/", name));
  }
  ASSERT_EQ(chmod((dir / "data").c_str(), 0500), 0);
  EXPECT_TRUE(
      Equal(ReadSecrets(dir / "mounted", kOwnerA).b_seed->view(), ReadSecrets(dir / "data", kOwnerA).b_seed->view()));
  ASSERT_EQ(chmod((dir / "data").c_str(), 0700), 0);
}

TEST(Secrets, FaultsAreSentences) {
  Scratch dir;
  EXPECT_TRUE(Fails(Cause::kInput, "there is no", [&] { (void)ReadSecrets(dir / "none", kOwnerA); }));
  MakeSecrets(dir / "s", kOwnerA);
  EXPECT_TRUE(
      Fails(Cause::kRefused, "another model owner than model=02", [&] { (void)ReadSecrets(dir / "s", kOwnerB); }));
  for (const std::string name : {"weights.key", "b.seed", "owner"}) {
    SCOPED_TRACE(name);
    const std::string path = dir / "s" + "/" + name;
    std::string kept(100, 0);
    {
      std::ifstream in(path, std::ios::binary);
      in.read(kept.data(), ssize_t(kept.size()));
      kept.resize(size_t(in.gcount()));
    }
    const auto fails = [&](Cause cause, const std::string& words) {
      EXPECT_TRUE(Fails(cause, words, [&] { (void)ReadSecrets(dir / "s", kOwnerA); }));
    };
    ASSERT_EQ(chmod(path.c_str(), 0644), 0);
    fails(Cause::kInput, "can be read by others");
    ASSERT_EQ(chmod(path.c_str(), 0666), 0);
    fails(Cause::kRefused, name);
    PutFile(path, kept.substr(1));
    fails(Cause::kInput, "bytes instead of");
    PutFile(path, kept + "x");
    fails(Cause::kInput, "more than");
    std::filesystem::remove(path);
    fails(Cause::kInput, "there is no");
    PutFile(path, kept);
  }
  (void)ReadSecrets(dir / "s", kOwnerA);
}

}  // namespace
}  // namespace suf::store
