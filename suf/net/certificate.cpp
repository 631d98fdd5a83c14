#include "suf/net/certificate.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "suf/base/file.hpp"
#include "suf/net/internal/x509.hpp"

namespace suf::net {
namespace {

using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;
using X509Stack = std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)>;

constexpr int kAuthLevel = 2;  // 112 bits, as Debian's TLS requires

// Refuses a request for the passphrase of an encrypted PEM, which would otherwise be read from the terminal.
int RefusePassphrase(char*, int, int, void*) { return -1; }

ValidTime ValidTimeOf(const X509* cert) {
  const Dates dates = DatesOf(cert);
  return {dates.from, dates.until};
}

}  // namespace

std::string PemText(X509* cert) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  SUF_CHECK(bio && PEM_write_bio_X509(bio.get(), cert));
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio.get(), &text);
  return {text, size_t(bytes)};
}

bool IsP256(EVP_PKEY* key) {
  std::array<char, 32> curve{};
  return key && EVP_PKEY_get_group_name(key, curve.data(), curve.size(), nullptr) == 1 &&
         std::string_view(curve.data()) == SN_X9_62_prime256v1;
}

struct RoleCertificate::State {
  X509Ptr own{nullptr, X509_free};
  X509Stack others{nullptr, [](STACK_OF(X509) * all) { sk_X509_pop_free(all, X509_free); }};
  Identity identity;
  ValidTime valid;
};

RoleCertificate::RoleCertificate(const std::string& pem, const std::string& what) {
  const auto fail = [&](const std::string& why) {
    ERR_clear_error();
    Fail(Cause::kInput, what, " ", why, "; take it from the session that showed it");
  };
  if (pem.size() > kMostBytes)
    fail(Str("has ", pem.size(), " bytes of certificates, and ", kMostBytes, " are allowed"));
  auto state = std::make_shared<State>();
  state->others.reset(sk_X509_new_null());
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), int(pem.size())), BIO_free);
  SUF_CHECK(bio && state->others);
  int count = 0;
  while (X509Ptr next{PEM_read_bio_X509(bio.get(), nullptr, RefusePassphrase, nullptr), X509_free}) {
    if (++count > kMost) fail(Str("has more than ", kMost, " certificates"));
    if (count == 1)
      state->own = std::move(next);
    else
      SUF_CHECK(sk_X509_push(state->others.get(), next.release()) > 0);
  }
  const bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!state->own || !end) fail("is no certificate in PEM");
  const std::optional<Role> role = RoleIn(state->own.get());
  if (!role) fail("names no role");
  if (!IsP256(X509_get0_pubkey(state->own.get()))) fail("has a key of another kind than P-256");
  state->identity = {*role, KeyHash(state->own.get())};
  state->valid = ValidTimeOf(state->own.get());
  s_ = std::move(state);
}

const Identity& RoleCertificate::identity() const { return s_->identity; }
const ValidTime& RoleCertificate::valid() const { return s_->valid; }
bool RoleCertificate::Verifies(View text, const Signature& signature) const {
  return IsSignedBy(X509_get0_pubkey(s_->own.get()), text, signature);
}

struct TrustedCa::Store {
  std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store{X509_STORE_new(), X509_STORE_free};
  std::string file;
};

TrustedCa::TrustedCa(const std::string& file) {
  const auto fail = [&](const std::string& why) {
    Fail(Cause::kInput, "cannot use the CA's certificate ", file, " (", why,
         "); name the ca.pem of a role that took part");
  };
  struct stat s {};
  if (stat(file.c_str(), &s)) fail(SystemError());
  if (!S_ISREG(s.st_mode)) fail(S_ISDIR(s.st_mode) ? "it is a folder" : "it is no ordinary file");
  if (!Fd(open(file.c_str(), O_RDONLY | O_CLOEXEC))) fail(SystemError());
  auto made = std::make_shared<Store>();
  SUF_CHECK(made->store);
  const bool loaded = X509_STORE_load_file(made->store.get(), file.c_str()) == 1;
  ERR_clear_error();
  if (!loaded) fail("it holds no certificate in PEM");
  made->file = file;
  s_ = std::move(made);
}

ValidTime TrustedCa::Check(const RoleCertificate& certificate, std::time_t at) const {
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(X509_STORE_CTX_new(),
                                                                                X509_STORE_CTX_free);
  const RoleCertificate::State& c = *certificate.s_;
  SUF_CHECK(context && X509_STORE_CTX_init(context.get(), s_->store.get(), c.own.get(), c.others.get()) &&
            X509_STORE_CTX_set_default(context.get(), c.identity.role == Role::kData ? "ssl_client" : "ssl_server"));
  X509_VERIFY_PARAM* how = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_auth_level(how, kAuthLevel);
  X509_VERIFY_PARAM_set_time(how, at);
  const bool good = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (!good) {
    const CertFault fault = FaultOf(context.get());
    if (fault.OfDates())
      Fail(Cause::kRefused, "the certificate of ", Title(c.identity.role), fault.depth ? "'s CA" : "",
           " is valid from ", TimeText(fault.dates.from), " to ", TimeText(fault.dates.until), ", and not at ",
           TimeText(at), "; that signature states a time at which it could not be made");
    Fail(Cause::kRefused, "the certificate of ", Title(c.identity.role), " is not trusted (", Why(fault), ", by ",
         s_->file, "); check it with the CA that issued it");
  }
  ValidTime all = certificate.valid();
  STACK_OF(X509)* chain = X509_STORE_CTX_get0_chain(context.get());
  for (int i = 1; i < sk_X509_num(chain); ++i) {
    const ValidTime one = ValidTimeOf(sk_X509_value(chain, i));
    all = {std::max(all.from, one.from), std::min(all.until, one.until)};
  }
  return all;
}

}  // namespace suf::net
