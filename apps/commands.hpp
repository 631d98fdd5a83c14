// The commands, one function each, with their arguments. The command line fills the arguments. program.cpp turns a
// suf::Error into the exit code and the last line of stderr.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace suf::apps {

// The files that a role writes for its operator: the log of jobs and the metrics; empty: none.
struct RecordArgs {
  std::string log = {}, metrics = {};
};

// The source of texts; exactly one of the first four is set.
struct Source {
  std::string text, file, json_file, ids = {};
  std::optional<std::string> second = {};  // the second text of a pair, beside `text`
  std::optional<std::string> prompt = {};  // by name; empty: none; not set: the plan's default
};

struct ModelArgs {
  bool random = false;
  std::string preset = "tiny", out;
  uint64_t seed = 1;
  std::string name = "all-MiniLM-L6-v2";  // of a fetched model
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
  // profile: separated by , or ;  keys: ahead or now  keys_to: balanced or p0
  std::string profile = {}, keys = {}, keys_to = {};
  std::vector<std::string> variants = {};  // NAME=PROFILE
  std::optional<int> max_tokens = {};      // none: roles::Model::most_tokens
  bool public_table = false;
};
int RunCompile(const CompileArgs& a);

struct PlanShowArgs {
  std::string plan, svg = {}, variant = {};
  bool json = false, trace = false, graph = false;
  int tokens = 0;
};
int RunPlanShow(const PlanShowArgs& a);

struct EstimateArgs {
  std::string plan, variant = {}, index_plan = {};
  std::optional<std::string> profile = {};
  int tokens = 32, batch = 1, ahead = 0, audit = 0;
  bool json = false, device = false;
};
int RunEstimate(const EstimateArgs& a);

struct KernelsArgs {
  std::string plan, variant = {}, role = {}, out = {};
  int tokens = 32, arch = 90;
};
int RunKernels(const KernelsArgs& a);

struct SimulateArgs {
  std::string model, plan, shifts, variant = {}, index = {};  // index: a folder
  Source source;
  bool json = false, truncate = false;
};
int RunSimulate(const SimulateArgs& a);

struct CertsArgs {
  std::string dir;
  std::vector<std::string> dealers = {}, owners = {};  // names
  bool show = false;
};
int RunCerts(const CertsArgs& a);

struct SecretsArgs {
  std::string dir, certs;
};
int RunSecrets(const SecretsArgs& a);

// The backend that computes, and its device.
struct BackendArgs {
  std::string name = "auto";
  std::optional<int> device = {};  // for cuda; none: the first
};

// Arguments of every role's process.
struct RoleArgs {
  std::string plan, certs, times, kernels;
  BackendArgs backend;
  std::vector<std::string> pins;
  int streams = 1;   // TLS connections of a session
  int traces = 512;  // MB of traces that stay for later texts
  double timeout = 60;
};

// Arguments of a data owner that has no plan yet.
struct PullArgs {
  std::string connect, certs, out, expect = {};
  std::vector<std::string> pins = {};
  double timeout = 60;
};
int RunPull(const PullArgs& a);

// How much a role that serves others does side by side.
struct TurnArgs {
  int at_once = 0;     // inferences or deals; 0: as many as cores
  int64_t memory = 0;  // MB of all of them; 0: three quarters of the machine's
};

struct DealArgs : RoleArgs {
  std::vector<std::string> index_plans = {};  // in the order of the model owner's indexes
  TurnArgs turns;
  std::string listen, state, variant;
  RecordArgs records = {};
  int tokens = 0, texts = 1, count = 0, window = 0;  // window: MB of keys that wait for the slower party
};
int RunDeal(const DealArgs& a);

// How both parties obtain their keys.
struct KeysArgs {
  int ahead = 0;                 // bundles requested at once; 0: one, in memory only
  std::string witness = "disk";  // disk or always: the bundles reported to the dealer before use
  int window = 64;               // MB of keys that arrive ahead of a run
};

// Arguments of both parties' processes.
struct PartyArgs : RoleArgs {
  std::string dealer, store, record;
  KeysArgs keys;
};
// Arguments of P0's processes, which listen.
struct AnswerArgs : PartyArgs {
  std::string listen;
  bool once = false;
  int audit_memory = 1024;  // MB of whole bundles that audits may take
  TurnArgs turns;
  double idle = 600;  // seconds for which a session without a job stays
};

struct ServeArgs : AnswerArgs {
  std::string model, shifts, variants;    // variants: names with commas between; empty: all
  std::string secrets = {};               // folder of shared secrets; empty: those of the store
  std::string owners = {};                // the owners' file; empty: every certified data owner is served
  std::string counts = {};                // address of the database of shared counts; empty: a file of the store
  std::vector<std::string> indexes = {};  // folders of indexes, in the order of their numbers
  std::string rows = {};                  // file of the rows that each data owner may see; empty: all see all
  RecordArgs records = {};
};
int RunServe(const ServeArgs& a);

// Arguments of `suf embed`, and of `suf search` if there is an index plan.
struct EmbedArgs : PartyArgs {
  const char* command = "embed";
  std::string index_plan = {};  // public file of the index to search; empty: texts are embedded
  bool fetch = false;           // whether the documents of the hits come with them
  std::string documents = {};   // file of sealed documents, for an index with their keys; empty: none
  std::string vocab, connect, out, variant = "auto", table = {}, receipts = {}, metrics = {};
  std::string resume = {};           // file of the texts that are done; empty: none
  std::optional<double> retry = {};  // seconds for which a broken peer is dialled again; none: by the other options
  Source source;
  bool json = false, truncate = false;
  bool one_by_one = false;  // fetches keys when a text is due, not while the previous one runs
  int audit = 0;            // extra bundles that P0 audits
  int parallel = 0;         // sessions with the model owner; 0: by the other options
  int batch = 1;            // texts of one length that run as one job
  int64_t memory = 0;       // MB of all texts that run side by side; 0: three quarters of the machine's
};
int RunEmbed(const EmbedArgs& a);

struct DemoArgs {
  std::string model, plan, calibrate, kernels, variant = "auto", index = {};
  BackendArgs backend;
  Source source;
  int streams = 1, batch = 1, parallel = 0;  // as those of EmbedArgs
  bool json = false, truncate = false, one_by_one = false;
};
int RunDemo(const DemoArgs& a);

struct LogCheckArgs {
  std::vector<std::string> files;  // of one chain, the oldest first
  std::string last = {};           // a hash that was kept elsewhere; empty: none
};
int RunLogCheck(const LogCheckArgs& a);

}  // namespace suf::apps
