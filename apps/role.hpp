// What the processes of all three roles do first.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "apps/commands.hpp"
#include "suf/backends/all.hpp"
#include "suf/net/tls.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/model.hpp"
#include "suf/roles/server.hpp"

namespace suf::apps {

// No core dump, no debugger, and no swap where locking memory cannot make an allocation fail: memory holds
// keys.
void Harden();

// The kernels of --kernels for this process, or the fastest where it is empty; said in the log. Before
// anything that runs one. Throws Cause::kInput for an unknown name, Cause::kResource where the processor lacks it.
void UseKernels(const char* command, const std::string& name);

// Logs where a folder lies that the role uses.
void UsesFolder(const char* command, const char* what, const std::filesystem::path& folder);

// The credentials in `certs` itself or its sub-folder of the role, with the pins of the command line. Throws
// Cause::kRefused when they are another role's, Cause::kInput when a pin is no key of another role.
net::Credentials Own(const char* command, const std::string& certs, Role role, const std::vector<std::string>& pins);

// Of --timeout, in seconds; throws Cause::kInput when it is below 0.1 or over a day.
net::Millis Timeout(double seconds);

// What --ahead and --witness say. Throws Cause::kResource where the store's disk cannot keep keys.
proto::Keys KeysOf(const KeysArgs& a, const store::Store& store);

// How the dealer at HOST:PORT is reached, over how many streams. Throws Cause::kInput when that is no
// address.
proto::DialDealer CallDealer(const net::Credentials& own, const std::string& where, net::Millis timeout, int streams);

// Of --backend and --device; nothing is made yet. Throws Cause::kInput for a name that none has, for one
// that runs no models where they are asked for, and for a device of a backend that has none; Cause::kResource where it
// does not run here.
backends::Entry BackendOf(const BackendArgs& a, bool models);
// The backend that a role runs on, said in the log, where it is auto with why it is not cuda. After
// UseKernels. Throws as BackendOf.
std::unique_ptr<pfss::Backend> RoleBackend(const char* command, const BackendArgs& a);

// From here on frames, chunks and bundles come and go by the megabyte: their pages are kept instead of
// fetched afresh each time. What loading left behind is given back first.
void KeepPages();

// RunUntilSignal: runs the listener until Stop or a signal. The first SIGINT or SIGTERM lets what runs end, and says in
// the log what that is: `running`, of these peers, in words. The second drops it, so that its serial is burnt, and ends
// with Interrupted; what does not end by itself within kAtOnce is left to the next start, which burns what was claimed.
using Running = std::function<std::string(const std::vector<std::string>& peers)>;
inline constexpr net::Millis kAtOnce{2000};
void RunUntilSignal(net::Listener& listener, const char* role, const std::function<void(net::Channel&)>& session,
                    const Running& running);
// "a, b and c".
std::string Listed(const std::vector<std::string>& all);

// Into the log, what a person should know of a store or a session.
void Warn(const char* command, const std::vector<std::string>& notices);

// A model with the shifts of a plan: of `shifts`, or of the file beside the plan where it is empty.
roles::Model ReadModel(const std::string& folder, const std::string& plan_file, const std::string& shifts,
                       const nn::Plan& plan);

// Answer: P0's process: listens and serves until it is told to stop, or with --once to the end of
// one session, whose error it throws. `make` makes the server, with the store and the way to the dealer. `ends`, if
// set, is polled after each session: true ends the process as a signal does.
using MakeServer =
    std::function<std::unique_ptr<roles::Server>(store::Store&, proto::DialDealer, roles::Server::Options)>;
void Answer(const char* command, const AnswerArgs& a, const net::Credentials& own, const proto::Unit& unit,
            const MakeServer& make, const std::function<bool()>& ends = {});

}  // namespace suf::apps
