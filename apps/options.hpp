// Options that several commands share, and the commands of suf fn. Known by the command line alone.
#pragma once
#include <string>
#include <vector>

#include "apps/cmd_fn.hpp"
#include "apps/commands.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace suf::apps {

// One key each time it is given.
void AddPins(CLI::App* c, std::vector<std::string>* pins);
// How many megabytes of keys lie ready.
void AddWindow(CLI::App* c, int* megabytes, const char* what);
// Over how many connections a session goes.
void AddStreams(CLI::App* c, int* streams);
// P0's weights that lie beside a plan.
void AddShifts(CLI::App* c, std::string* file);
// Adds a required address, which is checked while the command line is read. listens: port 0 takes a free one.
void AddAddress(CLI::App* c, const char* name, std::string* address, const char* help, bool listens = false);
// All kernels give the same bytes; the constant-time check covers portable and avx2
// (docs/security.md#constant-time).
void AddKernels(CLI::App* c, std::string* kernels);
// What a role runs on; any gives the same bytes. help: of --backend; none: of a role's.
void AddBackend(CLI::App* c, BackendArgs* backend, const char* help = nullptr);
// Of a plan; the first one unless it is told.
void AddVariant(CLI::App* c, std::string* variant);
inline constexpr const char* kAutoHelp =
    "the plan's variant: NAME, or auto: both sides measure the link and take the cheapest that both allow";
// AddParty: what the processes of both parties take. own, other: whose they are, and whose the peer is.
inline constexpr const char *kModelOwner = "model owner", *kDataOwner = "data owner";
void AddParty(CLI::App* c, PartyArgs* a, const char* other, const char* own);
// Of P0. AddAudit: of P1.
void AddAnswer(CLI::App* c, AnswerArgs* a);
CLI::Option* AddAudit(CLI::App* c, int* count);

// What suf fn and suf backends are given.
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

// The command line, in which a formula that begins with a minus has a blank in front, so that it is read as
// no option.
std::vector<std::string> WithDashes(const CLI::App& app, int argc, const char* const* argv);

// Suf fn and suf backends; `status` gets what a command ends with. Both outlive the parse.
void AddFunctions(CLI::App* app, FunctionCommands* all, int* status);

}  // namespace suf::apps
