// The address of a PostgreSQL database, as libpq reads it. It is checked before any connection. It may hold no
// password. A server that is not behind a local socket needs TLS with a verified name.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace suf::service {

class PostgresAddress {
 public:
  // Parses a URL, postgresql://ROLE@HOST/DATABASE, or any other connection string of libpq. Parts that it omits come
  // from libpq's defaults (PGHOST, PGPASSFILE). Throws Cause::kInput if it is none or is unsafe. No message shows a
  // part that may be secret.
  static PostgresAddress Parse(const std::string& url);
  // Returns the keywords and values for libpq, with those that are forced.
  const std::vector<std::pair<std::string, std::string>>& parameters() const { return parameters_; }
  // Returns "the database suf at db.example:5432".
  const std::string& text() const { return text_; }

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
  std::string text_;
};

}  // namespace suf::service
