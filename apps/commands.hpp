// One function a command; main.cpp maps arguments to them. They throw suf::Error; main turns it into the exit code and
// the last line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace suf::apps {

// Where texts come from; exactly one of the four.
struct Source {
  std::string text, file, json_file, ids = {};
};

struct ModelArgs {
  bool random = false;
  std::string preset = "tiny", out;
  uint64_t seed = 1;
};
int RunModel(const ModelArgs& a);

struct TokenizeArgs {
  std::string model;
  Source source;
  bool json = false;
};
int RunTokenize(const TokenizeArgs& a);

struct CompileArgs {
  std::string model, calibrate, out, ids = {};
  std::vector<std::string> settings = {};  // NAME=VALUE
  std::string profile = {}, keys = {};     // profiles with commas or semicolons between; ahead, now, or as they say
  std::vector<std::string> variants = {};  // NAME=PROFILE
  int max_tokens = 256;
};
int RunCompile(const CompileArgs& a);

struct PlanShowArgs {
  std::string plan, svg = {}, variant = {};
  bool json = false, trace = false, graph = false;
  int tokens = 0;
};
int RunPlanShow(const PlanShowArgs& a);

struct EstimateArgs {
  std::string plan, variant = {};
  std::optional<std::string> profile = {};
  int tokens = 32, ahead = 0, audit = 0;
  bool json = false, device = false;
};
int RunEstimate(const EstimateArgs& a);

struct KernelsArgs {
  std::string plan, variant = {}, role = {}, out = {};
  int tokens = 32, arch = 90;
};
int RunKernels(const KernelsArgs& a);

struct SimulateArgs {
  std::string model, plan, shifts, variant = {};
  Source source;
  bool json = false, truncate = false;
};
int RunSimulate(const SimulateArgs& a);

struct CertsArgs {
  std::string dir;
  bool show = false;
};
int RunCerts(const CertsArgs& a);

// What computes, and on which device.
struct BackendArgs {
  std::string name = "auto";
  std::optional<int> device = {};  // of cuda; none: the first
};

struct DealArgs {
  std::string plan, certs, listen, state, times, kernels, variant;
  BackendArgs backend;
  std::vector<std::string> pins;
  int tokens = 0, count = 0, window = 0;  // window: megabytes of keys that wait for the slower party
  int streams = 1;                        // TLS connections of a session
  double timeout = 60;
};
int RunDeal(const DealArgs& a);

// How serve and embed take their keys.
struct KeysArgs {
  int ahead = 0;                 // bundles asked for at once; 0: one, in memory only
  std::string witness = "disk";  // disk or always: of which bundles the dealer hears before they are used
  int window = 64;               // megabytes of keys that come ahead of a run
};

// Of the processes of both parties.
struct PartyArgs {
  std::string plan, certs, dealer, store, record, times, kernels;
  BackendArgs backend;
  std::vector<std::string> pins;
  KeysArgs keys;
  int streams = 1;  // TLS connections of a session
  double timeout = 60;
};
// Of P0, which listens.
struct AnswerArgs : PartyArgs {
  std::string listen;
  bool once = false;
  int audit_memory = 1024;  // megabytes of whole bundles that audits may take
};

struct ServeArgs : AnswerArgs {
  std::string model, shifts, variants;  // variants: names with commas between; none: all
};
int RunServe(const ServeArgs& a);

struct EmbedArgs : PartyArgs {
  std::string vocab, connect, out, variant = "auto";
  Source source;
  bool json = false, truncate = false;
  bool one_by_one = false;  // a bundle is asked for when it is due, not while the one before is used
  int audit = 0;            // bundles to be audited
};
int RunEmbed(const EmbedArgs& a);

struct DemoArgs {
  std::string program;  // path of this program
  std::string model, plan, calibrate, kernels, variant = "auto";
  BackendArgs backend;
  Source source;
  int streams = 1;
  bool json = false, truncate = false, one_by_one = false;
};
int RunDemo(const DemoArgs& a);

}  // namespace suf::apps
