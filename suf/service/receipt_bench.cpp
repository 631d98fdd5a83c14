// The cost of a receipt: both parties' signatures and checks, and the line of its file. JSON lines, in microseconds of
// the clock and of the processor.
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>

#include "suf/base/bench.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/credentials.hpp"
#include "suf/service/receipts.hpp"

namespace {

using namespace suf;

// Times f() and prints a line.
template <class F>
void Print(const char* part, F f, int runs = 9) {
  int calls = 0;
  const std::clock_t begin = std::clock();
  const double seconds = bench::BestSeconds(
      [&] {
        f();
        ++calls;
      },
      runs);
  const double processor = double(std::clock() - begin) / CLOCKS_PER_SEC / calls;
  std::printf("{\"bench\":\"receipt\",\"part\":\"%s\",\"us\":%.1f,\"processor_us\":%.1f}\n", part, seconds * 1e6,
              processor * 1e6);
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::string folder = "/tmp/suf_receipt_XXXXXX";
  bench::Verify(mkdtemp(folder.data()), "the folder");
  net::MakeCerts(folder + "/c");
  const net::Credentials own[] = {net::Credentials(folder + "/c/model"), net::Credentials(folder + "/c/data")};
  const auto [p0, p1] = net::InProcessPair(own[0].identity(), own[1].identity());
  p0->SetSigner(own[0].signer(), own[1].signer()->certificates());
  p1->SetSigner(own[1].signer(), own[0].signer()->certificates());
  const net::RoleCertificate model(p1->peer_certificates(), "it"), data(p0->peer_certificates(), "it");
  store::BundleHeader header;
  header.job = store::JobOf(32);
  header.serial = 1;
  for (int p : {0, 1}) header.public_key[p] = own[p].identity().key;

  // the steps of a session, in their order
  const auto both = [&] {
    proto::ReceiptMaker at_p0(*p0, header, data), at_p1(*p1, header, model);
    at_p0.Close();
    const Bytes of_p0 = at_p0.Sign();
    at_p1.Close();
    at_p1.Take(of_p0);
    at_p0.Take(at_p1.Sign());
    return at_p1.receipt();
  };
  proto::Receipt receipt = both();
  const net::TrustedCa ca(folder + "/c/data/ca.pem");
  bench::Verify(!service::ReceiptChecker(ca).Check(service::Encode({receipt, 0})), "the receipt");

  proto::ReceiptMaker signs(*p0, header, data), takes(*p1, header, model);
  signs.Close();
  takes.Close();
  const Bytes part = signs.Sign();
  Print("sign", [&] { (void)signs.Sign(); });
  Print("check", [&] { takes.Take(part); });
  Print("two signatures and two checks", [&] { (void)both(); });
  Print("line", [&] { (void)service::Encode({receipt, 0}); });
  {
    service::ReceiptFile file(folder + "/receipts");
    Print(
        "queue a line", [&] { file.Add(receipt); }, 1);
    const double begin = bench::Now();
    file.Finish();
    std::printf("{\"bench\":\"receipt\",\"part\":\"write the queued lines\",\"ms\":%.1f,\"MB\":%.1f}\n",
                (bench::Now() - begin) * 1e3, double(std::filesystem::file_size(folder + "/receipts")) / 1e6);
  }
  std::vector<std::string> lines;  // each with a serial of its own
  for (receipt.facts.serial = 1; receipt.facts.serial <= 300; ++receipt.facts.serial) {
    for (const Role r : {Role::kModel, Role::kData}) {
      proto::SignedTime& half = receipt.part[PartyOf(r)];
      half.signature = own[PartyOf(r)].signer()->Sign(AsView(ReceiptText(receipt.facts, r, half.time)));
    }
    lines.push_back(service::Encode({receipt, 0}));
  }
  Print("check 300 lines of a file", [&] {
    service::ReceiptChecker checker(ca);
    for (const std::string& line : lines) bench::Verify(!checker.Check(line), "a line");
  });
  std::filesystem::remove_all(folder);
}
