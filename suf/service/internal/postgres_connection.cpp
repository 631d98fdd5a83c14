#include "suf/service/internal/postgres_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <regex>

#include "suf/service/internal/libpq.hpp"

namespace suf::service {

namespace {

using PqResult = std::unique_ptr<PGresult, decltype(&PQclear)>;

struct PostgresFault {
  const char* state;  // an SQLSTATE, or the class that it begins with
  Cause cause;
  const char *reason, *remedy;
};
// The first row that fits counts.
constexpr PostgresFault kStates[] = {
    {"28P01", Cause::kRefused, "the server refuses the role's password", "correct the file of passwords"},
    {"28", Cause::kRefused, "the server refuses this role", "name another role, or let pg_hba.conf admit it"},
    {"3D000", Cause::kRefused, "there is no such database", "create it, or name another one"},
    {"42501", Cause::kRefused, "the role lacks rights",
     "let it create a schema in this database, or grant it all rights on the tables of the schema suf"},
    {"25006", Cause::kRefused, "the database is read-only",
     "name the primary server, and a database that it can write"},
    {"53100", Cause::kResource, "the server's disk is full", "make space on it"},
    {"53300", Cause::kResource, "the server has no connection left", "raise its max_connections or the limit of the role"},
    {"53", Cause::kResource, "the server lacks resources", "see to its memory and disk"},
    {"57P03", Cause::kResource, "the server starts or ends", "wait for it"},
    {"57014", Cause::kResource, "a statement took too long", "see to the server's load and locks"},
    {"55P03", Cause::kResource, "a lock took too long", "see to the server's locks"},
    {"42P01", Cause::kRefused, "a table is missing", "give the schema suf to this program alone"},
    {"42", Cause::kRefused, "the schema suf is not as this program makes it", "give it to this program alone"},
};

struct OpeningFault {
  const char* words;  // of libpq, which are English
  Cause cause;
  const char *reason, *remedy;
};
constexpr OpeningFault kOpenings[] = {
    {"certificate verify failed", Cause::kRefused, "no CA that we trust has signed the server's certificate",
     "name its CA by ?sslrootcert=FILE in the address, or give the server a certificate of that CA"},
    {"does not match host name", Cause::kRefused, "the server's certificate has another name than the address",
     "write the name of the certificate into the address"},
    {"server does not support SSL", Cause::kRefused, "the server has no TLS", "switch its ssl on"},
    {"root certificate file", Cause::kRefused, "the file of the server's CA is missing or damaged",
     "name it by ?sslrootcert=FILE in the address"},
    {"host name must be specified", Cause::kRefused, "the address has no name to verify", "write host=NAME into it"},
    {"certificate file", Cause::kRefused, "our own certificate for the server cannot be read",
     "see to sslcert and sslkey in the address"},
    {"private key file", Cause::kRefused, "our own key for the server cannot be read",
     "see to sslkey in the address, and chmod 600 it"},
    {"no password supplied", Cause::kRefused, "the server demands a password",
     "write HOST:PORT:DATABASE:ROLE:PASSWORD into a file of mode 0600, named by ?passfile=FILE"},
    {"requirepeer specifies", Cause::kRefused, "the server runs as another user than requirepeer names",
     "see which program listens there"},
    {"session is read-only", Cause::kRefused, "the database is read-only", "name the primary server"},
    {"could not translate host name", Cause::kResource, "the server's name is unknown",
     "correct it, or see to the DNS"},
};

template <size_t N>
const PostgresFault* FaultOf(const PostgresFault (&table)[N], const std::string& state) {
  for (const PostgresFault& f : table)
    if (state.starts_with(f.state)) return &f;
  return nullptr;
}

// Returns the last SQLSTATE in an error text "FATAL:  28P01", whose word depends on the server's language. Returns
// nothing if the server sent none.
std::string StateIn(const std::string& text) {
  static const std::regex kPattern(":  ([0-9A-Z]{5})(\n|$)");
  std::string state;
  for (std::sregex_iterator i(text.begin(), text.end(), kPattern), end; i != end; ++i) state = (*i)[1];
  return state;
}

// Notes in *ended that the server ends the connection. Other notices are dropped.
void ReceiveNotice(void* ended, const PGresult* notice) {
  const char* const state = Pq().PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  if (state && std::string_view(state).starts_with("57P")) *static_cast<bool*>(ended) = true;
}

// Whether the socket belongs to this machine's programs alone.
bool IsUnixSocket(int fd) {
  sockaddr_storage s{};
  socklen_t size = sizeof s;
  return !getpeername(fd, reinterpret_cast<sockaddr*>(&s), &size) && s.ss_family == AF_UNIX;
}

}  // namespace

PostgresConnection::PostgresConnection(PostgresAddress address)
    : address_(std::move(address)), connection_(nullptr, Pq().PQfinish) {}
PostgresConnection::~PostgresConnection() = default;

void PostgresConnection::Close() { connection_.reset(); }

std::string PostgresConnection::Sentence(const std::string& reason, const std::string& remedy) const {
  return Str("cannot count in ", place(), " (", reason, "); ", remedy);
}

bool PostgresConnection::Await(bool write, Deadline deadline) const {
  pollfd p{Pq().PQsocket(connection_.get()), short(POLLIN | (write ? POLLOUT : 0)), 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = poll(&p, 1, int(std::max<int64_t>(0, left.count())));
    if (ready > 0) return true;
    if (ready == 0 && left.count() <= 0) return false;
    if (ready < 0 && errno != EINTR) return true;  // libpq meets the same error
  }
}

bool PostgresConnection::IsOpen() {
  if (!connection_) return false;
  PGconn* const c = connection_.get();
  // an end, and the notice before it, lie in the socket
  bool open = true;
  while (open && Await(false, std::chrono::steady_clock::now()))
    open = Pq().PQconsumeInput(c) && Pq().PQstatus(c) == CONNECTION_OK;
  if (open) (void)Pq().PQisBusy(c);  // reads the notice
  if (!open || ended_) Close();
  return connection_ != nullptr;
}

void PostgresConnection::Open(Deadline deadline) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : address_.parameters()) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  connection_.reset(Pq().PQconnectStartParams(keywords.data(), values.data(), 0));
  if (!connection_) Fail(Cause::kResource, Sentence("memory is short", "give this process more memory"));
  PGconn* const c = connection_.get();
  ended_ = false;
  Pq().PQsetNoticeReceiver(c, ReceiveNotice, &ended_);
  Pq().PQsetErrorVerbosity(c, PQERRORS_SQLSTATE);
  for (PostgresPollingStatusType status = PGRES_POLLING_WRITING; status != PGRES_POLLING_OK;) {
    if (Pq().PQstatus(c) == CONNECTION_BAD || status == PGRES_POLLING_FAILED) RefuseOpening();
    pollfd p{Pq().PQsocket(c), short(status == PGRES_POLLING_READING ? POLLIN : POLLOUT), 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || poll(&p, 1, int(left.count())) == 0) {
      Close();
      Refuse(Cause::kResource, "the server does not answer in time", "see to it and to the network");
    }
    status = Pq().PQconnectPoll(c);
  }
  if (!Pq().PQsslInUse(c) && !IsUnixSocket(Pq().PQsocket(c))) {
    Close();
    Refuse(Cause::kRefused, "the connection has no TLS", "name a server with TLS");
  }
  if (Pq().PQsetnonblocking(c, 1)) Lose("the connection was lost");
}

// Throws the error of an opening that failed.
void PostgresConnection::RefuseOpening() {
  const std::string text = Pq().PQerrorMessage(connection_.get());
  const std::string state = StateIn(text);
  Close();
  if (!state.empty()) RefuseState(state);
  for (const OpeningFault& f : kOpenings)
    if (text.find(f.words) != std::string::npos) Refuse(f.cause, f.reason, f.remedy);
  Refuse(Cause::kResource, "the server cannot be reached", "start it, or correct the address");
}

void PostgresConnection::RefuseState(const std::string& state) {
  if (const PostgresFault* f = FaultOf(kStates, state)) Refuse(f->cause, f->reason, f->remedy);
  Refuse(Cause::kResource, Str("PostgreSQL reports ", state), "see its log");
}

void PostgresConnection::Lose(const std::string& reason) {
  Close();
  throw LostConnectionError(Cause::kResource, Sentence(reason, "see to the server and to the network"));
}

void PostgresConnection::Send(Deadline deadline) {
  for (int left = 1; left;) {
    left = Pq().PQflush(connection_.get());
    if (left < 0) Lose("the connection was lost");
    if (!left) return;
    if (!Await(true, deadline)) Lose("the server does not answer in time");
    if (!Pq().PQconsumeInput(connection_.get())) Lose("the connection was lost");
  }
}

// Reads all results of what was sent. Returns the rows of the last one.
std::vector<PostgresConnection::SqlRow> PostgresConnection::Collect(Deadline deadline) {
  PGconn* const c = connection_.get();
  std::vector<SqlRow> rows;
  std::string state;  // of the first error
  for (;;) {
    while (Pq().PQisBusy(c)) {
      if (!Await(false, deadline)) Lose("the server does not answer in time");
      if (!Pq().PQconsumeInput(c)) Lose("the connection was lost");
    }
    const PqResult result(Pq().PQgetResult(c), Pq().PQclear);
    if (!result) break;
    const ExecStatusType status = Pq().PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK) {
      rows.assign(size_t(Pq().PQntuples(result.get())), {});
      for (int i = 0; i < Pq().PQntuples(result.get()); ++i)
        for (int j = 0; j < Pq().PQnfields(result.get()); ++j)
          rows[size_t(i)].push_back(Pq().PQgetvalue(result.get(), i, j));
    } else if (status != PGRES_COMMAND_OK && state.empty()) {
      const char* const code = Pq().PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
      state = code ? code : "08006";
    }
    if (Pq().PQstatus(c) != CONNECTION_OK) Lose("the connection was lost");
  }
  if (Pq().PQstatus(c) != CONNECTION_OK || state.starts_with("08") || state.starts_with("57P"))
    Lose("the connection was lost");
  if (!state.empty()) RefuseState(state);
  return rows;
}

std::vector<PostgresConnection::SqlRow> PostgresConnection::Run(const char* sql, std::initializer_list<SqlValue> values,
                                                                Deadline deadline) {
  std::vector<const char*> texts;
  for (const SqlValue& v : values) texts.push_back(v ? v->c_str() : nullptr);
  if (!Pq().PQsendQueryParams(connection_.get(), sql, int(texts.size()), nullptr, texts.data(), nullptr, nullptr, 0))
    Lose("the connection was lost");
  Send(deadline);
  return Collect(deadline);
}

void PostgresConnection::RunAll(const char* sql, Deadline deadline) {
  if (!Pq().PQsendQuery(connection_.get(), sql)) Lose("the connection was lost");
  Send(deadline);
  (void)Collect(deadline);
}

}  // namespace suf::service
