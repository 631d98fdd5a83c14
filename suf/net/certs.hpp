// Certificates of the three roles, made by `suf certs`: P-256, with the role as a URI SAN suf:<role>. The CA's key
// lives in memory only and is forgotten when the function returns. So no further certificate can be issued later. One
// call makes those of all dealers and data owners.
#pragma once
#include <string>
#include <vector>

#include "suf/base/role.hpp"

namespace suf::net {

// The most names of one role in a call, and the longest name, in bytes.
inline constexpr size_t kMostNames = 256, kLongestName = 48;

// The names of several dealers and data owners. A name has letters, digits, -, _ and dots.
struct CertNames {
  std::vector<std::string> dealers = {}, owners = {};
};

// Returns what sentences call the holder of a certificate: "dealer", "model owner" or "data owner".
std::string HolderOf(Role role);

// Returns the name of a certificate's folder: ROLE-NAME, or ROLE if the name is empty.
std::string CertFolder(Role role, const std::string& name = {});

// Writes dir/dealer, dir/model and dir/data, each with cert.pem, key.pem (0600) and ca.pem. If a role has names, writes
// dir/ROLE-NAME for each of them in place of dir/ROLE. Throws Cause::kInput if a name is not one, if it appears twice
// in its role, or for more than kMostNames. Throws Cause::kInput if dir already holds certificates,
// Cause::kResource if it cannot be written.
void MakeCerts(const std::string& dir, const CertNames& names = {});

// Returns the folders with certificates in `dir`: dir itself, then dealer, dealer-NAME, model, data and data-NAME, in
// this order. Throws Cause::kInput if there are none and `dir` cannot be read.
std::vector<std::string> CertFolders(const std::string& dir);

}  // namespace suf::net
