#include "suf/proto/receipt.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "suf/base/digest.hpp"

namespace suf::proto {
namespace {

uint64_t NowMs() {
  using std::chrono::milliseconds;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return uint64_t(std::max<int64_t>(0, std::chrono::duration_cast<milliseconds>(since).count()));
}

}  // namespace

Hash TranscriptTag(net::Channel& ch) {
  const auto [sent, received] = ch.Transcript();
  const bool model = ch.self().role == Role::kModel;
  return HashOf({AsView("suf receipt frames"), ch.exporter(), model ? sent : received, model ? received : sent});
}

std::string TimeStamp(uint64_t ms) {
  SUF_CHECK(ms <= kLastMs);
  const auto seconds = std::time_t(ms / 1000);
  std::tm t{};
  SUF_CHECK(gmtime_r(&seconds, &t));
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                t.tm_hour, t.tm_min, t.tm_sec, int(ms % 1000));
  return text;
}

std::optional<uint64_t> FromTimeStamp(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  if (text.size() != kForm.size()) return std::nullopt;
  const auto number = [&](size_t at, size_t digits) {
    int n = 0;
    for (size_t i = at; i < at + digits; ++i) n = 10 * n + (text[i] - '0');
    return n;
  };
  for (size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i]) return std::nullopt;
  std::tm t{};
  t.tm_year = number(0, 4) - 1900;
  t.tm_mon = number(5, 2) - 1;
  t.tm_mday = number(8, 2);
  t.tm_hour = number(11, 2);
  t.tm_min = number(14, 2);
  t.tm_sec = number(17, 2);
  const std::time_t seconds = timegm(&t);
  if (seconds < 0) return std::nullopt;
  const uint64_t ms = uint64_t(seconds) * 1000 + uint64_t(number(20, 3));
  if (ms > kLastMs || TimeStamp(ms) != text) return std::nullopt;  // such as the 30th of February
  return ms;
}

std::string ReceiptText(const JobFacts& f, Role signer, const JobTime& time) {
  return Str("suf receipt 1\n",                         //
             "role ", Name(signer), "\n",               //
             "plan ", Hex(f.plan), "\n",                //
             "weights ", Hex(f.weights), "\n",          //
             "tokens ", f.tokens, "\n",                 //
             "texts ", f.texts, "\n",                   //
             "variant ", f.variant, "\n",               //
             "serial ", f.serial, "\n",                 //
             "lane ", Hex(f.lane), "\n",                //
             "transcript ", Hex(f.transcript), "\n",    //
             "model ", Hex(f.key[0]), "\n",             //
             "data ", Hex(f.key[1]), "\n",              //
             "begin ", TimeStamp(time.begin_ms), "\n",  //
             "end ", TimeStamp(time.end_ms), "\n");
}

Bytes Encode(const SignedTime& part) {
  Writer w;
  w.Put(part.time.begin_ms);
  w.Put(part.time.end_ms);
  w.Raw(part.signature);
  return w.Take();
}

SignedTime DecodeSignedTime(View in) {
  Reader r(in, "a party's part of a receipt");
  SignedTime part;
  part.time.begin_ms = r.Get<uint64_t>();
  part.time.end_ms = r.Get<uint64_t>();
  const View signature = r.Raw(part.signature.size());
  std::copy(signature.begin(), signature.end(), part.signature.begin());
  r.ExpectEnd();
  return part;
}

std::optional<std::string> FaultOf(const JobFacts& facts, const SignedTime& part, Role signer,
                                   const net::RoleCertificate& certificate) {
  const JobTime& time = part.time;
  if (certificate.identity().role != signer)
    return Str("is with the certificate of ", Title(certificate.identity().role));
  if (certificate.identity().key != facts.key[PartyOf(signer)]) return "is with a certificate of another key";
  if (time.end_ms > kLastMs) return "states a time after the year 9999";
  if (time.begin_ms > time.end_ms) return "states a time that ends before it begins";
  if (!certificate.valid().Has(std::time_t(time.begin_ms / 1000)) ||
      !certificate.valid().Has(std::time_t(time.end_ms / 1000)))
    return Str("states ", TimeStamp(time.begin_ms), " to ", TimeStamp(time.end_ms),
               ", when its certificate is not valid");
  if (!certificate.Verifies(AsView(ReceiptText(facts, signer, time)), part.signature)) return "has a wrong signature";
  return std::nullopt;
}

ReceiptMaker::ReceiptMaker(net::Channel& ch, const store::BundleHeader& h, const net::RoleCertificate& peer)
    : ch_(ch), peer_(peer), begin_ms_(NowMs()) {
  SUF_CHECK(ch.signer());
  receipt_.facts = {.plan = h.plan,
                    .weights = h.weights,
                    .tokens = h.job.tokens,
                    .texts = h.job.texts,
                    .variant = h.job.variant,
                    .serial = h.serial,
                    .lane = h.lane,
                    .key = {h.public_key[0], h.public_key[1]}};
  receipt_.certificates[PartyOf(ch.self().role)] = ch.signer()->certificates();
  receipt_.certificates[PartyOf(ch.peer().role)] = ch.peer_certificates();
}

void ReceiptMaker::Close() { receipt_.facts.transcript = TranscriptTag(ch_); }

Bytes ReceiptMaker::Sign() {
  const Role self = ch_.self().role;
  SignedTime& part = receipt_.part[PartyOf(self)];
  // a clock may be set back during a job
  part.time = {begin_ms_, std::max(begin_ms_, NowMs())};
  part.signature = ch_.signer()->Sign(AsView(ReceiptText(receipt_.facts, self, part.time)));
  return Encode(part);
}

void ReceiptMaker::Take(View theirs) {
  const Role peer = ch_.peer().role;
  SignedTime& part = receipt_.part[PartyOf(peer)];
  part = DecodeSignedTime(theirs);
  if (const auto fault = FaultOf(receipt_.facts, part, peer, peer_))
    net::EndSession(ch_, net::Refusal::kReceipt, Cause::kRefused, ch_.peer_title(), "'s part of the receipt of serial ",
                    receipt_.facts.serial, " ", *fault, "; compare both clocks, and report it to its operator");
}

}  // namespace suf::proto
