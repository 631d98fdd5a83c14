#include "suf/store/secrets.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suf/base/private_files.hpp"
#include "suf/net/credentials.hpp"

namespace suf::store {

namespace {

constexpr const char *kWeightsKey = "weights.key", *kBSeed = "b.seed", *kOwner = "owner";

// Reads a file of the folder, which may be a link, as in Kubernetes.
Bytes ReadSecretFile(const std::string& dir, const char* name, size_t bytes) {
  const std::string path = dir + "/" + name;
  CheckPrivateFile(path);
  struct stat s {};
  if (stat(path.c_str(), &s)) {
    if (errno != ENOENT && errno != ENOTDIR) Fail(Cause::kInput, "cannot read ", path, " (", SystemError(), ")");
    Fail(Cause::kInput, "there is no ", path,
         "; make the secrets of this model owner once, and give the same folder to all its processes");
  }
  if (OthersCanRead(path)) Fail(Cause::kInput, "the secret ", path, " can be read by others; chmod 600 it");
  Bytes all = ReadSome(OpenFile(path, O_RDONLY, Links::kFollow).get(), bytes + 1, path);
  if (all.size() != bytes)
    Fail(Cause::kInput, path, " has ", all.size() > bytes ? "more than " : "", std::min(all.size(), bytes),
         " bytes instead of ", bytes, "; restore the folder from a copy");
  return all;
}

SharedSecret ReadSecretOf(const std::string& dir, const char* name) {
  Bytes bytes = ReadSecretFile(dir, name, sizeof(Hash));
  Secret secret{View(bytes)};
  Wipe(bytes.data(), bytes.size());
  return Share(std::move(secret));
}

}  // namespace

void MakeSecrets(const std::string& dir, const net::Identity& owner) {
  MakePrivateFolder(dir);
  for (const char* name : {kWeightsKey, kBSeed, kOwner})
    if (!access(Str(dir, "/", name).c_str(), F_OK))
      Fail(Cause::kInput, dir, "/", name,
           " exists, and other secrets would end the set-up of every data owner; name "
           "another folder, or use what is there");
  for (const char* name : {kWeightsKey, kBSeed}) WriteFile(dir, name, Secret::Random().view());
  WriteFile(dir, kOwner, AsView(net::Fingerprint(owner)));
}

OwnerSecrets ReadSecrets(const std::string& dir, const net::Identity& owner) {
  const std::string expected = net::Fingerprint(owner);
  const Bytes of = ReadSecretFile(dir, kOwner, expected.size());
  if (!Equal(of, AsView(expected)))
    Fail(Cause::kRefused, "the secrets in ", dir, " are those of another model owner than ", expected,
         "; use the folder that was made for this certificate");
  return {ReadSecretOf(dir, kWeightsKey), ReadSecretOf(dir, kBSeed)};
}

}  // namespace suf::store
