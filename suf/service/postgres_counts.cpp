#include "suf/service/postgres_counts.hpp"

#include <algorithm>
#include <charconv>

#include "suf/base/digest.hpp"
#include "suf/service/internal/postgres_connection.hpp"
#include "suf/service/internal/postgres_statements.hpp"
#include "suf/service/internal/seen_file.hpp"

namespace suf::service {

namespace {

using SqlRow = PostgresConnection::SqlRow;
using SqlValue = PostgresConnection::SqlValue;

constexpr const char* kSightName = "counts.postgres-seen";
constexpr size_t kNameBytes = 16, kMostNoticesKept = 100;
constexpr uint64_t kMostAdded = uint64_t{1} << 61;  // a count ends at twice that
constexpr std::chrono::hours kServerClockSlack{1};  // a clock that is set back by less is not noticed
constexpr int64_t kMostNumber = int64_t{1} << 62;   // of statements

const PostgresStatements& Statements() {
  static const PostgresStatements all;
  return all;
}

// Returns a name that no other row has, as PostgreSQL's uuid.
std::string RandomName() {
  Bytes b(kNameBytes);
  RandomBytes(b);
  return Hex(b);
}

SqlValue ValueOf(int64_t number) { return std::to_string(number); }
SqlValue ValueOf(Day day) { return ValueOf(NumberOf(day)); }
SqlValue ValueOf(const std::optional<uint64_t>& quota) {
  if (!quota) return std::nullopt;
  return ValueOf(int64_t(std::min(*quota, uint64_t(INT64_MAX))));
}

[[noreturn]] void RefuseTables(const PostgresConnection& c) {
  c.Refuse(Cause::kRefused, "the schema suf is damaged", "drop it in all of its processes' absence, which forgets all ",
           "counts, or restore it");
}

int64_t NumberAt(const PostgresConnection& c, const SqlRow& row, size_t at) {
  int64_t number = 0;
  const std::string& text = row.at(at);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) RefuseTables(c);
  return number;
}

Day DayIn(const PostgresConnection& c, const SqlRow& row, size_t at) {
  const int64_t number = NumberAt(c, row, at);
  if (!IsDay(number)) RefuseTables(c);
  return DayAt(number);
}

Instant InstantAt(const PostgresConnection& c, const SqlRow& row, size_t at) {
  constexpr int64_t kEnd = int64_t{1} << 33;  // seconds; an Instant ends in 2262
  return Instant(std::chrono::seconds(std::clamp<int64_t>(NumberAt(c, row, at), 0, kEnd)));
}

const SqlRow& OneRow(const PostgresConnection& c, const std::vector<SqlRow>& rows) {
  if (rows.size() != 1) RefuseTables(c);
  return rows[0];
}

void CheckSettings(const PostgresConnection& c, const std::string& unsafe) {
  if (!unsafe.empty())
    c.Refuse(Cause::kRefused, Str("its ", unsafe, " is off, so a crash of the server could refund counts"),
             "switch it on, for the server, this database and this role");
}

void CheckTables(const PostgresConnection& c, const SqlRow& row) {
  if (const int64_t version = NumberAt(c, row, 0); version > kPostgresSchema)
    c.Refuse(Cause::kRefused,
             Str("its tables have version ", version, ", and this program knows up to ", kPostgresSchema),
             "use the program that made them, or a newer one");
  if (!NumberAt(c, row, 1))
    c.Refuse(Cause::kRefused, "the role lacks rights",
             "grant it SELECT, INSERT, UPDATE and DELETE on all tables of the schema suf");
  if (!NumberAt(c, row, 2))
    c.Refuse(Cause::kRefused, "a table of the schema suf is unlogged, so a crash would empty it",
             "ALTER TABLE .. SET LOGGED");
}

// Brings tables of an older version to ours. The role needs their ownership, which no grant replaces.
void UpgradeTables(PostgresConnection& c, const SqlRow& row, PostgresConnection::Deadline deadline) {
  const int64_t version = NumberAt(c, row, 0);
  if (version >= kPostgresSchema) return;
  if (version < 1) RefuseTables(c);
  if (!NumberAt(c, row, 3))
    c.Refuse(Cause::kRefused,
             Str("its tables have version ", version, ", this program needs version ", kPostgresSchema,
                 ", and the role may not alter them"),
             "run this program once with the role that owns them");
  c.RunAll(Statements().upgrade_tables.c_str(), deadline);
}

// Opens a connection, and checks its settings. Makes the tables if there are none.
void OpenChecked(PostgresConnection& c, PostgresConnection::Deadline deadline, std::chrono::milliseconds limit) {
  c.Open(deadline);
  const auto rows = c.Run(Statements().prepare_session.c_str(), {ValueOf(limit.count())}, deadline);
  const SqlRow& row = OneRow(c, rows);
  CheckSettings(c, row[0]);
  if (NumberAt(c, row, 1))
    c.Refuse(Cause::kRefused, "the database is read-only", "name the primary server, and a database that it can write");
  if (!NumberAt(c, row, 3))
    c.RunAll((NumberAt(c, row, 2) ? Statements().make_tables : Statements().make_schema).c_str(), deadline);
  const auto tables = c.Run(Statements().check_tables.c_str(), {}, deadline);
  CheckTables(c, OneRow(c, tables));
  UpgradeTables(c, tables[0], deadline);
}

}  // namespace

void CheckPostgres(const PostgresAddress& address) {
  PostgresConnection c(address);
  OpenChecked(c, std::chrono::steady_clock::now() + PostgresCounts::kLimit, PostgresCounts::kLimit);
}

// One call. It waits for its turn at the connection, and then has a deadline.
class PostgresCounts::Call {
 public:
  explicit Call(PostgresCounts& counts) : counts_(counts), lock_(counts.m_, counts.limit_) {
    if (!lock_)
      connection().Refuse(Cause::kResource, "the server does not answer in time", "see to it and to the network");
    // a call that waited for others gets its full time, because one that ends early breaks the connection
    deadline_ = std::chrono::steady_clock::now() + counts.limit_;
  }
  // Opens the connection if it is closed.
  void Connect() {
    PostgresConnection& c = connection();
    if (c.IsOpen()) return;
    try {
      OpenChecked(c, deadline_, counts_.limit_);
    } catch (...) {
      c.Close();
      throw;
    }
  }
  std::vector<SqlRow> Run(const std::string& sql, std::initializer_list<SqlValue> values) {
    Connect();
    return connection().Run(sql.c_str(), values, deadline_);
  }
  // Runs a statement that has one row.
  SqlRow Read(const std::string& sql, std::initializer_list<SqlValue> values) {
    return OneRow(connection(), Run(sql, values));
  }
  PostgresConnection& connection() const { return *counts_.connection_; }

 private:
  PostgresCounts& counts_;
  const std::unique_lock<std::timed_mutex> lock_;
  PostgresConnection::Deadline deadline_;
};

PostgresCounts::PostgresCounts(const PostgresAddress& address, const std::string& dir, std::chrono::milliseconds limit)
    : dir_(dir), limit_(limit), connection_(std::make_unique<PostgresConnection>(address)) {
  Call call(*this);
  Start(call);
}

PostgresCounts::~PostgresCounts() {
  try {
    WriteSight();
  } catch (const std::exception&) {  // an earlier number stays there
  }
}

// Compares what this folder has seen with the database.
void PostgresCounts::Start(Call& call) {
  const bool readable = ReadSight();
  const bool first = process_.empty();
  if (first) process_ = RandomName();
  const PostgresConnection& c = call.connection();
  const SqlRow row = call.Read(Statements().read_process, {process_, ValueOf(day_)});
  const int64_t seen = NumberAt(c, row, 0);
  // a row of an earlier day may have been removed
  const bool back = !readable || (!first && (seen < 0 ? DayIn(c, row, 1) <= row_day_ : seen < number_));
  number_ = std::max(number_, seen);
  See(DayIn(c, row, 2), InstantAt(c, row, 4), NumberAt(c, row, 3) != 0);
  if (back) {
    FillDay(call);
  } else {
    const SqlRow stored = call.Read(Statements().store_process, {process_, ValueOf(day_), ValueOf(++number_)});
    known_ = number_;
    row_day_ = day_ = DayIn(c, stored, 0);
  }
  WriteSight();
}

// Reads DIR/counts.postgres-seen. Returns false if it is damaged.
bool PostgresCounts::ReadSight() {
  const std::string path = Str(dir_, "/", kSightName);
  const auto b = ReadSeenFile(path, kNameBytes + 16);
  if (!b) return false;
  if (b->empty()) return true;
  Reader r(*b, path);
  const std::string name = Hex(r.Raw(kNameBytes));
  const auto number = r.Get<int64_t>(), day = r.Get<int64_t>();
  if (number < 0 || number > kMostNumber || !IsDay(day)) return false;
  process_ = name;
  number_ = number;
  row_day_ = day_ = DayAt(day);
  return true;
}

void PostgresCounts::WriteSight() {
  Writer w;
  w.Raw(FromHex(process_, kNameBytes, "the name of a process"));
  w.Put(known_);
  w.Put(NumberOf(row_day_));
  WriteSeenFile(dir_, kSightName, w.bytes());
}

// Lets the quotas of the day count as used, and stores our row anew.
void PostgresCounts::FillDay(Call& call) {
  const SqlRow row = call.Read(Statements().fill_day, {process_, ValueOf(day_), ValueOf(++number_)});
  known_ = number_;
  row_day_ = day_ = DayIn(call.connection(), row, 0);
  NoteFull(day_);
}

void PostgresCounts::NoteFull(Day day) {
  if (std::exchange(full_noted_, day) == day) return;
  Note(Str(connection_->place(), " was restored or has lost counts; the quotas of ", DayText(day),
           " count as used until that day ends in UTC"));
}

// Takes note of the day, and of what the operator must know about it.
void PostgresCounts::See(Day day, Instant now, bool full) {
  day_ = std::max(day_, day);
  if (full) NoteFull(day);
  if (DayOf(now + kServerClockSlack) >= day) {
    clock_noted_ = false;
  } else if (!std::exchange(clock_noted_, true)) {
    Note(Str("the server's clock says ", DayText(DayOf(now)), ", and ", connection_->place(), " has counts of ",
             DayText(day), ", whose quotas hold until that day ends; set the clock, or, if it was wrong before, end ",
             "all processes and drop the schema suf, which forgets all counts"));
  }
}

PostgresCounts::ReserveReply PostgresCounts::TryReserve(Call& call, const std::string& owner, const Amount& amount,
                                                        const Quota& quota, const std::string& name) {
  const auto added = [](uint64_t n) { return ValueOf(int64_t(std::min(n, kMostAdded))); };
  const SqlRow row = call.Read(Statements().reserve,
                               {process_, ValueOf(day_), ValueOf(++number_), ValueOf(known_), name, owner,
                                added(amount.texts), added(amount.tokens), ValueOf(quota.texts), ValueOf(quota.tokens),
                                ValueOf(row_day_), added(amount.searches), ValueOf(quota.searches)});
  const PostgresConnection& c = call.connection();
  CheckSettings(c, row[0]);
  ReserveReply r;
  r.known = NumberAt(c, row, 1) != 0;
  r.full = NumberAt(c, row, 2) != 0;
  r.day = DayIn(c, row, 3);
  r.now = InstantAt(c, row, 4);
  r.counted = NumberAt(c, row, 5) != 0;
  r.moved = NumberAt(c, row, 6) != 0;
  if (r.counted) {
    known_ = number_;
    row_day_ = std::max(row_day_, r.day);
  }
  See(r.day, r.now, r.full);
  return r;
}

std::variant<uint64_t, RetryAfter> PostgresCounts::Reserve(const std::string& owner, const Amount& amount,
                                                           const Quota& quota) {
  if (!quota.Admits({}, amount)) return RetryAfter{};
  Call call(*this);
  const std::string name = RandomName();
  ReserveReply reply = TryReserve(call, owner, amount, quota, name);
  if (!reply.known) {
    FillDay(call);
    reply = TryReserve(call, owner, amount, quota, name);
  }
  if (!reply.counted) return RetryAfter{SecondsLeft(reply.day, reply.now)};
  uint64_t reservation = 0;
  {
    const std::lock_guard l(held_m_);
    held_[reservation = ++last_] = {owner, name};
  }
  if (reply.moved) Clean(call);
  return reservation;
}

// Removes the rows of earlier days. If that fails, the next day does it.
void PostgresCounts::Clean(Call& call) {
  try {
    call.Run(Statements().clean, {ValueOf(day_)});
  } catch (const Error&) {
  }
}

void PostgresCounts::Confirm(uint64_t reservation) {
  std::string name;
  {
    const std::lock_guard l(held_m_);
    const auto found = held_.find(reservation);
    SUF_CHECK(found != held_.end());
    name = found->second.name;
  }
  Call call(*this);
  SqlRow row;
  try {
    row = call.Read(Statements().confirm, {name});
  } catch (const LostConnectionError&) {
    row = call.Read(Statements().confirm, {name});  // a second time changes nothing
  }
  CheckSettings(call.connection(), row[0]);
  if (!NumberAt(call.connection(), row, 1))
    call.connection().Refuse(Cause::kResource, "it has lost the reservation of a job, which does not begin",
                             "find out whether it was restored");
  const std::lock_guard l(held_m_);
  held_.erase(reservation);
}

void PostgresCounts::Release(uint64_t reservation) noexcept {
  HeldName held;
  {
    const std::lock_guard l(held_m_);
    const auto found = held_.find(reservation);
    if (found == held_.end()) return;
    held = std::move(found->second);
    held_.erase(found);
  }
  try {
    Call(*this).Run(Statements().release, {held.name});
  } catch (const Error& e) {
    Note(Str("a job of owner \"", held.owner,
             "\" did not begin and may stay counted, because the count cannot be lowered: ", e.what()));
  } catch (const std::exception&) {  // memory is short
  }
}

Amount PostgresCounts::Today(const std::string& owner) {
  Call call(*this);
  const SqlRow row = call.Read(Statements().read_count, {owner, ValueOf(day_)});
  const auto count = [&](size_t at) {
    const int64_t number = NumberAt(call.connection(), row, at);
    if (number < 0) RefuseTables(call.connection());
    return uint64_t(number);
  };
  return {count(0), count(1), count(2)};
}

void PostgresCounts::Note(const std::string& notice) {
  const std::lock_guard l(held_m_);
  if (notices_.size() < kMostNoticesKept) notices_.push_back(notice);
}

std::vector<std::string> PostgresCounts::TakeNotices() {
  const std::lock_guard l(held_m_);
  return std::exchange(notices_, {});
}

}  // namespace suf::service
