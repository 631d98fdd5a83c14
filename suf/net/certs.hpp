// Certificates of the three roles, made by `suf certs`: P-256, with the role as a URI SAN suf:<role>. The CA's key
// lives in memory only and is forgotten when the function returns. So no further certificate can be issued later, and
// all data owners' are made in one call.
#pragma once
#include <string>
#include <vector>

namespace suf::net {

// The most data owners of one call, and the longest name of one, in bytes.
inline constexpr size_t kMostOwners = 256, kLongestOwner = 48;

// Returns the name of a data owner's folder: data-NAME, or data if the name is empty.
std::string OwnerFolder(const std::string& name);

// Writes dir/dealer, dir/model and dir/data, each with cert.pem, key.pem (0600) and ca.pem. If `owners` has names,
// writes dir/data-NAME for each of them in place of dir/data. A name has letters, digits, -, _ and dots. Throws
// Cause::kInput if a name is not one or appears twice, or if there are more than kMostOwners. Throws Cause::kInput if
// dir already holds certificates, Cause::kResource if it cannot be written.
void MakeCerts(const std::string& dir, const std::vector<std::string>& owners = {});

// Returns the folders with certificates in `dir`: dir itself, dealer, model, data and data-NAME, in this order. Throws
// Cause::kInput if there are none and `dir` cannot be read.
std::vector<std::string> CertFolders(const std::string& dir);

}  // namespace suf::net
