// The options of `suf gate`.
#include <CLI/CLI.hpp>

#include "apps/options.hpp"
#include "suf/base/error.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/gates/plan_text.hpp"

namespace suf::apps {

namespace {

constexpr int64_t kMostRows = int64_t{1} << 31;

// Adds G and what a gate alone takes.
void AddGate(CLI::App* c, GateArgs* g, bool required = true) {
  auto* name = c->add_option("gate", g->name, "a gate, as suf gate list names it, or a file F.gates");
  if (required) name->required();
  c->add_option("--set", g->set, "a parameter of the gate, such as shift=12; may be repeated")
      ->option_text("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_option("--n", g->n, "bits of the gate's numbers, 1 to 64 (default: 32)")
      ->check(CLI::Range(1, 64))
      ->option_text("BITS");
  c->add_option("--scale", g->scale, "scale of the gate's numbers: x = word / 2^BITS (default: 12, or n / 4 if n < 32)")
      ->check(CLI::Range(0, 64))
      ->option_text("BITS");
  c->add_option("--function", g->function, "of the gates function and cubic: a file F.suf, or a name of suf fn list")
      ->option_text("F");
  c->add_option("--constants", g->constants, "of the gate table: whole numbers with commas between")
      ->option_text("C,..");
  c->add_option("--outputs", g->outputs, "outputs of the gate, with commas between, or all (default: its first one)")
      ->option_text("NAME,..");
}

void AddValues(CLI::App* c, std::vector<std::string>* values, const char* help) {
  c->add_option("--values", *values, help)
      ->option_text("NAME=FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::string GateProfileHelp(const char* otherwise) {
  return Str("prices of a network: ", compiler::PricesHelp(), " (default: ", otherwise, ")");
}

constexpr const char* kLoweringHelp =
    "the lowering of each statement, with semicolons between, as suf gate cost names them (default: auto, the best by "
    "--profile)";
constexpr const char* kPackedHelp =
    "write what a party learned as packed words, a line for each element; suf gate unpack reads them";
constexpr const char* kOwnValuesHelp =
    "numbers of an input that this party brings by the plan, one a line; once for each input";
constexpr const char* kOwnOutHelp =
    "write the outputs or shares of this party to this file, or to FILE.NAME of several outputs (default: to stdout)";
constexpr const char* kTrustHelp =
    "trust P0 to follow the protocol: accept any lowering. With some, a P0 that learns an output can alter its "
    "messages and learn more of P1's inputs, perhaps all of them, unnoticed";

// Adds `gate list`, `gate show` and `gate cost`.
void AddGateShow(CLI::App* gate, GateShowArgs* a, GateCostArgs* cost, int* status) {
  gate->add_subcommand("list", "list the gates, with their meaning\nExample:  suf gate list")->callback([=] {
    *status = RunGateList();
  });

  auto* c = gate->add_subcommand("show",
                                 "show what a gate takes and gives, or the values and types of a composition\n"
                                 "Examples:  suf gate show reluars\n           suf gate show scores.gates");
  AddGate(c, &a->g);
  c->add_option("--pass", a->pass,
                "print instead one form: the text with its functions, the typed values, the messages, or the trace, "
                "with the lowerings that are best on cpu")
      ->check(CLI::IsMember({"text", "values", "emit", "trace"}))
      ->option_text("text|values|emit|trace");
  c->add_option("--rows", a->rows, "rows of the trace (default: 1)")
      ->check(CLI::Range(int64_t{1}, kMostRows))
      ->option_text("N");
  c->callback([=] { *status = RunGateShow(*a); });

  c = gate->add_subcommand("cost",
                           "compare the ways to compute a gate or a composition, and show the choice\n"
                           "Example:  suf gate cost reluars --set shift=12 --profile wan");
  AddGate(c, &cost->g);
  c->add_option("--profile", cost->profile, GateProfileHelp("each of those named"))->option_text("P");
  c->add_option("--keys", cost->keys, kKeysHelp)->check(CLI::IsMember({"now", "ahead"}))->option_text("now|ahead");
  c->add_option("--count", cost->count, Str("rows in one run, 1 to 2^31 (default: ", cost->count, ")"))
      ->default_val(cost->count)
      ->check(CLI::Range(int64_t{1}, kMostRows))
      ->option_text("N");
  AddBackend(c, &cost->backend, "the backend, as suf backends lists them (default: packed)");
  c->add_flag("--json", cost->json, kJsonHelp);
  c->callback([=] { *status = RunGateCost(*cost); });
}

// Adds `gate check` and `gate bench`.
void AddGateCheck(CLI::App* gate, GateCheckArgs* a, GateBenchArgs* bench, int* status) {
  auto* c = gate->add_subcommand(
      "check",
      "compare every lowering on every backend with the gate's meaning. Small rings are compared whole, wide ones at "
      "random\nExamples:  suf gate check reluars\n           suf gate check --all");
  AddGate(c, &a->g, false);
  c->add_flag("--all", a->all, "check all gates");
  c->add_option("--shard", a->shard, "check one part of N: the gates and widths number K, K + N, ..")
      ->option_text("K/N");
  c->add_flag("--json", a->json, kJsonHelp);
  c->callback([=] { *status = RunGateCheck(*a); });

  c = gate->add_subcommand("bench",
                           "verify and time every lowering of a gate, or a composition beside each of its gates. "
                           "Compares with the profile cpu\nExample:  suf gate bench scores.gates --count 65536");
  AddGate(c, &bench->g);
  AddKernels(c, &bench->kernels);
  c->add_option("--count", bench->count, Str("rows in one run, 1 to 2^20 (default: ", bench->count, ")"))
      ->default_val(bench->count)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->option_text("N");
  c->add_flag("--json", bench->json, kJsonHelp);
  c->callback([=] { *status = RunGateBench(*bench); });
}

// Adds `gate run`.
void AddGateRun(CLI::App* gate, GateRunArgs* a, int* status) {
  auto* c = gate->add_subcommand(
      "run", Str("run a gate or a composition between two parties of this machine, and compare with its meaning\n",
                 "Examples:  suf gate run reluars --set shift=12 --random 1000\n",
                 "           suf gate run scores.gates --values x=x.txt --values v=v.txt --processes"));
  AddGate(c, &a->g);
  AddValues(c, &a->values,
            "the numbers of an input, one a line; once for each input. Of a shared input NAME=FILE,FILE has the shares "
            "of each party");
  c->add_option("--random", a->random, "N rows of random numbers in the inputs' ranges, 1 to 2^31")
      ->check(CLI::Range(int64_t{1}, kMostRows))
      ->option_text("N");
  c->add_option("--lowering", a->lowering, kLoweringHelp)->option_text("L;..");
  AddBackend(c, &a->backend, "the backend, as suf backends lists them (default: packed)");
  c->add_option("--profile", a->profile, GateProfileHelp("cpu"))->option_text("P");
  c->add_option("--out", a->out,
                "write what each party learned or keeps to OUT.p0 and OUT.p1, or to OUT.p0.NAME and OUT.p1.NAME of "
                "several outputs")
      ->option_text("OUT");
  c->add_flag("--packed", a->packed, kPackedHelp);
  c->add_option("--mirror", a->mirror,
                "write every opened value into this new folder: in clear, masked, and as each party sent it")
      ->option_text("DIR");
  c->add_flag("--processes", a->processes,
              "run dealer and parties as three processes over TLS, instead of threads of this one");
  c->add_flag("--json", a->json, kJsonHelp);
  c->callback([=] { *status = RunGateRun(*a); });
}

// Adds the files of a party's own inputs and outputs.
void AddOwnFiles(CLI::App* c, std::vector<std::string>* values, std::string* out, bool* packed) {
  AddValues(c, values, kOwnValuesHelp);
  c->add_option("--out", *out, kOwnOutHelp);
  c->add_flag("--packed", *packed, kPackedHelp);
}

// Adds --expect-to and --plan-hash.
void AddGateExpect(CLI::App* c, GateExpectArgs* expect, const char* otherwise) {
  c->add_option("--expect-to", expect->to,
                Str("accept only a plan by which these parties learn the outputs. PARTY is p1, p0, both, or shared for "
                    "nobody; a "
                    "single output needs no name (default: ",
                    otherwise, ")"))
      ->option_text("NAME=PARTY,..");
  c->add_option("--plan-hash", expect->hash, "accept only the plan with this hash, as suf gate plan prints it")
      ->option_text("HEX");
}

// Adds `gate plan`, `gate serve`, `gate ask` and `gate unpack`.
void AddGateSessions(CLI::App* gate, GateCommands* all, int* status) {
  GatePlanArgs* plan = &all->plan;
  auto* c = gate->add_subcommand(
      "plan", Str("make the plan of a gate or a composition, which all three roles hold and which has no secret\n",
                  "Example:  suf gate plan scores.gates --out scores.plan"));
  AddGate(c, &plan->g);
  auto* lowering = c->add_option("--lowering", plan->lowering, kLoweringHelp)->option_text("L;..");
  c->add_option("--profile", plan->profile, GateProfileHelp("wan"))->option_text("P")->excludes(lowering);
  c->add_option("--max-values", plan->max_values,
                Str("most rows of one call, 1 to ", gates::kMostValues, " (default: ", plan->max_values, ")"))
      ->check(CLI::Range(int64_t{1}, gates::kMostValues))
      ->option_text("N");
  c->add_flag("--semi-honest", plan->semi_honest, Str(kTrustHelp, "; takes the cheapest of all lowerings"));
  c->add_option("--out", plan->out, "plan file to write")->required();
  c->callback([=] { *status = RunGatePlan(*plan); });

  GateServeArgs* serve = &all->serve;
  c = gate->add_subcommand("serve",
                           Str("run P0 of a composition, which answers callers; its certificate is the model owner's\n",
                               "Example:  suf gate serve --plan scores.plan --values v=v.txt --certs certs --dealer "
                               "127.0.0.1:7001 --listen 127.0.0.1:7002 --store p0"));
  AddAnswer(c, serve);
  AddGateExpect(c, &serve->expect, "any");
  AddOwnFiles(c, &serve->values, &serve->out, &serve->packed);
  c->callback([=] { *status = RunGateServe(*serve); });

  GateAskArgs* ask = &all->ask;
  c = gate->add_subcommand("ask",
                           Str("run P1 of a composition, for one call of P0; its certificate is the data owner's\n",
                               "Example:  suf gate ask --plan scores.plan --values x=x.txt --certs certs --dealer "
                               "127.0.0.1:7001 --connect 127.0.0.1:7002 --store p1"));
  AddParty(c, ask);
  AddAddress(c, "--connect", &ask->connect, "address of P0");
  AddOwnFiles(c, &ask->values, &ask->out, &ask->packed);
  AddGateExpect(c, &ask->expect, "any by which P0 learns nothing of our inputs");
  c->add_flag("--semi-honest", ask->semi_honest, kTrustHelp);
  AddAudit(c, &ask->audit);
  c->add_flag("--json", ask->json, kJsonHelp);
  c->callback([=] { *status = RunGateAsk(*ask); });

  GateUnpackArgs* unpack = &all->unpack;
  c = gate->add_subcommand("unpack",
                           "read the packed words that --packed wrote\n"
                           "Example:  suf gate unpack scores.plan --file out.p1 --out scores");
  c->add_option("gate", unpack->plan, "the file F.gates, or the plan, by which they were written")->required();
  c->add_option("--file", unpack->file, "the packed words")->required();
  c->add_option("--party", unpack->party, "the party that learned them (default: p1)")
      ->check(CLI::IsMember({"p0", "p1"}))
      ->option_text("p0|p1");
  c->add_option("--out", unpack->out,
                "write the outputs to this file, or to FILE.NAME of several outputs (default: to stdout)");
  c->add_flag("--json", unpack->json, kJsonHelp);
  c->callback([=] { *status = RunGateUnpack(*unpack); });
}

}  // namespace

void AddGates(CLI::App* app, GateCommands* all, int* status) {
  auto* gate = app->add_subcommand(
      "gate", Str("show, price, run and serve gates by name, alone or composed in a file F.gates\n",
                  "Start with:  suf gate list,  suf gate show reluars,  suf gate run relu --random 10"));
  gate->require_subcommand(1);
  AddGateShow(gate, &all->show, &all->cost, status);
  AddGateCheck(gate, &all->check, &all->bench, status);
  AddGateRun(gate, &all->run, status);
  AddGateSessions(gate, all, status);
}

}  // namespace suf::apps
