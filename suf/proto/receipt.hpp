// Receipts. Both parties sign the facts of a job with the keys of their certificates, so that others can check them.
// A receipt states nothing about the result. docs/design/receipts.md.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "suf/net/certificate.hpp"
#include "suf/store/bundle.hpp"

namespace suf::proto {

// The facts of a job that both parties sign.
struct JobFacts {
  Hash plan{}, weights{};  // SHA-256 of the plan, and weights id
  uint32_t tokens = 0, texts = 0, variant = 0;
  uint64_t serial = 0;
  store::LaneId lane{};
  Hash transcript{};  // TranscriptTag
  Hash key[2]{};      // fingerprints of P0 and P1
  bool operator==(const JobFacts&) const = default;
};

// Returns a hash of the connection and of all its frames so far. It is equal at both ends if both have the same frames.
Hash TranscriptTag(net::Channel& ch);

// A signer's own time of a job: from its claim to its signature, in milliseconds since 1970, UTC.
struct JobTime {
  uint64_t begin_ms = 0, end_ms = 0;
  bool operator==(const JobTime&) const = default;
};
// The last millisecond that a receipt can state, of the year 9999.
inline constexpr uint64_t kLastMs = 253'402'300'799'999;
// Returns "2027-01-31T12:34:56.789Z".
std::string TimeStamp(uint64_t ms);
// Parses a TimeStamp; returns nothing if the text is none.
std::optional<uint64_t> FromTimeStamp(std::string_view text);

// Returns the text that this party signs. It begins with "suf receipt 1\n", followed by a line for each field.
std::string ReceiptText(const JobFacts& facts, Role signer, const JobTime& time);

// A party's part of a receipt.
struct SignedTime {
  JobTime time;
  net::Signature signature{};
};
inline constexpr size_t kSignedTimeBytes = 2 * sizeof(uint64_t) + sizeof(net::Signature);
Bytes Encode(const SignedTime& part);
// Decodes kSignedTimeBytes bytes.
SignedTime DecodeSignedTime(View in);

// Returns what is wrong with a party's part, as a clause about "it"; nothing if all is right. It compares the key with
// that of the certificate, but does not check the certificate itself.
std::optional<std::string> FaultOf(const JobFacts& facts, const SignedTime& part, Role signer,
                                   const net::RoleCertificate& certificate);

// A receipt, with the parts and the certificates of P0 and P1.
struct Receipt {
  JobFacts facts;
  SignedTime part[2];
  std::string certificates[2];  // PEM, as Signer::certificates
};

// Makes the receipt of one job at one of its parties. The channel must have a signer.
class ReceiptMaker {
 public:
  // The time of the job begins. `peer` is the certificate of the channel's peer.
  ReceiptMaker(net::Channel& ch, const store::BundleHeader& header, const net::RoleCertificate& peer);
  // Takes all frames so far into the receipt. P0 calls it before it sends its last frame of the job, and P1 before it
  // receives that frame.
  void Close();
  // Signs. The time of the job ends. Returns what the peer's Take expects.
  Bytes Sign();
  // Takes the peer's part. Ends the session (Cause::kRefused) if it is wrong.
  void Take(View part);
  // Returns the receipt, which is complete after Sign and Take.
  const Receipt& receipt() const { return receipt_; }

 private:
  net::Channel& ch_;
  const net::RoleCertificate& peer_;
  const uint64_t begin_ms_;
  Receipt receipt_;
};

}  // namespace suf::proto
