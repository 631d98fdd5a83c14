// The commands of suf fn, and suf backends.
#include <CLI/CLI.hpp>

#include "apps/options.hpp"
#include "suf/base/error.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/func/search.hpp"
#include "suf/gates/plan_text.hpp"

namespace suf::apps {

namespace {

// F and, of a library name, its ring and scale.
void AddFunction(CLI::App* c, FunctionArgs* f, bool required = true) {
  auto* name =
      c->add_option("function", f->name, "a file F.suf, or a name of suf fn list, with arguments: 'clamp(-1,1)'");
  if (required) name->required();
  c->add_option("--n", f->n, Str("of a library name: bits of x (default: ", f->n, ")"))
      ->default_val(f->n)
      ->option_text("BITS");
  c->add_option("--scale", f->scale, Str("of a library name: x = word / 2^BITS (default: ", f->scale, ")"))
      ->default_val(f->scale)
      ->option_text("BITS");
}

// Who brings x and who learns F(x).
void AddEnds(CLI::App* c, EndsArgs* ends) {
  c->add_option("--from", ends->from, "who brings x: p1 (default), p0, or shared: each party an additive share")
      ->option_text("PARTY");
  c->add_option("--to", ends->to,
                "who learns F(x): p1 (default), p0, both, or shared: nobody, each party keeps a share")
      ->option_text("PARTY");
}

// With what is taken where none is given.
std::string ProfileHelp(const char* otherwise) {
  return Str("prices of a network: ", compiler::PricesHelp(), " (default: ", otherwise, ")");
}

// Every word of a formula, in lines of a terminal.
std::string FormulaHelp() {
  constexpr size_t kColumns = 78;
  const std::pair<func::FormulaWord::Kind, const char*> kinds[] = {{func::FormulaWord::kOperator, "operators"},
                                                                   {func::FormulaWord::kFunction, "functions"},
                                                                   {func::FormulaWord::kConstant, "constants"}};
  std::string out = "A formula may hold numbers, x and (docs/functions.md says what each is):";
  for (auto [kind, title] : kinds) {
    std::string line = Str("\n  ", title);
    for (const func::FormulaWord& w : func::Vocabulary()) {
      if (w.kind != kind) continue;
      if (line.size() + 1 + w.name.size() > kColumns) out += line, line = "\n           ";
      line += Str(" ", w.name);
    }
    out += line;
  }
  return out;
}

// Fn list, show, fit.
void AddFnLook(CLI::App* fn, FunctionCommands* all, int* status) {
  fn->add_subcommand("list", "the library: functions by name, their ranges and errors\nExample:  suf fn list")
      ->callback([=] { *status = RunFnList(); });

  auto* s = fn->add_subcommand("show",
                               "a function as text, pieces and a curve\n"
                               "Example:  suf fn show 'clamp(-1,1)' --n 16 --scale 8");
  AddFunction(s, &all->show.f);
  s->add_option(
       "--pass", all->show.pass,
       "print instead, whole: its text, a pass of the compiler, or the trace; from candidates on of 1024 values from "
       "p1 to p1, emit and trace by the lowering that is best on cpu")
      ->check(CLI::IsMember({"text", "normalised", "primitives", "views", "candidates", "choice", "emit", "trace"}))
      ->option_text("text|normalised|primitives|views|candidates|choice|emit|trace");
  s->add_option("--svg", all->show.svg, "draw the curve into this file instead");
  s->callback([=] { *status = RunFnShow(all->show); });

  auto* f = fn->add_subcommand(
      "fit",
      "the cheapest function that follows a formula of x\n"
      "Example:  suf fn fit 'x*0.5*(1+erf(x/sqrt(2)))' --in 16:9 --result 32:16 --error 2^-11 --out gelu.suf");
  f->add_option("formula", all->fit.formula, "of x, in the words below; it may begin with a minus")->required();
  f->add_option("--in", all->fit.in, "x: bits:scale, signed; bits:scale:u is unsigned")
      ->required()
      ->option_text("BITS:SCALE");
  f->add_option("--result", all->fit.result, "the result's ring: bits:scale")->required()->option_text("BITS:SCALE");
  auto* error = f->add_option("--error", all->fit.error, "the largest error, as 0.0005 or 2^-11")->option_text("E");
  auto* pieces =
      f->add_option("--pieces", all->fit.pieces, "at most so many pieces, as close as they come")->option_text("N");
  error->excludes(pieces);
  f->add_option("--degree", all->fit.degree, "of the polynomials (default: the cheapest)")
      ->check(CLI::Range(0, 3))
      ->option_text("0..3");
  f->add_option("--knots", all->fit.knots,
                "where pieces begin: uniform, octaves, free (default: the cheapest), or real numbers, increasing, with "
                "commas between")
      ->option_text("uniform|octaves|free|C,..");
  f->add_option(
       "--slope", all->fit.slope,
       "the result may carry so many bits more, for finer slopes, in the same ring (default: bits that save more "
       "than half of the pieces, in a ring that holds them)")
      ->check(CLI::Range(0, 64))
      ->option_text("BITS");
  f->add_option("--scales", all->fit.scales,
                "with --degree: bits of each coefficient, from the constant up, beyond the result's scale")
      ->option_text("B,..");
  f->add_option("--below", all->fit.below,
                "below C the function is V, or x, or the line V + S (x - C): C:V, C:x or C:V,S")
      ->option_text("C:TAIL");
  f->add_option("--above", all->fit.above, "the same from C on")->option_text("C:TAIL");
  f->add_flag("--bipartite", all->fit.bipartite, "two tables whose sum it is, instead of pieces");
  f->add_option("--out", all->fit.out, "write the function to this file (default: to stdout)");
  f->footer(FormulaHelp());
  f->parse_complete_callback([=] {
    if (all->fit.error.empty() && !all->fit.pieces) throw CLI::RequiredError("one of --error and --pieces");
  });
  f->callback([=] { *status = RunFnFit(all->fit); });
}

// Fn cost, check.
void AddFnPrices(CLI::App* fn, FunctionCommands* all, int* status) {
  auto* c = fn->add_subcommand("cost",
                               "every way to compute a function in private, what each needs, and the choice\n"
                               "Example:  suf fn cost relu --profile wan --count 4096");
  AddFunction(c, &all->cost.f);
  AddEnds(c, &all->cost.ends);
  c->add_option("--profile", all->cost.profile, ProfileHelp("each of those named"))->option_text("P");
  c->add_option(
       "--keys", all->cost.keys,
       "when keys come: ahead of the values, or now, while the parties wait (default: as the profile says, ahead)")
      ->check(CLI::IsMember({"now", "ahead"}))
      ->option_text("now|ahead");
  c->add_option("--count", all->cost.count, Str("values together (default: ", all->cost.count, ")"))
      ->default_val(all->cost.count)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->option_text("N");
  AddBackend(c, &all->cost.backend, "as suf backends lists them (default: packed)");
  c->add_flag("--json", all->cost.json, "JSON");
  c->callback([=] { *status = RunFnCost(all->cost); });

  auto* k =
      fn->add_subcommand("check",
                         "every lowering on every backend against the function's own meaning, under random masks\n"
                         "Example:  suf fn check tanh --n 16 --scale 8");
  AddFunction(k, &all->check.f, false);
  k->add_flag("--all", all->check.all, "the whole library");
  k->add_flag("--json", all->check.json, "JSON");
  k->callback([=] { *status = RunFnCheck(all->check); });
}

// Fn bench.
void AddFnBench(CLI::App* fn, FunctionCommands* all, int* status) {
  auto* b = fn->add_subcommand("bench",
                               "what every lowering of a dozen functions takes on this machine, beside what the "
                               "profile cpu says; verified, then timed, some two minutes\nExample:  suf fn bench");
  AddKernels(b, &all->bench.kernels);
  b->add_option("--count", all->bench.count, Str("values together (default: ", all->bench.count, ")"))
      ->default_val(all->bench.count)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->option_text("N");
  b->add_option("--functions", all->bench.functions, "the first so many functions alone (default: all)")
      ->check(CLI::Range(1, 64))
      ->option_text("K");
  b->add_flag("--json", all->bench.json, "JSON");
  b->callback([=] { *status = RunFnBench(all->bench); });
}

// Fn run.
void AddFnRun(CLI::App* fn, FunctionCommands* all, int* status) {
  auto* r = fn->add_subcommand("run",
                               "a function between two parties of this machine, compared with its own meaning\n"
                               "Examples:  suf fn run relu --x 5,-7\n"
                               "           suf fn run relu --random 1000000 --processes\n"
                               "           suf fn run relu --random 1000 --to shared --out r\n"
                               "           suf fn run abs --from shared --values r.p0,r.p1");
  AddFunction(r, &all->run.f);
  AddEnds(r, &all->run.ends);
  r->add_option("--x", all->run.x, "whole numbers, with commas between; below 2^n, or negative in two's complement")
      ->option_text("X,..");
  r->add_option("--values", all->run.values,
                "a file with one number a line; with --from shared also two files, FILE,FILE: each party's shares")
      ->option_text("FILE");
  r->add_flag("--all", all->run.all, "every x of a domain up to 2^20");
  r->add_option("--random", all->run.random, "so many random x")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->option_text("N");
  r->add_option("--lowering", all->run.lowering,
                "a lowering as suf fn cost names it (default: auto, the best by --profile)")
      ->option_text("L");
  AddBackend(r, &all->run.backend, "as suf backends lists them (default: packed)");
  r->add_option("--profile", all->run.profile, ProfileHelp("cpu"))->option_text("P");
  r->add_option("--out", all->run.out, "of --to shared: write each party's shares to OUT.p0 and OUT.p1")
      ->option_text("OUT");
  r->add_flag("--processes", all->run.processes,
              "dealer and parties as three processes over TLS, instead of threads of this one");
  r->add_flag("--json", all->run.json, "JSON");
  r->callback([=] { *status = RunFnRun(all->run); });
}

constexpr const char* kSemiHonest =
    "trust P0 to follow the protocol: also take a lowering by which a P0 that learns the result and alters its "
    "messages "
    "learns more of P1's x, perhaps all of it, unnoticed";

// The plan that a party agreed to. otherwise: which plans it takes without.
void AddExpect(CLI::App* c, ExpectArgs* expect, const char* otherwise) {
  c->add_option("--expect-to", expect->to,
                Str("take only a plan by which p1, p0, both or nobody (shared) learns the "
                    "result (default: ",
                    otherwise, ")"))
      ->option_text("p1|p0|both|shared");
  c->add_option("--plan-hash", expect->hash, "take only the plan with this hash, as suf fn plan prints it")
      ->option_text("HEX");
}

// Fn plan, serve, ask.
void AddFnSession(CLI::App* fn, FunctionCommands* all, int* status) {
  auto* p = fn->add_subcommand("plan",
                               "make the plan of a function: what dealer and both parties hold, and no secret\n"
                               "Example:  suf fn plan relu --from p0 --to both --out relu.plan");
  AddFunction(p, &all->plan.f);
  AddEnds(p, &all->plan.ends);
  auto* lowering = p->add_option("--lowering", all->plan.lowering,
                                 "a lowering as suf fn cost names it (default: auto, the best by --profile)")
                       ->option_text("L");
  p->add_option("--profile", all->plan.profile, ProfileHelp("wan"))->option_text("P")->excludes(lowering);
  p->add_option("--max-values", all->plan.max_values,
                Str("most values of one call (default: ", all->plan.max_values, ")"))
      ->check(CLI::Range(int64_t{1}, gates::kMostValues))
      ->option_text("N");
  p->add_flag("--semi-honest", all->plan.semi_honest, Str(kSemiHonest, "; the cheapest of all lowerings is taken"));
  p->add_option("--out", all->plan.out, "plan file to write")->required();
  p->callback([=] { *status = RunFnPlan(all->plan); });

  const char* const values = "what this party brings, if the plan asks for it: a file with one number a line";
  const char* const out = "write what this party learns, or its share of it, to this file (default: to stdout)";
  auto* s = fn->add_subcommand("serve",
                               "P0 of a function: answers callers; certificate: model\n"
                               "Example:  suf fn serve --plan relu.plan --values x.txt --certs certs --dealer "
                               "127.0.0.1:7001 --listen 127.0.0.1:7002 --store p0");
  AddAnswer(s, &all->serve);
  AddExpect(s, &all->serve.expect, "any");
  s->add_option("--values", all->serve.values, values)->option_text("FILE");
  s->add_option("--out", all->serve.out, out);
  s->callback([=] { *status = RunFnServe(all->serve); });

  auto* a = fn->add_subcommand("ask",
                               "P1 of a function: one call of a server; certificate: data\n"
                               "Example:  suf fn ask --plan relu.plan --certs certs --dealer 127.0.0.1:7001 --connect "
                               "127.0.0.1:7002 --store p1");
  AddParty(a, &all->ask, kModelOwner, kDataOwner);
  AddAddress(a, "--connect", &all->ask.connect, "where P0 listens");
  a->add_option("--values", all->ask.values, values)->option_text("FILE");
  a->add_option("--out", all->ask.out, out);
  AddExpect(a, &all->ask.expect, "any by which P0 learns no result of our values");
  a->add_flag("--semi-honest", all->ask.semi_honest, kSemiHonest);
  AddAudit(a, &all->ask.audit);
  a->add_flag("--json", all->ask.json, "JSON");
  a->callback([=] { *status = RunFnAsk(all->ask); });
}

}  // namespace

std::vector<std::string> WithDashes(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 4 || words[1] != "fn" || words[2] != "fit") return words;
  const CLI::App* fit = app.get_subcommand("fn")->get_subcommand("fit");
  bool value = false;  // of the option before it
  for (size_t i = 3; i < words.size() && words[i] != "--"; ++i) {
    std::string& w = words[i];
    if (!value && w.size() > 1 && w[0] == '-' && w[1] != '-' && !fit->get_option_no_throw(w)) w.insert(0, " ");
    const CLI::Option* option = value || w[0] != '-' ? nullptr : fit->get_option_no_throw(w);
    value = option && option->get_items_expected_max() > 0;
  }
  return words;
}

void AddFunctions(CLI::App* app, FunctionCommands* all, int* status) {
  auto* fn = app->add_subcommand("fn",
                                 "functions of one private number: look at them, price them, run them, serve them\n"
                                 "Start with:  suf fn show gelu,  suf fn cost gelu,  suf fn run gelu --x 4096,-4096");
  fn->require_subcommand(1);
  AddFnLook(fn, all, status);
  AddFnPrices(fn, all, status);
  AddFnBench(fn, all, status);
  AddFnRun(fn, all, status);
  AddFnSession(fn, all, status);

  auto* b =
      app->add_subcommand("backends", "what can run keys and reads in this build, and what of it on this processor");
  b->add_flag("--json", all->backends.json, "JSON");
  b->callback([=] { *status = RunBackends(all->backends); });
}

}  // namespace suf::apps
