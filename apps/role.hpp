// Steps at the start of every role's process, and the session loop of those that listen.
#pragma once
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "apps/commands.hpp"
#include "suf/backends/all.hpp"
#include "suf/net/tls.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/model.hpp"
#include "suf/roles/server.hpp"
#include "suf/service/metrics.hpp"

namespace suf::apps {

// Sets and logs the kernels of this process: those of --kernels, or the fastest if the name is empty. Call it before
// any code that runs a kernel. Throws Cause::kInput for an unknown name, Cause::kResource if the processor lacks it.
void UseKernels(const char* command, const std::string& name);

// Logs the absolute path of a folder that the role uses.
void UsesFolder(const char* command, const char* what, const std::filesystem::path& folder);

// Converts --timeout, in seconds. Throws Cause::kInput if it is below 0.1 or above a day.
net::Millis Timeout(double seconds);

// Converts --ahead, --witness and --key-window. Throws Cause::kResource if the store's disk cannot keep keys.
proto::KeyPolicy KeysOf(const KeysArgs& a, const store::Home& home);

// Returns the dealers of --dealer and --pin, which are reached over this number of streams. Throws Cause::kInput if
// both do not fit each other.
proto::Dealers DealersOf(const net::Credentials& own, const std::string& where, net::Millis timeout, int streams);

// Finds the backend of --backend and --device, without making it. Throws Cause::kInput for an unknown name, or for a
// device of a backend without devices. If `models`, a backend that runs no models throws the same. Throws
// Cause::kResource if the backend does not run here.
backends::BackendEntry BackendOf(const BackendArgs& a, bool models);

// Loads the credentials in `certs` itself or in its sub-folder of the role. Throws Cause::kRefused if they are another
// role's, and the errors of net::Credentials.
net::Credentials CredentialsOf(const char* command, const std::string& certs, Role role);

// Forbids core dumps and debuggers of this process, because its memory will hold keys. Forbids swap if locked memory
// cannot make an allocation fail.
void Harden();

// Makes this process that of a role, without a backend: hardens it, and loads and logs the credentials. Throws
// Cause::kRefused if the credentials are another role's. Throws Cause::kInput if a pin is no key of another role.
net::Credentials StartWithoutBackend(const char* command, Role role, const std::string& certs,
                                     const std::vector<std::string>& pins);

// A role's credentials and its backend.
struct RoleProcess {
  net::Credentials own;
  std::unique_ptr<pfss::Backend> backend;
};
// Makes this process that of a role. Call it before anything else. Sets the kernels, loads the credentials and makes
// the backend, and logs each. Throws as StartWithoutBackend does, and the errors of UseKernels and BackendOf.
RoleProcess StartRole(const char* command, Role role, const RoleArgs& a);

// Converts --memory to bytes. Throws Cause::kInput for more than the machine has.
uint64_t MemoryLimit(int64_t megabytes);
// Converts --at-once and --memory. Throws Cause::kInput for more memory than the machine has.
proto::Turns::Limits LimitsOf(const TurnArgs& a);

// Lets this process open enough files for so many sessions, as far as the system allows it. Logs a lack.
void AllowSessions(const char* command, int sessions, int streams);

// The opened store of a party. Its folder and its notices are logged.
class PartyStore : public store::Home {
 public:
  // Throws the errors of store::Home.
  PartyStore(const char* command, const std::string& folder);
};

// Makes the recorder of --record for one session; null if there is none. Throws Cause::kResource if the file exists or
// cannot be made.
std::unique_ptr<net::Recorder> RecorderOf(const PartyArgs& a);

// The files of --record at P0, one a session: FILE, then FILE.2, FILE.3 and so on.
class SessionRecords {
 public:
  // Makes FILE at once, so that a name that cannot be used is reported at the start. Throws Cause::kResource.
  explicit SessionRecords(const PartyArgs& a);
  // Returns the recorder of the next session; null without --record. Throws Cause::kResource if its file exists or
  // cannot be made. Thread-safe.
  std::unique_ptr<net::Recorder> Next();

 private:
  const std::string file_;
  std::mutex m_;
  std::unique_ptr<net::Recorder> first_;  // until the first session takes it
  int sessions_ = 0;
};

// Returns the memory that loading left over to the system. From then on keeps all pages, because frames, chunks and
// bundles of megabytes come and go.
void KeepPages();

// Describes the sessions with these peers, in words.
using RunningPeers = std::function<std::string(const std::vector<std::string>& peers)>;
// The time that dropped sessions have to end.
inline constexpr net::Millis kAtOnce{2000};
// Runs the listener until Stop or a signal. The first SIGINT or SIGTERM calls `stopping`, lets running sessions end,
// and logs `running`. The second drops them, so that their serials are burnt, and throws Interrupt. After kAtOnce the
// process ends in any case; the next start burns the claimed serials. With `hangup`, SIGHUP calls that instead.
void RunUntilSignal(net::Listener& listener, const char* role, const std::function<void(net::Channel&)>& session,
                    const std::function<void()>& stopping, const RunningPeers& running,
                    const std::function<void()>& hangup = {});
// Returns the size of a job in words: "32 tokens", or "8 texts of 32 tokens".
std::string JobText(const store::Job& job, const proto::JobUnit& unit);
// Joins names to "a, b and c".
std::string Listed(const std::vector<std::string>& all);

// Logs the notices of a store or a session as warnings.
void Warn(const char* command, const std::vector<std::string>& notices);

// Reads a model and the shifts of a plan. If `shifts` is empty, the shifts are in the file beside the plan. Throws
// Cause::kInput if the plan came from standard input and has shifts.
roles::Model ReadModel(const std::string& folder, const std::string& plan_file, const std::string& shifts,
                       const nn::Plan& plan);

// Makes the server of P0 from its store and its dealers.
using MakeServer = std::function<std::unique_ptr<roles::Server>(store::Home&, proto::Dealers, roles::Server::Options)>;
// Hooks of a server that keeps records.
struct AnswerHooks {
  std::function<void(roles::Server&)> hangup = {};  // called by SIGHUP, which ends the process otherwise
  service::Metrics* metrics = nullptr;              // may be null
};
// Runs the process of P0: listens and serves until a signal. With --once it ends after one session, whose error it
// throws. `ends`, if set, is polled after each session; true ends the process as a signal does.
void Answer(const char* command, const AnswerArgs& a, const net::Credentials& own, const proto::JobUnit& unit,
            const MakeServer& make, const std::function<bool()>& ends = {}, const AnswerHooks& hooks = {});

}  // namespace suf::apps
