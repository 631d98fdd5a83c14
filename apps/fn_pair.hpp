// A function between two parties in this process, compared with its meaning.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "suf/compiler/choose.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::apps {

// Values by channel; of --to shared the sums of both shares.
struct PairResult {
  std::vector<std::vector<uint64_t>> words;                  // (channels)(values), modulo 2^bits
  std::array<std::vector<std::vector<uint64_t>>, 2> shares;  // the same by party, of --to shared
  compiler::Bill bill;
  Hash trace{};
  double seconds = 0;  // online and dealing
  double online = 0;   // of separate processes: seconds of P1's online part; else 0
};
// Words of one party, or both parties' shares.
struct PairInput {
  std::vector<uint64_t> x;                      // what they mean
  std::array<std::vector<uint64_t>, 2> shares;  // of From::kShared
};
// Random shares of x modulo 2^n.
PairInput Shared(std::vector<uint64_t> x, int n);

// Throws Cause::kResource, with the batch that fits, where memory is short.
PairResult RunFunction(const gates::FunctionPlan& plan, const PairInput& input, pfss::Backend& backend);
// What both parties ended with, by party and channel, into the result. Throws Cause::kRefused where both learned
// and it differs.
void Join(const gates::FunctionPlan& plan, std::array<std::vector<std::vector<uint64_t>>, 2> y, PairResult* out);
// The same by dealer, P0 and P1 as processes of this machine, over TLS.
PairResult RunProcesses(const gates::FunctionPlan& plan, const PairInput& input);
// Throws Cause::kResource where so many values do not fit into memory, before any of them is made.
void Refuse(const gates::FunctionPlan& plan, int64_t count);
void Refuse(const pfss::Schedule& s, int64_t count);

// How many values differ from the function's meaning, and the first of them.
struct Wrong {
  int64_t count = 0;
  size_t first = 0;
};
Wrong Compare(const func::Function& f, const std::vector<uint64_t>& x, const std::vector<std::vector<uint64_t>>& words);

}  // namespace suf::apps
