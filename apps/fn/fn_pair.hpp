// Runs a function between two parties on this machine, and compares the result with the function's meaning.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "suf/compiler/choose.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/run/pair.hpp"

namespace suf::apps {

// The result of a run.
struct PairResult {
  std::vector<std::vector<uint64_t>> words;                  // (channels)(values), modulo 2^bits
  std::array<std::vector<std::vector<uint64_t>>, 2> shares;  // with --to shared: by party; words has the sums
  compiler::Bill bill;
  Hash trace{};
  double seconds = 0;  // dealing and online part
  double online = 0;   // seconds of P1's online part if the roles are processes, else 0
};
// The input of a run: words of one party, or shares of both.
struct PairInput {
  std::vector<uint64_t> x;                      // in clear, also of shares
  std::array<std::vector<uint64_t>, 2> shares;  // only with From::kShared
};
// Splits x into random shares modulo 2^n.
PairInput Shared(std::vector<uint64_t> x, int n);

// A run of a trace in this process.
struct TraceRun {
  run::PairRun run;
  pfss::BundleSecrets secrets;
  compiler::Bill bill;  // with the bytes that were sent and dealt
  Hash trace{};
  double seconds = 0;  // dealing and online part
};
// Runs dealer, P0 and P1 in this process, for `count` values or rows (`unit`). Throws Cause::kResource, with the number
// that fits, if memory is short. Throws Cause::kRefused, with `what`, if the trace fails the lint.
TraceRun RunTrace(const pfss::Schedule& s, const std::string& what, std::array<run::Inputs, 3>& inputs, int64_t count,
                  const char* unit, pfss::Backend& backend);

// Runs dealer, P0 and P1 in this process. Throws Cause::kResource, with the number of values that fits, if memory is
// short. Throws Cause::kRefused if the trace fails the lint.
PairResult RunFunction(const gates::FunctionPlan& plan, const PairInput& input, pfss::Backend& backend);
// Stores the results of both parties, by party and channel, in `out`. Throws Cause::kRefused if both learned the result
// and their values differ.
void Join(const gates::FunctionPlan& plan, std::array<std::vector<std::vector<uint64_t>>, 2> y, PairResult* out);
// Runs dealer, P0 and P1 as processes of this machine, over TLS. Throws the error of a process that fails.
PairResult RunProcesses(const gates::FunctionPlan& plan, const PairInput& input);
// Throws Cause::kResource if `count` values do not fit into memory, before any of them is made.
void Refuse(const gates::FunctionPlan& plan, int64_t count);
// Does the same for the schedule of `count` values.
void Refuse(const pfss::Schedule& s, int64_t count, const char* unit = "values");

// The number of values that differ from the function's meaning, and the index of the first one.
struct Wrong {
  int64_t count = 0;
  size_t first = 0;
};
Wrong Compare(const func::Function& f, const std::vector<uint64_t>& x, const std::vector<std::vector<uint64_t>>& words);

}  // namespace suf::apps
