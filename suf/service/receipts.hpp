// Files of receipts. A data owner writes a line for each text, and others check them with the CA's certificate alone.
// docs/design/receipts.md.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "suf/base/file.hpp"
#include "suf/proto/receipt.hpp"

namespace suf::service {

// A line of a file. A batch has a line for each of its texts, with the same receipt.
struct ReceiptLine {
  proto::Receipt receipt;
  uint32_t place = 0;  // of the text in its batch, from 0; P1's own note, which nobody signs
};
// The most bytes of a line.
inline constexpr size_t kMostReceiptBytes = 256 << 10;
// Returns the line as JSON, without a line feed.
std::string Encode(const ReceiptLine& line);
// Parses a line, without its line feed. Checks form alone, neither signatures nor certificates. Throws Cause::kRefused
// with a sentence about "it".
ReceiptLine ParseReceiptLine(std::string_view text);

// Appends receipts to a file of mode 0600. A thread writes and syncs them, so that no session waits for the disk.
// Thread-safe.
class ReceiptFile {
 public:
  // Opens the file, or makes it. Throws Cause::kInput if it has something else than receipts. Throws Cause::kRefused if
  // it is no ordinary file, or if another process writes to it. Throws Cause::kResource if it cannot be written.
  explicit ReceiptFile(const std::string& path);
  ~ReceiptFile();  // as Finish, without an error
  ReceiptFile(const ReceiptFile&) = delete;
  ReceiptFile& operator=(const ReceiptFile&) = delete;
  // Queues the lines of a receipt. Never waits for the disk.
  void Add(const proto::Receipt& receipt);
  // Returns a notice for the user about an incomplete line; empty if there was none.
  const std::string& notice() const { return notice_; }
  // Whether the disk refused a line. Nothing is written after that.
  bool failed() const { return failed_; }
  // Returns when all lines are on the disk. Throws the error of the disk (Cause::kResource).
  void Finish();

 private:
  void CutBrokenLine(uint64_t size);
  void Loop();
  void Close();

  const std::string path_;
  Fd fd_;
  std::string notice_;
  std::mutex m_;
  std::condition_variable changed_;
  std::vector<proto::Receipt> queue_;
  bool closed_ = false;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
  std::thread thread_;  // last: it uses the members above
};

// Checks the lines of one file in order, with nothing but the CA's certificate. A line is right if both parties signed
// it. Their certificates must have been valid at the times that they state. Serials of a lane rise.
class ReceiptChecker {
 public:
  explicit ReceiptChecker(net::TrustedCa ca) : ca_(std::move(ca)) {}
  // Checks the next line. Returns its fault as a sentence without an end; nothing if it is right.
  std::optional<std::string> Check(std::string_view text);

  // Numbers of the right lines.
  struct Totals {
    uint64_t lines = 0, right = 0, jobs = 0;
    std::set<Hash> models, owners, plans, weights;  // fingerprints, and ids
    std::set<std::pair<Hash, store::LaneId>> lanes;
    uint64_t first_ms = 0, last_ms = 0;  // of both parties
    uint64_t apart_ms = 0;               // the most between both parties' times of a job
  };
  const Totals& totals() const { return totals_; }

 private:
  // A certificate that was parsed, and the time in which its chain is valid.
  struct KnownCertificate {
    net::RoleCertificate certificate;
    std::optional<net::ValidTime> valid;
  };
  // The lines of a lane that were right, and their last receipt.
  struct LaneLines {
    std::map<std::pair<uint64_t, uint32_t>, uint64_t> numbers;  // by serial and place
    proto::JobFacts facts;
  };
  const net::RoleCertificate& CertificateOf(const std::string& pem, Role role, const proto::JobTime& time);
  std::optional<std::string> CheckOrder(const ReceiptLine& line);
  void Count(const ReceiptLine& line, bool first);

  net::TrustedCa ca_;
  std::map<std::string, KnownCertificate> certificates_;
  std::map<std::pair<Hash, store::LaneId>, LaneLines> lanes_;  // by the data owner's key and the lane
  Totals totals_;
};

// A wrong line, and why.
struct WrongReceipt {
  uint64_t line;
  std::string why;
};
// Checks a file; calls `wrong` for each wrong line. Throws Cause::kInput if the file cannot be read, or if no line of
// it looks like a receipt.
ReceiptChecker::Totals CheckReceipts(const std::string& path, const net::TrustedCa& ca,
                                     const std::function<void(const WrongReceipt&)>& wrong);

// Returns line `number` of a file, from 1 on. Throws Cause::kInput if there is none, and Cause::kRefused if it is no
// receipt.
ReceiptLine ReadReceipt(const std::string& path, uint64_t number);
// Writes a receipt as other programs verify it. The files are NAME.txt (the signed text), NAME.sig (DER) and NAME.pem,
// with NAME model and data. Makes the folder if there is none. Throws Cause::kResource.
void WriteReceiptParts(const proto::Receipt& receipt, const std::string& folder);

}  // namespace suf::service
