// The tables of shared counts in PostgreSQL, in the schema suf, and the statements about them. Days are whole numbers
// (day.hpp). Each statement takes locks in one order: a row of counts, that of the process, the state.
#pragma once
#include <string>

namespace suf::service {

inline constexpr int kPostgresSchema = 2;  // the version of the tables; version 1 has no searches

struct PostgresStatements {
  PostgresStatements();
  // Prepares a session; $1 is the limit of a statement in ms. Returns the unsafe setting, and whether the session is
  // read-only, whether the schema exists, and whether the tables do.
  std::string prepare_session;
  // Make the tables, without and with the schema.
  std::string make_tables, make_schema;
  // Returns the version, whether the role has all rights, and whether all tables outlive a crash. A fourth column says
  // whether the role may alter the tables.
  std::string check_tables;
  // Brings tables of version 1 to kPostgresSchema; does nothing to others.
  std::string upgrade_tables;
  // $1: the process, $2: a known day. Returns five columns. The first is the number that the database has seen of the
  // process (-1: none). Then follow the stored day, the day, whether its quotas count as used, and the server's time.
  std::string read_process;
  // $1: the process, $2: a known day, $3: a number to store. Returns the day. The second also lets the quotas of the
  // day count as used.
  std::string store_process, fill_day;
  // Counts $7 texts, $8 tokens and $12 searches of owner $6 as reservation $5, if the quotas $9, $10 and $13 (NULL:
  // none) admit them.
  //
  // The first three are as above. $4 is a number that the database has seen, and $11 the day of its row. Returns seven
  // columns: the unsafe setting, whether the database still has $4, whether the quotas of the day count as used. Then
  // follow the day, the server's time, whether it was counted, and whether the stored day moved.
  std::string reserve;
  // Makes reservation $1 final. Returns the unsafe setting, and the number of reservations found.
  std::string confirm;
  // Gives reservation $1 back, unless it is final.
  std::string release;
  // $1: the owner, $2: a known day. Returns its texts, tokens and searches of the day.
  std::string read_count;
  // Removes what days before $1 left. A reservation stays a day longer, because its job may begin after midnight. Rows
  // that other statements lock stay until the next day.
  std::string clean;
};

}  // namespace suf::service
