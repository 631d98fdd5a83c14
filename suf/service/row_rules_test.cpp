#include "suf/service/row_rules.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <random>

#include "suf/base/digest.hpp"
#include "suf/base/scratch_test.hpp"

namespace suf::service {
namespace {

// A list of owners with these names.
OwnerList NamedOwners(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names)
    text += Str("[[owner]]\nname = \"", n, "\"\nkeys = [\"data=", Hex(HashOf({AsView(n)})), "\"]\n");
  return OwnerList::Parse(text, "O");
}

const OwnerList& TwoClinics() {
  static const OwnerList list = NamedOwners({"clinic-a", "clinic.b"});
  return list;
}

// Index 1 has the documents doc-0 to doc-99, and index 2 has 5 and 6 to 9. Documents 7 of both are deleted.
const std::vector<IndexRowsView>& TwoIndexes() {
  const auto numbered = [](const char* prefix, int64_t first, int64_t count) {
    auto ids = std::make_shared<std::map<std::string, int64_t>>();
    for (int64_t i = 0; i < count; ++i)
      if (first + i != 7) ids->emplace(Str(prefix, first + i), i);
    return IndexRowsView{count, [ids](const std::string& id) -> std::optional<int64_t> {
                           const auto at = ids->find(id);
                           if (at == ids->end()) return std::nullopt;
                           return at->second;
                         }};
  };
  static const std::vector<IndexRowsView> all{numbered("doc-", 0, 100), numbered("", 5, 5)};
  return all;
}

RowRules RulesOf(const std::string& text) { return RowRules::Parse(text, "F", TwoClinics(), TwoIndexes()); }

// Returns the rule of an owner, whose fields are `lines`.
std::string Rule(const std::string& lines, const std::string& name = "clinic-a") {
  return Str("[[owner]]\nname = \"", name, "\"\n", lines, "\n");
}

std::vector<RowSpan> RowsOf(const RowRules& rules, const std::string& owner, uint32_t index = 1) {
  const auto rows = rules.Of(owner, index);
  return {rows.begin(), rows.end()};
}
using Spans = std::vector<RowSpan>;

testing::AssertionResult RulesAreRefused(const std::string& text, const std::string& sentence) {
  try {
    (void)RulesOf(text);
  } catch (const Error& e) {
    if (e.cause() == Cause::kInput && e.what() == sentence) return testing::AssertionSuccess();
    return testing::AssertionFailure() << Name(e.cause()) << ": " << e.what();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

TEST(RowRule, NamesRowsByNumberAndByDocument) {
  const RowRules rules = RulesOf("# who sees what\n" +
                                 Rule("rows = [\"20-29\", 40, '0-9', \"10\", 99]\ndocuments = [\"doc-50\", 'doc-5']") +
                                 Rule("index = 2\ndocuments = [9, \"5\", 6, 6]") + Rule("all = true", "clinic.b"));
  EXPECT_EQ(RowsOf(rules, "clinic-a"), (Spans{{0, 11}, {20, 30}, {40, 41}, {50, 51}, {99, 100}}));
  EXPECT_EQ(RowsOf(rules, "clinic-a", 2), (Spans{{0, 2}, {4, 5}}));
  EXPECT_EQ(RowsOf(rules, "clinic.b"), (Spans{{0, INT64_MAX}}));
  EXPECT_EQ(RowsOf(rules, "clinic.b", 2), Spans{});
  EXPECT_TRUE(rules.SeesAll("clinic.b", 1));
  for (const char* owner : {"clinic-a", "clinic", "clinic.b"}) EXPECT_FALSE(rules.SeesAll(owner, 2));
  EXPECT_FALSE(rules.SeesAll("clinic-a", 1));
  EXPECT_TRUE(rules.HasNumbers(1));
  EXPECT_FALSE(rules.HasNumbers(2));
  EXPECT_TRUE(rules.notices().empty());
}

TEST(RowRule, OfAnotherOwnerOrIndexShowsNothing) {
  const RowRules rules = RulesOf(Rule("all = true"));
  for (const char* owner : {"", "clinic", "clinic-a ", "clinic.b", "unlisted", "zoe"})
    EXPECT_EQ(RowsOf(rules, owner), Spans{}) << owner;
  for (const uint32_t index : {0u, 2u, 3u, UINT32_MAX}) EXPECT_EQ(RowsOf(rules, "clinic-a", index), Spans{});
  EXPECT_EQ(RowsOf(RowRules(), "clinic-a"), Spans{});
  EXPECT_EQ(rules.notices(), (std::vector<std::string>{"F does not name 1 owner of the list, the first \"clinic.b\"; "
                                                       "without rules it sees no row"}));
  const RowRules none = RulesOf(Rule("rows = []"));
  EXPECT_EQ(RowsOf(none, "clinic-a"), Spans{});
  EXPECT_FALSE(none.HasNumbers(1));
}

TEST(RowRule, MayOverlapAnother) {
  std::mt19937 random(1);
  for (int t = 0; t < 200; ++t) {
    std::string list;
    std::vector<bool> seen(100);
    for (int i = 0; i < 8; ++i) {
      const int a = int(random() % 100), b = a + int(random() % unsigned(100 - a)) / (t % 10 + 1);
      list += Str("\"", a, "-", b, "\", ");
      for (int row = a; row <= b; ++row) seen[size_t(row)] = true;
    }
    const RowRules rules = RulesOf(Rule("rows = [" + list + "]"));
    std::vector<bool> told(100);
    int64_t end = -1;
    for (const RowSpan& r : rules.Of("clinic-a", 1)) {
      EXPECT_GT(r.first, end) << "ranges that touch are one";
      EXPECT_GT(r.end, r.first);
      end = r.end;
      for (int64_t row = r.first; row < r.end; ++row) told.at(size_t(row)) = true;
    }
    EXPECT_EQ(told, seen);
  }
}

TEST(RowRule, IsRefusedForAnUnknownOwnerOrIndex) {
  EXPECT_TRUE(RulesAreRefused(Rule("all = true", "zoe"),
                              "F, line 2: the list of owners has no \"zoe\"; list it there, or correct the name"));
  EXPECT_TRUE(
      RulesAreRefused(Rule("all = true", "a\\u202e"),
                      "F, line 2: the list of owners has no \"a\\u{202e}\"; list it there, or correct the name"));
  EXPECT_TRUE(RulesAreRefused("[[owner]]\nall = true", "F, line 1: the owner has no name; add one"));
  EXPECT_TRUE(RulesAreRefused("[[owner]]\nname = 5", "F, line 2: the name is a whole number; write a string"));
  for (const int64_t index : {int64_t{0}, int64_t{3}, int64_t{-1}, INT64_MAX, INT64_MIN, (int64_t{1} << 32) + 1})
    EXPECT_TRUE(RulesAreRefused(Rule(Str("index = ", index, "\nall = true")),
                                Str("F, line 3: index of owner \"clinic-a\" is ", index,
                                    "; write a number from 1 to 2, in the order in which indexes are served")));
  EXPECT_TRUE(RulesAreRefused(Rule("index = '1'\nall = true"),
                              "F, line 3: index of owner \"clinic-a\" is a string; write a whole number"));
  EXPECT_TRUE(Fails(Cause::kInput, "F, line 1: owner \"clinic-a\" has rows of an index, and none is served; serve one",
                    [] { (void)RowRules::Parse(Rule("all = true"), "F", TwoClinics(), {}); }));
}

TEST(RowRule, IsRefusedForAnUnknownRowOrDocument) {
  const auto beyond = [](const std::string& row, const std::string& value, int line = 3) {
    return Str("F, line ", line, ": index 1 has no row ", row, ", which ", value,
               " of owner \"clinic-a\" names; write rows from 0 to 99");
  };
  EXPECT_TRUE(RulesAreRefused(Rule("rows = [100]"), beyond("100", "100")));
  EXPECT_TRUE(RulesAreRefused(Rule("rows = [\n 5,\n \"50-100\"]"), beyond("100", "\"50-100\"", 5)));
  EXPECT_TRUE(RulesAreRefused(Rule("rows = ['200-300']"), beyond("200", "\"200-300\"")));
  EXPECT_TRUE(
      RulesAreRefused(Rule("rows = [9223372036854775807]"), beyond("9223372036854775807", "9223372036854775807")));
  EXPECT_TRUE(RulesAreRefused(
      Rule("index = 2\nrows = ['0-5']"),
      "F, line 4: index 2 has no row 5, which \"0-5\" of owner \"clinic-a\" names; write rows from 0 to 4"));
  const auto unknown = [](const char* id) {
    return Str("F, line 3: index 1 has no document \"", id,
               "\", which owner \"clinic-a\" has; remove it, or correct "
               "the id");
  };
  EXPECT_TRUE(RulesAreRefused(Rule("documents = ['doc-100']"), unknown("doc-100")));
  EXPECT_TRUE(RulesAreRefused(Rule("documents = ['doc-5', 'doc-7']"), unknown("doc-7"))) << "it is deleted";
  EXPECT_TRUE(RulesAreRefused(Rule("documents = [5]"), unknown("5"))) << "it is in the other index";
  EXPECT_TRUE(RulesAreRefused(Rule("documents = [\"\\u202e\\n\"]"), unknown("\\u{202e}\\n")));
  EXPECT_EQ(RowsOf(RulesOf(Rule("rows = [0, '99-99']")), "clinic-a"), (Spans{{0, 1}, {99, 100}}));
  const std::vector<IndexRowsView> empty{{0, [](const std::string&) { return std::nullopt; }}};
  EXPECT_TRUE(Fails(Cause::kInput, "index 1 has no row 0, which 0 of owner \"clinic-a\" names; add documents to it",
                    [&] { (void)RowRules::Parse(Rule("rows = [0]"), "F", TwoClinics(), empty); }));
}

TEST(RowRule, IsRefusedForARangeThatIsNone) {
  for (const char* bad : {"", "-", "5-", "-5", "a", "0x5", "5 - 6", " 5", "5,6", "1-2-3", "+5", "1e3", "--5", "5--6",
                          "99999999999999999999", "0-99999999999999999999"})
    EXPECT_TRUE(RulesAreRefused(Rule(Str("rows = ['", bad, "']")),
                                Str("F, line 3: \"", bad,
                                    "\" of owner \"clinic-a\" is no row; write one like 120, or a range like "
                                    "\"0-99\"")));
  EXPECT_TRUE(RulesAreRefused(Rule("rows = [-1]"),
                              "F, line 3: -1 of owner \"clinic-a\" is no row; write one like 120, or a range like "
                              "\"0-99\""));
  EXPECT_TRUE(
      RulesAreRefused(Rule("rows = ['9-3']"),
                      "F, line 3: the range \"9-3\" of owner \"clinic-a\" ends before it begins; write \"3-9\""));
  EXPECT_TRUE(RulesAreRefused(Rule("rows = [18446744073709551616]"),
                              "F, line 3: a number has more than 64 bits; write a smaller one"));
}

TEST(RowRule, IsRefusedForAFieldOfAnotherType) {
  EXPECT_TRUE(RulesAreRefused(
      Rule("rows = '0-9'"), "F, line 3: rows of owner \"clinic-a\" is a string; write a list such as [\"0-99\", 120]"));
  EXPECT_TRUE(RulesAreRefused(Rule("rows = [1.5]"),
                              "F, line 3: a row of owner \"clinic-a\" is a number with a point; write one like 120, or "
                              "a range like \"0-99\""));
  EXPECT_TRUE(
      RulesAreRefused(Rule("documents = 'doc-5'"),
                      "F, line 3: documents of owner \"clinic-a\" is a string; write a list such as [\"leaflet-7\"]"));
  EXPECT_TRUE(RulesAreRefused(Rule("documents = [true]"),
                              "F, line 3: a document of owner \"clinic-a\" is true or false; write its id as a "
                              "string"));
  EXPECT_TRUE(RulesAreRefused(Rule("all = 1"),
                              "F, line 3: all of owner \"clinic-a\" is a whole number; write true, or remove the "
                              "line"));
  EXPECT_TRUE(RulesAreRefused(Rule("all = false"),
                              "F, line 3: all of owner \"clinic-a\" is false; write true, or remove the line"));
  EXPECT_TRUE(RulesAreRefused(Rule("row = [5]"),
                              "F, line 3: owner \"clinic-a\" has the field \"row\"; use name, index, rows, documents "
                              "and all"));
}

TEST(RowRule, IsRefusedIfItNamesNothingOrTooMuch) {
  EXPECT_TRUE(RulesAreRefused(Rule("index = 2"),
                              "F, line 1: owner \"clinic-a\" has neither rows nor documents; add some, or all = true"));
  for (const char* more : {"rows = []", "documents = ['doc-5']"})
    EXPECT_TRUE(RulesAreRefused(Rule(Str("all = true\n", more)),
                                "F, line 1: owner \"clinic-a\" has all rows and some besides; remove all, or the "
                                "others"));
  EXPECT_TRUE(RulesAreRefused(Rule("all = true") + Rule("all = true", "clinic.b") + Rule("index = 1\nrows = [5]"),
                              "F, line 7: owner \"clinic-a\" has rows of index 1 at line 1; join both"));
}

TEST(RowRule, IsRefusedIfTheTextIsDamaged) {
  EXPECT_TRUE(RulesAreRefused("", "F lists no owner; add one under a header [[owner]]"));
  EXPECT_TRUE(RulesAreRefused("[clinic-a]\nall = true\n",
                              "F, line 1: \"clinic-a\" belongs to no owner; remove it, or write it below [[owner]]"));
  EXPECT_TRUE(RulesAreRefused(Rule("rows = [5"), "F, line 3: the text is no TOML at column 11; correct it there"));
  EXPECT_TRUE(RulesAreRefused(Rule("all = true") + Rule("rows = 5 6"),
                              "F, line 6: the text is no TOML at column 10; correct it there"));
  EXPECT_TRUE(RulesAreRefused(Rule("documents = ['caf\xc3\xa9']"),
                              "F, line 3: column 18 has a character beyond ASCII; write it in double quotes as \\u and "
                              "four digits in hex, such as \"\\u00e9\""));
  const std::vector<IndexRowsView> cafe{{3, [](const std::string& id) -> std::optional<int64_t> {
                                           if (id == "caf\xc3\xa9") return 2;
                                           return std::nullopt;
                                         }}};
  const RowRules rules = RowRules::Parse(Rule("documents = [\"caf\\u00e9\"]  # caf\xc3\xa9"), "F", TwoClinics(), cafe);
  EXPECT_EQ(RowsOf(rules, "clinic-a"), (Spans{{2, 3}}));
  std::string many = "rows = [";
  while (many.size() <= kMostRowRuleBytes) many += "11,22,33,44,55,66,77,88,99,\n";
  EXPECT_TRUE(RulesAreRefused(Rule("all = true") + Rule(many + "]", "clinic.b"),
                              "F, line 4: the text about one owner has more than 4194304 bytes; shorten it, or close "
                              "its last bracket or string"));
  many.resize(kMostRowRuleBytes - 100);
  many.resize(many.rfind(',') + 1);
  EXPECT_EQ(RowsOf(RulesOf(Rule(many + "]")), "clinic-a").size(), 9u);
}

// 10,000 owners, and an index of 100,000 documents.
TEST(RowRule, OfManyOwnersIsRead) {
  constexpr int kOwners = 10'000, kRows = 100'000;
  std::vector<std::string> names;
  std::string text;
  for (int i = 0; i < kOwners; ++i) {
    names.push_back(Str("owner-", i));
    text +=
        Rule(Str("rows = [", i, ", '", 5 * i, "-", 5 * i + 4, "']\ndocuments = ['", kRows - 1 - i, "', ", i + 1, "]"),
             names.back());
  }
  const OwnerList owners = NamedOwners(names);
  std::map<std::string, int64_t> rows;
  for (int i = 0; i < kRows; ++i) rows.emplace(Str(i), i);
  const std::vector<IndexRowsView> index{{kRows, [&](const std::string& id) -> std::optional<int64_t> {
                                            const auto at = rows.find(id);
                                            return at == rows.end() ? std::nullopt : std::optional(at->second);
                                          }}};
  const auto begun = std::chrono::steady_clock::now();
  const RowRules rules = RowRules::Parse(text, "F", owners, index);
  std::printf("10,000 owners: read in %.0f ms\n",
              std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count());
  for (int i = 3; i < kOwners; ++i)
    ASSERT_EQ(RowsOf(rules, names[size_t(i)]), (Spans{{i, i + 2}, {5 * i, 5 * i + 5}, {kRows - 1 - i, kRows - i}}));
}

TEST(RowRule, IsOneOfAtMost200000) {
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back(Str("o", i));
  const OwnerList owners = NamedOwners(names);
  const std::vector<IndexRowsView> indexes(11, {1, [](const std::string&) { return std::optional<int64_t>(0); }});
  std::string text;
  for (int index = 1; index <= 10; ++index)
    for (const std::string& name : names) text += Rule(Str("index = ", index, "\nall = true"), name);
  const RowRules rules = RowRules::Parse(text, "F", owners, indexes);
  EXPECT_TRUE(rules.SeesAll("o19999", 10));
  EXPECT_FALSE(rules.SeesAll("o19999", 11));
  EXPECT_TRUE(Fails(Cause::kInput, "F, line 800001: there are more than 200000 rules; remove some",
                    [&] { (void)RowRules::Parse(text + Rule("all = true", "o0"), "F", owners, indexes); }));
}

TEST(RowRuleFile, IsReadOrRefusedWithItsName) {
  const Scratch dir;
  const std::string file = dir / "rows.toml";
  const auto read = [&] { return RowRules::Read(file, TwoClinics(), TwoIndexes()); };
  const auto fails = [&](Cause cause, const std::string& words) { return Fails(cause, words, [&] { (void)read(); }); };
  EXPECT_TRUE(fails(Cause::kInput, "cannot read the file of row rules " + file +
                                       " (No such file or directory); name a "
                                       "file that the user of this process "
                                       "can read"));
  std::ofstream(file) << Rule("rows = [5]");
  EXPECT_EQ(RowsOf(read(), "clinic-a"), (Spans{{5, 6}}));
  std::ofstream(file, std::ios::app) << "x = 1\n";
  EXPECT_TRUE(fails(Cause::kInput, file + ", line 4: owner \"clinic-a\" has the field \"x\""));
  for (const mode_t open : {0620, 0602, 0666}) {
    ASSERT_EQ(chmod(file.c_str(), open), 0);
    EXPECT_TRUE(fails(Cause::kRefused, "another user of this machine can change the file " + file));
  }
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(truncate(file.c_str(), off_t(kMostFileBytes) + 1), 0);
  EXPECT_TRUE(
      fails(Cause::kInput, "the file of row rules " + file + " has 67108865 bytes; write at most 67108864 bytes"));
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_TRUE(fails(Cause::kInput, "the file of row rules " + file + " is a folder; name a file"));
}

}  // namespace
}  // namespace suf::service
