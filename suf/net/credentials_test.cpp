#include "suf/net/credentials.hpp"

#include <sys/stat.h>

#include <fstream>
#include <set>

#include "suf/net/internal/testing.hpp"

namespace suf::net {
namespace {

TEST(Certs, AreThreeRolesWithPrivateKeysAndNoCaKey) {
  const Scratch& dir = Certs::Get().dir;
  for (Role r : {Role::kDealer, Role::kModel, Role::kData}) {
    EXPECT_EQ(Certs::Of(r).identity().role, r);
    struct stat s;
    ASSERT_EQ(stat((dir / (std::string("a/") + Name(r) + "/key.pem")).c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0600u);
  }
  EXPECT_NE(Certs::Of(Role::kModel).identity().key, Certs::Of(Role::kData).identity().key);
  size_t files = 0;
  for (auto& e : std::filesystem::recursive_directory_iterator(dir / "a")) files += e.is_regular_file();
  EXPECT_EQ(files, 9u);
  EXPECT_TRUE(Fails(Cause::kInput, "exists already", [&] { MakeCerts(dir / "a"); }));
}

TEST(Certs, AreMadeForSeveralDataOwnersOfOneCa) {
  Scratch dir;
  const std::string longest(kLongestOwner, 'x');
  MakeCerts(dir / "c", {"bob", "alice.1", longest});
  const std::string c = dir / "c";
  EXPECT_EQ(CertFolders(c), (std::vector<std::string>{c + "/dealer", c + "/model", c + "/data-alice.1", c + "/data-bob",
                                                      c + "/data-" + longest}));
  EXPECT_EQ(CertFolders(c + "/data-bob"), std::vector<std::string>{c + "/data-bob"});
  EXPECT_TRUE(CertFolders(dir / "none").empty());
  std::set<Hash> keys;
  for (const std::string& folder : CertFolders(c)) {
    const Credentials own(folder);
    EXPECT_EQ(own.identity().role, folder.ends_with("dealer")  ? Role::kDealer
                                   : folder.ends_with("model") ? Role::kModel
                                                               : Role::kData);
    keys.insert(own.identity().key);
  }
  EXPECT_EQ(keys.size(), 5u);
  EXPECT_TRUE(Fails(Cause::kInput, "exists already", [&] { MakeCerts(c, {"carol"}); }));
}

TEST(Certs, ANameOfADataOwnerIsChecked) {
  Scratch dir;
  const auto fails = [&](const std::vector<std::string>& owners, const char* why) {
    return Fails(Cause::kInput, why, [&] { MakeCerts(dir / "c", owners); });
  };
  EXPECT_TRUE(fails({""}, "the name \"\" of a data owner is empty; use letters, digits, -, _ and dots"));
  for (const char* name : {"..", ".", ".hidden", "a/b", "/", "../x", "-x", "a b", "a\n", "\xc3\xa4", "a\\b", "a*"})
    EXPECT_TRUE(fails({"fine", name}, "cannot be that of a folder")) << name;
  EXPECT_TRUE(fails({std::string(49, 'x')}, "has 49 bytes, and 48 are allowed"));
  EXPECT_TRUE(fails({"a", "b", "a"}, "the name \"a\" of a data owner appears twice"));
  std::vector<std::string> many;
  for (size_t i = 0; i <= kMostOwners; ++i) many.push_back(Str("owner", i));
  EXPECT_TRUE(fails(many, "257 data owners are named, and at most 256 can have certificates of one CA; name fewer"));
  EXPECT_FALSE(std::filesystem::exists(dir / "c"));
}

TEST(Credentials, AMissingFolderOrAnOpenKeyIsRefused) {
  EXPECT_TRUE(Fails(Cause::kInput, "make certificates", [] { Credentials("/nowhere"); }));
  Scratch dir;
  std::filesystem::copy(Certs::Get().dir / "a/data", dir / "data");
  std::filesystem::copy_file(Certs::Get().dir / "a/model/key.pem", dir / "data/key.pem",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(Fails(Cause::kInput, "data/key.pem", [&] { Credentials(dir / "data"); }));
  std::filesystem::copy(Certs::Get().dir / "b/data", dir / "mixed");
  std::filesystem::copy_file(Certs::Get().dir / "a/data/ca.pem", dir / "mixed/ca.pem",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(
      Fails(Cause::kInput, "mixed/cert.pem (it is of another CA than ours", [&] { Credentials(dir / "mixed"); }));
  chmod((dir / "data/key.pem").c_str(), 0644);
  EXPECT_TRUE(Fails(Cause::kInput, "can be read by others", [&] { Credentials(dir / "data"); }));
}

TEST(Credentials, FingerprintsGoThereAndBack) {
  Identity who = Certs::Of(Role::kModel).identity();
  std::string text = Fingerprint(who);
  EXPECT_EQ(text, "model=" + Hex(who.key));
  EXPECT_EQ(FromFingerprint(text).role, Role::kModel);
  EXPECT_EQ(FromFingerprint(text).key, who.key);
  for (const std::string& bad :
       std::vector<std::string>{"", "model", "model=", "M" + text.substr(1), text + "0", text + "\n", text.substr(5)})
    EXPECT_TRUE(Fails(Cause::kInput, "pin", [&] { FromFingerprint(bad); })) << bad;
}

TEST(Credentials, APinIsForItsRoleAloneAndOneOfSeveralIsEnough) {
  Identity model{Role::kModel, Hash{1}}, dealer{Role::kDealer, Hash{2}};
  Credentials own = Certs::Of(Role::kData);
  EXPECT_TRUE(own.Admits(model) && own.Admits(dealer));
  own.Pin({Role::kModel, Hash{9}});
  EXPECT_FALSE(own.Admits(model));
  EXPECT_TRUE(own.Admits(dealer));
  EXPECT_FALSE(own.Admits({Role::kModel, Hash{2}}));
  own.Pin(model);
  EXPECT_TRUE(own.Admits(model) && own.Admits({Role::kModel, Hash{9}}));
}

}  // namespace
}  // namespace suf::net
