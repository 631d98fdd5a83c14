#include "apps/cmd_receipt.hpp"

#include <iomanip>
#include <iostream>
#include <set>

#include "apps/exit.hpp"
#include "suf/base/plural.hpp"
#include "suf/base/printable.hpp"
#include "suf/service/receipts.hpp"

namespace suf::apps {
namespace {

// Prints a row of two columns, at most 80 wide. The value is folded after 64 characters.
void PrintRow(const char* name, const std::string& value) {
  constexpr size_t kWidth = 64;
  for (size_t at = 0; at < value.size(); at += kWidth)
    std::cout << "  " << std::left << std::setw(13) << (at ? "" : name) << value.substr(at, kWidth) << "\n";
}
void PrintRows(const char* name, const std::set<Hash>& values) {
  for (const Hash& v : values) PrintRow(v == *values.begin() ? name : "", Hex(v));
}

std::string ReadableTime(uint64_t ms) {
  std::string text = proto::TimeStamp(ms);
  text[text.find('T')] = ' ';
  return text.substr(0, text.size() - 1) + " UTC";
}

}  // namespace

int RunReceiptCheck(const ReceiptCheckArgs& a) {
  const net::TrustedCa ca = Hinted(Cause::kInput, "--ca names the file", [&] { return net::TrustedCa(a.ca); });
  uint64_t wrong = 0;
  const auto totals = service::CheckReceipts(a.file, ca, [&](const service::WrongReceipt& w) {
    ++wrong;
    std::cout << "line " << w.line << ": " << Printable(w.why) << "\n";
  });
  if (totals.right) {
    std::cout << Plural(totals.right, "receipt is", "receipts are") << " right: " << Plural(totals.jobs, "job")
              << " in " << Plural(totals.lanes.size(), "lane") << "\n";
    PrintRow("from", ReadableTime(totals.first_ms));
    PrintRow("to", ReadableTime(totals.last_ms));
    PrintRow("clocks", Str("at most ", totals.apart_ms, " ms apart"));
    PrintRows("model owner", totals.models);
    PrintRows("data owner", totals.owners);
    PrintRows("plan", totals.plans);
    PrintRows("weights id", totals.weights);
  }
  if (wrong)
    Fail(Cause::kRefused, wrong, " of ", Plural(totals.lines, "line"), " in ", a.file, " ", wrong == 1 ? "is" : "are",
         " wrong, as printed; do not rely on what ", wrong == 1 ? "it states" : "they state");
  return 0;
}

int RunReceiptShow(const ReceiptShowArgs& a) {
  const service::ReceiptLine line = service::ReadReceipt(a.file, a.line);
  const proto::JobFacts& f = line.receipt.facts;
  std::cout << "line " << a.line << ", not checked\n";
  PrintRow("job", Str(f.texts == 1 ? std::string("a text") : Str("text ", uint64_t{line.place} + 1, " of ", f.texts),
                      f.texts == 1 ? " of " : ", each of ", Plural(f.tokens, "token"), ", variant ", f.variant));
  PrintRow("serial", Str(f.serial));
  PrintRow("lane", Hex(f.lane));
  PrintRow("plan", Hex(f.plan));
  PrintRow("weights id", Hex(f.weights));
  PrintRow("transcript", Hex(f.transcript));
  for (const Role r : {Role::kModel, Role::kData}) {
    const int p = PartyOf(r);
    const proto::SignedTime& part = line.receipt.part[p];
    std::cout << Title(r) << "\n";
    PrintRow("key", Hex(f.key[p]));
    PrintRow("begin", ReadableTime(part.time.begin_ms));
    PrintRow("end", ReadableTime(part.time.end_ms));
    PrintRow("signature", Hex(part.signature));
  }
  if (a.to.empty()) return 0;
  service::WriteReceiptParts(line.receipt, a.to);
  std::cerr << "wrote text (.txt), signature (.sig) and certificate (.pem) of model and data to " << a.to << "\n";
  return 0;
}

}  // namespace suf::apps
