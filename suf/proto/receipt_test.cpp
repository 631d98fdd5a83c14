// The text that both parties sign, and its checks.
#include "suf/proto/receipt.hpp"

#include <functional>
#include <utility>

#include "suf/proto/internal/receipt_certs.hpp"

namespace suf::proto {
namespace {

JobFacts SomeFacts() {
  JobFacts f{.plan = {1}, .weights = {2}, .tokens = 32, .texts = 3, .variant = 1, .serial = 17, .lane = {4}};
  f.transcript = {5};
  f.key[0] = ReceiptCerts::Of(Role::kModel).identity().key;
  f.key[1] = ReceiptCerts::Of(Role::kData).identity().key;
  return f;
}

TEST(Receipt, TheSignedTextHasALineForEachField) {
  JobFacts f = SomeFacts();
  f.key[0] = {6};
  f.key[1] = {7};
  const auto hash = [](const char* first) { return first + std::string(62, '0'); };
  const std::string expected = "suf receipt 1\nrole data\nplan " + hash("01") + "\nweights " + hash("02") +
                               "\ntokens 32\ntexts 3\nvariant 1\nserial 17\nlane 04" + std::string(30, '0') +
                               "\ntranscript " + hash("05") + "\nmodel " + hash("06") + "\ndata " + hash("07") +
                               "\nbegin 1970-01-01T00:00:00.000Z\nend 2027-01-31T12:34:56.789Z\n";
  EXPECT_EQ(ReceiptText(f, Role::kData, {0, 1'801'398'896'789}), expected);
}

TEST(Receipt, ATimeStampIsOneMillisecond) {
  for (const uint64_t ms :
       {uint64_t{0}, uint64_t{999}, uint64_t{951'782'400'000}, uint64_t{1'801'398'896'789}, kLastMs})
    EXPECT_EQ(FromTimeStamp(TimeStamp(ms)), ms);
  EXPECT_EQ(TimeStamp(kLastMs), "9999-12-31T23:59:59.999Z");
  for (const char* bad : {"", "2027-01-31T12:34:56.789", "2027-01-31 12:34:56.789Z", "2027-02-30T12:34:56.789Z",
                          "2027-01-31T24:00:00.000Z", "2027-01-31T12:60:00.000Z", "2027-01-31T12:34:60.000Z",
                          "1969-12-31T23:59:59.999Z", "2027-13-01T00:00:00.000Z", "2027-00-01T00:00:00.000Z",
                          "+027-01-01T00:00:00.000Z", "2027-01-31T12:34:56.78 Z", "2027-01-31T12:34:56.789z"})
    EXPECT_FALSE(FromTimeStamp(bad)) << bad;
}

TEST(Receipt, EachFieldIsSigned) {
  const net::Credentials own = ReceiptCerts::Of(Role::kModel);
  const net::RoleCertificate cert(own.signer()->certificates(), "it");
  const JobFacts facts = SomeFacts();
  SignedTime part;
  part.time.end_ms = uint64_t(std::time(nullptr)) * 1000 + 1;
  part.time.begin_ms = part.time.end_ms - 500;
  part.signature = own.signer()->Sign(AsView(ReceiptText(facts, Role::kModel, part.time)));
  EXPECT_FALSE(FaultOf(facts, part, Role::kModel, cert));
  const std::function<void(JobFacts&)> changes[] = {
      [](JobFacts& f) { f.plan[31] ^= 1; },   [](JobFacts& f) { f.weights[31] ^= 1; },
      [](JobFacts& f) { ++f.tokens; },        [](JobFacts& f) { ++f.texts; },
      [](JobFacts& f) { ++f.variant; },       [](JobFacts& f) { ++f.serial; },
      [](JobFacts& f) { f.lane[15] ^= 1; },   [](JobFacts& f) { f.transcript[31] ^= 1; },
      [](JobFacts& f) { f.key[1][31] ^= 1; },
  };
  for (const auto& change : changes) {
    JobFacts other = facts;
    change(other);
    EXPECT_EQ(FaultOf(other, part, Role::kModel, cert), "has a wrong signature");
  }
  JobFacts other = facts;
  other.key[0][31] ^= 1;
  EXPECT_EQ(FaultOf(other, part, Role::kModel, cert), "is with a certificate of another key");
  EXPECT_EQ(FaultOf(facts, part, Role::kData, cert), "is with the certificate of the model owner");
  const auto timed = [&](uint64_t begin, uint64_t end, bool sign) {
    SignedTime p = part;
    p.time = {begin, end};
    if (sign && end <= kLastMs) p.signature = own.signer()->Sign(AsView(ReceiptText(facts, Role::kModel, p.time)));
    return FaultOf(facts, p, Role::kModel, cert).value_or("");
  };
  const auto [begin, end] = part.time;
  EXPECT_EQ(timed(begin, end, true), "");
  EXPECT_EQ(timed(begin + 1, end, false), "has a wrong signature");
  EXPECT_EQ(timed(begin, end - 1, false), "has a wrong signature");
  EXPECT_EQ(timed(end + 1, end, true), "states a time that ends before it begins");
  EXPECT_EQ(timed(begin, kLastMs + 1, true), "states a time after the year 9999");
  EXPECT_EQ(timed(~uint64_t{0}, ~uint64_t{0}, true), "states a time after the year 9999");
  const auto from = uint64_t(cert.valid().from) * 1000, until = uint64_t(cert.valid().until) * 1000;
  EXPECT_EQ(timed(from, until - 1, true), "");
  for (const auto& [a, b] : {std::pair{from - 1, end}, {begin, until}, {uint64_t{0}, end}})
    EXPECT_TRUE(timed(a, b, true).ends_with(", when its certificate is not valid")) << timed(a, b, true);
}

}  // namespace
}  // namespace suf::proto
