// Certificates of the three roles: made by `suf certs`, P-256, the role as a URI SAN suf:<role>. The CA's key lives in
// memory only and is forgotten when the function returns: nobody can add a fourth certificate later.
#pragma once
#include <string>

namespace suf::net {

// Dir/dealer, dir/model, dir/data, each with cert.pem, key.pem (0600) and ca.pem. Throws Cause::kInput when
// dir already holds certificates, Cause::kResource when it cannot be written.
void MakeCerts(const std::string& dir);

}  // namespace suf::net
