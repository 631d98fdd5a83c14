// A role's credentials: certificate, key and CA, loaded for TLS 1.3 with mutual verification and without resumption.
#pragma once
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "suf/net/channel.hpp"

namespace suf::net {

// What encrypts, as it was found at run time: "OpenSSL 3.0.19".
std::string TlsLibrary();

// ROLE=SHA256, the hash of the public key in hex, as people compare it.
// FromFingerprint: throws Cause::kInput.
std::string Fingerprint(const Identity& who);
Identity FromFingerprint(const std::string& text);

// A folder of MakeCerts, loaded, and the keys pinned for peers. Copies share the folder.
class Credentials {
 public:
  // Whether our own certificate has to be valid now.
  enum class Validity { kChecked, kIgnored };
  // Throws Cause::kInput if a file is missing, cannot be read or is no PEM, if key.pem is readable by others, or if the
  // three do not belong together; Cause::kRefused if the certificate or its CA's is not valid by this machine's clock.
  explicit Credentials(const std::string& dir, Validity validity = Validity::kChecked);
  // identity: our own role and key.
  const Identity& identity() const;
  // until: when our certificate expires.
  std::time_t until() const;
  // "FILE is the dealer's, valid from .. to .., and this machine's clock says ..".
  std::string Text() const;
  // From now on a peer of this role is taken with this key only, or with another one pinned for the role.
  void Pin(const Identity& peer) { pins_.push_back(peer); }
  bool Admits(const Identity& peer) const;
  struct Loaded;
  const Loaded& loaded() const { return *loaded_; }

 private:
  std::shared_ptr<const Loaded> loaded_;
  std::vector<Identity> pins_;
};

}  // namespace suf::net
