#include "suf/service/owners.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "suf/base/digest.hpp"
#include "suf/base/sanitized_test.hpp"
#include "suf/base/scratch_test.hpp"
#include "suf/net/credentials.hpp"

namespace suf::service {
namespace {

using namespace std::chrono_literals;
constexpr Instant kNow = Day(2026y / 11 / 28) + 13h;

Hash KeyOf(int i) { return HashOf({AsView(Str("owner ", i))}); }
std::string PrintOf(int i) { return "data=" + Hex(KeyOf(i)); }

// Returns an owner's entry, whose further lines are `lines`.
std::string Entry(const std::string& name, int key, const std::string& lines = "") {
  return Str("[[owner]]\nname = \"", name, "\"\nkeys = [\"", PrintOf(key), "\"]\n", lines);
}

// The remedy for an unknown field.
const std::string kFields = "; use name, keys, texts, tokens, searches, at_once, lanes and until";

OwnerList ListOf(const std::string& text) { return OwnerList::Parse(text, "F", kNow); }

testing::AssertionResult IsRefused(const std::string& text, const std::string& sentence) {
  try {
    (void)ListOf(text);
  } catch (const Error& e) {
    if (e.cause() == Cause::kInput && e.what() == sentence) return testing::AssertionSuccess();
    return testing::AssertionFailure() << Name(e.cause()) << ": " << e.what();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

TEST(Owners, AreReadWithAllFields) {
  const OwnerList list = ListOf(
      "# customers\n\n" +
      Entry("ann", 1,
            "texts = 1000  # a day\ntokens = 50_000\nsearches = 200\nat_once = 2\nlanes = 8\nuntil = 2027-01-01\n") +
      "\n" +
      Str("[[ owner ]]\r\n\"keys\" = [\n  '", PrintOf(2), "',  # old\n  \"", PrintOf(3),
          "\",\n]\nname = '''B.o_b-7'''"));
  ASSERT_EQ(list.size(), 2u);
  const Owner& ann = list.owners()[0];
  EXPECT_EQ(ann.name, "ann");
  EXPECT_EQ(ann.keys, std::vector<Hash>{KeyOf(1)});
  EXPECT_EQ(ann.texts, 1000u);
  EXPECT_EQ(ann.tokens, 50'000u);
  EXPECT_EQ(ann.searches, 200u);
  EXPECT_EQ(ann.at_once, 2);
  EXPECT_EQ(ann.lanes, 8);
  EXPECT_EQ(ann.until, Day(2027y / 1 / 1));
  EXPECT_EQ(ann.line, 3u);
  const Owner& bob = list.owners()[1];
  EXPECT_EQ(bob.name, "B.o_b-7");
  EXPECT_EQ(bob.keys, (std::vector<Hash>{KeyOf(2), KeyOf(3)}));
  EXPECT_FALSE(bob.texts || bob.tokens || bob.searches || bob.at_once || bob.lanes || bob.until);
  EXPECT_EQ(bob.line, 13u);
  EXPECT_EQ(list.Find(KeyOf(1)), &ann);
  EXPECT_EQ(list.Find(KeyOf(2)), &bob);
  EXPECT_EQ(list.Find(KeyOf(3)), &bob);
  EXPECT_EQ(list.Find(KeyOf(4)), nullptr);
  EXPECT_EQ(list.Find({}), nullptr);
  EXPECT_TRUE(list.notices().empty());
}

TEST(Owners, AreServedOnTheWholeOfTheirLastDay) {
  const OwnerList list = ListOf(Entry("ann", 1, "until = 2026-11-28"));
  const Owner& ann = list.owners()[0];
  EXPECT_TRUE(list.notices().empty());
  EXPECT_FALSE(ann.HasExpired(Day(2026y / 11 / 28) + 24h - 1ns));
  EXPECT_TRUE(ann.HasExpired(Day(2026y / 11 / 29)));
  EXPECT_FALSE(ListOf(Entry("bob", 2)).owners()[0].HasExpired(Instant::max()));
  EXPECT_FALSE(ListOf(Entry("bob", 2, "until = 9999-12-31")).owners()[0].HasExpired(Instant::max()));
  EXPECT_TRUE(ListOf(Entry("bob", 2, "until = 0000-01-01")).owners()[0].HasExpired(Instant::min()));
}

TEST(Owners, ThatHaveExpiredAreNoticed) {
  EXPECT_EQ(ListOf(Entry("ann", 1, "until = 2026-11-27\n")).notices(),
            (std::vector<std::string>{"in F 1 owner has expired and is refused, the first at line 1 (\"ann\", until "
                                      "2026-11-27); extend or remove it"}));
  EXPECT_EQ(ListOf(Entry("ann", 1, "until = 2027-11-27\n") + Entry("bob", 2, "until = 2024-02-29\n") +
                   Entry("cy", 3, "until = 1999-12-31\n"))
                .notices(),
            (std::vector<std::string>{"in F 2 owners have expired and are refused, the first at line 5 (\"bob\", until "
                                      "2024-02-29); extend or remove them"}));
}

TEST(Owners, AreRefusedIfTheTextIsDamaged) {
  const std::string good = Entry("ann", 1);
  EXPECT_TRUE(IsRefused("", "F lists no owner; add one under a header [[owner]]"));
  EXPECT_TRUE(IsRefused("# [[owner]]\n", "F lists no owner; add one under a header [[owner]]"));
  EXPECT_TRUE(IsRefused(good + "texts 5\n", "F, line 4: the text is no TOML at column 7; correct it there"));
  EXPECT_TRUE(IsRefused(good + "texts = 1\ntexts = 2", "F, line 5: the text is no TOML at column 9; correct it there"));
  EXPECT_TRUE(IsRefused(good + "'64 bits' = 1\n'64 bits' = 2",
                        "F, line 5: the text is no TOML at column 13; correct it there"));
  EXPECT_TRUE(IsRefused(good + "until = 2027-02-29", "F, line 4: the text is no TOML at column 19; correct it there"));
  EXPECT_TRUE(IsRefused(good + "texts = 01", "F, line 4: the text is no TOML at column 11; correct it there"));
  EXPECT_TRUE(IsRefused(good + "[owner", "F, line 4: the text is no TOML at column 7; correct it there"));
  EXPECT_TRUE(IsRefused(good + "[[owner]]\n[$]\n", "F, line 4: the text about one owner is no TOML; correct it"));
  const auto beyond = [](int line, int column) {
    return Str("F, line ", line, ": column ", column,
               " has a character beyond ASCII; use such characters in comments alone");
  };
  EXPECT_TRUE(IsRefused(good + "# \xc3\xa9 \xff\nx = 'a'  \xc3\xa9 = 1\n" + good, beyond(5, 10)));
  EXPECT_TRUE(IsRefused(good + "\nx = \"\"\"\na\xc3\xa9\"\"\"", beyond(6, 2)));
  EXPECT_TRUE(IsRefused("\xef\xbb\xbf\xef\xbb\xbf" + good, beyond(1, 1)));
  EXPECT_TRUE(IsRefused(Entry("\xc3\xa9", 1), beyond(2, 9)));
  EXPECT_EQ(ListOf(Entry("ann", 1, "# \xc3\xa9 \xff\ntexts = 5")).owners()[0].texts, 5u);
  EXPECT_TRUE(IsRefused(good + "#\x01", "F, line 4: the text is no TOML at column 2; correct it there"));
  // An open string or bracket is found where it is, in front of other owners.
  EXPECT_TRUE(IsRefused("[[owner]]\nname = \"ann\n" + good,
                        "F, line 2: the text is no TOML at column 12; correct it "
                        "there"));
  EXPECT_TRUE(IsRefused("[[owner]]\nkeys = [\"a\"\n" + good,
                        "F, line 3: the text is no TOML at column 1; correct it "
                        "there"));
  std::string many;
  for (int i = 0; i < 300; ++i) many += Entry(Str("o", i), i);
  EXPECT_TRUE(IsRefused(good + "x = '''\n" + many,
                        "F, line 1: the text about one owner has more than 16384 bytes; shorten it, or close its last "
                        "bracket or string"));
}

TEST(Owners, AreRefusedIfAFieldIsUnknownOrElsewhere) {
  EXPECT_TRUE(IsRefused("title = 'x'\n" + Entry("ann", 1),
                        "F, line 1: \"title\" belongs to no owner; remove it, or write it below [[owner]]"));
  EXPECT_TRUE(IsRefused(Entry("ann", 1) + "[a.\"b\\u202E\"]\n",
                        "F, line 4: \"a\" belongs to no owner; remove it, or write it below [[owner]]"));
  EXPECT_TRUE(IsRefused("owner = 5\n",
                        "F, line 1: owner is a whole number; write each owner below a header "
                        "[[owner]]"));
  EXPECT_TRUE(
      IsRefused("\nowner = [{name = 'a'}]\n", "F, line 2: owner is a list; write each owner below a header [[owner]]"));
  EXPECT_TRUE(IsRefused("[owner]\nname = 'a'\n" + Entry("ann", 1),
                        "F, line 1: owner is a table; write each owner below a header [[owner]]"));
  EXPECT_TRUE(IsRefused(Entry("ann", 1, "\nText = 5"), "F, line 5: owner \"ann\" has the field \"Text\"" + kFields));
  EXPECT_TRUE(IsRefused(Entry("ann", 1) + "[owner.more]\nx = 1\n" + Entry("bob", 2),
                        "F, line 4: owner \"ann\" has the field \"more\"" + kFields));
  EXPECT_TRUE(IsRefused(Entry("ann", 1, "\"\\u202e\\n\" = 5"),
                        "F, line 4: owner \"ann\" has the field \"\\u{202e}\\n\"" + kFields));
}

TEST(Owners, NeedAName) {
  const std::string keys = Str("keys = [\"", PrintOf(1), "\"]\n"), end =
                                                                       "; use 1 to 64 letters, digits, dots, "
                                                                       "underscores and hyphens";
  EXPECT_TRUE(IsRefused("[[owner]]\n" + keys, "F, line 1: the owner has no name; add one"));
  EXPECT_TRUE(IsRefused("[[owner]]\n" + keys + "name = 5\n", "F, line 3: the name is a whole number; write a string"));
  EXPECT_TRUE(IsRefused(Entry("", 1), "F, line 2: the name \"\" has 0 bytes" + end));
  EXPECT_TRUE(
      IsRefused(Entry("unlisted", 1), "F, line 2: the name \"unlisted\" means all other data owners; use another one"));
  EXPECT_TRUE(IsRefused(Entry("a b", 1), "F, line 2: the name \"a b\" has 3 bytes" + end));
  EXPECT_TRUE(IsRefused(Entry("\\n", 1), "F, line 2: the name \"\\n\" has 1 bytes" + end));
  EXPECT_TRUE(IsRefused(Entry("\\u00e9", 1), "F, line 2: the name \"\xc3\xa9\" has 2 bytes" + end));
  EXPECT_EQ(ListOf(Entry(std::string(64, 'a'), 1)).size(), 1u);
  EXPECT_TRUE(Fails(Cause::kInput, "has 65 bytes", [] { (void)ListOf(Entry(std::string(65, 'a'), 1)); }));
}

TEST(Owners, NeedKeysOfDataOwners) {
  const auto with = [](const std::string& keys) { return "[[owner]]\nname = \"ann\"\n" + keys; };
  EXPECT_TRUE(IsRefused(with(""), "F, line 1: owner \"ann\" has no keys; add at least one fingerprint"));
  EXPECT_TRUE(IsRefused(with("keys = []"), "F, line 1: owner \"ann\" has no keys; add at least one fingerprint"));
  EXPECT_TRUE(
      IsRefused(with("keys = 'x'"), "F, line 3: keys of owner \"ann\" is a string; write a list of fingerprints"));
  EXPECT_TRUE(IsRefused(with("keys = [\n 1.5]"),
                        "F, line 4: a key of owner \"ann\" is a number with a point; write a fingerprint as a string"));
  const std::string hex = Hex(KeyOf(1));
  for (const std::string& bad :
       {std::string("ann"), hex, "data=" + hex + "0", "data=" + hex.substr(1), std::string("data="), "DATA=" + hex,
        "data=" + std::string(64, 'A'), "data= " + hex.substr(1)})
    EXPECT_TRUE(IsRefused(with("keys = ['" + bad + "']"),
                          "F, line 3: the key " + Quoted(bad) +
                              " of owner \"ann\" is no fingerprint; write data= and 64 lower-case digits in hex"));
  EXPECT_TRUE(IsRefused(with("keys = ['model=" + hex + "']"),
                        "F, line 3: the key \"model=" + hex +
                            "\" of owner \"ann\" is the model owner's; list fingerprints of data owners alone"));
  std::string many;
  for (int i = 0; i < 64; ++i) many += Str("'", PrintOf(i), "',\n");
  EXPECT_EQ(ListOf(with("keys = [" + many + "]")).owners()[0].keys.size(), 64u);
  EXPECT_TRUE(IsRefused(with("keys = [" + many + "'x']"), "F, line 3: owner \"ann\" has 65 keys; list at most 64"));
}

TEST(Owners, AreRefusedIfANumberIsOutOfRange) {
  struct {
    const char* field;
    int64_t most;
  } const fields[] = {{"texts", 1'000'000'000'000},
                      {"tokens", 1'000'000'000'000},
                      {"searches", 1'000'000'000'000},
                      {"at_once", 64},
                      {"lanes", 64}};
  for (const auto& [field, most] : fields) {
    EXPECT_EQ(ListOf(Entry("ann", 1, Str(field, " = 1"))).size(), 1u);
    EXPECT_EQ(ListOf(Entry("ann", 1, Str(field, " = ", most))).size(), 1u);
    for (const int64_t bad : {int64_t{0}, int64_t{-1}, most + 1, INT64_MAX, INT64_MIN})
      EXPECT_TRUE(IsRefused(Entry("ann", 1, Str(field, " = ", bad)),
                            Str("F, line 4: ", field, " of owner \"ann\" is ", bad, "; write a number from 1 to ", most,
                                ", or remove the line for no limit")));
    for (const auto& [value, kind] : {std::pair{"'5'", "a string"},
                                      {"5.0", "a number with a point"},
                                      {"inf", "a number with a point"},
                                      {"true", "true or false"},
                                      {"[5]", "a list"},
                                      {"{a=1}", "a table"},
                                      {"2027-01-01", "a date"},
                                      {"10:00:00", "a time of day"}})
      EXPECT_TRUE(IsRefused(Entry("ann", 1, Str(field, " = ", value)),
                            Str("F, line 4: ", field, " of owner \"ann\" is ", kind, "; write a whole number")));
    for (const char* huge : {"9223372036854775808", "1000000000000000000000000000000", "0xffffffffffffffffff"})
      EXPECT_TRUE(IsRefused(Entry("ann", 1, Str(field, " = ", huge, "\n")),
                            "F, line 4: a number has more than 64 bits; write a smaller one"));
  }
}

TEST(Owners, AreRefusedIfUntilIsNoDate) {
  for (const auto& [value, kind] : {std::pair{"'2027-01-01'", "a string"},
                                    {"2027-01-01T00:00:00Z", "a date with a time"},
                                    {"2027", "a whole number"}})
    EXPECT_TRUE(
        IsRefused(Entry("ann", 1, Str("until = ", value)),
                  Str("F, line 4: until of owner \"ann\" is ", kind, "; write a date like 2027-01-31 without quotes")));
}

TEST(Owners, AreRefusedIfANameOrAKeyIsThereTwice) {
  EXPECT_TRUE(IsRefused(Entry("zoe", 1) + Entry("bob", 2) + "\n" + Entry("zoe", 3),
                        "F, line 8: the name \"zoe\" is that of the owner at line 1; give each owner a name of its "
                        "own"));
  EXPECT_EQ(ListOf(Entry("zoe", 1) + Entry("Zoe", 2)).size(), 2u);
  EXPECT_TRUE(IsRefused(Entry("ann", 1) + Entry("bob", 2) + Entry("cy", 1),
                        "F, line 9: the key " + PrintOf(1) +
                            " is that of owner \"ann\" at line 3; list each key "
                            "once"));
  EXPECT_TRUE(IsRefused(Str("[[owner]]\nname = 'ann'\nkeys = ['", PrintOf(1), "',\n'", PrintOf(1), "']"),
                        "F, line 4: the key " + PrintOf(1) +
                            " is that of owner \"ann\" at line 3; list each key "
                            "once"));
}

// Headers in strings, comments and lists are none, and each text reads like its whole.
TEST(Owners, AreSplitAtTheirHeadersAlone) {
  const std::string odd[] = {"x = '''\n[[owner]]\n'''",
                             "x = \"\"\"\n[[owner]]\\\"\"\"\\\n[[owner]]\n\"\"\"\"\"",
                             "x = \"\\\"#[\"",
                             "x = '\\'",
                             "x = [ # [[owner]] \"\n[[\n\"owner\"]],\n[[]]\n]",
                             "x = ''''\n[[owner]]''''"};
  for (const std::string& line : odd)
    EXPECT_TRUE(IsRefused(Entry("ann", 1) + Entry("bob", 2, line) + "\n" + Entry("cy", 3, "y = 1"),
                          "F, line 7: owner \"bob\" has the field \"x\"" + kFields))
        << line;
  const OwnerList list = ListOf("\xef\xbb\xbf" + Entry("a", 1) + "\t[[\"owner\"]]\nname='b'\nkeys=['" + PrintOf(2) +
                                "']\n \t[[\towner ]] # [\n" + Entry("c", 3).substr(10) + "# [[owner]]");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list.owners()[1].line, 4u);
  EXPECT_EQ(list.owners()[2].line, 7u);
  EXPECT_EQ(ListOf(Entry("a", 1, "#" + std::string(100'000, '"') + "\n") + Entry("b", 2)).size(), 2u);
}

// A key with thousands of parts makes as many tables, one inside the other.
TEST(Owners, AreRefusedIfATextNestsDeeply) {
  std::string parts = "a";
  while (parts.size() < kMostOwnerBytes - 200) parts += ".a";
  EXPECT_TRUE(Fails(Cause::kInput, "\"a\" belongs to no owner", [&] { (void)ListOf(parts + " = 1"); }));
  EXPECT_TRUE(Fails(Cause::kInput, "has the field \"a\"", [&] { (void)ListOf(Entry("ann", 1, parts + " = 1")); }));
  EXPECT_TRUE(Fails(Cause::kInput, "the text is no TOML",
                    [&] { (void)ListOf(Entry("ann", 1, "x = " + std::string(5000, '['))); }));
}

TEST(Owners, AreAtMost100000) {
  std::string text;
  for (int i = 0; i < int(kMostOwners); ++i) text += Entry(Str("o", i), i);
  EXPECT_TRUE(IsRefused(text + Entry("more", -1), "F, line 300001: the list has more than 100000 owners; remove some"));
}

// Returns a number of /proc/self/status in KiB.
long Status(const std::string& name) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name + ":")) return std::atol(line.c_str() + name.size() + 1);
  return -1;
}

// A sanitizer's own notes about memory count as well.
constexpr long kMostKib = (kSanitized ? 4 : 1) * 10'000'000L / 1024;

TEST(Owners, OfAListOf10000Take10MBAtTheirPeak) {
  const Scratch dir;
  {
    std::ofstream out(dir / "owners");
    for (int i = 0; i < 10'000; ++i)
      out << Entry(Str("owner-", i), i,
                   "texts = 1000\ntokens = 50000\nsearches = 500\nat_once = 2\nlanes = 8\nuntil = 2027-01-01\n\n");
  }
  const pid_t child = fork();
  if (!child) {
    malloc_trim(0);                               // the parent's free memory
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins here
    const long before = Status("VmRSS");
    const OwnerList list = OwnerList::Read(dir / "owners", kNow);
    const long grown = Status("VmHWM") - before;
    const bool good = list.size() == 10'000 && list.Find(KeyOf(7777)) == &list.owners()[7777] && before > 0;
    std::printf("10,000 owners: peak %ld KiB above the start\n", grown);
    std::fflush(stdout);
    _exit(good && grown < kMostKib ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OwnersFile, IsReadOrRefusedWithItsName) {
  const Scratch dir;
  const std::string file = dir / "owners.toml";
  const auto fails = [&](Cause cause, const std::string& words) {
    return Fails(cause, words, [&] { (void)OwnerList::Read(file, kNow); });
  };
  EXPECT_TRUE(fails(Cause::kInput, "cannot read the owners' file " + file +
                                       " (No such file or directory); name a file that the user of this process can "
                                       "read"));
  std::ofstream(file) << Entry("ann", 1);
  EXPECT_EQ(OwnerList::Read(file, kNow).size(), 1u);
  std::ofstream(file, std::ios::app) << "x = 1\n";
  EXPECT_TRUE(fails(Cause::kInput, file + ", line 4: owner \"ann\" has the field"));
  for (const mode_t open : {0620, 0602, 0666}) {
    ASSERT_EQ(chmod(file.c_str(), open), 0);
    EXPECT_TRUE(fails(Cause::kRefused, "another user of this machine can change the file " + file));
  }
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(truncate(file.c_str(), off_t(kMostFileBytes) + 1), 0);
  EXPECT_TRUE(fails(Cause::kInput, "the owners' file " + file + " has 67108865 bytes; write at most 67108864 bytes"));
  ASSERT_EQ(truncate(file.c_str(), off_t(kMostFileBytes)), 0);
  EXPECT_TRUE(fails(Cause::kInput, "line 5: the text is no TOML at column 1"));
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_TRUE(fails(Cause::kInput, "the owners' file " + file + " is a folder; name a file"));
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_TRUE(fails(Cause::kInput, "the owners' file " + file + " is no ordinary file; name a file"));
}

TEST(Days, AreThoseOfTheCalendar) {
  const Day day = 2026y / 11 / 28;
  EXPECT_EQ(DayText(day), "2026-11-28");
  EXPECT_EQ(DayText(kLastDay), "9999-12-31");
  EXPECT_EQ(DayOf(day + 24h - 1ns), day);
  EXPECT_EQ(DayOf(day + 24h), Day(2026y / 11 / 29));
  EXPECT_EQ(DayOf(Instant::min()), Day{});
  EXPECT_LE(DayOf(Instant::max()), kLastDay);
  EXPECT_EQ(SecondsLeft(day, day), 86'400u);
  EXPECT_EQ(SecondsLeft(day, day + 1ns), 86'400u);
  EXPECT_EQ(SecondsLeft(day, day + 24h - 1s), 1u);
  EXPECT_EQ(SecondsLeft(day, day + 24h - 1ns), 1u);
  EXPECT_EQ(SecondsLeft(day, day + 25h), 1u);
  EXPECT_EQ(SecondsLeft(day, day - 8760h), 86'400u);
  EXPECT_EQ(SecondsLeft(kLastDay, Instant::min()), 86'400u);
  EXPECT_EQ(SecondsLeft(Day{}, Instant::max()), 1u);
}

}  // namespace
}  // namespace suf::service
