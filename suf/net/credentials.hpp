// A role's credentials: certificate, key and CA, loaded for TLS 1.3 with mutual verification and without resumption.
#pragma once
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "suf/net/channel.hpp"

namespace suf::net {

// Returns the TLS library and its version as found at run time: "OpenSSL 3.0.19".
std::string TlsLibrary();

// Returns ROLE=SHA256, the hash of the public key in hex, which people compare.
std::string Fingerprint(const Identity& who);
// Parses a fingerprint. Throws Cause::kInput if the text is not one.
Identity FromFingerprint(const std::string& text);

// A role's folder of certificates, as made by MakeCerts, and the keys pinned for peers. Copies share the folder.
class Credentials {
 public:
  // Whether our own certificate must be valid now.
  enum class Validity { kChecked, kIgnored };
  // Throws Cause::kInput if a file is missing, unreadable or no PEM, or if others can read key.pem. Throws it also if
  // the three files do not belong together. Throws Cause::kRefused if this machine's clock is outside the dates of the
  // certificate or its CA.
  explicit Credentials(const std::string& dir, Validity validity = Validity::kChecked);
  // Returns our own role and key.
  const Identity& identity() const;
  // Returns when our certificate expires.
  std::time_t until() const;
  // Returns "FILE is the dealer's, valid from .. to .., and this machine's clock says ..".
  std::string Text() const;
  // Accepts a peer of this role only with this key, or with another key pinned for the role.
  void Pin(const Identity& peer) { pins_.push_back(peer); }
  bool Admits(const Identity& peer) const;
  // Returns the different keys that are pinned for a role, in the order of their pins.
  std::vector<Hash> PinnedOf(Role role) const;
  // Returns our key, for signatures that outlive a session.
  std::shared_ptr<const Signer> signer() const;
  struct Loaded;
  const Loaded& loaded() const { return *loaded_; }

 private:
  std::shared_ptr<const Loaded> loaded_;
  std::vector<Identity> pins_;
};

}  // namespace suf::net
