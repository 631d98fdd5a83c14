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
  const std::string longest(kLongestName, 'x');
  MakeCerts(dir / "c", {.owners = {"bob", "alice.1", longest}});
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
  EXPECT_TRUE(Fails(Cause::kInput, "exists already", [&] { MakeCerts(c, {.owners = {"carol"}}); }));
}

TEST(Certs, AreMadeForSeveralDealersOfOneCa) {
  Scratch dir;
  const std::string c = dir / "c", longest(kLongestName, 'x');
  MakeCerts(c, {.dealers = {"east", longest, "a"}, .owners = {"a", "bob"}});
  const std::vector<std::string> all{c + "/dealer-a", c + "/dealer-east", c + "/dealer-" + longest,
                                     c + "/model",    c + "/data-a",      c + "/data-bob"};
  EXPECT_EQ(CertFolders(c), all);
  std::set<Hash> keys;
  for (size_t i = 0; i < all.size(); ++i) {
    const Credentials own(all[i]);
    EXPECT_EQ(own.identity().role, i < 3 ? Role::kDealer : i == 3 ? Role::kModel : Role::kData);
    keys.insert(own.identity().key);
  }
  EXPECT_EQ(keys.size(), all.size());
  MakeCerts(dir / "d", {.dealers = {"east"}});
  const std::string d = dir / "d";
  EXPECT_EQ(CertFolders(d), (std::vector<std::string>{d + "/dealer-east", d + "/model", d + "/data"}));
  EXPECT_TRUE(Fails(Cause::kInput, "dealer-east exists already", [&] { MakeCerts(d, {.dealers = {"east"}}); }));
}

TEST(Certs, ANameIsChecked) {
  Scratch dir;
  for (const Role r : {Role::kDealer, Role::kData}) {
    const std::string one = HolderOf(r);
    const auto fails = [&](const std::vector<std::string>& names, const std::string& why) {
      return Fails(Cause::kInput, why, [&] {
        MakeCerts(dir / "c", r == Role::kData ? CertNames{.owners = names} : CertNames{.dealers = names});
      });
    };
    EXPECT_TRUE(fails({""}, Str("the name \"\" of a ", one, " is empty; use letters, digits, -, _ and dots")));
    for (const char* name : {"..", ".", ".hidden", "a/b", "/", "../x", "-x", "a b", "a\n", "\xc3\xa4", "a\\b", "a*"})
      EXPECT_TRUE(fails({"fine", name}, Str("of a ", one, " cannot be that of a folder"))) << name;
    EXPECT_TRUE(fails({std::string(49, 'x')}, "has 49 bytes, and 48 are allowed"));
    EXPECT_TRUE(fails({"a", "b", "a"}, Str("the name \"a\" of a ", one, " appears twice")));
    std::vector<std::string> many;
    for (size_t i = 0; i <= kMostNames; ++i) many.push_back(Str("n", i));
    EXPECT_TRUE(fails(many, Str("257 ", one, "s are named, and at most 256 can have certificates of one CA")));
  }
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
