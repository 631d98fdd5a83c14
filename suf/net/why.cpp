#include "suf/net/why.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <cstring>

#include "suf/base/error.hpp"
#include "suf/net/internal/asio.hpp"
#include "suf/net/tls_link.hpp"

namespace suf::net {

namespace {

std::time_t TimeOf(const ASN1_TIME* t) {
  std::tm parts{};
  return ASN1_TIME_to_tm(t, &parts) ? timegm(&parts) : 0;
}

struct Clause {
  int code;
  const char* text;
};

template <size_t N>
const char* Find(const Clause (&table)[N], int code) {
  for (const Clause& c : table)
    if (c.code == code) return c.text;
  return nullptr;
}

// Faults of a certificate ("it"). Those of its dates have their own clause.
constexpr Clause kVerify[] = {
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "it is self-signed, not issued by our CA"},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "it is of another CA than ours"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, "it is of another CA than ours"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, "it is of another CA than ours"},
    {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, "it is of another CA than ours"},
    {X509_V_ERR_CERT_UNTRUSTED, "it is of another CA than ours"},
    {X509_V_ERR_INVALID_CA, "it was issued by a certificate that is no CA's"},
    {X509_V_ERR_CERT_SIGNATURE_FAILURE, "its signature is not its CA's"},
    {X509_V_ERR_INVALID_PURPOSE, "its extended key usage does not allow this end of a connection"},
    {X509_V_ERR_CERT_REJECTED, "its extended key usage does not allow this end of a connection"},
    {X509_V_ERR_PATH_LENGTH_EXCEEDED, "its chain of CAs is longer than they allow"},
    {X509_V_ERR_CERT_CHAIN_TOO_LONG, "its chain of CAs is too long"},
    {X509_V_ERR_CERT_REVOKED, "it was revoked"},
    {X509_V_ERR_EE_KEY_TOO_SMALL, "its key is too short"},
    {X509_V_ERR_CA_KEY_TOO_SMALL, "its CA's key is too short"},
    {X509_V_ERR_CA_MD_TOO_WEAK, "it is signed by a hash that is too weak"},
    {X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION, "it has a critical extension that suf does not know"},
};

// Alerts of the peer ("it").
constexpr Clause kAlerts[] = {
    {SSL_AD_HANDSHAKE_FAILURE, "it finds no cipher suite, curve or signature in common"},
    {SSL_AD_BAD_CERTIFICATE, "by its clock the certificate is not yet valid, or it is damaged"},
    {SSL_AD_UNSUPPORTED_CERTIFICATE, "it does not accept a certificate of this kind"},
    {SSL_AD_CERTIFICATE_REVOKED, "it considers the certificate revoked"},
    {SSL_AD_CERTIFICATE_EXPIRED, "by its clock the certificate expired"},
    {SSL_AD_CERTIFICATE_UNKNOWN, "it does not accept the certificate"},
    {SSL_AD_UNKNOWN_CA, "it knows another CA"},
    {SSL_AD_ACCESS_DENIED, "it gives the certificate no access"},
    {TLS13_AD_CERTIFICATE_REQUIRED, "it received no certificate"},
    {SSL_AD_PROTOCOL_VERSION, "it speaks no TLS 1.3"},
    {SSL_AD_INSUFFICIENT_SECURITY, "it requires longer keys"},
    {SSL_AD_BAD_RECORD_MAC, "bytes to it were altered"},
    {SSL_AD_DECODE_ERROR, "it could not read a message"},
    {SSL_AD_DECRYPT_ERROR, "a signature is wrong"},
    {SSL_AD_UNEXPECTED_MESSAGE, "it received an unexpected message"},
    {SSL_AD_INTERNAL_ERROR, "it had an internal error"},
};

// Errors of our own end of TLS; "it" is the peer.
constexpr Clause kReasons[] = {
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "it showed no certificate"},
    {SSL_R_WRONG_VERSION_NUMBER, "it speaks no TLS"},
    {SSL_R_HTTP_REQUEST, "it speaks HTTP"},
    {SSL_R_HTTPS_PROXY_REQUEST, "it takes us for a proxy"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "it speaks no TLS 1.3"},
    {SSL_R_NO_PROTOCOLS_AVAILABLE, "it speaks no TLS 1.3"},
    {SSL_R_VERSION_TOO_LOW, "it speaks no TLS 1.3"},
    {SSL_R_UNKNOWN_PROTOCOL, "it speaks no TLS 1.3"},
    {SSL_R_NO_SHARED_CIPHER, "it has no cipher suite in common with us"},
    {SSL_R_NO_SUITABLE_KEY_SHARE, "it has no curve in common with us"},
    {SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, "it has no signature in common with us"},
    {SSL_R_WRONG_SIGNATURE_TYPE, "its certificate is not of the curve P-256"},
    {SSL_R_WRONG_CURVE, "its certificate is not of the curve P-256"},
    {SSL_R_BAD_SIGNATURE, "its signature is wrong"},
    {SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, "a record was altered"},
    {SSL_R_BAD_RECORD_TYPE, "a record was altered"},
    {SSL_R_PACKET_LENGTH_TOO_LONG, "a record was altered"},
    {SSL_R_ENCRYPTED_LENGTH_TOO_LONG, "a record was altered"},
    {SSL_R_DATA_LENGTH_TOO_LONG, "a record was altered"},
    {SSL_R_LENGTH_MISMATCH, "a message was altered"},
    {SSL_R_UNEXPECTED_MESSAGE, "an unexpected message arrived"},
    {SSL_R_EXCESSIVE_MESSAGE_SIZE, "a message is too long"},
};

}  // namespace

Dates DatesOf(const X509* cert) { return {TimeOf(X509_get0_notBefore(cert)), TimeOf(X509_get0_notAfter(cert))}; }

std::string TimeText(std::time_t t) {
  std::tm parts{};
  char text[64] = "";
  if (!gmtime_r(&t, &parts) || !std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts))
    return "an unknown time";
  return text;
}

std::string Text(const Dates& d) {
  return Str("valid from ", TimeText(d.from), " to ", TimeText(d.until), ", and this machine's clock says ",
             TimeText(std::time(nullptr)));
}

bool CertFault::OfDates() const {
  return error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID;
}

std::string Why(const CertFault& f) {
  if (f.OfDates())
    return Str(f.depth ? "the certificate of its CA " : "it ",
               f.error == X509_V_ERR_CERT_HAS_EXPIRED ? "expired: " : "is not yet valid: ", Text(f.dates));
  if (const char* text = Find(kVerify, f.error)) return text;
  return Str("error ", f.error, " of its verification");
}

const char* Remedy(const CertFault& f) {
  return f.OfDates() ? "set the clock right, or make new certificates for the three roles"
                     : "use certificates that were made together";
}

std::string Why(const std::error_code& ec) {
  if (ec == asio::error::eof) return "it hung up";
  if (ec.category() == asio::error::get_ssl_category()) {
    if (const int alert = AlertOf(ec); alert >= 0) {
      const char* text = Find(kAlerts, alert);
      return text ? text : Str("TLS alert ", alert, " from it");
    }
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(ec.value()));
    const char* text = Find(kReasons, reason);
    return text ? text : Str("TLS error ", reason);
  }
  if (ec == asio::error::host_not_found || ec == asio::error::no_data) return "no such host";
  if (ec == asio::error::host_not_found_try_again) return "the name server does not answer";
  if (ec == asio::error::no_recovery) return "the name server failed";
  if (ec.category() == asio::error::get_system_category() || ec.category() == std::system_category() ||
      ec.category() == std::generic_category())
    return std::strerror(ec.value());
  return Str("error ", ec.value(), " of the network");
}

bool IsOfCertificate(int alert) {
  return (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) || alert == SSL_AD_UNKNOWN_CA ||
         alert == SSL_AD_ACCESS_DENIED || alert == TLS13_AD_CERTIFICATE_REQUIRED;
}

}  // namespace suf::net
