// A role's credentials: certificate, key and CA, loaded for TLS 1.3 with mutual verification and without resumption.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "suf/net/channel.hpp"

namespace suf::net {

// TlsLibrary: what encrypts, as it was found at run time: "OpenSSL 3.0.19".
std::string TlsLibrary();

// Fingerprint: ROLE=SHA256, the hash of the public key in hex, as people compare it.
// FromFingerprint: throws Cause::kInput.
std::string Fingerprint(const Identity& who);
Identity FromFingerprint(const std::string& text);

// Credentials: a folder of MakeCerts, loaded, and the keys pinned for peers. Copies share the folder.
class Credentials {
 public:
  // Throws Cause::kInput: a file is missing, no PEM, the key is of another certificate, or key.pem is readable by
  // others.
  explicit Credentials(const std::string& dir);
  // identity: our own role and key.
  const Identity& identity() const;
  // Pin: from now on a peer of this role is taken with this key only, or with another one pinned for the role.
  void Pin(const Identity& peer) { pins_.push_back(peer); }
  bool Admits(const Identity& peer) const;
  struct Loaded;
  const Loaded& loaded() const { return *loaded_; }

 private:
  std::shared_ptr<const Loaded> loaded_;
  std::vector<Identity> pins_;
};

}  // namespace suf::net
