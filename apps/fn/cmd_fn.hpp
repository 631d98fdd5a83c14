// The commands `suf fn` and `suf backends`: functions of one number, from a text to a private computation by two
// parties.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "apps/commands.hpp"

namespace suf::apps {

// A function: a .suf file, or a name of the library.
struct FunctionArgs {
  std::string name;
  int n = 32, scale = 12;  // bits and scale of a library function
};
// The parties that bring x and learn F(x).
struct EndsArgs {
  std::string from = "p1", to = "p1";
};

struct FnShowArgs {
  FunctionArgs f;
  std::string pass, svg;
};
int RunFnList();
int RunFnShow(const FnShowArgs& a);

struct FnFitArgs {
  std::string formula, in, result, error, out;
  std::string knots, scales, below, above;
  std::optional<int> pieces, degree, slope;
  bool bipartite = false;
};
int RunFnFit(const FnFitArgs& a);

struct FnCostArgs {
  FunctionArgs f;
  EndsArgs ends;
  std::string profile;  // empty: every named profile
  std::string keys;     // ahead or now; empty: as the profile says
  BackendArgs backend{"packed"};
  int64_t count = 1024;
  bool json = false;
};
int RunFnCost(const FnCostArgs& a);

struct FnCheckArgs {
  FunctionArgs f;
  bool all = false, json = false;
};
int RunFnCheck(const FnCheckArgs& a);

struct FnBenchArgs {
  std::string kernels;
  int64_t count = 4096;          // values in one run
  std::optional<int> functions;  // the first ones alone; none: all
  bool json = false;
};
int RunFnBench(const FnBenchArgs& a);

struct FnRunArgs {
  FunctionArgs f;
  EndsArgs ends;
  std::string x, values, out;  // x: numbers with commas between
  std::string lowering = "auto", profile = "cpu";
  BackendArgs backend{"packed"};
  std::optional<int64_t> random;
  bool all = false, json = false, processes = false;
};
int RunFnRun(const FnRunArgs& a);

struct FnPlanArgs {
  FunctionArgs f;
  EndsArgs ends;
  std::string lowering = "auto", profile = "wan", out;
  int64_t max_values = int64_t{1} << 20;
  bool semi_honest = false;
};
int RunFnPlan(const FnPlanArgs& a);

// The plan that a party agreed to; an empty field accepts any.
struct ExpectArgs {
  std::string to, hash;
};

struct FnServeArgs : AnswerArgs {
  std::string values, out;
  ExpectArgs expect;
};
int RunFnServe(const FnServeArgs& a);

struct FnAskArgs : PartyArgs {
  std::string connect, values, out;
  ExpectArgs expect;
  bool json = false, semi_honest = false;
  int audit = 0;  // extra bundles that P0 audits
};
int RunFnAsk(const FnAskArgs& a);

struct BackendsArgs {
  bool json = false;
};
int RunBackends(const BackendsArgs& a);

}  // namespace suf::apps
