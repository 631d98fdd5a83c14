#include "suf/base/private_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"
#include "suf/base/scratch_test.hpp"

namespace suf {
namespace {

namespace fs = std::filesystem;

// Modes and links are tested here; tests/machine/isolation_test.py tests owners, as root.
void Mode(const std::string& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0) << path; }

std::string Said(const std::string& path, void (*check)(const std::string&) = MakePrivateFolder) {
  try {
    check(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(PrivateFolder, IsMadeForUsAlone) {
  const Scratch dir;
  MakePrivateFolder(dir / "store");
  struct stat s {};
  ASSERT_EQ(stat((dir / "store").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0700u);
  MakePrivateFolder(dir / "store/");  // and again
  MakePrivateFolderIn(dir / "store", "pairs");
  EXPECT_TRUE(fs::is_directory(dir / "store/pairs"));
  std::ofstream(dir / "file") << "x";
  EXPECT_TRUE(
      Fails(Cause::kResource, "file is not a folder; use another name", [&] { MakePrivateFolder(dir / "file"); }));
  EXPECT_TRUE(Fails(Cause::kResource, "cannot make", [&] { MakePrivateFolder(dir / "none/store"); }));
}

TEST(PrivateFolder, IsRefusedWhereOthersMayWriteOrRenameIt) {
  const Scratch dir;
  const std::string mine = std::to_string(geteuid());
  const std::string parent = dir / "parent", store = parent + "/store";
  fs::create_directories(store);
  for (const mode_t open : {0775, 0757, 0777, 02775}) {
    char octal[8];
    std::snprintf(octal, sizeof octal, "%04o", unsigned(open));
    for (const std::string& at : {store, parent}) {
      Mode(at, open);
      EXPECT_EQ(Said(store), "another user of this machine can change the folder " + store + ": " + at +
                                 " belongs to user " + mine + ", mode " + octal +
                                 "; let nobody else write it (chmod go-w), or use another folder");
      Mode(at, 0755);
    }
    Mode(parent, open);
    EXPECT_NE(Said(parent + "/new"), "");
    EXPECT_FALSE(fs::exists(parent + "/new")) << "a refused folder stays";
    Mode(parent, 0755);
  }
  EXPECT_EQ(Said(store), "");
  Mode(parent, 01777);  // others may add to a sticky folder, but not rename
  EXPECT_EQ(Said(store), "");
  Mode(store, 01777);  // a sticky folder itself holds nothing of ours
  EXPECT_NE(Said(store), "");
}

TEST(PrivateFolder, IsRefusedBehindALinkThatOthersCouldReplace) {
  const Scratch dir;
  fs::create_directories(dir / "there/store");
  fs::create_directories(dir / "here");
  fs::create_directory_symlink(dir / "there", dir / "here/link");
  fs::create_directory_symlink("link/store", dir / "here/relative");
  for (const std::string name : {"here/link/store", "here/relative", "here/relative/"}) {
    EXPECT_EQ(Said(dir / name), "");
    Mode(dir / "here", 0777);  // the folder of the link
    EXPECT_NE(Said(dir / name).find("here belongs to"), std::string::npos) << name;
    Mode(dir / "here", 0755);
    Mode(dir / "there", 0777);  // the folder of its target
    EXPECT_NE(Said(dir / name).find("there belongs to"), std::string::npos) << name;
    Mode(dir / "there", 0755);
  }
  fs::create_directory_symlink(dir / "here/loop", dir / "here/loop");
  EXPECT_NE(Said(dir / "here/loop"), "");
  // a checked folder contains no link at all
  fs::create_directory_symlink(dir / "there", dir / "here/pairs");
  EXPECT_TRUE(Fails(Cause::kRefused, "pairs is a symbolic link, through which nothing is written; remove it",
                    [&] { MakePrivateFolderIn(dir / "here", "pairs"); }));
}

// Kubernetes mounts a secret into a sticky folder. Its files are links through ..data, which is a link.
TEST(PrivateFile, MayBeALinkAsMountedKeysAre) {
  const Scratch dir;
  const std::string mount = dir / "certs";
  fs::create_directories(mount + "/..2026_01_01");
  std::ofstream(mount + "/..2026_01_01/key.pem") << "key";
  fs::create_directory_symlink("..2026_01_01", mount + "/..data");
  fs::create_symlink("..data/key.pem", mount + "/key.pem");
  Mode(mount, 01777);
  EXPECT_EQ(Said(mount + "/key.pem", CheckPrivateFile), "");
  EXPECT_EQ(Said(mount + "/none.pem", CheckPrivateFile), "");
  Mode(mount + "/..2026_01_01/key.pem", 0664);
  EXPECT_NE(Said(mount + "/key.pem", CheckPrivateFile).find("can change the file"), std::string::npos);
  Mode(mount + "/..2026_01_01/key.pem", 0600);
  Mode(mount + "/..2026_01_01", 0777);
  EXPECT_NE(Said(mount + "/key.pem", CheckPrivateFile), "");
  Mode(mount + "/..2026_01_01", 0755);
  Mode(mount, 0777);
  EXPECT_NE(Said(mount + "/key.pem", CheckPrivateFile), "");
}

TEST(OpenFile, FollowsNoLink) {
  const Scratch dir;
  std::ofstream(dir / "theirs") << "keep";
  fs::create_symlink("theirs", dir / "ledger");
  for (const int flags : {O_RDONLY, O_RDWR, O_WRONLY | O_CREAT | O_TRUNC})
    EXPECT_TRUE(Fails(Cause::kRefused, "ledger is a symbolic link, which is not followed here; remove it",
                      [&] { (void)OpenFile(dir / "ledger", flags); }));
  EXPECT_EQ(ReadSome(OpenFile(dir / "ledger", O_RDONLY, Links::kFollow).get(), 9, "ledger").size(), 4u);
  fs::create_symlink("theirs", dir / "serial.part");
  WriteFile(dir.path, "serial", AsView("new"));  // a killed process's leftover is replaced, never written through
  EXPECT_EQ(fs::file_size(dir / "theirs"), 4u);
  EXPECT_FALSE(fs::is_symlink(dir / "serial"));
}

TEST(OpenFile, WaitsForNoOtherProcess) {
  Scratch dir;
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR})
    EXPECT_TRUE(Fails(Cause::kRefused, "pipe is no ordinary file; name another one", [&] { (void)OpenFile(pipe, flags); }));
}

TEST(ProbeFile, RefusesWhatAPartWouldAndLeavesNothing) {
  Scratch dir;
  ProbeFile(dir / "new", 1 << 20);
  EXPECT_TRUE(
      Fails(Cause::kResource, "none/file (No such file or directory)", [&] { ProbeFile(dir / "none/file", 1); }));
  EXPECT_TRUE(Fails(Cause::kResource, "which is a folder; name another file", [&] { ProbeFile(dir / ".", 1); }));
  EXPECT_TRUE(
      Fails(Cause::kResource, "which is no ordinary file; name another file", [&] { ProbeFile("/dev/full", 1); }));
  EXPECT_TRUE(
      Fails(Cause::kResource, "new of 9223372036854775807 bytes (", [&] { ProbeFile(dir / "new", INT64_MAX); }));
  EXPECT_TRUE(std::filesystem::is_empty(dir / "."));
}

}  // namespace
}  // namespace suf
