// Fuzzes a file of receipts: its lines, their form and their check. If the first byte is odd, each line of the right
// form gets the right keys, certificates, days and signatures. So the order of serials is reached.
#include "fuzz/fuzz.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/credentials.hpp"
#include "suf/service/receipts.hpp"

namespace {

using namespace suf;

struct FuzzCerts {
  FuzzCerts() { net::MakeCerts(folder / "c"); }
  net::Credentials Of(Role r) const { return net::Credentials(folder / (std::string("c/") + Name(r))); }
  fuzz::Folder folder;
};

// Signs a receipt as both parties, on a day on which their certificates are valid.
void SignBoth(const net::Credentials& model, const net::Credentials& data, proto::Receipt* r) {
  r->facts.key[0] = model.identity().key;
  r->facts.key[1] = data.identity().key;
  for (const net::Credentials* own : {&model, &data}) {
    const Role role = own->identity().role;
    proto::SignedTime& part = r->part[PartyOf(role)];
    constexpr uint64_t kDayMs = 24 * 3600 * 1000;
    for (uint64_t* ms : {&part.time.begin_ms, &part.time.end_ms})
      *ms = (uint64_t(own->until()) * 1000 - kDayMs) + *ms % kDayMs;
    part.signature = own->signer()->Sign(AsView(ReceiptText(r->facts, role, part.time)));
    r->certificates[PartyOf(role)] = own->signer()->certificates();
  }
}

}  // namespace

SUF_FUZZ(receipt) {
  static const FuzzCerts certs;
  static const net::Credentials model = certs.Of(Role::kModel), data = certs.Of(Role::kData);
  static const net::TrustedCa ca(certs.folder / "c/data/ca.pem");
  service::ReceiptChecker checker(ca);
  const bool mend = fuzz::Pull<uint8_t>(input) & 1;
  std::string text = fuzz::TextOf(input);
  uint64_t right = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string one = text.substr(at, end - at);
    at = end + 1;
    fuzz::Quietly([&] {
      service::ReceiptLine line = service::ParseReceiptLine(one);
      SUF_CHECK(Encode(service::ParseReceiptLine(Encode(line))) == Encode(line));
      if (!mend) return;
      SignBoth(model, data, &line.receipt);
      one = Encode(line);
    });
    if (!checker.Check(one)) ++right;
  }
  SUF_CHECK(checker.totals().right == right && checker.totals().jobs <= right && (mend || !right));
  if (!right) Fail(Cause::kRefused, "no line is right; sign one");
}
