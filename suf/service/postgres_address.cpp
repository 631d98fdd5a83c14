#include "suf/service/postgres_address.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "suf/base/error.hpp"
#include "suf/service/internal/libpq.hpp"

namespace suf::service {

namespace {

using Settings = std::map<std::string, std::string>;
using PqOptions = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

Settings SettingsOf(const PqOptions& options) {
  Settings all;
  for (const PQconninfoOption* o = options.get(); o && o->keyword; ++o)
    if (o->val && *o->val) all[o->keyword] = o->val;
  return all;
}

// Parses the string. libpq's own error text may quote a password.
Settings ParseSettings(const std::string& url) {
  char* error = nullptr;
  const PqOptions parsed(Pq().PQconninfoParse(url.c_str(), &error), Pq().PQconninfoFree);
  if (error) Pq().PQfreemem(error);
  if (!parsed)
    Fail(Cause::kInput,
         "the address of the counts' database is none that libpq reads; write it as postgresql://ROLE@HOST/DATABASE, "
         "or postgresql://ROLE@/DATABASE?host=FOLDER for a socket in a folder");
  return SettingsOf(parsed);
}

// Returns whether all hosts are folders of sockets, or abstract sockets.
bool IsLocal(const Settings& all) {
  if (all.contains("hostaddr")) return false;
  const auto host = all.find("host");
  if (host == all.end()) return true;  // the folder that libpq was built with
  size_t from = 0;
  while (from <= host->second.size()) {
    const size_t end = std::min(host->second.find(',', from), host->second.size());
    const char first = end > from ? host->second[from] : '/';
    if (first != '/' && first != '@') return false;
    from = end + 1;
  }
  return true;
}

// Refuses parameters that would weaken the connection, or that hold a secret.
void CheckParameters(const Settings& given, bool local) {
  for (const char* secret : {"password", "sslpassword"})
    if (given.contains(secret))
      Fail(Cause::kInput, "the address of the counts' database has a ", secret,
           ", which other users of this machine can see; remove it, and ",
           std::string_view(secret) == "password"
               ? "write HOST:PORT:DATABASE:ROLE:PASSWORD into a file of mode 0600, named by ?passfile=FILE"
               : "use a key that is not encrypted, in a file of mode 0600");
  if (given.contains("service"))
    Fail(Cause::kInput, "the address of the counts' database names a service, whose file could weaken it; write host, ",
         "database and role into the address");
  if (const auto mode = given.find("sslmode"); mode != given.end() && mode->second != "verify-full" && !local)
    Fail(Cause::kInput, "the address of the counts' database has sslmode=", mode->second,
         ", which does not verify the server's name; remove it, as verify-full is always used");
  if (const auto mode = given.find("gssencmode"); mode != given.end() && mode->second != "disable")
    Fail(Cause::kInput, "the address of the counts' database has gssencmode=", mode->second,
         ", and only TLS is supported; remove it");
}

// Checks the file of passwords that libpq will read, if there is one. It would ignore one that others can read.
void CheckPasswordFile(const Settings& all) {
  const auto named = all.find("passfile");
  const char* const home = std::getenv("HOME");
  if (named == all.end() && !home) return;
  const std::string path = named == all.end() ? Str(home, "/.pgpass") : named->second;
  struct stat s {};
  if (stat(path.c_str(), &s)) {
    if (named != all.end()) Fail(Cause::kInput, "there is no file of passwords ", path, "; make it, with mode 0600");
    return;
  }
  if (!S_ISREG(s.st_mode)) Fail(Cause::kInput, "the file of passwords ", path, " is no file; name a file");
  if (s.st_mode & 077) Fail(Cause::kInput, "the file of passwords ", path, " can be read by others; chmod 600 it");
}

std::string TextOf(const Settings& all) {
  const auto of = [&](const char* keyword) {
    const auto found = all.find(keyword);
    return found == all.end() ? std::string() : found->second;
  };
  std::string name = of("dbname"), host = of("host");
  if (name.empty()) name = of("user");
  if (host.empty()) host = of("hostaddr");
  if (host.empty()) return Str("the database ", name, " on this machine");
  return Str("the database ", name, " at ", host, of("port").empty() ? "" : ":" + of("port"));
}

}  // namespace

PostgresAddress PostgresAddress::Parse(const std::string& url) {
  const Settings given = ParseSettings(url);
  if (const char* password = std::getenv("PGPASSWORD"); password && *password)
    Fail(Cause::kInput,
         "the variable PGPASSWORD is set, and other programs can see it; unset it, and name a file of passwords by "
         "?passfile=FILE");
  for (const char* variable : {"PGSERVICE", "PGSERVICEFILE"})
    if (const char* value = std::getenv(variable); value && *value)
      Fail(Cause::kInput, "the variable ", variable, " is set, whose file could weaken the connection; unset it");
  Settings all = SettingsOf(PqOptions(Pq().PQconndefaults(), Pq().PQconninfoFree));
  for (const auto& [keyword, value] : given) all[keyword] = value;
  const bool local = IsLocal(all);
  CheckParameters(given, local);
  CheckPasswordFile(all);
  PostgresAddress address;
  address.text_ = TextOf(all);
  Settings used = given;
  used["sslmode"] = "verify-full";  // libpq ignores it for local sockets
  used["gssencmode"] = "disable";   // it would come before TLS
  used["fallback_application_name"] = "suf";
  address.parameters_.assign(used.begin(), used.end());
  return address;
}

}  // namespace suf::service
