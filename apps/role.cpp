#include "apps/role.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

#include "apps/exit.hpp"
#include "apps/log.hpp"
#include "apps/times.hpp"
#include "suf/backends/cuda.hpp"
#include "suf/backends/kernel_folder.hpp"
#include "suf/ring/cpu.hpp"
#include "suf/roles/dial.hpp"
#include "suf/roles/files.hpp"

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

void UseKernels(const char* command, const std::string& name) {
  if (!name.empty()) ring::Choose(ring::VariantNamed(name));
  log::Info(Str(command, ": the kernels are ", ring::Name(ring::Best())));
}

void UsesFolder(const char* command, const char* what, const fs::path& folder) {
  log::Info(Str(command, ": ", what, ": ", fs::absolute(folder).lexically_normal().string()));
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
  UsesFolder(command, "certificates", fs::exists(sub / "cert.pem") ? sub : fs::path(certs));
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
  return {uint32_t(a.ahead), a.witness == "always", uint64_t(a.window) << 20};
}

proto::DialDealer CallDealer(const net::Credentials& own, const std::string& where, net::Millis timeout, int streams) {
  return roles::ToDealer(own, net::Address::Parse(where), timeout, streams);
}

backends::Entry BackendOf(const BackendArgs& a, bool models) {
  if (a.device && a.name != "cuda" && a.name != "auto")
    Fail(Cause::kInput, "--device numbers NVIDIA devices, and the backend ", a.name,
         " has none; leave it out, or take --backend cuda");
  const int device = a.device.value_or(0);
  if (a.name == "cuda")  // what else there is, as the command line has it
    if (const std::string why_not = backends::CudaWhyNot(device); !why_not.empty())
      Fail(Cause::kResource, why_not, ", or take --backend packed");
  return backends::Find(a.name, models, device);
}

std::unique_ptr<pfss::Backend> RoleBackend(const char* command, const BackendArgs& a) {
  const backends::Entry entry = BackendOf(a, true);
  auto backend = entry.make(exec::Default());
  backends::CudaTells([command = std::string(command)](const std::string& told) { log::Info(command + ": " + told); });
  std::string line = Str(command, ": the backend is ", backend->name());
  if (a.name == "auto" && entry.name != "cuda")
    line += Str(" (auto: ", backends::CudaWhyNot(a.device.value_or(0)), ")");
  log::Info(line);
  if (entry.name == "cuda") {
    const backends::KernelFolder kernels = backends::FindKernelFolder();
    if (kernels.why_not.empty())
      UsesFolder(command, "compiled kernels", kernels.path);
    else
      log::Warn(Str(command, ": compiled kernels are not kept for the next start: ", kernels.why_not));
  }
  return backend;
}

void KeepPages() {
  malloc_trim(0);
  mallopt(M_MMAP_MAX, 0);  // bodies of bundles are larger than any threshold that glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

Stopping::Stopping() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGINT), sigaddset(&set_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

void Stopping::Run(net::Listener& listener, const char* role, const std::function<void(net::Channel&)>& session) {
  KeepPages();
  std::atomic<bool> over{false};
  std::thread waiter([&] {
    timespec look{0, 200'000'000};
    while (!over.load())
      if (sigtimedwait(&set_, nullptr, &look) > 0) return listener.Stop();
  });
  log::Info(Str(role, ": listening on port ", listener.port(), ", pid ", getpid()));
  listener.Run(session, [&](const Error& e) { log::Warn(Str(role, ": a session ended: ", e.what())); });
  over = true;
  waiter.join();
}

void Warn(const char* command, const std::vector<std::string>& notices) {
  for (auto& n : notices) log::Warn(Str(command, ": ", n));
}

roles::Model ReadModel(const std::string& folder, const std::string& plan_file, const std::string& shifts,
                       const nn::Plan& plan) {
  if (shifts.empty() && plan_file == roles::kStandardInput && !nn::ShiftLeaves(plan.graph).empty())
    Fail(Cause::kInput, "the plan comes from standard input, so the file of its shifts has to be named (--shifts)");
  roles::Model model(folder);
  model.ReadShifts(shifts.empty() ? roles::ShiftsFile(plan_file) : std::filesystem::path(shifts), plan);
  return model;
}

void Answer(const char* command, const AnswerArgs& a, const net::Credentials& own, Stopping& stopping,
            const proto::Unit& unit, const MakeServer& make, const std::function<bool()>& ends) {
  store::Store store(a.store);
  UsesFolder(command, "store", a.store);
  Warn(command, store.notices());
  TimesFile times(a.times);
  std::unique_ptr<net::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<net::Recorder>(a.record);
  const auto timeout = Timeout(a.timeout);
  auto dial = CallDealer(own, a.dealer, timeout, a.streams);
  std::optional<Error> failed;
  std::optional<net::Listener> listener;
  roles::Server::Options options;
  options.keys = KeysOf(a.keys, store);
  options.audit_memory = uint64_t(a.audit_memory) << 20;
  options.ran = [&](uint32_t n, uint64_t serial, const run::Times& t) {
    times.Add(serial, t);
    // the same words whatever the result was
    log::Info(Str(command, ": serial ", serial, ", ", n, " ", unit.name));
  };
  options.audited = [&](uint32_t n, uint64_t serial) {
    log::Info(
        Str(command, ": serial ", serial, ", ", n, " ", unit.name, ", audited: both bundles are as they should be"));
  };
  options.over = [&](const Error* e) {
    if (a.once && e) failed = *e;
    if (a.once || (ends && ends())) listener->Stop();
  };
  auto server = make(store, dial, std::move(options));
  listener.emplace(own, net::Address::ParseListening(a.listen), std::vector{Role::kData}, timeout, a.streams);
  stopping.Run(*listener, command, [&](net::Channel& ch) {
    ch.set_recorder(recorder.get());
    server->Serve(ch);
  });
  if (failed) throw *failed;
}

}  // namespace suf::apps
