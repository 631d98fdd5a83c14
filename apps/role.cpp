#include "apps/role.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "apps/exit.hpp"
#include "apps/log.hpp"
#include "apps/records.hpp"
#include "apps/show.hpp"
#include "apps/signals.hpp"
#include "apps/times.hpp"
#include "suf/base/cores.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/gpu/kernel_folder.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/descriptors.hpp"
#include "suf/ring/cpu.hpp"
#include "suf/roles/dial.hpp"
#include "suf/roles/files.hpp"

namespace suf::apps {

namespace fs = std::filesystem;

void UseKernels(const char* command, const std::string& name) {
  if (!name.empty()) ring::Choose(ring::VariantNamed(name));
  log::Info(Str(command, ": the kernels are ", ring::Name(ring::Best())));
}

void UsesFolder(const char* command, const char* what, const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::absolute(folder, error);
  log::Info(Str(command, ": ", what, ": ", (error ? folder : whole).lexically_normal().string()));
}

namespace {

constexpr std::time_t kSoon = 30 * 24 * 3600;  // seconds

// Returns the folders with certificates in `dir`; none if it cannot be read.
std::vector<std::string> ReadableFolders(const std::string& dir) {
  try {
    return net::CertFolders(dir);
  } catch (const Error&) {
    return {};
  }
}

// Whether a folder, if there is one, holds nothing of a certificate. False if that cannot be seen.
bool HoldsNoCertificate(const std::string& folder) {
  for (const char* file : {"ca.pem", "cert.pem", "key.pem"}) {
    std::error_code error;
    if (fs::exists(fs::path(folder) / file, error) || error) return false;
  }
  std::error_code ignored;
  return !fs::exists(folder, ignored) || fs::is_directory(folder, ignored);
}

// Returns `certs` itself, or its sub-folder of the role if that has a certificate, or may have an unreadable one. Of
// dealers or data owners with names, there may be one. Throws Cause::kInput with the names of folders if none of these
// fits.
std::string FolderOf(const std::string& certs, Role role) {
  const fs::path sub = fs::path(certs) / Name(role);
  std::error_code there, here;
  if (fs::exists(sub / "cert.pem", there)) return sub.string();
  (void)fs::exists(fs::path(certs) / "cert.pem", here);
  if (there == std::errc::permission_denied && !here) return sub.string();
  if (!HoldsNoCertificate(certs)) return certs;
  constexpr size_t kShown = 8;
  for (const std::string& place : {certs, (fs::path(certs) / "..").lexically_normal().string()}) {
    const std::vector<std::string> all = ReadableFolders(place);
    std::vector<std::string> fitting;
    for (const std::string& f : all)
      if (fs::path(f).filename().string().starts_with(Name(role))) fitting.push_back(f);
    if (fitting.size() == 1 && place == certs) return fitting[0];
    std::vector<std::string> shown = fitting.empty() ? all : fitting;
    if (shown.empty()) continue;
    const size_t more = shown.size() - std::min(shown.size(), kShown);
    shown.resize(shown.size() - more);
    if (more) shown.push_back(Str(more, " more"));
    if (fitting.empty())
      Fail(Cause::kInput, certs, " holds no certificate of ", Title(role), ", and there are only ", Listed(shown),
           "; bring the folder of this role");
    Fail(Cause::kInput, certs, " holds ",
         place == certs ? Str("certificates of several ", net::HolderOf(role), "s")
                        : Str("no certificate of ", Title(role)),
         "; name the right one of these folders: ", Listed(shown));
  }
  return certs;
}

}  // namespace

void Harden() {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
  rlimit lock{};
  if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur == RLIM_INFINITY)
    (void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

namespace {

// Returns the credentials of a role in this folder, which FolderOf returned.
net::Credentials CredentialsIn(const char* command, const std::string& certs, const std::string& folder, Role role) {
  net::Credentials own =
      Hinted(Cause::kInput, "suf certs DIR makes all three", [&] { return net::Credentials(folder); });
  if (const Role other = own.identity().role; other != role)
    Fail(Cause::kRefused, certs, " holds the certificate of another role, ", Title(other), "'s; ", command, " needs ",
         Title(role), "'s");
  return own;
}

// Loads the credentials in `certs` itself or in its sub-folder of the role, with the pins of the command line.
net::Credentials Own(const char* command, const std::string& certs, Role role, const std::vector<std::string>& pins) {
  const std::string folder = FolderOf(certs, role);
  net::Credentials own = CredentialsIn(command, certs, folder, role);
  if (const std::time_t left = own.until() - std::time(nullptr); left < kSoon)
    log::Warn(Str(command, ": our certificate expires in ", Plural(left / (24 * 3600), "day"), ": ", own.Text()));
  for (auto& text : pins) {
    net::Identity pin = Hinted(Cause::kInput, "suf certs --show prints it", [&] { return net::FromFingerprint(text); });
    if (pin.role == role)
      Fail(Cause::kInput, "--pin ", text, " names our own role; pin the keys of the other two roles");
    own.Pin(pin);
  }
  log::Info(Str(command, ": our key is ", net::Fingerprint(own.identity())));
  UsesFolder(command, "certificates", folder);
  return own;
}

}  // namespace

net::Credentials CredentialsOf(const char* command, const std::string& certs, Role role) {
  return CredentialsIn(command, certs, FolderOf(certs, role), role);
}

net::Millis Timeout(double seconds) {
  if (!(seconds >= 0.1 && seconds <= 86400))
    Fail(Cause::kInput, "--timeout must be between 0.1 and 86400 seconds; got ", seconds);
  return net::Millis(int64_t(seconds * 1000));
}

proto::KeyPolicy KeysOf(const KeysArgs& a, const store::Home& home) {
  // checked before the role does, to add the hint
  if (a.ahead > 1) Hinted(Cause::kResource, "leave out --ahead", [&] { home.CheckCanKeepBundles(); });
  return {uint32_t(a.ahead), a.witness == "always", uint64_t(a.window) << 20};
}

proto::Dealers DealersOf(const net::Credentials& own, const std::string& where, net::Millis timeout, int streams) {
  return Hinted(Cause::kInput, "--pin dealer=SHA256 pins one",
                [&] { return roles::DealersAt(own, net::Address::ParseList(where), timeout, streams); });
}

backends::BackendEntry BackendOf(const BackendArgs& a, bool models) {
  if (a.device && a.name != "cuda" && a.name != "auto")
    Fail(Cause::kInput, "--device numbers NVIDIA devices, and the backend ", a.name,
         " has none; leave it out, or use --backend cuda");
  const int device = a.device.value_or(0);
  if (a.name == "cuda")  // to add the option that helps
    if (const std::string why_not = gpu::CudaWhyNot(device); !why_not.empty())
      Fail(Cause::kResource, why_not, ", or use --backend packed");
  return backends::Find(a.name, models, device);
}

namespace {

// Makes the backend of a role and logs it; with `auto` also why it is not cuda.
std::unique_ptr<pfss::Backend> RoleBackend(const char* command, const BackendArgs& a) {
  const backends::BackendEntry entry = BackendOf(a, true);
  auto backend = entry.make(exec::DefaultPools());
  gpu::SetLogSink([command = std::string(command)](const std::string& told) { log::Info(command + ": " + told); });
  std::string line = Str(command, ": the backend is ", backend->name());
  if (a.name == "auto" && entry.name != "cuda" && (a.device || gpu::CudaPresent()))
    line += Str(" (auto: ", gpu::CudaWhyNot(a.device.value_or(0)), ")");
  log::Info(line);
  if (entry.name == "cuda") {
    const gpu::KernelFolder kernels = gpu::FindKernelFolder();
    if (kernels.why_not.empty())
      UsesFolder(command, "compiled kernels", kernels.path);
    else
      log::Warn(Str(command, ": compiled kernels are not kept for the next start: ", kernels.why_not));
  }
  return backend;
}

}  // namespace

net::Credentials StartWithoutBackend(const char* command, Role role, const std::string& certs,
                                     const std::vector<std::string>& pins) {
  Harden();
  return Own(command, certs, role, pins);
}

RoleProcess StartRole(const char* command, Role role, const RoleArgs& a) {
  UseKernels(command, a.kernels);  // before any code that runs a kernel
  net::Credentials own = StartWithoutBackend(command, role, a.certs, a.pins);
  return {std::move(own), RoleBackend(command, a.backend)};
}

uint64_t MemoryLimit(int64_t megabytes) {
  const uint64_t machine = MachineMemory();
  const uint64_t memory = megabytes ? uint64_t(megabytes) << 20 : machine - machine / 4;
  if (memory > machine)
    Fail(Cause::kInput, "--memory allows ", megabytes, " MB, and this machine has ", machine >> 20, "; allow less");
  return memory;
}

proto::Turns::Limits LimitsOf(const TurnArgs& a) {
  return {.at_once = a.at_once ? a.at_once : Cores(), .memory = MemoryLimit(a.memory)};
}

void AllowSessions(const char* command, int sessions, int streams) {
  if (const std::string lack = net::AllowDescriptors(sessions, streams); !lack.empty()) Warn(command, {lack});
}

PartyStore::PartyStore(const char* command, const std::string& folder) : Home(folder) {
  UsesFolder(command, "store", folder);
  Warn(command, TakeNotices());
}

std::unique_ptr<net::Recorder> RecorderOf(const PartyArgs& a) {
  return a.record.empty() ? nullptr : std::make_unique<net::Recorder>(a.record);
}

SessionRecords::SessionRecords(const PartyArgs& a) : file_(a.record), first_(RecorderOf(a)) {}

std::unique_ptr<net::Recorder> SessionRecords::Next() {
  const std::lock_guard l(m_);
  if (file_.empty()) return nullptr;
  if (++sessions_ == 1) return std::move(first_);
  return std::make_unique<net::Recorder>(Str(file_, ".", sessions_));
}

void KeepPages() {
  malloc_trim(0);
  // A thread's heap keeps the pages of its largest run. With a heap for each session, idle ones would hold 13 MB each.
  mallopt(M_ARENA_MAX, std::max(1, Cores() / 4));
  mallopt(M_MMAP_MAX, 0);  // bodies of bundles exceed every threshold that glibc accepts
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

std::string JobText(const store::Job& job, const proto::JobUnit& unit) {
  if (store::IsFetch(job)) return Str("fetch of ", job.tokens, " documents from index ", store::IndexOf(job));
  if (store::IsSearch(job)) return Str(job.tokens, " ", unit.name, ", search in index ", store::IndexOf(job));
  return Str(job.texts > 1 ? Str(job.texts, " ", unit.job, "s of ") : "", job.tokens, " ", unit.name);
}

std::string Listed(const std::vector<std::string>& all) {
  std::string out;
  for (size_t i = 0; i < all.size(); ++i) out += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
  return out;
}

void RunUntilSignal(net::Listener& listener, const char* role, const std::function<void(net::Channel&)>& session,
                    const std::function<void()>& stopping, const RunningPeers& running,
                    const std::function<void()>& hangup) {
  KeepPages();
  std::atomic<int> dropped{0};  // the signal that dropped sessions
  {
    const auto take = [&](int signal, int turn) {
      const std::vector<std::string> peers = listener.Running();
      if (turn == 1) {
        log::Info(Str(role, ": ending", peers.empty() ? "" : Str(" when ", running(peers)),
                      peers.empty()
                          ? "; nothing runs"
                          : "; a second Ctrl-C or SIGTERM ends at once, and running work is lost with its keys"));
        stopping();
        return listener.Stop();
      }
      if (turn > 2) EndBy(signal);
      log::Warn(Str(role, ": ending at once; ",
                    peers.empty() ? "nothing runs" : "running work is dropped and its serial burnt"));
      dropped = signal;
      listener.Abort();
      std::thread([signal] {
        std::this_thread::sleep_for(kAtOnce);
        EndBy(signal);
      }).detach();
    };
    const SignalTaker taker(take, hangup);
    log::Info(Str(role, ": listening on port ", listener.port(), ", pid ", getpid()));
    listener.Run(session, [&](const Error& e) { log::Warn(Str(role, ": a session ended: ", e.what())); });
  }
  if (dropped) throw Interrupt(dropped, Str(role, " ended at once by a second signal; running work was dropped"));
}

void Warn(const char* command, const std::vector<std::string>& notices) {
  for (auto& n : notices) log::Warn(Str(command, ": ", n));
}

roles::Model ReadModel(const std::string& folder, const std::string& plan_file, const std::string& shifts,
                       const nn::Plan& plan) {
  if (shifts.empty() && plan_file == roles::kStandardInput && !nn::ShiftLeaves(plan.graph).empty())
    Fail(Cause::kInput,
         "the plan comes from standard input, so no file of shifts lies beside it; name one with --shifts");
  roles::Model model(folder);
  model.ReadShifts(shifts.empty() ? roles::ShiftsFile(plan_file) : std::filesystem::path(shifts), plan);
  return model;
}

namespace {

// The states of P0's sessions, in words for the log. Thread-safe.
class SessionStates {
 public:
  explicit SessionStates(const proto::JobUnit& unit) : unit_(unit) {}
  void Runs(uint64_t session, const store::Job& job) {
    const std::lock_guard l(m_);
    all_[session].running = job;
  }
  void Ran(uint64_t session) {
    const std::lock_guard l(m_);
    SessionState& s = all_[session];
    s.done += std::exchange(s.running, std::nullopt)->texts;
  }
  void Over(uint64_t session) {
    const std::lock_guard l(m_);
    all_.erase(session);
  }
  std::string Text() {
    const std::lock_guard l(m_);
    std::vector<std::string> lengths;
    uint64_t done = 0, texts = 0;
    for (const auto& [session, s] : all_) {
      if (s.running) lengths.push_back(Str(s.running->tokens));
      if (s.running) texts += s.running->texts;
      done += s.done;
    }
    return Str(Plural(texts, unit_.job), lengths.empty() ? "" : Str(" of ", Listed(lengths), " ", unit_.name),
               " in flight, ", done, " done");
  }

 private:
  struct SessionState {
    std::optional<store::Job> running;
    uint64_t done = 0;  // texts
  };
  const proto::JobUnit unit_;
  std::mutex m_;
  std::map<uint64_t, SessionState> all_;  // by session
};

// Records the frames of a session while it lives.
class ScopedRecord {
 public:
  ScopedRecord(net::Channel& ch, SessionRecords& records) : ch_(ch), recorder_(records.Next()) {
    ch_.set_recorder(recorder_.get());
  }
  ~ScopedRecord() { ch_.set_recorder(nullptr); }
  ScopedRecord(const ScopedRecord&) = delete;
  ScopedRecord& operator=(const ScopedRecord&) = delete;

 private:
  net::Channel& ch_;
  const std::unique_ptr<net::Recorder> recorder_;
};

// Counts a connection while it lives. Calls `none_left` at its end if no other one is open.
class Connection {
 public:
  Connection(std::atomic<int>& open, std::function<void()> none_left) : open_(open), none_left_(std::move(none_left)) {
    ++open_;
  }
  ~Connection() {
    if (--open_ == 0) none_left_();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

 private:
  std::atomic<int>& open_;
  const std::function<void()> none_left_;
};

}  // namespace

void Answer(const char* command, const AnswerArgs& a, const net::Credentials& own, const proto::JobUnit& unit,
            const MakeServer& make, const std::function<bool()>& ends, const AnswerHooks& hooks) {
  PartyStore store(command, a.store);
  TimesFile times(a.times);
  SessionRecords records(a);
  const auto timeout = Timeout(a.timeout);
  auto dealers = DealersOf(own, a.dealer, timeout, a.streams);
  std::mutex m;                     // guards `failed`
  std::optional<Error> failed;      // the first error of a session, with --once
  std::atomic<bool> served{false};  // a session has ended
  std::atomic<int> open{0};         // connections
  std::optional<net::Listener> listener;
  roles::Server::Options options;
  options.keys = KeysOf(a.keys, store);
  options.audit_memory = uint64_t(a.audit_memory) << 20;
  options.turns = LimitsOf(a.turns);
  options.idle = net::Millis(int64_t(a.idle * 1000));
  const int sessions = net::SessionsFor(options.turns.at_once);
  SessionStates now(unit);
  Bar sending(command);
  options.setup = [&](const roles::PeerName&, uint64_t sent, uint64_t all) {
    if (!all) return;
    sending.At(double(sent) / double(all),
               Str("sending the masked weights, ", Bytes10(int64_t(all)), ", once for a data owner's store"));
    if (sent == all) sending.Clear();
  };
  options.runs = [&](const roles::PeerName& peer, const store::Job& job, uint64_t) { now.Runs(peer.session, job); };
  options.ran = [&](const roles::PeerName& peer, const store::Job& job, uint64_t serial, const run::Times& t) {
    now.Ran(peer.session);
    times.Add(serial, t);
    // the same words for every result
    log::Info(Str(command, ": serial ", serial, ", ", JobText(job, unit)));
  };
  options.audited = [&](const store::Job& job, uint64_t serial) {
    log::Info(
        Str(command, ": serial ", serial, ", ", JobText(job, unit), ", audited: both bundles are as they should be"));
  };
  options.over = [&](const roles::PeerName& peer, const Error* e) {
    now.Over(peer.session);
    sending.Clear();
    if (const std::lock_guard l(m); a.once && e && !failed) failed = *e;
    served = true;
    if (ends && ends()) listener->Stop();
  };
  auto server = make(store, std::move(dealers), std::move(options));
  AllowSessions(command, sessions, a.streams);
  listener.emplace(own, net::Address::ParseListening(a.listen), std::vector{Role::kData}, timeout, a.streams, sessions);
  RunUntilSignal(
      *listener, command,
      [&](net::Channel& ch) {
        const ScopedRecord record(ch, records);
        const Connection counted(open, [&] {
          if (a.once && served) listener->Stop();
        });
        SessionCount(hooks.metrics, ch).Run([&] { server->Serve(ch); });
      },
      [&] { server->Stop(); },
      [&](const std::vector<std::string>& peers) {
        return Str(peers.size() == 1 ? "the session with " : "the sessions with ", Listed(peers),
                   peers.size() == 1 ? " ends: " : " end: ", now.Text());
      },
      hooks.hangup ? [&] { hooks.hangup(*server); } : std::function<void()>());
  if (failed) throw *failed;
}

}  // namespace suf::apps
