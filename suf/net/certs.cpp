#include "suf/net/certs.hpp"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"
#include "suf/base/private_files.hpp"
#include "suf/net/refusal.hpp"

namespace suf::net {
namespace {

namespace fs = std::filesystem;

constexpr long kDays = 825;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Cert = std::unique_ptr<X509, decltype(&X509_free)>;

Key NewKey() {
  Key k(EVP_EC_gen("P-256"), EVP_PKEY_free);
  SUF_CHECK(k);
  return k;
}

void Extend(X509* cert, X509* issuer, int nid, const char* value) {
  X509V3_CTX ctx;
  X509V3_set_ctx_nodb(&ctx);
  X509V3_set_ctx(&ctx, issuer, cert, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> e(X509V3_EXT_conf_nid(nullptr, &ctx, nid, value),
                                                                    X509_EXTENSION_free);
  SUF_CHECK(e && X509_add_ext(cert, e.get(), -1));
}

// Returns a certificate without extensions and signature. A null issuer makes it self-issued.
Cert Blank(EVP_PKEY* key, const char* name, X509* issuer) {
  Cert c(X509_new(), X509_free);
  SUF_CHECK(c);
  std::array<uint8_t, 16> serial;
  RandomBytes(serial);
  serial[0] = (serial[0] & 0x3f) | 0x40;  // positive, and always 16 bytes
  std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_bin2bn(serial.data(), serial.size(), nullptr), BN_free);
  SUF_CHECK(number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(c.get())));
  SUF_CHECK(X509_set_version(c.get(), X509_VERSION_3));
  SUF_CHECK(X509_gmtime_adj(X509_getm_notBefore(c.get()), -300));  // clocks of three machines differ
  SUF_CHECK(X509_gmtime_adj(X509_getm_notAfter(c.get()), kDays * 24 * 3600));
  SUF_CHECK(X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), "CN", MBSTRING_ASC,
                                       reinterpret_cast<const uint8_t*>(name), -1, -1, 0));
  SUF_CHECK(X509_set_issuer_name(c.get(), X509_get_subject_name(issuer ? issuer : c.get())));
  SUF_CHECK(X509_set_pubkey(c.get(), key));
  return c;
}

template <class F>
Bytes Pem(F&& write) {
  std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_secmem()), BIO_free);
  SUF_CHECK(bio && write(bio.get()));
  char* p = nullptr;
  long n = BIO_get_mem_data(bio.get(), &p);
  return Bytes(p, p + n);
}
Bytes PemOf(X509* c) {
  return Pem([&](BIO* b) { return PEM_write_bio_X509(b, c); });
}

// Throws if the names are not those of distinct holders of this role.
void CheckNames(Role role, const std::vector<std::string>& names) {
  const std::string one = HolderOf(role);
  if (names.size() > kMostNames)
    Fail(Cause::kInput, names.size(), " ", one, "s are named, and at most ", kMostNames,
         " can have certificates of one CA; name fewer");
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const auto fail = [&](const std::string& why) {
      Fail(Cause::kInput, "the name ", Quoted(name), " of a ", one, " ", why,
           "; use letters, digits, -, _ and dots, and a letter or digit first");
    };
    const auto letter = [](unsigned char c) { return c < 0x80 && std::isalnum(c); };
    if (name.empty()) fail("is empty");
    if (name.size() > kLongestName) fail(Str("has ", name.size(), " bytes, and ", kLongestName, " are allowed"));
    if (!letter(name[0]) || !std::all_of(name.begin(), name.end(), [&](unsigned char c) {
          return letter(c) || c == '-' || c == '_' || c == '.';
        }))
      fail("cannot be that of a folder");
    if (!seen.insert(name).second) fail("appears twice");
  }
}

}  // namespace

std::string HolderOf(Role role) { return std::string(Title(role)).substr(std::string("the ").size()); }

std::string CertFolder(Role role, const std::string& name) {
  return name.empty() ? Name(role) : Str(Name(role), "-", name);
}

std::vector<std::string> CertFolders(const std::string& dir) {
  std::error_code failed;  // of the last check that failed, unless the file is just missing
  std::vector<std::string> found, places{dir};
  const auto inside = [&](const std::string& name) { return (fs::path(dir) / name).string(); };
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  for (Role r : {Role::kDealer, Role::kModel, Role::kData}) {
    places.push_back(inside(CertFolder(r)));
    if (r == Role::kModel) continue;
    for (const std::string& name : names)
      if (name.starts_with(CertFolder(r) + "-")) places.push_back(inside(name));
  }
  for (const std::string& place : places) {
    if (fs::exists(fs::path(place) / "cert.pem", error)) found.push_back(place);
    if (error && error != std::errc::not_a_directory) failed = error;
  }
  if (found.empty() && failed)
    Fail(Cause::kInput, "cannot read the certificates in ", dir, " (", std::strerror(failed.value()),
         "); let this user read the folder");
  return found;
}

void MakeCerts(const std::string& dir, const CertNames& names) {
  struct Leaf {
    Role role;
    std::string name;  // of its folder and its subject
  };
  std::vector<Leaf> leaves;
  const auto add = [&](Role r, const std::vector<std::string>& several) {
    CheckNames(r, several);
    if (several.empty()) leaves.push_back({r, CertFolder(r)});
    for (const std::string& name : several) leaves.push_back({r, CertFolder(r, name)});
  };
  add(Role::kDealer, names.dealers);
  add(Role::kModel, {});
  add(Role::kData, names.owners);
  MakePrivateFolder(dir);
  for (const Leaf& leaf : leaves) {
    struct stat s;
    std::string there = dir + "/" + leaf.name;
    if (!stat(there.c_str(), &s))
      Fail(Cause::kInput, "the folder ", there, " exists already; name a new folder for new certificates");
  }
  Key ca_key = NewKey();
  Cert ca = Blank(ca_key.get(), "suf demo CA", nullptr);
  Extend(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  Extend(ca.get(), ca.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  Extend(ca.get(), ca.get(), NID_subject_key_identifier, "hash");
  SUF_CHECK(X509_sign(ca.get(), ca_key.get(), EVP_sha256()));
  for (const auto& [role, name] : leaves) {
    Key key = NewKey();
    Cert leaf = Blank(key.get(), name.c_str(), ca.get());
    Extend(leaf.get(), ca.get(), NID_basic_constraints, "critical,CA:FALSE");
    Extend(leaf.get(), ca.get(), NID_key_usage, "critical,digitalSignature");
    Extend(leaf.get(), ca.get(), NID_ext_key_usage, "serverAuth,clientAuth");
    Extend(leaf.get(), ca.get(), NID_authority_key_identifier, "keyid");
    Extend(leaf.get(), ca.get(), NID_subject_alt_name, Str("URI:suf:", Name(role)).c_str());
    SUF_CHECK(X509_sign(leaf.get(), ca_key.get(), EVP_sha256()));
    std::string sub = dir + "/" + name;
    MakePrivateFolderIn(dir, name);
    WriteFile(sub, "key.pem", Pem([&](BIO* b) {
                return PEM_write_bio_PrivateKey(b, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
              }));
    WriteFile(sub, "cert.pem", PemOf(leaf.get()));
    WriteFile(sub, "ca.pem", PemOf(ca.get()));
  }
}

}  // namespace suf::net
