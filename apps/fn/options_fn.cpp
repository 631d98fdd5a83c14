// The options of `suf fn` and `suf backends`.
#include <CLI/CLI.hpp>

#include "apps/options.hpp"
#include "suf/base/error.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/func/search.hpp"
#include "suf/gates/plan_text.hpp"

namespace suf::apps {

namespace {

// Adds F and, for a library name, its ring and scale.
void AddFunction(CLI::App* c, FunctionArgs* f, bool required = true) {
  auto* name =
      c->add_option("function", f->name, "a file F.suf, or a name of suf fn list, with arguments: 'clamp(-1,1)'");
  if (required) name->required();
  c->add_option("--n", f->n, Str("bits of x of a library function (default: ", f->n, ")"))
      ->default_val(f->n)
      ->option_text("BITS");
  c->add_option("--scale", f->scale,
                Str("scale of x of a library function: x = word / 2^BITS (default: ", f->scale, ")"))
      ->default_val(f->scale)
      ->option_text("BITS");
}

// Adds the parties that bring x and learn F(x).
void AddEnds(CLI::App* c, EndsArgs* ends) {
  c->add_option("--from", ends->from,
                "the party that brings x: p1, p0, or shared, if each brings an additive share (default: p1)")
      ->option_text("PARTY");
  c->add_option("--to", ends->to,
                "the party that learns F(x): p1, p0, both, or shared, if each keeps only a share (default: p1)")
      ->option_text("PARTY");
}

// Returns the help of --profile; `otherwise` is its default.
std::string ProfileHelp(const char* otherwise) {
  return Str("prices of a network: ", compiler::PricesHelp(), " (default: ", otherwise, ")");
}

// Lists every word of a formula, in lines that fit a terminal.
std::string FormulaHelp() {
  constexpr size_t kColumns = 78;
  const std::pair<func::FormulaWord::Kind, const char*> kinds[] = {{func::FormulaWord::kOperator, "operators"},
                                                                   {func::FormulaWord::kFunction, "functions"},
                                                                   {func::FormulaWord::kConstant, "constants"}};
  std::string out = "A formula may hold numbers, x and these words (docs/functions.md explains each):";
  for (auto [kind, title] : kinds) {
    std::string line = Str("\n  ", title);
    for (const func::FormulaWord& w : func::Vocabulary()) {
      if (w.kind != kind) continue;
      if (line.size() + 1 + w.name.size() > kColumns) {
        out += line;
        line = "\n           ";
      }
      line += Str(" ", w.name);
    }
    out += line;
  }
  return out;
}

// Adds `fn list` and `fn show`.
void AddFnShow(CLI::App* fn, FnShowArgs* a, int* status) {
  fn->add_subcommand("list", "list the functions of the library, with their ranges and errors\nExample:  suf fn list")
      ->callback([=] { *status = RunFnList(); });

  auto* c = fn->add_subcommand("show",
                               "show a function as text, pieces and a curve\n"
                               "Example:  suf fn show 'clamp(-1,1)' --n 16 --scale 8");
  AddFunction(c, &a->f);
  c->add_option(
       "--pass", a->pass,
       "print instead one form of the function. From candidates on it is for 1024 values from p1 to p1; emit and trace "
       "have the lowering that is best on cpu")
      ->check(CLI::IsMember({"text", "normalised", "primitives", "views", "candidates", "choice", "emit", "trace"}))
      ->option_text("text|normalised|primitives|views|candidates|choice|emit|trace");
  c->add_option("--svg", a->svg, "draw the curve into this SVG file instead");
  c->callback([=] { *status = RunFnShow(*a); });
}

// Adds `fn fit`.
void AddFnFit(CLI::App* fn, FnFitArgs* a, int* status) {
  auto* c = fn->add_subcommand(
      "fit",
      "fit the cheapest function to a formula of x\n"
      "Example:  suf fn fit 'x*0.5*(1+erf(x/sqrt(2)))' --in 16:9 --result 32:16 --error 2^-11 --out gelu.suf");
  c->add_option("formula", a->formula, "a formula of x, in the words below; it may begin with a minus")->required();
  c->add_option("--in", a->in, "the numbers x: bits:scale is signed, bits:scale:u unsigned")
      ->required()
      ->option_text("BITS:SCALE");
  c->add_option("--result", a->result, "the ring of the result: bits:scale")->required()->option_text("BITS:SCALE");
  auto* error = c->add_option("--error", a->error, "the largest error, such as 0.0005 or 2^-11")->option_text("E");
  auto* pieces =
      c->add_option("--pieces", a->pieces, "the most pieces; the fit is as close as they allow")->option_text("N");
  error->excludes(pieces);
  c->add_option("--degree", a->degree, "degree of the polynomials (default: the cheapest)")
      ->check(CLI::Range(0, 3))
      ->option_text("0..3");
  c->add_option("--knots", a->knots,
                "the places where pieces begin: uniform, octaves, free, or increasing numbers with commas between "
                "(default: the cheapest kind)")
      ->option_text("uniform|octaves|free|C,..");
  c->add_option(
       "--slope", a->slope,
       "extra bits of the result for finer slopes, 0 to 64 (default: bits that save more than half of the pieces, if "
       "the ring holds them)")
      ->check(CLI::Range(0, 64))
      ->option_text("BITS");
  c->add_option("--scales", a->scales,
                "with --degree: bits of each coefficient, from the constant up, beyond the result's scale")
      ->option_text("B,..");
  c->add_option("--below", a->below, "below C the function is V, or x, or the line V + S (x - C): C:V, C:x or C:V,S")
      ->option_text("C:TAIL");
  c->add_option("--above", a->above, "the same from C on")->option_text("C:TAIL");
  c->add_flag("--bipartite", a->bipartite, "use two tables, whose sum is the result, instead of pieces");
  c->add_option("--out", a->out, "write the function to this file (default: to stdout)");
  c->footer(FormulaHelp());
  c->parse_complete_callback([=] {
    if (a->error.empty() && !a->pieces) throw CLI::RequiredError("one of --error and --pieces");
  });
  c->callback([=] { *status = RunFnFit(*a); });
}

// Adds `fn cost`.
void AddFnCost(CLI::App* fn, FnCostArgs* a, int* status) {
  auto* c = fn->add_subcommand("cost",
                               "compare the ways to compute a function in private, and show the choice\n"
                               "Example:  suf fn cost relu --profile wan --count 4096");
  AddFunction(c, &a->f);
  AddEnds(c, &a->ends);
  c->add_option("--profile", a->profile, ProfileHelp("each of those named"))->option_text("P");
  c->add_option("--keys", a->keys, kKeysHelp)->check(CLI::IsMember({"now", "ahead"}))->option_text("now|ahead");
  c->add_option("--count", a->count, Str("values in one run, 1 to 2^31 (default: ", a->count, ")"))
      ->default_val(a->count)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->option_text("N");
  AddBackend(c, &a->backend, "the backend, as suf backends lists them (default: packed)");
  c->add_flag("--json", a->json, kJsonHelp);
  c->callback([=] { *status = RunFnCost(*a); });
}

// Adds `fn check`.
void AddFnCheck(CLI::App* fn, FnCheckArgs* a, int* status) {
  auto* c =
      fn->add_subcommand("check",
                         "compare every lowering on every backend with the function's meaning, under random masks\n"
                         "Example:  suf fn check tanh --n 16 --scale 8");
  AddFunction(c, &a->f, false);
  c->add_flag("--all", a->all, "check the whole library");
  c->add_flag("--json", a->json, kJsonHelp);
  c->callback([=] { *status = RunFnCheck(*a); });
}

// Adds `fn bench`.
void AddFnBench(CLI::App* fn, FnBenchArgs* a, int* status) {
  auto* c = fn->add_subcommand("bench",
                               "verify and time every lowering of a dozen functions on this machine, and compare "
                               "with the profile cpu (about two minutes)\nExample:  suf fn bench");
  AddKernels(c, &a->kernels);
  c->add_option("--count", a->count, Str("values in one run, 1 to 2^20 (default: ", a->count, ")"))
      ->default_val(a->count)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->option_text("N");
  c->add_option("--functions", a->functions, "time only the first K functions, 1 to 64 (default: all)")
      ->check(CLI::Range(1, 64))
      ->option_text("K");
  c->add_flag("--json", a->json, kJsonHelp);
  c->callback([=] { *status = RunFnBench(*a); });
}

// Adds `fn run`.
void AddFnRun(CLI::App* fn, FnRunArgs* a, int* status) {
  auto* c = fn->add_subcommand(
      "run", Str("run a function between two parties of this machine, and compare with its meaning\n",
                 "Examples:  suf fn run relu --x 5,-7\n", "           suf fn run relu --random 1000000 --processes\n",
                 "           suf fn run relu --random 1000 --to shared --out r\n",
                 "           suf fn run abs --from shared --values r.p0,r.p1"));
  AddFunction(c, &a->f);
  AddEnds(c, &a->ends);
  c->add_option("--x", a->x, "whole numbers, with commas between; below 2^n, or negative in two's complement")
      ->option_text("X,..");
  c->add_option("--values", a->values,
                "a file with one number a line; with --from shared also FILE,FILE with the shares of each party")
      ->option_text("FILE");
  c->add_flag("--all", a->all, "every x of a domain up to 2^20");
  c->add_option("--random", a->random, "N random values of x, 1 to 2^31")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->option_text("N");
  c->add_option("--lowering", a->lowering, "a lowering as suf fn cost names it (default: auto, the best by --profile)")
      ->option_text("L");
  AddBackend(c, &a->backend, "the backend, as suf backends lists them (default: packed)");
  c->add_option("--profile", a->profile, ProfileHelp("cpu"))->option_text("P");
  c->add_option("--out", a->out,
                "with --to shared: write the shares of each party to OUT.p0 and OUT.p1, or to OUT.p0.CHANNEL and "
                "OUT.p1.CHANNEL of several channels")
      ->option_text("OUT");
  c->add_flag("--processes", a->processes,
              "run dealer and parties as three processes over TLS, instead of threads of this one");
  c->add_flag("--json", a->json, kJsonHelp);
  c->callback([=] { *status = RunFnRun(*a); });
}

constexpr const char* kSemiHonest =
    "trust P0 to follow the protocol: accept any lowering. With some, a P0 that learns the result can alter its "
    "messages and learn more of P1's x, perhaps all of it, unnoticed";

constexpr const char* kValuesHelp = "the values that this party brings by the plan: a file with one number a line";
constexpr const char* kOutHelp =
    "write the results or shares of this party to this file, or to FILE.CHANNEL of several channels (default: to "
    "stdout)";

// Adds the options for an agreed plan. `otherwise` describes the plans that are accepted without --expect-to.
void AddExpect(CLI::App* c, ExpectArgs* expect, const char* otherwise) {
  c->add_option(
       "--expect-to", expect->to,
       Str("accept only a plan by which p1, p0, both or nobody (shared) learns the result (default: ", otherwise, ")"))
      ->option_text("p1|p0|both|shared");
  c->add_option("--plan-hash", expect->hash, "accept only the plan with this hash, as suf fn plan prints it")
      ->option_text("HEX");
}

// Adds `fn plan`.
void AddFnPlan(CLI::App* fn, FnPlanArgs* a, int* status) {
  auto* c = fn->add_subcommand("plan",
                               Str("make the plan of a function, which all three roles hold and which has no secret\n",
                                   "Example:  suf fn plan relu --from p0 --to both --out relu.plan"));
  AddFunction(c, &a->f);
  AddEnds(c, &a->ends);
  auto* lowering = c->add_option("--lowering", a->lowering,
                                 "a lowering as suf fn cost names it (default: auto, the best by --profile)")
                       ->option_text("L");
  c->add_option("--profile", a->profile, ProfileHelp("wan"))->option_text("P")->excludes(lowering);
  c->add_option("--max-values", a->max_values,
                Str("most values of one call, 1 to ", gates::kMostValues, " (default: ", a->max_values, ")"))
      ->check(CLI::Range(int64_t{1}, gates::kMostValues))
      ->option_text("N");
  c->add_flag("--semi-honest", a->semi_honest, Str(kSemiHonest, "; takes the cheapest of all lowerings"));
  c->add_option("--out", a->out, "plan file to write")->required();
  c->callback([=] { *status = RunFnPlan(*a); });
}

// Adds `fn serve`.
void AddFnServe(CLI::App* fn, FnServeArgs* a, int* status) {
  auto* c = fn->add_subcommand(
      "serve", Str("run P0 of a function, which answers callers; its certificate is the model owner's\n",
                   "Example:  suf fn serve --plan relu.plan --values x.txt --certs certs --dealer "
                   "127.0.0.1:7001 --listen 127.0.0.1:7002 --store p0"));
  AddAnswer(c, a);
  AddExpect(c, &a->expect, "any");
  c->add_option("--values", a->values, kValuesHelp)->option_text("FILE");
  c->add_option("--out", a->out, kOutHelp);
  c->callback([=] { *status = RunFnServe(*a); });
}

// Adds `fn ask`.
void AddFnAsk(CLI::App* fn, FnAskArgs* a, int* status) {
  auto* c = fn->add_subcommand(
      "ask", Str("run P1 of a function, for one call of P0; its certificate is the data owner's\n",
                 "Example:  suf fn ask --plan relu.plan --certs certs --dealer 127.0.0.1:7001 --connect "
                 "127.0.0.1:7002 --store p1"));
  AddParty(c, a);
  AddAddress(c, "--connect", &a->connect, "address of P0");
  c->add_option("--values", a->values, kValuesHelp)->option_text("FILE");
  c->add_option("--out", a->out, kOutHelp);
  AddExpect(c, &a->expect, "any by which P0 learns no result of our values");
  c->add_flag("--semi-honest", a->semi_honest, kSemiHonest);
  AddAudit(c, &a->audit);
  c->add_flag("--json", a->json, kJsonHelp);
  c->callback([=] { *status = RunFnAsk(*a); });
}

}  // namespace

std::vector<std::string> WithDashes(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 4 || words[1] != "fn" || words[2] != "fit") return words;
  const CLI::App* fit = app.get_subcommand("fn")->get_subcommand("fit");
  bool value = false;  // whether the word is the value of the option before it
  for (size_t i = 3; i < words.size() && words[i] != "--"; ++i) {
    std::string& w = words[i];
    if (!value && w.size() > 1 && w[0] == '-' && w[1] != '-' && !fit->get_option_no_throw(w)) w.insert(0, " ");
    const CLI::Option* option = value || w[0] != '-' ? nullptr : fit->get_option_no_throw(w);
    value = option && option->get_items_expected_max() > 0;
  }
  return words;
}

void AddFunctions(CLI::App* app, FunctionCommands* all, int* status) {
  auto* fn = app->add_subcommand(
      "fn", Str("show, fit, price, run and serve functions of one private number\n",
                "Start with:  suf fn show gelu,  suf fn cost gelu,  suf fn run gelu --x 4096,-4096"));
  fn->require_subcommand(1);
  AddFnShow(fn, &all->show, status);
  AddFnFit(fn, &all->fit, status);
  AddFnCost(fn, &all->cost, status);
  AddFnCheck(fn, &all->check, status);
  AddFnBench(fn, &all->bench, status);
  AddFnRun(fn, &all->run, status);
  AddFnPlan(fn, &all->plan, status);
  AddFnServe(fn, &all->serve, status);
  AddFnAsk(fn, &all->ask, status);

  auto* b = app->add_subcommand("backends", "list the backends, and those that this build and this machine can run");
  b->add_flag("--json", all->backends.json, kJsonHelp);
  b->callback([=] { *status = RunBackends(all->backends); });
}

}  // namespace suf::apps
