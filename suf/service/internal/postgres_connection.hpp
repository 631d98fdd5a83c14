// A connection to PostgreSQL by libpq, each step of which ends by a deadline. No message has a text of the server; its
// errors become fixed sentences by their SQLSTATE.
#pragma once
#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "suf/base/error.hpp"
#include "suf/service/postgres_address.hpp"

struct pg_conn;    // of libpq
struct pg_result;  // of libpq

namespace suf::service {

// The connection was lost, or did not answer in time, after a statement may have been sent. It may take effect.
class LostConnectionError : public Error {
  using Error::Error;
};

// For one thread at a time. Statements are literals with parameters $1, $2.. A connection that fails is closed.
class PostgresConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  using SqlValue = std::optional<std::string>;  // nothing: NULL
  using SqlRow = std::vector<std::string>;      // NULL is ""

  explicit PostgresConnection(PostgresAddress address);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;
  // Returns whether it is open and the server has not ended it.
  bool IsOpen();
  // Opens it anew. Throws Cause::kRefused if the server cannot be trusted or refuses us. Throws Cause::kResource if it
  // does not answer. A name is resolved with the limits of the system's resolver.
  void Open(Deadline deadline);
  void Close();
  // Runs a statement; returns its rows. Throws LostConnectionError if it may have been sent. Throws Cause::kRefused if
  // rights are missing or the tables are none of ours, Cause::kResource for other errors of the server.
  std::vector<SqlRow> Run(const char* sql, std::initializer_list<SqlValue> values, Deadline deadline);
  // Runs several statements without parameters as one transaction.
  void RunAll(const char* sql, Deadline deadline);
  // Throws "cannot count in <database> (<reason>); <remedy>".
  template <class... T>
  [[noreturn]] void Refuse(Cause cause, const std::string& reason, const T&... remedy) const {
    Fail(cause, Sentence(reason, Str(remedy...)));
  }
  const std::string& place() const { return address_.text(); }

 private:
  std::string Sentence(const std::string& reason, const std::string& remedy) const;
  // Waits until the socket can be read, with `write` also until it can be written. Returns false at the deadline.
  bool Await(bool write, Deadline deadline) const;
  void Send(Deadline deadline);
  std::vector<SqlRow> Collect(Deadline deadline);
  [[noreturn]] void Lose(const std::string& reason);
  [[noreturn]] void RefuseState(const std::string& state);
  [[noreturn]] void RefuseOpening();

  const PostgresAddress address_;
  bool ended_ = false;  // by the server, as it announced
  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
};

}  // namespace suf::service
