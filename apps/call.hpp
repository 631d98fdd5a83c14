// P0, which answers calls of a plan, and P1, which makes one. The commands of functions and those of compositions share
// both.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands.hpp"
#include "suf/net/tls.hpp"
#include "suf/roles/client.hpp"
#include "suf/roles/server.hpp"

namespace suf::apps {

// The hint in every refusal that --semi-honest lifts.
inline constexpr const char* kTrustingHint = "or trust P0 to follow the protocol: --semi-honest";

// Checks --plan-hash if it is given. `printer` is the command that prints the hash. Throws Cause::kInput if it is no
// hash, and Cause::kRefused if it is another one.
void CheckPlanHash(const Hash& plan, const std::string& expected, const char* printer);

// Throws unless the plan and this machine's memory take `count` values or rows.
void CheckCount(roles::Engine& engine, size_t count);

// Receives the words that P0 learned or keeps by a call of n values or rows.
using LearnedHook = std::function<void(uint32_t n, std::vector<uint64_t> words)>;
// Runs the process of P0: Answer, with the data that `data` makes with a hook. `show` writes the results of each call.
// It is called by one thread at a time. If it throws, the session ends as any other, and no further one begins. Its
// error is thrown at the end.
void AnswerCalls(const char* command, const AnswerArgs& a, const net::Credentials& own, roles::Engine& engine,
                 const std::function<roles::ServerData(LearnedHook)>& data,
                 const std::function<void(uint32_t n, const std::vector<uint64_t>& words)>& show);

// One call of P1.
struct PartyCall {
  const char* command;
  const PartyArgs& args;
  const std::string& connect;
  int audits = 0;
  bool semi_honest = false;
  uint32_t count = 0;  // values or rows that P1 brings; 0: P0 decides
  // Makes the job, of `count` or of the number that P0 announced.
  std::function<roles::JobRequest(uint32_t count)> request;
};
// The result of a call, and the error that ended the session after it, which does not invalidate the result.
struct CallResult {
  roles::JobResult job;
  std::optional<Error> end;
};
// Runs one job with P0, from greeting to end. Nothing in it depends on the result. Throws Cause::kInput if both parties
// bring different numbers of values or rows, before anything is spent.
CallResult RunCall(const PartyCall& call, const net::Credentials& own, roles::Engine& engine);

// Adds the serial, the plan's hash and the costs of a call to a row of --json.
void AddCallCosts(nlohmann::ordered_json* row, const Hash& plan, const roles::JobResult& job);
// Returns the times of a call in a clause.
std::string CallTimes(const roles::JobResult& job);

}  // namespace suf::apps
