// The command line. CLI11 stays in this file.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <map>

#include "apps/cmd_fn.hpp"
#include "apps/commands.hpp"
#include "apps/exit.hpp"
#include "suf/base/error.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/nn/plan.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/store/bundle.hpp"

namespace {

using namespace suf::apps;  // NOLINT: this file is the list of commands

// AddSource: exactly one of the ways to give texts. Not an option group: its positional would not be found after "--".
void AddSource(CLI::App* c, Source* s, bool text, bool ids = true) {
  std::vector<CLI::Option*> ways;
  if (text) ways.push_back(c->add_option("text", s->text, "one text (after -- when it begins with a dash)"));
  ways.push_back(c->add_option("--file", s->file, "a file with one text a line (UTF-8)"));
  ways.push_back(c->add_option("--json-file", s->json_file, "a file with {\"id\": .., \"text\": ..} a line"));
  if (ids) ways.push_back(c->add_option("--ids", s->ids, "a file with the token ids of one text a line"));
  c->parse_complete_callback([ways] {
    size_t given = 0;
    std::string names;
    for (auto* w : ways) {
      given += w->count();
      names += (names.empty()      ? ""
                : w == ways.back() ? " and "
                                   : ", ") +
               (w->get_positional() ? "TEXT" : w->get_name());
    }
    if (given != 1) throw CLI::RequiredError("one of " + names);
  });
}

// AddPins: one key each time it is given.
void AddPins(CLI::App* c, std::vector<std::string>* pins) {
  c->add_option("--pin", *pins, "take no other key of that role (as suf certs --show prints it); may be repeated")
      ->allow_extra_args(false);
}

// AddKeys: of serve and embed.
void AddKeys(CLI::App* c, KeysArgs* keys) {
  c->add_option("--ahead", keys->ahead,
                "keep the keys of up to so many texts of one length in the store, where the dealer and the other party "
                "do so, too; they lie on disk in clear (default: none, keys are in memory only)")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  c->add_option("--witness", keys->witness,
                "tell the dealer which keys are about to be used, so that a store or machine that was rolled back is "
                "noticed: disk, those from the store; or always, those in memory, too (default: disk)")
      ->check(CLI::IsMember({"disk", "always"}))
      ->option_text("disk|always");
}

// AddVariant: all variants give the same bytes; the constant-time check covers portable and avx2 (SECURITY.md).
void AddVariant(CLI::App* c, std::string* variant) {
  c->add_option("--variant", *variant, "kernels: portable, avx2 or avx512 (default: the fastest that runs here)");
}

// AddParty: what the processes of both parties take. own, other: whose they are, and whose the peer is.
constexpr const char *kModelOwner = "model owner", *kDataOwner = "data owner";
void AddParty(CLI::App* c, PartyArgs* a, const char* other, const char* own) {
  c->add_option("--plan", a->plan, "plan file")->required();
  c->add_option("--certs", a->certs, suf::Str("the ", own, "'s folder of suf certs, or its parent"))->required();
  c->add_option("--dealer", a->dealer, "where the dealer listens")->required();
  c->add_option("--store", a->store, "directory of bundles, ledger and long-lived secrets")->required();
  c->add_option("--record", a->record, suf::Str("write the frames with the ", other, " to this new file"));
  c->add_option("--timeout", a->timeout, "seconds to wait for a silent peer")->default_val(60);
  AddKeys(c, &a->keys);
  AddVariant(c, &a->variant);
  AddPins(c, &a->pins);
}

// AddAudit: of P1.
CLI::Option* AddAudit(CLI::App* c, int* count) {
  return c->add_option("--audit", *count, "let P0 open and check so many bundles more than are needed")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
}

// AddAnswer: of P0.
void AddAnswer(CLI::App* c, AnswerArgs* a) {
  AddParty(c, a, kDataOwner, kModelOwner);
  c->add_option("--listen", a->listen, "where to listen; port 0 takes a free one")->required();
  c->add_flag("--once", a->once, "end after one session");
  c->add_option("--times", a->times, "write to this file where the time went, a JSON line an inference");
}

// SettingsHelp: what --set takes.
std::string SettingsHelp() {
  std::string help = "another number than the compiler's own, where it asks for one; may be repeated:";
  for (const suf::roles::Setting& s : suf::roles::Compiler::Settings())
    help += suf::Str("\n", s.name, "=", s.value, "  ", s.meaning);
  return help;
}

// AddFunction: F and, of a library name, its ring and scale.
void AddFunction(CLI::App* c, FunctionArgs* f, bool required = true) {
  auto* name =
      c->add_option("function", f->name, "a file F.suf, or a name of suf fn list, with arguments: 'clamp(-1,1)'");
  if (required) name->required();
  c->add_option("--n", f->n, suf::Str("of a library name: bits of x (default: ", f->n, ")"))
      ->default_val(f->n)
      ->option_text("BITS");
  c->add_option("--scale", f->scale, suf::Str("of a library name: x = word / 2^BITS (default: ", f->scale, ")"))
      ->default_val(f->scale)
      ->option_text("BITS");
}

// AddEnds: who brings x and who learns F(x).
void AddEnds(CLI::App* c, EndsArgs* ends) {
  c->add_option("--from", ends->from, "who brings x: p1 (default), p0, or shared: each party an additive share")
      ->option_text("PARTY");
  c->add_option("--to", ends->to,
                "who learns F(x): p1 (default), p0, both, or shared: nobody, each party keeps a share")
      ->option_text("PARTY");
}

constexpr const char* kProfileHelp =
    "prices of a network: cpu, gpu, lan, wan, or flight=..,wire=..,key=..,aes=..,word=.. (seconds, aes: blocks a "
    "second)";

// FunctionCommands: what suf fn and suf backends are given.
struct FunctionCommands {
  FnShowArgs show;
  FnFitArgs fit;
  FnCostArgs cost;
  FnCheckArgs check;
  FnBenchArgs bench;
  FnRunArgs run;
  FnPlanArgs plan;
  FnServeArgs serve;
  FnAskArgs ask;
  BackendsArgs backends;
};

// AddFnLook: fn list, show, fit.
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
  f->add_option("formula", all->fit.formula,
                "of x: + - * / ^ ( ) ? :, exp, log, sqrt, abs, min, max, erf, sigmoid, tanh ..")
      ->required();
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
  f->add_option("--slope", all->fit.slope, "the result may carry so many bits more, for finer slopes (default: 0)")
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
  f->parse_complete_callback([=] {
    if (all->fit.error.empty() && !all->fit.pieces) throw CLI::RequiredError("one of --error and --pieces");
  });
  f->callback([=] { *status = RunFnFit(all->fit); });
}

// AddFnPrices: fn cost, check.
void AddFnPrices(CLI::App* fn, FunctionCommands* all, int* status) {
  auto* c = fn->add_subcommand("cost",
                               "every way to compute a function in private, what each needs, and the choice\n"
                               "Example:  suf fn cost relu --profile wan --count 4096");
  AddFunction(c, &all->cost.f);
  AddEnds(c, &all->cost.ends);
  c->add_option("--profile", all->cost.profile, suf::Str(kProfileHelp, " (default: those four)"))->option_text("P");
  c->add_option("--keys", all->cost.keys, "keys are dealt ahead (default), or now, while the parties wait")
      ->check(CLI::IsMember({"now", "ahead"}))
      ->option_text("now|ahead");
  c->add_option("--count", all->cost.count, suf::Str("values together (default: ", all->cost.count, ")"))
      ->default_val(all->cost.count)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->option_text("N");
  c->add_option("--backend", all->cost.backend, "as suf backends lists them (default: packed)")->option_text("B");
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

// AddFnBench: fn bench.
void AddFnBench(CLI::App* fn, FunctionCommands* all, int* status) {
  auto* b = fn->add_subcommand("bench",
                               "what every lowering of a dozen functions takes on this machine, beside what the "
                               "profile cpu says; verified, then timed, some two minutes\nExample:  suf fn bench");
  AddVariant(b, &all->bench.variant);
  b->add_option("--count", all->bench.count, suf::Str("values together (default: ", all->bench.count, ")"))
      ->default_val(all->bench.count)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->option_text("N");
  b->add_option("--functions", all->bench.functions, "the first so many functions alone (default: all)")
      ->check(CLI::Range(1, 64))
      ->option_text("K");
  b->add_flag("--json", all->bench.json, "JSON");
  b->callback([=] { *status = RunFnBench(all->bench); });
}

// AddFnRun: fn run.
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
  r->add_option("--backend", all->run.backend, "as suf backends lists them (default: packed)")->option_text("B");
  r->add_option("--profile", all->run.profile, suf::Str(kProfileHelp, " (default: cpu)"))->option_text("P");
  r->add_option("--out", all->run.out, "of --to shared: write each party's shares to OUT.p0 and OUT.p1")
      ->option_text("OUT");
  r->add_flag("--processes", all->run.processes,
              "dealer and parties as three processes over TLS, instead of threads of this one");
  r->add_flag("--json", all->run.json, "JSON");
  r->callback([=] { *status = RunFnRun(all->run); });
}

// AddFnSession: fn plan, serve, ask.
void AddFnSession(CLI::App* fn, FunctionCommands* all, int* status) {
  auto* p = fn->add_subcommand("plan",
                               "make the plan of a function: what dealer and both parties hold, and no secret\n"
                               "Example:  suf fn plan relu --from p0 --to both --out relu.plan");
  AddFunction(p, &all->plan.f);
  AddEnds(p, &all->plan.ends);
  auto* lowering = p->add_option("--lowering", all->plan.lowering,
                                 "a lowering as suf fn cost names it (default: auto, the best by --profile)")
                       ->option_text("L");
  p->add_option("--profile", all->plan.profile, suf::Str(kProfileHelp, " (default: wan)"))
      ->option_text("P")
      ->excludes(lowering);
  p->add_option("--max-values", all->plan.max_values,
                suf::Str("most values of one call (default: ", all->plan.max_values, ")"))
      ->check(CLI::Range(int64_t{1}, suf::gates::kMostValues))
      ->option_text("N");
  p->add_option("--out", all->plan.out, "plan file to write")->required();
  p->callback([=] { *status = RunFnPlan(all->plan); });

  const char* const values = "what this party brings, if the plan asks for it: a file with one number a line";
  const char* const out = "write what this party learns, or its share of it, to this file (default: to stdout)";
  auto* s = fn->add_subcommand("serve",
                               "P0 of a function: answers callers; certificate: model\n"
                               "Example:  suf fn serve --plan relu.plan --values x.txt --certs certs --dealer "
                               "127.0.0.1:7001 --listen 127.0.0.1:7002 --store p0");
  AddAnswer(s, &all->serve);
  s->add_option("--values", all->serve.values, values)->option_text("FILE");
  s->add_option("--out", all->serve.out, out);
  s->callback([=] { *status = RunFnServe(all->serve); });

  auto* a = fn->add_subcommand("ask",
                               "P1 of a function: one call of a server; certificate: data\n"
                               "Example:  suf fn ask --plan relu.plan --certs certs --dealer 127.0.0.1:7001 --connect "
                               "127.0.0.1:7002 --store p1");
  AddParty(a, &all->ask, kModelOwner, kDataOwner);
  a->add_option("--connect", all->ask.connect, "where P0 listens")->required();
  a->add_option("--values", all->ask.values, values)->option_text("FILE");
  a->add_option("--out", all->ask.out, out);
  a->add_option("--times", all->ask.times, "write to this file where the time went, a JSON line");
  AddAudit(a, &all->ask.audit);
  a->add_flag("--json", all->ask.json, "JSON");
  a->callback([=] { *status = RunFnAsk(all->ask); });
}

// AddFunctions: suf fn and suf backends.
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

// NameValues: says in the help what an option takes, instead of TEXT and INT.
void NameValues(CLI::App* c) {
  static const std::map<std::string, std::string> kNames = {{"--calibrate", "FILE"},
                                                            {"--ids", "FILE"},
                                                            {"--svg", "FILE"},
                                                            {"--certs", "DIR"},
                                                            {"--connect", "HOST:PORT"},
                                                            {"--dealer", "HOST:PORT"},
                                                            {"--file", "FILE"},
                                                            {"--json-file", "FILE"},
                                                            {"--listen", "HOST:PORT"},
                                                            {"--max-tokens", "N"},
                                                            {"--model", "DIR"},
                                                            {"--out", "FILE"},
                                                            {"--pin", "ROLE=SHA256"},
                                                            {"--plan", "FILE"},
                                                            {"--preset", "NAME"},
                                                            {"--record", "FILE"},
                                                            {"--seed", "N"},
                                                            {"--state", "DIR"},
                                                            {"--store", "DIR"},
                                                            {"--timeout", "SECONDS"},
                                                            {"--times", "FILE"},
                                                            {"--tokens", "N"},
                                                            {"--trace", "TOKENS"},
                                                            {"--variant", "NAME"},
                                                            {"--vocab", "FILE"},
                                                            {"dir", "DIR"},
                                                            {"plan", "FILE"},
                                                            {"function", "F"},
                                                            {"formula", "FORMULA"}};
  for (CLI::Option* o : c->get_options())
    if (auto it = kNames.find(o->get_name()); it != kNames.end() && o->get_type_name() != "DIR")
      o->type_name(it->second);
  for (CLI::App* sub : c->get_subcommands({})) NameValues(sub);
}

// Usage: the sentence for a command line that cannot be read.
std::string Usage(const CLI::App& app, const CLI::ParseError& x) {
  std::string what = x.what(), command = "suf";
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back(), command += " " + at->get_name();
  if (auto* needs = dynamic_cast<const CLI::RequiredError*>(&x); needs && at->get_require_subcommand_min()) {
    auto rest = app.remaining(true);
    what = rest.empty() ? "a command is missing" : rest.front() + " is not a command of " + command;
  }
  return what + "; see " + command + " --help";
}

int Main(int argc, char** argv) {
  CLI::App app{
      "suf: private sentence embeddings. A data owner embeds texts with a model owner's model; neither learns the "
      "other's data.\n"
      "Start with:  suf demo --model DIR --file texts.txt"};
  app.require_subcommand(1);
  app.set_version_flag("--version", [] {
    return suf::Str("suf " SUF_VERSION ", plan version ", suf::nn::kPlanVersion, ", wire version ",
                    suf::store::kWireVersion);
  });
  int status = 0;

  ModelArgs model;
  auto* m = app.add_subcommand("model", "where the model is, or a random one for tests");
  m->require_subcommand(1);
  m->add_subcommand("path", "print the directory of the fetched all-MiniLM-L6-v2")->callback([&] {
    status = RunModel(model);
  });
  auto* mr = m->add_subcommand("random", "write a model with random weights");
  mr->add_option("--preset", model.preset, "tiny, minilm, tiny-gpt2 or tiny-llama")->required();
  mr->add_option("--seed", model.seed, "the same seed gives the same files")->required();
  mr->add_option("--out", model.out, "directory to write")->required()->type_name("DIR");
  mr->callback([&] { model.random = true, status = RunModel(model); });

  TokenizeArgs tok;
  auto* t = app.add_subcommand("tokenize", "texts to token ids, as the data owner does it");
  t->add_option("--model", tok.model, "model directory (its vocab.txt)")->required();
  t->add_flag("--json", tok.json, "JSON lines");
  AddSource(t, &tok.source, false, false);
  t->callback([&] { status = RunTokenize(tok); });

  CompileArgs comp;
  auto* c = app.add_subcommand("compile", "make the plan: everything public, and no weight (model owner)");
  c->add_option("--model", comp.model, "model directory: config.json, model.safetensors, vocab.txt")->required();
  c->add_option("--calibrate", comp.calibrate,
                "texts, one a line, that are like those to come; they place the windows");
  c->add_option("--ids", comp.ids, "instead of --calibrate: a file with the token ids of one text a line");
  c->add_option("--max-tokens", comp.max_tokens, "longest text the plan covers")->default_val(256);
  c->add_option("--out", comp.out, "plan file to write")->required();
  c->add_option("--set", comp.settings, SettingsHelp())->allow_extra_args(false)->option_text("NAME=VALUE");
  c->add_option(
       "--profile", comp.profile,
       "what a flight, a byte, a key byte and a block cost: cpu, gpu, lan, wan, or prices (suf fn cost --help)")
      ->default_val("wan");
  c->add_option("--keys", comp.keys, "when keys come: ahead of a text, or now, while the parties wait")
      ->check(CLI::IsMember({"ahead", "now"}))
      ->default_val("ahead");
  c->parse_complete_callback([&] {
    if (comp.calibrate.empty() == comp.ids.empty()) throw CLI::RequiredError("one of --calibrate and --ids");
  });
  c->callback([&] { status = RunCompile(comp); });

  PlanShowArgs show;
  auto* p = app.add_subcommand("plan", "look at a plan");
  p->require_subcommand(1);
  auto* ps = p->add_subcommand("show", "print a plan: rings, certificates, tables");
  ps->add_option("plan", show.plan, "plan file")->required();
  ps->add_flag("--json", show.json, "the whole plan as JSON");
  ps->add_option("--trace", show.tokens,
                 "print instead the trace for so many tokens, one node a line, and its schedule");
  ps->add_flag("--graph", show.graph, "print instead the graph: operators, what they read, forms, rings, scales");
  ps->add_option("--svg", show.svg, "draw the graph into this file");
  ps->callback([&] { show.trace = show.tokens > 0, status = RunPlanShow(show); });

  EstimateArgs est;
  auto* e = app.add_subcommand("estimate", "what an inference will cost: flights, keys, bytes, by layer and operator");
  e->add_option("--plan", est.plan, "plan file")->required();
  e->add_option("--tokens", est.tokens, "length of the text, [CLS] and [SEP] included")->required();
  e->add_option("--ahead", est.ahead, "also the bytes of so many keys made ahead")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  e->add_flag("--json", est.json, "JSON");
  e->callback([&] { status = RunEstimate(est); });

  SimulateArgs sim;
  auto* s = app.add_subcommand(
      "simulate", "the specification: the plan's whole numbers in clear, and every wire that leaves its window");
  s->add_option("--model", sim.model, "model directory")->required();
  s->add_option("--plan", sim.plan, "plan file")->required();
  s->add_flag("--json", sim.json, "JSON lines");
  s->add_flag("--truncate", sim.truncate, "cut texts over the limit instead of refusing them");
  AddSource(s, &sim.source, false);
  s->callback([&] { status = RunSimulate(sim); });

  CertsArgs certs;
  auto* ce = app.add_subcommand("certs", "make certificates for the three roles; the CA's key is never written");
  ce->add_option("dir", certs.dir, "directory to make: dealer/ model/ data/")->required();
  ce->add_flag("--show", certs.show,
               "make nothing; print the fingerprints of the certificates in DIR, as --pin takes them");
  ce->callback([&] { status = RunCerts(certs); });

  DealArgs deal;
  auto* d = app.add_subcommand("deal", "the dealer: makes correlated randomness; sees neither weights nor texts");
  d->add_option("--plan", deal.plan, "plan file")->required();
  d->add_option("--certs", deal.certs, "the dealer's folder of suf certs, or its parent")->required();
  d->add_option("--listen", deal.listen, "where to listen; port 0 takes a free one")->required();
  d->add_option("--state", deal.state, "directory of the serial counter (default: state/ in the folder of --certs)");
  auto* dn = d->add_option("--tokens", deal.tokens, "for texts of so many tokens bundles may be made ahead");
  d->add_option("--count", deal.count,
                "how many at most, with --tokens; parties get as many as both ask for with --ahead (default: 1)")
      ->needs(dn)
      ->check(CLI::Range(1, 1 << 16))
      ->option_text("N");
  d->add_option("--timeout", deal.timeout, "seconds to wait for a silent peer")->default_val(60);
  d->add_option("--times", deal.times, "write to this file where the time went, a JSON line a bundle");
  AddVariant(d, &deal.variant);
  AddPins(d, &deal.pins);
  d->callback([&] { status = RunDeal(deal); });

  ServeArgs serve;
  auto* sv = app.add_subcommand("serve", "the model owner (P0): serves embeddings of texts it never sees");
  sv->add_option("--model", serve.model, "model directory")->required();
  AddAnswer(sv, &serve);
  sv->callback([&] { status = RunServe(serve); });

  EmbedArgs embed;
  auto* em = app.add_subcommand("embed", "the data owner (P1): embeds texts with a model it never sees");
  AddParty(em, &embed, kModelOwner, kDataOwner);
  em->add_option("--vocab", embed.vocab, "vocab.txt of the model (public); not with --ids");
  em->add_option("--connect", embed.connect, "where the model owner listens")->required();
  em->add_flag("--json", embed.json, "JSON lines");
  em->add_flag("--truncate", embed.truncate, "cut texts over the limit instead of refusing them");
  auto one_by_one = em->add_flag(
      "--one-by-one", embed.one_by_one,
      "ask for the keys of a text when it is due, not while the one before runs: a text is done sooner, all later");
  em->add_option("--out", embed.out, "also write the embeddings to this safetensors file");
  // its pauses would tell the dealer what was audited before it deals the next
  AddAudit(em, &embed.audit)->excludes(one_by_one);
  AddSource(em, &embed.source, true);
  em->callback([&] { status = RunEmbed(embed); });

  DemoArgs demo;
  demo.program = "/proc/self/exe";
  auto* de = app.add_subcommand("demo", "all three roles as processes on this machine, compared with the clear result");
  de->add_option("--model", demo.model, "model directory")->required();
  de->add_option("--plan", demo.plan, "plan file (default: compiled from the calibration texts)");
  de->add_option("--calibrate", demo.calibrate, "calibration texts, one a line (default: the texts themselves)");
  de->add_flag("--json", demo.json, "JSON lines");
  de->add_flag("--truncate", demo.truncate, "cut texts over the limit instead of refusing them");
  de->add_flag("--one-by-one", demo.one_by_one, "as for embed: times of one text that no other one disturbs");
  AddVariant(de, &demo.variant);
  AddSource(de, &demo.source, false);
  de->callback([&] { status = RunDemo(demo); });

  FunctionCommands functions;
  AddFunctions(&app, &functions, &status);
  // after the commands, so that only `suf` has it
  app.set_help_all_flag("--help-all", "help of every command");
  NameValues(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& x) {  // --help, --version
    return app.exit(x);
  } catch (const CLI::ParseError& x) {
    std::cerr << "suf: " << Usage(app, x) << std::endl;
    return ExitCode(suf::Cause::kInput);
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN), std::signal(SIGXFSZ, SIG_IGN);  // both come back as errors of the write
  int status;
  try {
    status = Main(argc, argv);
    if (!std::cout.flush())
      suf::Fail(suf::Cause::kResource, "cannot write to stdout; see to the disk or the program behind it");
  } catch (const suf::Error& x) {
    std::cout.flush();
    std::cerr << "suf: " << x.what() << std::endl;
    status = suf::apps::ExitCode(x.cause());
  } catch (const std::bad_alloc&) {
    std::cerr << "suf: out of memory; use a shorter text or a larger machine" << std::endl;
    status = suf::apps::ExitCode(suf::Cause::kResource);
  } catch (const std::exception& x) {
    std::cerr << "suf: " << x.what() << std::endl;
    status = suf::apps::ExitCode(suf::Cause::kResource);
  }
  return status;
}
