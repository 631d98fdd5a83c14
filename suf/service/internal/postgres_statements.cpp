#include "suf/service/internal/postgres_statements.hpp"

#include "suf/base/error.hpp"

namespace suf::service {

namespace {

// The first setting that could lose a count that was reported as durable; '' if there is none.
constexpr const char* kUnsafe = R"(
  CASE WHEN current_setting('fsync') <> 'on' THEN 'fsync'
       WHEN current_setting('full_page_writes') <> 'on' THEN 'full_page_writes'
       WHEN current_setting('synchronous_commit') = 'off' THEN 'synchronous_commit'
       ELSE '' END)";

// The day by the server's clock, but no day before the stored one or before the known one, $2.
constexpr const char* kToday = R"(
  greatest(least((now() AT TIME ZONE 'utc')::date, date '9999-12-31'), s.day, date '1970-01-01' + $2::int))";

constexpr const char* kNow = "floor(extract(epoch FROM now()))::bigint";

std::string NumberIn(const std::string& day) { return Str("(", day, " - date '1970-01-01')"); }

// Stores number $3 of process $1 with the day in `rows`.
std::string StoreFrom(const char* rows) {
  return Str(R"(
  INSERT INTO suf.processes AS p (process, seen, day) SELECT $1::uuid, $3::bigint, day FROM )",
             rows, R"(
  ON CONFLICT (process) DO UPDATE SET seen = greatest(p.seen, excluded.seen), day = greatest(p.day, excluded.day)
  RETURNING p.day)");
}

// The lock is for processes that start at once.
constexpr const char* kLock = "SELECT pg_advisory_xact_lock(1937073731);";
constexpr const char* kTables = R"(
  CREATE TABLE IF NOT EXISTS suf.state (
    one int PRIMARY KEY CHECK (one = 1), version int NOT NULL, day date NOT NULL, full_day date);
  CREATE TABLE IF NOT EXISTS suf.counts (
    owner text PRIMARY KEY, day date NOT NULL, texts bigint NOT NULL, tokens bigint NOT NULL,
    searches bigint NOT NULL DEFAULT 0);
  CREATE TABLE IF NOT EXISTS suf.reservations (
    reservation uuid PRIMARY KEY, owner text NOT NULL, day date NOT NULL, texts bigint NOT NULL,
    tokens bigint NOT NULL, final boolean NOT NULL, searches bigint NOT NULL DEFAULT 0);
  CREATE TABLE IF NOT EXISTS suf.processes (process uuid PRIMARY KEY, seen bigint NOT NULL, day date NOT NULL);
  INSERT INTO suf.state VALUES (1, 2, (now() AT TIME ZONE 'utc')::date, NULL) ON CONFLICT DO NOTHING)";

// One block, so that processes that start at once alter the tables once. A second one would wait for those that count.
constexpr const char* kUpgradeTables = R"(
  DO $$ BEGIN
    PERFORM pg_advisory_xact_lock(1937073731);
    IF (SELECT version FROM suf.state) = 1 THEN
      ALTER TABLE suf.counts ADD COLUMN searches bigint NOT NULL DEFAULT 0;
      ALTER TABLE suf.reservations ADD COLUMN searches bigint NOT NULL DEFAULT 0;
      UPDATE suf.state SET version = 2;
    END IF;
  END $$)";

constexpr const char* kCheckTables = R"(
  SELECT s.version,
    (SELECT bool_and(has_table_privilege('suf.' || t, p))
       FROM unnest(ARRAY['state', 'counts', 'reservations', 'processes']) t,
            unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p)::int,
    (SELECT bool_and(c.relpersistence = 'p') FROM pg_class c WHERE c.oid IN
      ('suf.state'::regclass, 'suf.counts'::regclass, 'suf.reservations'::regclass, 'suf.processes'::regclass))::int,
    (SELECT bool_and(pg_has_role(c.relowner, 'USAGE')) FROM pg_class c WHERE c.oid IN
      ('suf.counts'::regclass, 'suf.reservations'::regclass))::int
  FROM suf.state s)";

// A counted quantity: its column, and the parameters of its amount and of its quota.
struct QuantitySql {
  const char *column, *amount, *quota;
};
constexpr QuantitySql kQuantities[] = {{"texts", "$7", "$9"}, {"tokens", "$8", "$10"}, {"searches", "$12", "$13"}};

// Joins a piece of each quantity.
template <class F>
std::string JoinQuantities(const char* separator, F&& piece) {
  std::string all;
  for (const QuantitySql& q : kQuantities) all += Str(all.empty() ? "" : separator, piece(q));
  return all;
}

// Adds an amount to the owner of a reservation, if its quota admits it. Has a row if it did.
std::string CountStatement() {
  const auto columns = [](const QuantitySql& q) { return q.column; };
  const auto amounts = [](const QuantitySql& q) { return Str(q.amount, "::bigint"); };
  const auto unlimited = [](const QuantitySql& q) {
    return Str("(", q.quota, "::bigint IS NULL OR ", q.amount, "::bigint = 0)");
  };
  const auto sum = [](const QuantitySql& q) {
    return Str(q.column, " = least(CASE WHEN c.day < excluded.day THEN 0 ELSE c.", q.column, " END + excluded.",
               q.column, ", 4611686018427387904)");
  };
  const auto fits = [](const QuantitySql& q) {
    return Str("(", q.quota, "::bigint IS NULL OR ", q.amount, "::bigint = 0 OR c.", q.column, " + ", q.amount,
               "::bigint <= ", q.quota, "::bigint)");
  };
  return Str(R"(
  INSERT INTO suf.counts AS c (owner, day, )",
             JoinQuantities(", ", columns), ") SELECT $6::text, t.day, ", JoinQuantities(", ", amounts), R"(
  FROM today t
  WHERE t.unsafe = '' AND t.known AND (t.full_day IS DISTINCT FROM t.day OR ()",
             JoinQuantities(" AND ", unlimited), R"())
  ON CONFLICT (owner) DO UPDATE SET day = greatest(c.day, excluded.day), )",
             JoinQuantities(", ", sum), " WHERE c.day < excluded.day OR (", JoinQuantities(" AND ", fits),
             ") RETURNING c.day");
}

constexpr const char* kRelease = R"(
  WITH gone AS (
    DELETE FROM suf.reservations WHERE reservation = $1::uuid AND NOT final
    RETURNING owner, day, texts, tokens, searches)
  UPDATE suf.counts c
  SET texts = greatest(c.texts - gone.texts, 0), tokens = greatest(c.tokens - gone.tokens, 0),
    searches = greatest(c.searches - gone.searches, 0)
  FROM gone WHERE c.owner = gone.owner AND c.day = gone.day)";

constexpr const char* kClean = R"(
  WITH
    c AS (DELETE FROM suf.counts WHERE owner IN (
      SELECT owner FROM suf.counts WHERE day < date '1970-01-01' + $1::int FOR UPDATE SKIP LOCKED)),
    r AS (DELETE FROM suf.reservations WHERE reservation IN (
      SELECT reservation FROM suf.reservations
      WHERE day < date '1970-01-01' + $1::int - 1 FOR UPDATE SKIP LOCKED))
  DELETE FROM suf.processes WHERE process IN (
    SELECT process FROM suf.processes WHERE day < date '1970-01-01' + $1::int FOR UPDATE SKIP LOCKED))";

}  // namespace

PostgresStatements::PostgresStatements() {
  prepare_session = Str("SELECT ", kUnsafe, R"(,
    (pg_is_in_recovery() OR current_setting('transaction_read_only') <> 'off')::int,
    (to_regnamespace('suf') IS NOT NULL)::int, (to_regclass('suf.state') IS NOT NULL)::int,
    set_config('statement_timeout', $1, false))");
  make_tables = Str(kLock, kTables);
  make_schema = Str(kLock, "CREATE SCHEMA IF NOT EXISTS suf;", kTables);
  check_tables = kCheckTables;
  upgrade_tables = kUpgradeTables;
  read_process =
      Str("SELECT coalesce((SELECT p.seen FROM suf.processes p WHERE p.process = $1::uuid), -1), ", NumberIn("s.day"),
          ", ", NumberIn(kToday), ", (s.full_day IS NOT DISTINCT FROM ", kToday, ")::int, ", kNow, " FROM suf.state s");
  const std::string today =
      Str("WITH today AS (SELECT ", kToday, " AS day FROM suf.state s), seen AS (", StoreFrom("today"), ") ");
  store_process = Str(today, "SELECT ", NumberIn("day"), " FROM seen");
  fill_day = Str(today, R"(
    UPDATE suf.state s SET day = greatest(s.day, seen.day), full_day = greatest(s.day, seen.day) FROM seen
    RETURNING )",
                 NumberIn("s.day"));
  reserve = Str("WITH today AS MATERIALIZED (SELECT ", kToday, " AS day, s.full_day, ", kUnsafe, R"( AS unsafe,
      coalesce((SELECT p.seen >= $4::bigint FROM suf.processes p WHERE p.process = $1::uuid),
               s.day > date '1970-01-01' + $11::int) AS known
      FROM suf.state s),
    counted AS ()",
                CountStatement(), R"(),
    held AS (
      INSERT INTO suf.reservations SELECT $5::uuid, $6::text, day, $7::bigint, $8::bigint, false, $12::bigint
      FROM counted),
    seen AS ()",
                StoreFrom("counted"), R"(),
    moved AS (UPDATE suf.state s SET day = seen.day FROM seen WHERE s.day < seen.day RETURNING s.day)
    SELECT t.unsafe, t.known::int, (t.full_day IS NOT DISTINCT FROM t.day)::int,
      coalesce((SELECT )",
                NumberIn("day"), " FROM counted), ", NumberIn("t.day"), "), ", kNow, R"(,
      (SELECT count(*) FROM counted), (SELECT count(*) FROM moved) FROM today t)");
  confirm = Str("WITH s AS MATERIALIZED (SELECT ", kUnsafe, R"( AS unsafe),
    final AS (UPDATE suf.reservations r SET final = true FROM s
              WHERE r.reservation = $1::uuid AND s.unsafe = '' RETURNING 1)
    SELECT s.unsafe, (SELECT count(*) FROM final) FROM s)");
  release = kRelease;
  read_count = Str(R"(
    SELECT coalesce(c.texts, 0), coalesce(c.tokens, 0), coalesce(c.searches, 0)
    FROM suf.state s LEFT JOIN suf.counts c ON c.owner = $1::text AND c.day = )",
                   kToday);
  clean = kClean;
}

}  // namespace suf::service
