#include "suf/service/sqlite_counts.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "suf/service/internal/seen_file.hpp"

namespace suf::service {

namespace {

constexpr int kSchema = 2, kApplication = 1937073731;  // "sufC"
constexpr int kBusyMs = 100;                           // for a program that reads the file as we start
constexpr uint64_t kMostCounted = uint64_t{1} << 62;   // a count stops there
constexpr size_t kMostNotices = 100;
constexpr std::chrono::hours kClockSlack{1};  // a clock that is set back by less is not noticed

// The identity of a file as bytes. Without times of birth it is the inode alone.
Bytes PlaceOf(int fd) {
  struct stat s {};
  SUF_CHECK(!fstat(fd, &s));
  Writer w;
  Put(w, Identify(fd).value_or(FileId{s.st_ino, 0, 0, 0}));
  return w.Take();
}

// Opens the file of counts, or makes it.
Fd OpenCounts(const std::string& dir, const std::string& path) {
  struct stat s {};
  const bool there = !lstat(path.c_str(), &s);
  if (there && S_ISDIR(s.st_mode))
    Fail(Cause::kResource, path, " is a folder, and counts belong into a file of this name; remove the folder");
  Fd fd = OpenFile(path, O_RDWR | O_CREAT);
  if (there && (s.st_mode & 077) && fchmod(fd.get(), 0600))
    Fail(Cause::kResource, "cannot make ", path, " private (", SystemError(), "); see to its permissions");
  if (!there) SyncDir(dir);
  return fd;
}

using BoundValue = std::variant<int64_t, std::string_view, View>;

}  // namespace

// A connection to the file, which holds its lock from the first statement on.
class SqliteCounts::Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    // a name that begins with file: would be a URI
    const std::string name = path.starts_with('/') ? path : "./" + path;
    const int code = sqlite3_open_v2(name.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    try {
      if (code != SQLITE_OK) Refuse(code);
      sqlite3_busy_timeout(db_, kBusyMs);
      // exclusive before the log is opened, which then needs no shared memory
      for (const char* sql : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
                              "PRAGMA cache_size=-1024"})
        Run(sql);
      sqlite3_busy_timeout(db_, 0);
    } catch (...) {
      Close();
      throw;
    }
  }
  ~Database() { Close(); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs a statement to its end. Returns the columns of its first row, as whole numbers; nothing without a row.
  std::vector<int64_t> Run(const char* sql, std::initializer_list<BoundValue> values = {}) {
    sqlite3_stmt* statement = Prepare(sql);
    const auto reset = [](sqlite3_stmt* s) {
      sqlite3_reset(s);
      sqlite3_clear_bindings(s);
    };
    const std::unique_ptr<sqlite3_stmt, decltype(reset)> used(statement, reset);
    int place = 0;
    for (const BoundValue& value : values) Bind(statement, ++place, value);
    std::vector<int64_t> row;
    for (int code = SQLITE_ROW; code == SQLITE_ROW;) {
      code = sqlite3_step(statement);
      if (code != SQLITE_ROW && code != SQLITE_DONE) Refuse(code);
      if (code == SQLITE_ROW && row.empty())
        for (int i = 0; i < sqlite3_column_count(statement); ++i) row.push_back(sqlite3_column_int64(statement, i));
    }
    return row;
  }
  // Runs a statement that has a row. Throws Cause::kResource if it has none.
  std::vector<int64_t> Read(const char* sql, std::initializer_list<BoundValue> values = {}) {
    std::vector<int64_t> row = Run(sql, values);
    if (row.empty()) Refuse(SQLITE_CORRUPT);
    return row;
  }

  // Takes back the open transaction, if there is one.
  void Rollback() noexcept {
    if (!sqlite3_get_autocommit(db_)) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }

  // Throws the error of an SQLite code.
  [[noreturn]] void Refuse(int code) const {
    std::string reason = "SQLite reports " + std::to_string(code), remedy = "see to the disk and its limits";
    switch (code & 0xff) {
      case SQLITE_FULL:
        reason = "the disk is full";
        remedy = "make space on it";
        break;
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        reason = "another process uses it";
        remedy = "end that process";
        break;
      case SQLITE_ERROR:
      case SQLITE_CORRUPT:
      case SQLITE_NOTADB:
      case SQLITE_CONSTRAINT:
      case SQLITE_SCHEMA:
        reason = "it is damaged";
        remedy = "end this process and remove the file, after which the quotas of the day count as used";
        break;
      case SQLITE_PERM:
      case SQLITE_READONLY:
      case SQLITE_CANTOPEN:
      case SQLITE_AUTH:
        reason = "it cannot be written";
        remedy = "see to its permissions and those of its folder";
        break;
      case SQLITE_NOMEM:
        reason = "memory is short";
        remedy = "give this process more memory";
        break;
      case SQLITE_IOERR:
        reason = "a read or write failed";
        break;
      default:
        break;
    }
    Fail(Cause::kResource, "cannot count in ", path_, " (", reason, "); ", remedy);
  }

 private:
  void Close() noexcept {
    for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }

  // Prepares a statement at its first use.
  sqlite3_stmt* Prepare(const char* sql) {
    const auto known = prepared_.find(sql);
    if (known != prepared_.end()) return known->second;
    sqlite3_stmt* statement = nullptr;
    if (const int code = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
        code != SQLITE_OK)
      Refuse(code);
    prepared_.emplace(sql, statement);
    return statement;
  }

  void Bind(sqlite3_stmt* statement, int place, const BoundValue& value) {
    int code = SQLITE_OK;
    if (const auto* number = std::get_if<int64_t>(&value))
      code = sqlite3_bind_int64(statement, place, *number);
    else if (const auto* text = std::get_if<std::string_view>(&value))
      code = sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    else
      code = sqlite3_bind_blob64(statement, place, std::get<View>(value).data(), std::get<View>(value).size(),
                                 SQLITE_STATIC);
    if (code != SQLITE_OK) Refuse(code);
  }

  const std::string path_;
  sqlite3* db_ = nullptr;
  std::unordered_map<std::string_view, sqlite3_stmt*> prepared_;  // by literals
};

namespace {

// A transaction that is taken back unless it is committed.
template <class Db>
class CountTransaction {
 public:
  explicit CountTransaction(Db& db) : db_(db) { db_.Run("BEGIN IMMEDIATE"); }
  ~CountTransaction() { db_.Rollback(); }
  CountTransaction(const CountTransaction&) = delete;
  CountTransaction& operator=(const CountTransaction&) = delete;
  void Commit() { db_.Run("COMMIT"); }

 private:
  Db& db_;
};

// Checks that the database is one of ours, and makes its tables if it is empty. Tables of version 1 get the column of
// searches. Returns whether the tables are new.
template <class Db>
bool MakeTables(Db& db, const std::string& path) {
  const int64_t application = db.Read("PRAGMA application_id")[0], schema = db.Read("PRAGMA user_version")[0];
  const bool fresh = !application && !schema && !db.Read("SELECT count(*) FROM sqlite_schema")[0];
  if (!fresh && application != kApplication)
    Fail(Cause::kResource, path, " is a database of another program; move it elsewhere");
  if (schema > kSchema)
    Fail(Cause::kResource, path, " has version ", schema, " of the counts, and this program knows up to ", kSchema,
         "; use the program that wrote it, or a newer one");
  if (!fresh && schema < 1) db.Refuse(SQLITE_CORRUPT);
  if (!fresh && !db.Read("SELECT quick_check = 'ok' FROM pragma_quick_check(1)")[0]) db.Refuse(SQLITE_CORRUPT);
  if (schema == 1) db.Run("ALTER TABLE counts ADD COLUMN searches INTEGER NOT NULL DEFAULT 0");
  if (schema < kSchema) db.Run("PRAGMA user_version = 2");
  if (!fresh) return false;
  db.Run(
      "CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), day INTEGER NOT NULL, full_day INTEGER, "
      "number INTEGER NOT NULL, place BLOB NOT NULL)");
  db.Run(
      "CREATE TABLE counts (owner TEXT PRIMARY KEY, day INTEGER NOT NULL, texts INTEGER NOT NULL, "
      "tokens INTEGER NOT NULL, searches INTEGER NOT NULL) WITHOUT ROWID");
  db.Run("PRAGMA application_id = 1937073731");
  return true;
}

}  // namespace

SqliteCounts::SqliteCounts(const std::string& dir, WallClock clock)
    : dir_(dir), path_(dir + "/counts.sqlite"), clock_(std::move(clock)), file_(OpenCounts(dir_, path_)) {
  if (!Identify(file_.get()))
    Note(Str("the file system of ", dir_, " keeps no times of birth, so a file of counts that is put back may go ",
             "unnoticed; keep this folder on ext4, xfs, btrfs or tmpfs"));
  db_ = std::make_unique<Database>(path_);
  Start(clock_());
}

// Reads the state, and notes a new start.
void SqliteCounts::Start(Instant now) {
  const Bytes place = PlaceOf(file_.get());
  const std::optional<Sight> sight = ReadSight();
  CountTransaction transaction(*db_);
  bool put_back = !sight;
  day_ = DayOf(now);
  if (MakeTables(*db_, path_)) {
    put_back |= sight && sight->number;
  } else {
    const auto state = db_->Read("SELECT day, coalesce(full_day, -1), number, place = ?1 FROM state", {View(place)});
    if (!IsDay(state[0]) || state[2] < 0 || state[2] > int64_t(kMostCounted)) db_->Refuse(SQLITE_CORRUPT);
    day_ = std::max(day_, DayAt(state[0]));
    if (IsDay(state[1])) full_day_ = DayAt(state[1]);
    number_ = state[2];
    put_back |= !state[3] || (sight && number_ < sight->number);
  }
  if (sight) {
    day_ = std::max(day_, sight->day);
    number_ = std::max(number_, sight->number);
  }
  ++number_;
  if (put_back) full_day_ = day_;
  if (full_day_ == day_)
    Note(Str("the file ", path_, " was put back, copied or removed; the quotas of ", DayText(day_),
             " count as used until that day ends in UTC"));
  db_->Run("INSERT OR REPLACE INTO state VALUES (1, ?1, nullif(?2, -1), ?3, ?4)",
           {NumberOf(day_), full_day_ ? NumberOf(*full_day_) : -1, number_, View(place)});
  db_->Run("DELETE FROM counts WHERE day < ?1", {NumberOf(day_)});
  transaction.Commit();
  WriteSight({number_, day_});
  (void)Advance(now);
}

SqliteCounts::~SqliteCounts() {
  try {
    db_->Run("UPDATE state SET number = ?1", {number_ + 1});
    WriteSight({number_ + 1, day_});
  } catch (const std::exception&) {  // a copy from this run can then be put back unnoticed
  }
}

// Reads counts.sqlite-seen. Returns zeros if there is none, nothing if it is damaged.
std::optional<SqliteCounts::Sight> SqliteCounts::ReadSight() const {
  const std::optional<Bytes> b = ReadSeenFile(path_ + "-seen", 16);
  if (!b) return std::nullopt;
  if (b->empty()) return Sight{};
  Reader r(*b, path_ + "-seen");
  const auto number = r.Get<int64_t>(), day = r.Get<int64_t>();
  if (number < 0 || number > int64_t(kMostCounted) || !IsDay(day)) return std::nullopt;
  return Sight{number, DayAt(day)};
}

void SqliteCounts::WriteSight(const Sight& sight) const {
  Writer w;
  w.Put(sight.number);
  w.Put(NumberOf(sight.day));
  WriteSeenFile(dir_, "counts.sqlite-seen", w.bytes());
}

void SqliteCounts::Note(const std::string& notice) {
  if (notices_.size() < kMostNotices) notices_.push_back(notice);
}

// Returns the day of this instant, but never one before an earlier one. Notices a clock that was set back.
Day SqliteCounts::Advance(Instant now) {
  const Day today = std::max(day_, DayOf(now));
  if (DayOf(now + kClockSlack) >= today) {
    clock_noted_ = false;
  } else if (!std::exchange(clock_noted_, true)) {
    Note(Str("the clock says ", DayText(DayOf(now)), ", and ", path_, " has counts of ", DayText(today),
             ", whose quotas hold until that day ends; set the clock, or, if it was wrong before, end this process ",
             "and remove ", path_, "*, which forgets all counts"));
  }
  return today;
}

Amount SqliteCounts::Used(const std::string& owner, Day day) {
  const auto row =
      db_->Run("SELECT texts, tokens, searches FROM counts WHERE owner = ?1 AND day = ?2", {owner, NumberOf(day)});
  if (row.empty()) return {};
  for (const int64_t number : row)
    if (number < 0 || uint64_t(number) > kMostCounted) db_->Refuse(SQLITE_CORRUPT);
  return {uint64_t(row[0]), uint64_t(row[1]), uint64_t(row[2])};
}

std::variant<uint64_t, RetryAfter> SqliteCounts::Reserve(const std::string& owner, const Amount& amount,
                                                         const Quota& quota) {
  if (!quota.Admits({}, amount)) return RetryAfter{};
  std::lock_guard l(m_);
  const Instant now = clock_();
  const Day today = Advance(now);
  if (full_day_ == today && quota.Limits(amount)) return RetryAfter{SecondsLeft(today, now)};
  CountTransaction transaction(*db_);
  if (today > day_) {
    db_->Run("UPDATE state SET day = ?1", {NumberOf(today)});
    db_->Run("DELETE FROM counts WHERE day < ?1", {NumberOf(today)});
  }
  const Amount used = Used(owner, today);
  if (!quota.Admits(used, amount)) return RetryAfter{SecondsLeft(today, now)};
  const Amount added{std::min(amount.texts, kMostCounted - used.texts),
                     std::min(amount.tokens, kMostCounted - used.tokens),
                     std::min(amount.searches, kMostCounted - used.searches)};
  db_->Run("INSERT OR REPLACE INTO counts VALUES (?1, ?2, ?3, ?4, ?5)",
           {owner, NumberOf(today), int64_t(used.texts + added.texts), int64_t(used.tokens + added.tokens),
            int64_t(used.searches + added.searches)});
  transaction.Commit();
  day_ = today;
  held_[++last_] = {owner, today, added};
  return last_;
}

void SqliteCounts::Confirm(uint64_t reservation) {
  std::lock_guard l(m_);
  SUF_CHECK(held_.erase(reservation));  // the count is durable since Reserve
}

void SqliteCounts::Release(uint64_t reservation) noexcept {
  std::lock_guard l(m_);
  const auto found = held_.find(reservation);
  if (found == held_.end()) return;
  const HeldAmount held = std::move(found->second);
  held_.erase(found);
  try {
    db_->Run(
        "UPDATE counts SET texts = texts - ?3, tokens = tokens - ?4, searches = searches - ?5 "
        "WHERE owner = ?1 AND day = ?2",
        {held.owner, NumberOf(held.day), int64_t(held.amount.texts), int64_t(held.amount.tokens),
         int64_t(held.amount.searches)});
  } catch (const Error& e) {
    Note(Str("a job of owner \"", held.owner,
             "\" did not begin and stays counted, because the count cannot be lowered: ", e.what()));
  } catch (const std::exception&) {  // memory is short
  }
}

Amount SqliteCounts::Today(const std::string& owner) {
  std::lock_guard l(m_);
  return Used(owner, Advance(clock_()));
}

std::vector<std::string> SqliteCounts::TakeNotices() {
  std::lock_guard l(m_);
  return std::exchange(notices_, {});
}

}  // namespace suf::service
