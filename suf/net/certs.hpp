// Certificates of the three roles, made by `suf certs`: P-256, with the role as a URI SAN suf:<role>. The CA's key
// lives in memory only and is forgotten when the function returns. So no fourth certificate can be issued later.
#pragma once
#include <string>

namespace suf::net {

// Writes dir/dealer, dir/model and dir/data, each with cert.pem, key.pem (0600) and ca.pem. Throws Cause::kInput if dir
// already holds certificates. Throws Cause::kResource if it cannot be written.
void MakeCerts(const std::string& dir);

}  // namespace suf::net
