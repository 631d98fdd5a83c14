// Why a connection failed, in our own words: no text of OpenSSL or Asio reaches a person. Includes OpenSSL; for .cpp
// files of net only.
#pragma once
#include <openssl/x509.h>

#include <ctime>
#include <optional>
#include <string>
#include <system_error>

#include "suf/base/role.hpp"

namespace suf::net {

// The time in which a certificate is valid.
struct Dates {
  std::time_t from = 0, until = 0;
};
Dates DatesOf(const X509* cert);
// Returns "2026-11-26 16:30 UTC".
std::string TimeText(std::time_t t);
// Returns "valid from .. to .., and this machine's clock says ..".
std::string Text(const Dates& dates);

// The reason why a certificate was not accepted.
struct CertFault {
  int error = X509_V_OK;  // one of X509_V_ERR_..
  int depth = 0;          // 0 for the certificate itself, more for a CA's
  Dates dates;            // of the certificate at fault
  bool OfDates() const;
};
// Returns a clause about "it", the certificate. If the dates are the reason, it names them and the clock.
std::string Why(const CertFault& fault);
// Returns the remedy.
const char* Remedy(const CertFault& fault);

// Returns a clause about a failed call of the system, the resolver or TLS, or about the peer's alert ("it").
std::string Why(const std::error_code& ec);
// Whether the peer's alert is about our certificate.
bool IsOfCertificate(int alert);

}  // namespace suf::net
