#include "suf/service/postgres_address.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "suf/base/scratch_test.hpp"

namespace suf::service {
namespace {

// A variable of the environment while it lives; its old value comes back.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

struct PostgresAddresses : testing::Test {
  std::map<std::string, std::string> Parameters(const std::string& url) const {
    const auto all = PostgresAddress::Parse(url).parameters();
    return {all.begin(), all.end()};
  }
  testing::AssertionResult ParseFails(const std::string& url, const std::string& words) const {
    return Fails(Cause::kInput, words, [&] { (void)PostgresAddress::Parse(url); });
  }
  const Scratch dir;
  const ScopedVariable home{"HOME", dir.path};
};

TEST_F(PostgresAddresses, KeepTheirPartsAndForceTls) {
  const std::map<std::string, std::string> wanted{{"dbname", "counts"},
                                                  {"fallback_application_name", "suf"},
                                                  {"gssencmode", "disable"},
                                                  {"host", "db.example"},
                                                  {"port", "6432"},
                                                  {"sslmode", "verify-full"},
                                                  {"sslrootcert", "/etc/ca.pem"},
                                                  {"user", "ann"}};
  EXPECT_EQ(Parameters("postgresql://ann@db.example:6432/counts?sslrootcert=/etc/ca.pem"), wanted);
  EXPECT_EQ(Parameters("postgres://ann@db.example:6432/counts?sslrootcert=/etc/ca.pem&sslmode=verify-full"), wanted);
  EXPECT_EQ(Parameters("host=db.example port=6432 user=ann dbname=counts sslrootcert=/etc/ca.pem"), wanted);
  EXPECT_EQ(PostgresAddress::Parse("postgresql://ann@db.example:6432/counts").text(),
            "the database counts at db.example:6432");
  EXPECT_EQ(PostgresAddress::Parse("postgresql://ann@/?host=/run/postgresql").text(),
            "the database ann at /run/postgresql:5432");
  const ScopedVariable host("PGHOST", "other.example");
  EXPECT_EQ(PostgresAddress::Parse("postgresql://ann@/suf").text(), "the database suf at other.example:5432");
}

TEST_F(PostgresAddresses, OfAServerMustVerifyItsName) {
  for (const char* mode : {"disable", "allow", "prefer", "require", "verify-ca"}) {
    const std::string words = Str("has sslmode=", mode, ", which does not verify the server's name");
    for (const char* host : {"h", "10.0.0.1", "/run/postgresql,h", "h,/run/postgresql"})
      EXPECT_TRUE(ParseFails(Str("postgresql:///suf?host=", host, "&sslmode=", mode), words)) << host;
    EXPECT_TRUE(ParseFails(Str("postgresql:///suf?host=/run&hostaddr=10.0.0.1&sslmode=", mode), words));
    const ScopedVariable host("PGHOST", "h");
    EXPECT_TRUE(ParseFails(Str("postgresql:///suf?sslmode=", mode), words));
  }
  for (const char* local : {"/run/postgresql", "@socket", "/a,/b", ""})
    EXPECT_EQ(Parameters(Str("postgresql:///suf?sslmode=disable&host=", local)).at("sslmode"), "verify-full") << local;
  EXPECT_TRUE(ParseFails("postgresql://h/suf?gssencmode=prefer", "has gssencmode=prefer, and only TLS"));
}

TEST_F(PostgresAddresses, HoldNoSecret) {
  const auto shows = [&](const std::string& url) {
    try {
      (void)PostgresAddress::Parse(url);
    } catch (const Error& e) {
      return std::string(e.what()).find("hunter2") != std::string::npos;
    }
    ADD_FAILURE() << url;
    return true;
  };
  for (const char* url :
       {"postgresql://suf:hunter2@h/suf", "postgresql://h/suf?password=hunter2", "host=h password=hunter2",
        "postgresql://h/suf?sslpassword=hunter2", "postgresql://suf:hunter2@h:port/suf", "password=hunter2 host",
        "postgresql://suf:hunter2@[::1/suf", "postgresql://suf@h/suf?hunter2=1", "hunter2", "%hunter2", "'hunter2"})
    EXPECT_FALSE(shows(url)) << url;
  EXPECT_TRUE(
      ParseFails("postgresql://suf:hunter2@h/suf", "has a password, which other users of this machine can see"));
  EXPECT_TRUE(ParseFails("postgresql://h/suf?sslpassword=hunter2", "has a sslpassword"));
  EXPECT_TRUE(ParseFails("counts.sqlite", "none that libpq reads"));
  EXPECT_TRUE(ParseFails("postgresql://h/suf?service=s", "names a service"));
  const ScopedVariable password("PGPASSWORD", "hunter2");
  EXPECT_FALSE(shows("postgresql://h/suf"));
}

TEST_F(PostgresAddresses, TakeAPasswordFromAPrivateFile) {
  const std::string file = dir / "passwords", url = "postgresql://h/suf?passfile=" + file;
  EXPECT_TRUE(ParseFails(url, Str("there is no file of passwords ", file)));
  std::ofstream(file) << "h:*:*:*:hunter2\n";
  for (const mode_t open : {0640, 0604, 0620, 0601}) {
    chmod(file.c_str(), open);
    EXPECT_TRUE(ParseFails(url, Str("the file of passwords ", file, " can be read by others; chmod 600 it")));
  }
  chmod(file.c_str(), 0600);
  EXPECT_EQ(Parameters(url).at("passfile"), file);
  EXPECT_TRUE(ParseFails("postgresql://h/suf?passfile=" + dir.path, "is no file"));
  // libpq's own places
  EXPECT_FALSE(Parameters("postgresql://h/suf").contains("passfile"));
  chmod(file.c_str(), 0644);
  {
    const ScopedVariable named("PGPASSFILE", file);
    EXPECT_TRUE(ParseFails("postgresql://h/suf", "can be read by others"));
  }
  std::filesystem::rename(file, dir / ".pgpass");
  EXPECT_TRUE(ParseFails("postgresql://h/suf", ".pgpass can be read by others"));
}

}  // namespace
}  // namespace suf::service
