// SIGKILL, loss of power and a full disk at every system call of a change of an index. Deaths also happen halfway
// through a write, and during the repairs of the next start. Afterwards the folder is as before the change or as after
// it, and takes further changes.
#include <gtest/gtest.h>

#include <climits>

#include "fuzz/fuzz.hpp"
#include "suf/roles/index_folder.hpp"
#include "tests/faults/deaths.hpp"

namespace suf::faults {
namespace {

namespace fs = std::filesystem;
using roles::IndexFolder;
using roles::IndexRows;

constexpr int64_t kColumns = 3;

nn::IndexPlan PlanOf(int64_t capacity) {
  nn::IndexPlan index;
  index.search.columns = kColumns;
  index.search.buckets = capacity;
  index.search.k = 2;
  index.search.ring = index.search.ResultRing();
  return index;
}

IndexRows RowsOf(const std::vector<std::string>& ids) {
  IndexRows rows;
  for (const std::string& id : ids) {
    for (int64_t j = 0; j < kColumns; ++j) rows.values.push_back(int16_t(id[0] * (j + 1)));
    rows.documents.push_back({id, "text of " + id});
  }
  return rows;
}

// The content of an index, as a search sees it.
struct IndexState {
  Hash plan{};
  std::vector<int16_t> values;
  std::vector<std::string> ids;
  std::vector<int64_t> deleted;
  bool operator==(const IndexState&) const = default;
};
IndexState StateOf(const IndexFolder& folder) {
  IndexRows all = folder.Read();
  IndexState state{nn::IndexPlanHash(folder.index()), std::move(all.values), {}, folder.deleted()};
  for (const roles::IndexDocument& d : all.documents) state.ids.push_back(d.id);
  return state;
}
// Returns nothing if the folder has no index.
std::optional<IndexState> StateIn(const std::string& dir) {
  try {
    return StateOf(IndexFolder(dir));
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), Cause::kInput) << e.what();
    EXPECT_NE(std::string(e.what()).find("has no file"), std::string::npos) << e.what();
    return std::nullopt;
  }
}

// The changes in the life of an index; the first one makes it.
void Create(const std::string& dir) { IndexFolder::Create(dir, PlanOf(8), RowsOf({"a", "b", "c"})); }
struct Change {
  const char* what;
  void (*make)(IndexFolder&);
};
const Change kChanges[] = {
    {"append",
     [](IndexFolder& f) {
       f.Append(RowsOf({"d", "e"}));
     }},
    {"delete",
     [](IndexFolder& f) {
       f.Delete({"b", "e"});
     }},
    {"compact", [](IndexFolder& f) { f.Compact(PlanOf(16)); }},
};
constexpr int kSteps = 1 + std::size(kChanges);

std::string NameOf(int step) { return step ? kChanges[step - 1].what : "create"; }
void Make(int step, const std::string& dir) {
  if (step == 0) return Create(dir);
  IndexFolder folder(dir);
  kChanges[step - 1].make(folder);
}

// A folder for an index before a step.
struct IndexBefore {
  fuzz::Folder folder;
  const std::string root = folder / "w", dir = root + "/idx";
  explicit IndexBefore(int step) {
    fs::create_directory(root);
    for (int s = 0; s < step; ++s) Make(s, dir);
  }
};

// Makes further changes, and checks the files that are there then.
void CheckWorks(const std::string& dir) {
  if (!StateIn(dir)) {
    fs::remove_all(dir);  // as the error message of Create says
    Create(dir);
  }
  const IndexState before = *StateIn(dir);
  {
    IndexFolder folder(dir);
    folder.Append(RowsOf({"x"}));
    folder.Delete({"x"});
  }
  const IndexFolder folder(dir);
  const IndexState after = StateOf(folder);
  EXPECT_EQ(after.ids.size(), before.ids.size() + 1);
  EXPECT_EQ(after.deleted.size(), before.deleted.size() + 1);
  EXPECT_EQ(nn::IndexPlanHash(roles::LoadIndexPlan(dir + "/index.json")), after.plan);
  const auto files = std::distance(fs::directory_iterator(dir), {});
  EXPECT_EQ(files, std::ptrdiff_t(4 + folder.segments().size())) << "beside plan, key, list, lock and segments";
}

struct IndexCrash : testing::Test {
  // The states before and after each step.
  static std::vector<std::optional<IndexState>> States() {
    const IndexBefore index(0);
    std::vector<std::optional<IndexState>> states{std::nullopt};
    for (int step = 0; step < kSteps; ++step) {
      Make(step, index.dir);
      states.push_back(StateIn(index.dir));
    }
    return states;
  }
  const std::vector<std::optional<IndexState>> states = States();

  // Expects the state before a step or after it; after it if nothing went wrong.
  void CheckWhole(int step, const std::string& dir, bool fault) {
    const std::optional<IndexState> now = StateIn(dir);
    EXPECT_TRUE(now == states[size_t(step) + 1] || (fault && now == states[size_t(step)]));
    CheckWorks(dir);
  }
};

constexpr Death kDeaths[] = {Death::kBefore, Death::kTorn, Death::kAfter, Death::kPower};

TEST_F(IndexCrash, AtEveryCallLeavesTheOldStateOrTheNewOne) {
  int deaths = 0;
  for (int step = 0; step < kSteps; ++step)
    for (Death how : kDeaths)
      for (int at = 1;; ++at, ++deaths) {
        const IndexBefore index(step);
        const bool died = InChild(index.root, at, how, [&] { Make(step, index.dir); });
        SCOPED_TRACE(Str(NameOf(step), ", death ", int(how), " at call ", at));
        CheckWhole(step, index.dir, died);
        if (HasFailure()) return;
        if (!died) break;
      }
  EXPECT_GT(deaths, 200);
  std::printf("%d deaths\n", deaths);
}

TEST_F(IndexCrash, AgainWhileTheStartRepairsLeavesItSoundToo) {
  int deaths = 0;
  for (int step = 0; step < kSteps; ++step)
    for (int first = 1, done = false; !done; ++first)
      for (int at = 1;; ++at, ++deaths) {
        const IndexBefore index(step);
        const Death how = at % 2 ? Death::kBefore : Death::kPower;
        done = !InChild(index.root, first, Death::kBefore, [&] { Make(step, index.dir); });
        fs::remove_all(index.root + ".lost");
        const bool died = InChild(index.root, at, how, [&] { (void)StateIn(index.dir); });
        SCOPED_TRACE(Str(NameOf(step), ", death at call ", first, ", then at call ", at, " of the start"));
        CheckWhole(step, index.dir, !done);
        if (HasFailure()) return;
        if (!died) break;
      }
  EXPECT_GT(deaths, 40);
  std::printf("%d deaths\n", deaths);
}

// Returns the message of the error that f throws, or nothing.
std::string MessageOf(const std::function<void()>& f) {
  try {
    f();
    return "";
  } catch (const Error& e) {
    const std::string message = e.what();
    EXPECT_EQ(e.cause(), Cause::kResource) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(message.find("No space left on device"), std::string::npos) << message;
    EXPECT_NE(message.find("; "), std::string::npos) << message;
    return message;
  }
}

TEST_F(IndexCrash, AFullDiskLeavesNoIndexBehind) {
  for (int last : {0, INT_MAX})  // 0: one call fails
    for (int at = 1, failed = true; failed; ++at) {
      const IndexBefore index(0);
      SCOPED_TRACE(Str("call ", at, last ? " and all later ones" : ""));
      std::string message;
      failed = OnFullDisk(at, last ? last : at, [&] { message = MessageOf([&] { Create(index.dir); }); });
      EXPECT_EQ(failed, !message.empty());
      if (failed) {
        EXPECT_TRUE(!fs::exists(index.dir) || fs::is_empty(index.dir));
        Create(index.dir);
      }
      CheckWhole(0, index.dir, false);
      if (HasFailure()) return;
    }
}

// The change fails in an open folder, is repeated there, and shows after a start.
TEST_F(IndexCrash, AChangeOnAFullDiskCanBeRepeated) {
  int old = 0, changed = 0;
  for (int step = 1; step < kSteps; ++step)
    for (int last : {0, INT_MAX})
      for (int at = 1, failed = true; failed; ++at) {
        const IndexBefore index(step);
        SCOPED_TRACE(Str(NameOf(step), ", call ", at, last ? " and all later ones" : ""));
        {
          IndexFolder folder(index.dir);
          std::string message;
          failed =
              OnFullDisk(at, last ? last : at, [&] { message = MessageOf([&] { kChanges[step - 1].make(folder); }); });
          EXPECT_EQ(failed, !message.empty());
          const bool is_old = StateOf(folder) == states[size_t(step)];
          EXPECT_TRUE(is_old || StateOf(folder) == states[size_t(step) + 1]);
          (is_old ? old : changed) += failed;
          if (is_old) kChanges[step - 1].make(folder);
        }
        CheckWhole(step, index.dir, false);
        if (HasFailure()) return;
      }
  // After the list has its name only syncs of the folder can fail, and the public copy of the plan.
  EXPECT_GT(old, 2 * changed);
  std::printf("%d changes failed, of which %d were made\n", old + changed, changed);
}

// A start on a full disk reads the index, or says in one message that it cannot.
TEST_F(IndexCrash, AStartOnAFullDiskChangesNothing) {
  for (int at = 1, failed = true; failed; ++at) {
    const IndexBefore index(kSteps);
    fs::remove(index.dir + "/index.json");
    SCOPED_TRACE(Str("call ", at));
    std::string message;
    failed = OnFullDisk(at, INT_MAX, [&] { message = MessageOf([&] { IndexFolder folder(index.dir); }); });
    EXPECT_EQ(failed, !message.empty());
    CheckWhole(kSteps - 1, index.dir, false);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace suf::faults
