// Signatures by keys of certificates, and certificates checked at another time than now.
#include "suf/net/certificate.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <future>

#include "suf/net/internal/testing.hpp"

namespace suf::net {
namespace {

constexpr std::time_t kYear = 365 * 24 * 3600, kBegin = 1'700'000'000;  // a day in November 2023

std::string TextIn(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A certificate and its key.
struct Issued {
  std::shared_ptr<EVP_PKEY> key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  std::shared_ptr<X509> cert{X509_new(), X509_free};
  std::string pem;
};

void AddExtension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* e = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  SUF_CHECK(e && X509_add_ext(cert, e, -1));
  X509_EXTENSION_free(e);
}

// Issues a certificate that is valid in this time: of a CA, or of a role if one is named. A null issuer makes a root.
Issued Issue(const char* name, const Issued* issuer, ValidTime valid, const char* role = nullptr,
             const char* curve = "P-256") {
  Issued made;
  made.key.reset(EVP_EC_gen(curve), EVP_PKEY_free);
  X509* c = made.cert.get();
  X509* by = issuer ? issuer->cert.get() : c;
  X509_set_version(c, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(c), long(RandomHash()[0]) + 1);
  ASN1_TIME_set(X509_getm_notBefore(c), valid.from);
  ASN1_TIME_set(X509_getm_notAfter(c), valid.until);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_ASC, reinterpret_cast<const uint8_t*>(name), -1,
                             -1, 0);
  X509_set_issuer_name(c, X509_get_subject_name(by));
  X509_set_pubkey(c, made.key.get());
  AddExtension(c, by, NID_basic_constraints, role ? "critical,CA:FALSE" : "critical,CA:TRUE");
  AddExtension(c, by, NID_key_usage, role ? "critical,digitalSignature" : "critical,keyCertSign");
  if (role) AddExtension(c, by, NID_subject_alt_name, Str("URI:suf:", role));
  SUF_CHECK(X509_sign(c, issuer ? issuer->key.get() : made.key.get(), EVP_sha256()));
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, c);
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio, &text);
  made.pem.assign(text, size_t(bytes));
  BIO_free(bio);
  return made;
}

TrustedCa TrustOf(const Scratch& dir, const std::string& pem) {
  std::ofstream(dir / "ca.pem") << pem;
  return TrustedCa(dir / "ca.pem");
}

TEST(Signature, IsOfOneKeyAndOneText) {
  const Credentials own = Certs::Of(Role::kModel);
  const auto signer = own.signer();
  const RoleCertificate cert(signer->certificates(), "it"),
      other(Certs::Of(Role::kData).signer()->certificates(), "it");
  EXPECT_EQ(cert.identity().role, Role::kModel);
  EXPECT_EQ(cert.identity().key, own.identity().key);
  EXPECT_EQ(cert.valid().until, own.until());
  const std::string text = "suf receipt 1\nrole model\n";
  const Signature good = signer->Sign(AsView(text));
  EXPECT_TRUE(cert.Verifies(AsView(text), good));
  EXPECT_FALSE(other.Verifies(AsView(text), good));
  EXPECT_FALSE(cert.Verifies(AsView(text).first(text.size() - 1), good));
  EXPECT_FALSE(cert.Verifies(AsView(text + "\n"), good));
  for (size_t i = 0; i < good.size(); ++i) {
    Signature bad = good;
    bad[i] ^= 1;
    EXPECT_FALSE(cert.Verifies(AsView(text), bad)) << i;
  }
  EXPECT_FALSE(cert.Verifies(AsView(text), Signature{}));
  Signature large;
  large.fill(0xff);
  EXPECT_FALSE(cert.Verifies(AsView(text), large));
  EXPECT_TRUE(cert.Verifies({}, signer->Sign({})));
}

// A number that begins with a zero byte has a shorter DER. One signature in 128 has such a number.
TEST(Signature, HasItsLengthAlsoIfANumberIsShort) {
  const auto signer = Certs::Of(Role::kData).signer();
  const RoleCertificate cert(signer->certificates(), "it");
  for (int found = 0, i = 0; found < 2; ++i) {
    ASSERT_LT(i, 5000);
    const std::string text = Str("text ", i);
    const Signature s = signer->Sign(AsView(text));
    if (s[0] && s[32]) continue;
    ++found;
    EXPECT_TRUE(cert.Verifies(AsView(text), s));
    EXPECT_LT(DerOf(s).size(), 72u);
  }
}

TEST(Signature, BothEndsOfATlsChannelHaveKeyAndCertificates) {
  std::promise<std::pair<std::string, std::string>> server;
  TestServer s([&](Channel& ch) {
    server.set_value({ch.signer()->certificates(), ch.peer_certificates()});
    Echo(ch);
  });
  const Credentials own = Certs::Of(Role::kData);
  const auto ch = Dial(own, s.address(), Role::kDealer, kAmple);
  ch->Send(kFirstRun, {});
  (void)ch->RecvExact(kFirstRun, 0);
  const auto [theirs, ours] = server.get_future().get();
  EXPECT_EQ(ch->peer_certificates(), theirs);
  EXPECT_EQ(ch->signer()->certificates(), ours);
  EXPECT_EQ(ours, TextIn(Certs::Get().dir / "a/data/cert.pem"));
  EXPECT_EQ(RoleCertificate(theirs, "it").identity().key, ch->peer().key);
  const auto [near, far] = InProcessPair({Role::kModel, {}}, {Role::kData, {}});
  EXPECT_EQ(near->signer(), nullptr);
  EXPECT_TRUE(far->peer_certificates().empty());
}

TEST(RoleCertificate, IsPemOfARoleWithAKeyOfP256) {
  const auto fails = [](const std::string& pem, const char* why) {
    return Fails(Cause::kInput, why, [&] { RoleCertificate(pem, "the certificate"); });
  };
  const std::string pem = TextIn(Certs::Get().dir / "a/model/cert.pem");
  EXPECT_TRUE(fails("", "the certificate is no certificate in PEM"));
  EXPECT_TRUE(fails("x", "is no certificate in PEM"));
  EXPECT_TRUE(fails(TextIn(Certs::Get().dir / "a/model/key.pem"), "is no certificate in PEM"));
  EXPECT_TRUE(fails(pem.substr(0, pem.size() / 2), "is no certificate in PEM"));
  EXPECT_TRUE(fails(pem + pem.substr(0, pem.size() / 2), "is no certificate in PEM"));
  std::string damaged = pem;
  damaged[pem.size() / 2] = '!';
  EXPECT_TRUE(fails(damaged, "is no certificate in PEM"));
  EXPECT_TRUE(fails(TextIn(Certs::Get().dir / "a/model/ca.pem"), "names no role"));
  EXPECT_TRUE(fails(std::string(RoleCertificate::kMostBytes + 1, ' '), "has 65537 bytes of certificates"));
  std::string many;
  for (int i = 0; i <= RoleCertificate::kMost; ++i) many += pem;
  EXPECT_TRUE(fails(many, "has more than 8 certificates"));
  const Issued root = Issue("root", nullptr, {kBegin, kBegin + kYear});
  EXPECT_TRUE(fails(Issue("leaf", &root, {kBegin, kBegin + kYear}, "data", "P-384").pem,
                    "has a key of another kind than P-256"));
}

// The certificates have expired by now, and are checked at a time before.
TEST(TrustedCa, ChecksAtTheGivenTime) {
  Scratch dir;
  const Issued root = Issue("root", nullptr, {kBegin, kBegin + kYear});
  const Issued leaf = Issue("leaf", &root, {kBegin + 10, kBegin + 2 * kYear}, "model");
  const TrustedCa ca = TrustOf(dir, root.pem);
  const RoleCertificate cert(leaf.pem, "it");
  EXPECT_EQ(cert.valid().from, kBegin + 10);
  for (const std::time_t at : {kBegin + 10, kBegin + kYear - 1}) {
    const ValidTime valid = ca.Check(cert, at);
    EXPECT_EQ(valid.from, kBegin + 10);
    EXPECT_EQ(valid.until, kBegin + kYear);
    EXPECT_TRUE(valid.Has(at) && !valid.Has(valid.from - 1) && !valid.Has(valid.until));
  }
  const auto fails = [&](std::time_t at, const char* why) {
    return Fails(Cause::kRefused, why, [&] { (void)ca.Check(cert, at); });
  };
  EXPECT_TRUE(fails(kBegin + 9,
                    "the certificate of the model owner is valid from 2023-11-14 22:13 UTC to 2025-11-13 22:13 UTC, "
                    "and not at 2023-11-14 22:13 UTC"));
  EXPECT_TRUE(fails(kBegin + kYear, "the certificate of the model owner's CA is valid from 2023-11-14 22:13 UTC"));
  EXPECT_TRUE(fails(kBegin + 2 * kYear, "and not at 2025-11-13 22:13 UTC"));
}

TEST(TrustedCa, RefusesCertificatesOfAnotherCa) {
  const std::string dir = Certs::Get().dir.path;
  const TrustedCa ours(dir + "/a/data/ca.pem"), other(dir + "/b/data/ca.pem");
  const std::time_t now = std::time(nullptr);
  for (const Role r : {Role::kModel, Role::kData, Role::kDealer}) {
    const RoleCertificate cert(Certs::Of(r).signer()->certificates(), "it");
    const std::time_t until = ours.Check(cert, now).until;
    EXPECT_TRUE(until <= Certs::Of(r).until() && until > Certs::Of(r).until() - 600);  // the CA is some seconds older
    EXPECT_TRUE(Fails(Cause::kRefused,
                      Str("the certificate of ", Title(r), " is not trusted (it is of another CA than ours, by "),
                      [&] { (void)other.Check(cert, now); }));
  }
}

TEST(TrustedCa, TakesTheCasBetween) {
  Scratch dir;
  const ValidTime valid{kBegin, kBegin + kYear}, shorter{kBegin + 7, kBegin + kYear - 7};
  const Issued root = Issue("root", nullptr, valid), between = Issue("between", &root, shorter),
               leaf = Issue("leaf", &between, valid, "data"), stranger = Issue("between", nullptr, valid);
  const TrustedCa ca = TrustOf(dir, root.pem);
  const ValidTime all = ca.Check(RoleCertificate(leaf.pem + between.pem, "it"), kBegin + 7);
  EXPECT_TRUE(all.from == shorter.from && all.until == shorter.until);
  for (const std::string& others : {std::string(), stranger.pem})
    EXPECT_TRUE(Fails(Cause::kRefused, "is not trusted (it",
                      [&] { (void)ca.Check(RoleCertificate(leaf.pem + others, "it"), kBegin + 7); }));
}

TEST(TrustedCa, IsAFileOfCertificates) {
  Scratch dir;
  const auto fails = [&](const std::string& path, const char* why) {
    return Fails(Cause::kInput, why, [&] { TrustedCa ca(path); });
  };
  EXPECT_TRUE(fails(dir / "none", "none (No such file or directory); name the ca.pem of a role"));
  EXPECT_TRUE(fails(dir.path, "it is a folder"));
  EXPECT_TRUE(fails("/dev/null", "it is no ordinary file"));
  std::ofstream(dir / "text") << "no certificate\n";
  EXPECT_TRUE(fails(dir / "text", "it holds no certificate in PEM"));
}

}  // namespace
}  // namespace suf::net
