// A role's credentials: certificate, key and CA, loaded for TLS 1.3 with mutual verification and without resumption.
#pragma once
#include <memory>
#include <string>

#include "suf/proto/channel.hpp"

namespace suf::proto {

// Credentials: a folder of MakeCerts, loaded. Copies share it.
class Credentials {
 public:
  // Throws Exit::kInput: a file is missing, no PEM, the key is of another certificate, or key.pem is readable by
  // others.
  explicit Credentials(const std::string& dir);
  // identity: our own role and key.
  const Identity& identity() const;
  struct Loaded;
  const Loaded& loaded() const { return *loaded_; }

 private:
  std::shared_ptr<const Loaded> loaded_;
};

}  // namespace suf::proto
