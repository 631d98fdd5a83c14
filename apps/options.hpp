// The options of all commands. Only the command line includes this file.
#pragma once
#include <string>
#include <vector>

#include "apps/cmd_index.hpp"
#include "apps/cmd_receipt.hpp"
#include "apps/commands.hpp"
#include "apps/fn/cmd_fn.hpp"
#include "apps/gate/cmd_gate.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace suf::apps {

// Adds --pin, which may be repeated; each value is one key.
void AddPins(CLI::App* c, std::vector<std::string>* pins);
// Adds --key-window, the megabytes of keys that lie ready; its help begins with `what`.
void AddWindow(CLI::App* c, int* megabytes, const char* what);
// Adds --streams, the number of connections of a session.
void AddStreams(CLI::App* c, int* streams);
// Adds --traces, the megabytes of traces that a role of a model keeps.
void AddTraces(CLI::App* c, int* megabytes);
// Adds --memory, the limit of `what` that run side by side.
void AddMemory(CLI::App* c, int64_t* megabytes, const char* what);
// Adds --at-once and --memory, the limits of `what` that run side by side.
void AddTurns(CLI::App* c, TurnArgs* turns, const char* what);
// Adds --batch, the texts of one length that run as one job.
void AddBatch(CLI::App* c, int* batch);
void AddParallel(CLI::App* c, int* parallel, const std::string& absent);
// Adds --audit-log.
void AddAuditLog(CLI::App* c, std::string* file);
// Adds --metrics.
void AddMetrics(CLI::App* c, std::string* file);
// Adds --shifts, P0's weights that lie beside a plan.
void AddShifts(CLI::App* c, std::string* file);
// The use of an address. A place to listen at may have port 0; a list has commas between its addresses.
enum class AddressUse { kConnect, kConnectList, kListen };
// Adds a required address, which is checked while the command line is read.
void AddAddress(CLI::App* c, const char* name, std::string* address, const char* help,
                AddressUse use = AddressUse::kConnect);
// Adds --kernels. All kernels give the same bytes; the constant-time check covers portable and avx2
// (docs/security.md#constant-time).
void AddKernels(CLI::App* c, std::string* kernels);
// Adds --backend and --device. Every backend gives the same bytes. `help` of --backend defaults to the one for roles.
void AddBackend(CLI::App* c, BackendArgs* backend, const char* help = nullptr);
// Adds --variant of a plan; the default is its first one.
void AddVariant(CLI::App* c, std::string* variant);
// The most jobs that --at-once allows.
inline constexpr int kMostAtOnce = 256;
inline constexpr const char* kAutoHelp =
    "a variant of the plan, or auto: both sides measure the link and take the cheapest variant that both allow";
inline constexpr const char* kJsonHelp = "print JSON, one object a line";
inline constexpr const char* kTruncateHelp = "cut texts over the limit instead of refusing them";
inline constexpr const char* kLengthHelp = "length of a text in tokens, [CLS] and [SEP] included";
inline constexpr const char* kCertsHelp = "the folder that suf certs made for this role, or its parent";
inline constexpr const char* kKeysHelp =
    "when keys are made: ahead, or now, while the parties wait (default: ahead, unless the profile says now)";
inline constexpr const char* kTimeoutHelp = "seconds to wait for a silent peer, 0.1 to 86400";
inline constexpr const char* kTimesHelp =
    "write the times of operators to this file, one JSON line a serial; on a device this slows down the run";
inline constexpr const char* kOneByOneHelp =
    "fetch the keys of a text when it is due, not while the previous text runs: each takes less time, all together "
    "take more";
// Adds the options of both parties' processes.
void AddParty(CLI::App* c, PartyArgs* a);
// Adds the options of P0's processes.
void AddAnswer(CLI::App* c, AnswerArgs* a);
// Adds --audit, for P1's processes.
CLI::Option* AddAudit(CLI::App* c, int* count);

// The arguments of the commands for models.
struct ModelCommands {
  ModelArgs model;
  TokenizeArgs tokenize;
  CompileArgs compile;
  PlanShowArgs show;
  EstimateArgs estimate;
  KernelsArgs kernels;
  SimulateArgs simulate;
  CertsArgs certs;
  SecretsArgs secrets;
  DealArgs deal;
  ServeArgs serve;
  EmbedArgs embed, search;
  PullArgs pull;
  DemoArgs demo;
  LogCheckArgs log;
};

// Adds the commands for models, from `suf model` to `suf demo`. `status` receives the exit code of a command. `all` and
// `status` outlive the parse.
void AddModels(CLI::App* app, ModelCommands* all, int* status);

// The arguments of `suf fn` and `suf backends`.
struct FunctionCommands {
  FnShowArgs show;
  FnFitArgs fit;
  FnCostArgs cost;
  FnCheckArgs check;
  FnBenchArgs bench;
  FnRunArgs run;
  FnPlanArgs plan;
  FnServeArgs serve;
  FnAskArgs ask;
  BackendsArgs backends;
};

// The arguments of `suf gate`.
struct GateCommands {
  GateShowArgs show;
  GateCostArgs cost;
  GateCheckArgs check;
  GateRunArgs run;
  GateBenchArgs bench;
  GatePlanArgs plan;
  GateServeArgs serve;
  GateAskArgs ask;
  GateUnpackArgs unpack;
};

// The arguments of `suf receipt`.
struct ReceiptCommands {
  ReceiptCheckArgs check;
  ReceiptShowArgs show;
};

// Returns the command line. A formula of `fn fit` that begins with a minus gets a blank in front: it is no option.
std::vector<std::string> WithDashes(const CLI::App& app, int argc, const char* const* argv);

// Adds `suf fn` and `suf backends`, as AddModels does.
void AddFunctions(CLI::App* app, FunctionCommands* all, int* status);
// Adds `suf gate`, as AddModels does.
void AddGates(CLI::App* app, GateCommands* all, int* status);
// Adds `suf index`, as AddModels does.
void AddIndex(CLI::App* app, IndexCommands* all, int* status);
// Adds `suf receipt`, as AddModels does.
void AddReceipts(CLI::App* app, ReceiptCommands* all, int* status);

}  // namespace suf::apps
