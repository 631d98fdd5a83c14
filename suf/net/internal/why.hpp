// Why a connection failed, in our own words: no text of OpenSSL or Asio reaches a person. OpenSSL; for .cpp files of
// net only.
#pragma once
#include <openssl/x509.h>

#include <ctime>
#include <optional>
#include <string>
#include <system_error>

#include "suf/base/role.hpp"

namespace suf::net {

// When a certificate is valid.
struct Dates {
  std::time_t from = 0, until = 0;
};
Dates DatesOf(const X509* cert);
// Returns "2026-11-26 16:30 UTC".
std::string TimeText(std::time_t t);
// Returns "valid from .. to .., and this machine's clock says ..".
std::string Text(const Dates& dates);

// Why a certificate was not accepted.
struct CertFault {
  int error = X509_V_OK;  // of X509_V_ERR_..
  int depth = 0;          // 0: the certificate itself; more: a CA's
  Dates dates;            // of the one that is at fault
  bool OfDates() const;
};
// Returns a clause about "it", the certificate; with its dates and the clock if they are the reason.
std::string Why(const CertFault& fault);
// Returns what to do about it.
const char* Remedy(const CertFault& fault);

// Returns a clause about a failed call: of the system, of the resolver, of TLS, or an alert of the peer ("it").
std::string Why(const std::error_code& ec);
// Whether the peer's alert is about our certificate.
bool IsOfCertificate(int alert);

}  // namespace suf::net
