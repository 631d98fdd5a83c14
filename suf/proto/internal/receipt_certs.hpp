// For tests of receipts: certificates, made once.
#pragma once
#include <string>

#include "suf/base/scratch_test.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/credentials.hpp"

namespace suf::proto {

// Certificates of two CAs.
struct ReceiptCerts {
  Scratch dir;
  ReceiptCerts() {
    net::MakeCerts(dir / "a");
    net::MakeCerts(dir / "b");
  }
  static net::Credentials Of(Role r, const char* ca = "a") {
    static const ReceiptCerts all;
    return net::Credentials(all.dir / (std::string(ca) + "/" + Name(r)));
  }
};

}  // namespace suf::proto
