#include "apps/role.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <filesystem>

#include "apps/exit.hpp"
#include "apps/log.hpp"
#include "suf/backends/packed.hpp"
#include "suf/ring/cpu.hpp"
#include "suf/roles/dial.hpp"

namespace suf::apps {

namespace fs = std::filesystem;

void Harden() {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
  rlimit lock{};
  if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur == RLIM_INFINITY)
    (void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

void UseVariant(const char* command, const std::string& name) {
  if (!name.empty()) ring::Choose(ring::VariantNamed(name));
  log::Info(Str(command, ": the kernels are ", ring::Name(ring::Best())));
}

net::Credentials Own(const char* command, const std::string& certs, Role role, const std::vector<std::string>& pins) {
  fs::path sub = fs::path(certs) / Name(role);
  net::Credentials own = Hinted(Cause::kInput, "suf certs DIR makes all three",
                                [&] { return net::Credentials(fs::exists(sub / "cert.pem") ? sub.string() : certs); });
  if (own.identity().role != role)
    Fail(Cause::kRefused, certs, " holds the certificate of another role; ", command, " needs ", Title(role), "'s");
  for (auto& text : pins) {
    net::Identity pin = Hinted(Cause::kInput, "suf certs --show prints it", [&] { return net::FromFingerprint(text); });
    if (pin.role == role) Fail(Cause::kInput, "--pin ", text, " names our own role; pin the keys of the other two");
    own.Pin(pin);
  }
  log::Info(Str(command, ": our key is ", net::Fingerprint(own.identity())));
  return own;
}

net::Millis Timeout(double seconds) {
  if (!(seconds >= 0.1 && seconds <= 86400))
    Fail(Cause::kInput, "--timeout must be between 0.1 and 86400 seconds; got ", seconds);
  return net::Millis(int64_t(seconds * 1000));
}

proto::Keys KeysOf(const KeysArgs& a, const store::Store& store) {
  // before the role does, for the sentence
  if (a.ahead > 1) Hinted(Cause::kResource, "leave out --ahead", [&] { store.CheckAhead(); });
  return {uint32_t(a.ahead), a.witness == "always"};
}

proto::DialDealer CallDealer(const net::Credentials& own, const std::string& where, net::Millis timeout) {
  return roles::ToDealer(own, net::Address::Parse(where), timeout);
}

Host::Host(const std::string& plan)
    : backend_(backends::MakePacked(exec::Default())), engine_(roles::LoadPlan(plan), *backend_) {}

void KeepPages() {
  malloc_trim(0);
  mallopt(M_MMAP_MAX, 0);  // bodies of bundles are larger than any threshold that glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace suf::apps
