// The commands `suf gate`: gates by name, alone or composed in a file F.gates (docs/gates.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands.hpp"

namespace suf::apps {

// A gate by name, or a file F.gates. The fields after the name are for a gate alone.
struct GateArgs {
  std::string name;
  std::vector<std::string> set;  // "shift=12"
  std::optional<int> n, scale;   // width and scale of its numbers; the defaults are 32 and 12
  std::string function;          // of the gate `function`
  std::string constants;         // whole numbers with commas between
  std::string outputs;           // names with commas between, or all; empty: the first one
};

int RunGateList();

struct GateShowArgs {
  GateArgs g;
  std::string pass;
  std::optional<int64_t> rows;  // of the trace
};
int RunGateShow(const GateShowArgs& a);

struct GateCostArgs {
  GateArgs g;
  std::string profile;  // empty: every named profile
  std::string keys;     // ahead or now; empty: as the profile says
  BackendArgs backend{"packed"};
  int64_t count = 1024;  // rows
  bool json = false;
};
int RunGateCost(const GateCostArgs& a);

struct GateCheckArgs {
  GateArgs g;
  bool all = false, json = false;
  std::string shard;  // "1/8": a part of the cells of --all
};
int RunGateCheck(const GateCheckArgs& a);

struct GateRunArgs {
  GateArgs g;
  std::vector<std::string> values;  // "x=FILE", or of a shared input also "x=FILE,FILE"
  std::optional<int64_t> random;    // rows
  std::string lowering = "auto", profile = "cpu", out, mirror;
  BackendArgs backend{"packed"};
  bool json = false, processes = false, packed = false;
};
int RunGateRun(const GateRunArgs& a);

struct GateBenchArgs {
  GateArgs g;
  std::string kernels;
  int64_t count = 4096;  // rows in one run
  bool json = false;
};
int RunGateBench(const GateBenchArgs& a);

struct GatePlanArgs {
  GateArgs g;
  std::string lowering = "auto", profile = "wan", out;
  int64_t max_values = int64_t{1} << 20;  // rows of a call
  bool semi_honest = false;
};
int RunGatePlan(const GatePlanArgs& a);

// The plan that a party agreed to; an empty field accepts any.
struct GateExpectArgs {
  std::string to;  // "s=p1,t=p0": every output
  std::string hash;
};

struct GateServeArgs : AnswerArgs {
  std::vector<std::string> values;
  std::string out;
  GateExpectArgs expect;
  bool packed = false;
};
int RunGateServe(const GateServeArgs& a);

struct GateAskArgs : PartyArgs {
  std::string connect, out;
  std::vector<std::string> values;
  GateExpectArgs expect;
  bool json = false, semi_honest = false, packed = false;
  int audit = 0;  // extra bundles that P0 audits
};
int RunGateAsk(const GateAskArgs& a);

struct GateUnpackArgs {
  std::string plan, file, out;
  std::string party = "p1";  // the party that learned the outputs
  bool json = false;
};
int RunGateUnpack(const GateUnpackArgs& a);

}  // namespace suf::apps
