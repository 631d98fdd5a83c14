#include "suf/net/credentials.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "suf/base/private_files.hpp"
#include "suf/net/internal/x509.hpp"
#include "suf/net/tls_link.hpp"

namespace suf::net {

std::string TlsLibrary() { return Str("OpenSSL ", OpenSSL_version(OPENSSL_VERSION_STRING)); }

Hash KeyHash(X509* cert) {
  uint8_t* der = nullptr;
  int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);
  SUF_CHECK(n > 0);
  Hash h = HashOf({View(der, size_t(n))});
  OPENSSL_free(der);
  return h;
}

std::optional<Role> RoleIn(X509* cert) {
  std::optional<Role> found;
  int count = 0;
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(cert, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* g = sk_GENERAL_NAME_value(names, i);
    if (g->type != GEN_URI) continue;
    std::string uri(reinterpret_cast<const char*>(ASN1_STRING_get0_data(g->d.uniformResourceIdentifier)),
                    size_t(ASN1_STRING_length(g->d.uniformResourceIdentifier)));
    ++count;
    for (int r = 0; r < kRoles; ++r)
      if (uri == Str("suf:", Name(Role(r)))) found = Role(r);
  }
  GENERAL_NAMES_free(names);
  return count == 1 ? found : std::nullopt;
}

std::string Fingerprint(const Identity& who) { return Str(Name(who.role), "=", Hex(who.key)); }

Identity FromFingerprint(const std::string& text) {
  for (int r = 0; r < kRoles; ++r) {
    std::string start = Str(Name(Role(r)), "=");
    if (!text.starts_with(start)) continue;
    Bytes key = FromHex(std::string_view(text).substr(start.size()), sizeof(Hash), "the SHA-256 of a pinned key");
    return {Role(r), Reader(key, "a pin").GetHash()};
  }
  Fail(Cause::kInput,
       "a pin is dealer=, model= or data= and the SHA-256 of that role's key in hex, as its fingerprint");
}

namespace {

// Parses the extensions of the certificates that we trust. OpenSSL would otherwise do so in the first handshakes, whose
// threads share them. Their faults are reported by a handshake.
void ReadExtensions(SSL_CTX* ctx) {
  STACK_OF(X509_OBJECT)* trusted = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));
  for (int i = 0; i < sk_X509_OBJECT_num(trusted); ++i)
    if (X509* cert = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(trusted, i))) X509_check_purpose(cert, -1, 0);
}

[[noreturn]] void FailUnusable(const std::string& file, const std::string& why,
                               const char* remedy = "make certificates for the three roles anew") {
  Fail(Cause::kInput, "cannot use ", file, " (", why, "); ", remedy);
}

// Throws if a file cannot be read.
void CheckReadable(const std::string& file) {
  const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat s {};
  if (!fd && (errno == EACCES || errno == EPERM))
    FailUnusable(file, SystemError(), "let the user of this process read it and the folders above it");
  if (!fd) FailUnusable(file, SystemError());
  if (!fstat(fd.get(), &s) && !S_ISREG(s.st_mode))
    FailUnusable(file, S_ISDIR(s.st_mode) ? "it is a folder" : "it is no ordinary file");
}

// Refuses a request for a passphrase.
int NoPassphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// Stores the fault of a peer's certificate for DoHandshake.
int NoteFault(int good, X509_STORE_CTX* store) {
  if (good) return good;
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* link = ssl ? static_cast<TlsLink*>(SSL_get_app_data(ssl)) : nullptr;
  if (link) link->fault = FaultOf(store);
  return good;
}

// Verifies our own certificate as each peer of this role will.
void CheckOwn(SSL_CTX* ctx, const std::string& dir, const std::string& file, Role role,
              Credentials::Validity validity) {
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> c(X509_STORE_CTX_new(), X509_STORE_CTX_free);
  STACK_OF(X509)* chain = nullptr;
  SUF_CHECK(c && SSL_CTX_get0_chain_certs(ctx, &chain));
  for (const char* end : {"ssl_server", "ssl_client"}) {
    const bool listens = end[4] == 's';
    if (role == (listens ? Role::kData : Role::kDealer)) continue;  // P0 listens and dials
    SUF_CHECK(X509_STORE_CTX_init(c.get(), SSL_CTX_get_cert_store(ctx), SSL_CTX_get0_certificate(ctx), chain) &&
              X509_STORE_CTX_set_default(c.get(), end));
    X509_VERIFY_PARAM* how = X509_STORE_CTX_get0_param(c.get());
    X509_VERIFY_PARAM_set_auth_level(how, SSL_CTX_get_security_level(ctx));
    if (validity == Credentials::Validity::kIgnored) X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_NO_CHECK_TIME);
    const bool good = X509_verify_cert(c.get()) == 1;
    const CertFault fault = good ? CertFault() : FaultOf(c.get());
    X509_STORE_CTX_cleanup(c.get());
    if (good) continue;
    if (fault.OfDates())
      Fail(Cause::kRefused, "our certificate ", file, ", ", Title(role), "'s, cannot be used, as ", Why(fault), "; ",
           Remedy(fault));
    FailUnusable(file, Str(Why(fault), ", by ", dir, "/ca.pem"));
  }
}

int NoteGreeting(SSL* ssl, int*, void*) {
  if (auto* link = static_cast<TlsLink*>(SSL_get_app_data(ssl))) link->NoteGreeting();
  return SSL_CLIENT_HELLO_SUCCESS;
}
// Chooses from a client's offer of streams. A client that names no protocol, or none of ours, has one stream.
int ChooseStreams(SSL* ssl, const uint8_t** out, uint8_t* bytes, const uint8_t* in, unsigned size, void*) {
  auto* link = static_cast<TlsLink*>(SSL_get_app_data(ssl));
  const View chosen = link ? link->ChooseProtocol(View(in, size)) : View();
  if (chosen.empty()) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen.data();
  *bytes = uint8_t(chosen.size());
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

CertFault FaultOf(X509_STORE_CTX* store) {
  const X509* cert = X509_STORE_CTX_get_current_cert(store);
  return {X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_error_depth(store), cert ? DatesOf(cert) : Dates()};
}

Credentials::Credentials(const std::string& dir, Validity validity) {
  auto loaded = std::make_shared<Loaded>();
  loaded->ctx.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* ctx = loaded->ctx.get();
  SUF_CHECK(ctx);
  std::string ca = dir + "/ca.pem", cert = dir + "/cert.pem", key = dir + "/key.pem";
  for (const std::string& file : {ca, cert, key}) CheckPrivateFile(file);
  if (OthersCanRead(key))
    Fail(Cause::kInput, "the key ", key, " can be read by others; chmod 600 it, or make new certificates");
  for (const std::string& file : {ca, cert, key}) CheckReadable(file);
  bool asked = false;  // for a passphrase
  SSL_CTX_set_default_passwd_cb(ctx, NoPassphrase);
  SSL_CTX_set_default_passwd_cb_userdata(ctx, &asked);
  const bool has_ca = SSL_CTX_load_verify_file(ctx, ca.c_str()) == 1,
             has_cert = has_ca && SSL_CTX_use_certificate_chain_file(ctx, cert.c_str()) == 1,
             has_key = has_cert && SSL_CTX_use_PrivateKey_file(ctx, key.c_str(), SSL_FILETYPE_PEM) == 1;
  const bool other = !has_key && ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
  SSL_CTX_set_default_passwd_cb_userdata(ctx, nullptr);
  if (has_key) ReadExtensions(ctx);
  ERR_clear_error();
  if (!has_ca || !has_cert) FailUnusable(has_ca ? cert : ca, "it holds no certificate in PEM");
  if (asked) FailUnusable(key, "it is encrypted", "store the key without a passphrase, readable by its user alone");
  if (!has_key)
    FailUnusable(
        key, other ? "it is not the key of cert.pem" : "it holds no private key in PEM, or none of cert.pem's kind");
  auto role = RoleIn(SSL_CTX_get0_certificate(ctx));
  if (!role) Fail(Cause::kInput, cert, " names no role of suf; make certificates for the three roles anew");
  if (!IsP256(SSL_CTX_get0_privatekey(ctx)))
    Fail(Cause::kInput, dir, "/cert.pem is not of the curve P-256; make certificates for the three roles anew");
  loaded->identity = {*role, KeyHash(SSL_CTX_get0_certificate(ctx))};
  loaded->file = cert;
  loaded->pem = PemText(SSL_CTX_get0_certificate(ctx));
  STACK_OF(X509)* others = nullptr;
  SUF_CHECK(SSL_CTX_get0_chain_certs(ctx, &others));
  for (int i = 0; i < sk_X509_num(others); ++i) loaded->pem += PemText(sk_X509_value(others, i));
  loaded->dates = DatesOf(SSL_CTX_get0_certificate(ctx));
  CheckOwn(ctx, dir, cert, *role, validity);
  ERR_clear_error();
  SUF_CHECK(SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) && SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION));
  SUF_CHECK(SSL_CTX_set1_sigalgs_list(ctx, "ecdsa_secp256r1_sha256"));  // no certificate of another curve
  // set explicitly, so that the machine's openssl.cnf adds none
  SUF_CHECK(
      SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"));
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  // plaintext does not stay in OpenSSL's buffers
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CLEANSE_PLAINTEXT);
  SUF_CHECK(SSL_CTX_set_num_tickets(ctx, 0));
  SSL_CTX_set_client_hello_cb(ctx, NoteGreeting, nullptr);
  SSL_CTX_set_alpn_select_cb(ctx, ChooseStreams, nullptr);
  SUF_CHECK(SSL_CTX_set_max_early_data(ctx, 0) && SSL_CTX_set_recv_max_early_data(ctx, 0));
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NoteFault);
  loaded_ = std::move(loaded);
}

const Identity& Credentials::identity() const { return loaded_->identity; }
std::shared_ptr<const Signer> Credentials::signer() const { return loaded_; }
std::time_t Credentials::until() const { return loaded_->dates.until; }
std::string Credentials::Text() const {
  return Str(loaded_->file, " is ", Title(loaded_->identity.role), "'s, ", net::Text(loaded_->dates));
}

bool Credentials::Admits(const Identity& peer) const {
  bool pinned = false;
  for (const Identity& p : pins_) {
    if (p.role != peer.role) continue;
    if (p.key == peer.key) return true;
    pinned = true;
  }
  return !pinned;
}

std::vector<Hash> Credentials::PinnedOf(Role role) const {
  std::vector<Hash> keys;
  for (const Identity& p : pins_)
    if (p.role == role && std::find(keys.begin(), keys.end(), p.key) == keys.end()) keys.push_back(p.key);
  return keys;
}

}  // namespace suf::net
