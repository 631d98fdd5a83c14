// The command line. Only this file, options.cpp and options_fn.cpp include CLI11.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <map>
#include <set>

#include "apps/commands.hpp"
#include "apps/exit.hpp"
#include "apps/options.hpp"
#include "apps/output.hpp"
#include "apps/screen.hpp"
#include "apps/signals.hpp"
#include "suf/base/foreign.hpp"
#include "suf/base/printable.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/net/credentials.hpp"
#include "suf/nn/plan/plan.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/store/bundle.hpp"

namespace {

using namespace suf::apps;  // NOLINT: this file is the list of commands

// Adds the ways to give texts, of which exactly one is required. An option group would miss its positional after "--".
void AddSource(CLI::App* c, Source* s, bool text, bool ids = true) {
  std::vector<CLI::Option*> ways;
  if (text) ways.push_back(c->add_option("text", s->text, "one text (write -- before it if it begins with a dash)"));
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
    if (given == 0) throw CLI::RequiredError("one of " + names);
    if (given > 1) throw CLI::ValidationError("give only one of " + names);
  });
}

// Returns the help of --set.
std::string SettingsHelp() {
  std::string help =
      "replace a number of the compiler; may be repeated, and the last value of a name counts. Names with defaults:";
  for (const suf::roles::Setting& s : suf::roles::Compiler::Settings())
    help += suf::Str("\n", s.name, "=", s.value, "  ", s.meaning);
  return help;
}

// Names the values of options in the help, instead of TEXT and INT, and the files for which - can stand.
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
                                                            {"--backend", "NAME"},
                                                            {"--kernels", "NAME"},
                                                            {"--variant", "NAME"},
                                                            {"--variants", "NAME,.."},
                                                            {"--vocab", "FILE"},
                                                            {"dir", "DIR"},
                                                            {"plan", "FILE"},
                                                            {"function", "F"},
                                                            {"formula", "FORMULA"}};
  static const std::set<std::string> kRead = {"--calibrate", "--file",   "--ids", "--json-file",
                                              "--plan",      "--values", "plan",  "function"};
  for (CLI::Option* o : c->get_options())
    if (auto it = kNames.find(o->get_name()); it != kNames.end() && o->get_type_name() != "DIR")
      o->type_name(it->second);
  for (CLI::Option* o : c->get_options())
    if (kRead.contains(o->get_name())) o->description(o->get_description() + "; - is standard input");
  for (CLI::App* sub : c->get_subcommands({})) NameValues(sub);
}

// Refuses an option that is given and empty, as from an unset shell variable. It would otherwise count as not given.
void RefuseEmpty(CLI::App* c) {
  for (CLI::Option* o : c->get_options())
    if (!o->get_positional() && o->get_items_expected_max() > 0)
      o->check([](const std::string& s) { return s.empty() ? std::string("empty") : std::string(); });
  for (CLI::App* sub : c->get_subcommands({})) RefuseEmpty(sub);
}

// Returns the option of this command that a message of CLI11 names first, or null.
const CLI::Option* OptionIn(const CLI::App* c, const std::string& sentence) {
  const CLI::Option* found = nullptr;
  size_t first = sentence.npos;
  for (const CLI::Option* o : c->get_options()) {
    const size_t at = sentence.find(o->get_name());
    if (at < first || (at == first && found && o->get_name().size() > found->get_name().size())) {
      found = o;
      first = at;
    }
  }
  return found;
}

// Returns the message of CLI11, rewritten if it does not say what would be right.
std::string Translated(const CLI::App* c, const CLI::ParseError& x) {
  const std::string what = x.what();
  const CLI::Option* const option = OptionIn(c, what);
  const std::string name = option ? option->get_name() : "";
  if (dynamic_cast<const CLI::ConversionError*>(&x) && option) {
    std::string given;
    for (auto& r : option->results()) given += (given.empty() ? "" : " ") + r;
    return name + " takes a number in its range; got " + (given.empty() ? "something else" : "\"" + given + "\"");
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&x) && option)
    return name + " takes " + (option->get_items_expected_max() > 1 ? "values" : "one value") +
           (option->get_type_name().empty() ? "" : ", " + option->get_type_name());
  if (dynamic_cast<const CLI::ValidationError*>(&x) && option)
    for (const std::string& r : option->results())
      if (r.empty()) return name + " is empty; give it a value, or leave it out";
  if (dynamic_cast<const CLI::ExcludesError*>(&x)) return what + "; give one of them";
  if (dynamic_cast<const CLI::ExtrasError*>(&x)) {
    const auto rest = c->remaining(true);
    if (!rest.empty())
      return rest.front() + (rest.front().starts_with('-') ? " is not an option" : " is one argument too many");
  }
  return what;
}

// Returns the error message for a command line that cannot be read.
std::string Usage(const CLI::App& app, const CLI::ParseError& x) {
  std::string command = "suf";
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().back();
    command += " " + at->get_name();
  }
  std::string what = Translated(at, x);
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
    const std::string cuda = suf::gpu::CudaBuilt();
    return suf::Str("suf " SUF_VERSION ", plan version ", suf::nn::kPlanVersion, ", wire version ",
                    suf::store::kWireVersion, ", ", suf::net::TlsLibrary(),
                    cuda.empty() ? ", without cuda" : ", cuda with ", cuda);
  });
  int status = 0;

  ModelArgs model;
  auto* m = app.add_subcommand("model", "print the directory of the fetched model, or write a random one for tests");
  m->require_subcommand(1);
  m->add_subcommand("path", "print the directory of the fetched all-MiniLM-L6-v2")->callback([&] {
    status = RunModel(model);
  });
  auto* mr = m->add_subcommand("random", "write a model with random weights");
  mr->add_option(
        "--preset", model.preset,
        "for tests: tiny, tiny-gpt2, tiny-llama. The published model's shape: minilm (91 MB). Published shapes with "
        "the scores of trained models, for measurements: bert-tiny (17 MB), bert-base (436 MB), bert-large (1.3 GB), "
        "gpt2 (498 MB)")
      ->required();
  mr->add_option("--seed", model.seed, "the same seed gives the same files")->required();
  mr->add_option("--out", model.out, "directory to write")->required()->type_name("DIR");
  mr->callback([&] {
    model.random = true;
    status = RunModel(model);
  });

  TokenizeArgs tok;
  auto* t = app.add_subcommand("tokenize", "convert texts to token ids, as the data owner does");
  t->add_option("--model", tok.model, "model directory (its vocab.txt or tokenizer.json)")->required();
  t->add_flag("--json", tok.json, kJsonHelp);
  AddSource(t, &tok.source, false, false);
  t->callback([&] { status = RunTokenize(tok); });

  CompileArgs comp;
  auto* c = app.add_subcommand("compile", "make the plan, which is public and has no weights (model owner)");
  c->add_option("--model", comp.model,
                "model directory: config.json, model.safetensors, and vocab.txt or tokenizer.json")
      ->required();
  c->add_option("--calibrate", comp.calibrate,
                "a file of texts like those to come, one a line; they place the windows");
  c->add_option("--ids", comp.ids, "instead of --calibrate: a file with the token ids of one text a line");
  c->add_option("--max-tokens", comp.max_tokens, "length of the longest text that the plan covers, in tokens")
      ->default_val(256);
  c->add_option("--out", comp.out, "plan file to write")->required();
  c->add_option("--set", comp.settings, SettingsHelp())->allow_extra_args(false)->option_text("NAME=VALUE");
  c->add_option("--profile", comp.profile,
                "the prices that choose: " + suf::compiler::PricesHelp() +
                    "; several make a variant each: names with commas between, others with ; (default: lan)")
      ->option_text("P");
  c->add_option("--variant", comp.variants, "one more variant, with this name and these prices; may be repeated")
      ->allow_extra_args(false)
      ->option_text("NAME=PRICES");
  c->add_option("--keys", comp.keys, kKeysHelp)->check(CLI::IsMember({"ahead", "now"}));
  c->parse_complete_callback([&] {
    if (comp.calibrate.empty() && comp.ids.empty()) throw CLI::RequiredError("one of --calibrate and --ids");
    if (!comp.calibrate.empty() && !comp.ids.empty())
      throw CLI::ValidationError("give only one of --calibrate and --ids");
  });
  c->callback([&] { status = RunCompile(comp); });

  PlanShowArgs show;
  auto* p = app.add_subcommand("plan", "show a plan");
  p->require_subcommand(1);
  auto* ps = p->add_subcommand("show", "print a plan: rings, certificates, tables");
  ps->add_option("plan", show.plan, "plan file")->required();
  auto* whole = ps->add_flag("--json", show.json, "print instead the whole plan as JSON");
  auto* trace = ps->add_option("--trace", show.tokens,
                               "print instead the trace of a text of this length, one node a line, and its schedule");
  auto* graph = ps->add_flag("--graph", show.graph, "print instead the graph: operators, inputs, forms, rings, scales");
  auto* svg = ps->add_option("--svg", show.svg, "draw the graph into this SVG file");
  whole->excludes(trace)->excludes(graph)->excludes(svg);
  trace->excludes(graph)->excludes(svg);
  AddVariant(ps, &show.variant);
  ps->callback([&, trace] {
    show.trace = trace->count() > 0;
    status = RunPlanShow(show);
  });

  EstimateArgs est;
  auto* e =
      app.add_subcommand("estimate", "print the cost of an inference: flights, keys, bytes, by layer and operator");
  e->add_option("--plan", est.plan, "plan file")->required();
  e->add_option("--tokens", est.tokens, kLengthHelp)->required();
  e->add_option("--ahead", est.ahead, "also print the bytes on disk of N bundles made ahead, 0 to 65536")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  e->add_option("--audit", est.audit, "also print the memory and the keys of N audits, 0 to 65536")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  e->add_option("--profile", est.profile,
                "also print the online time over this network: " + suf::compiler::PricesHelp())
      ->option_text("P");
  e->add_flag("--device", est.device,
              "also print the memory and the kernels of each role on an NVIDIA device; needs none");
  e->add_flag("--json", est.json, kJsonHelp);
  AddVariant(e, &est.variant);
  e->callback([&] { status = RunEstimate(est); });

  KernelsArgs kernels;
  auto* ks = app.add_subcommand("kernels", "compile the kernels of --backend cuda for a plan; needs no device");
  ks->add_option("--plan", kernels.plan, "plan file")->required();
  ks->add_option("--tokens", kernels.tokens, kLengthHelp)->required();
  ks->add_option("--arch", kernels.arch, "compute capability of the device, 80 to 999; 90 is 9.0 (default: 90)")
      ->check(CLI::Range(80, 999))
      ->option_text("N");
  ks->add_option("--role", kernels.role, "compile for deal, serve or embed (default: all three)")
      ->check(CLI::IsMember({"deal", "serve", "embed"}));
  ks->add_option("--out", kernels.out,
                 "folder to write (default: suf/kernels in the user's cache, which the backend reads)")
      ->option_text("DIR");
  AddVariant(ks, &kernels.variant);
  ks->callback([&] { status = RunKernels(kernels); });

  SimulateArgs sim;
  auto* s = app.add_subcommand(
      "simulate", "compute in clear with the plan's whole numbers, and report each wire that leaves its window");
  s->add_option("--model", sim.model, "model directory")->required();
  s->add_option("--plan", sim.plan, "plan file")->required();
  AddShifts(s, &sim.shifts);
  s->add_flag("--json", sim.json, kJsonHelp);
  s->add_flag("--truncate", sim.truncate, kTruncateHelp);
  AddVariant(s, &sim.variant);
  AddSource(s, &sim.source, false);
  s->callback([&] { status = RunSimulate(sim); });

  CertsArgs certs;
  auto* ce = app.add_subcommand("certs", "make certificates for the three roles; the CA's key is never written");
  ce->add_option("dir", certs.dir, "directory to make, with dealer/, model/ and data/")->required();
  ce->add_flag("--show", certs.show,
               "make nothing; print the fingerprints of the certificates in DIR, as --pin takes them");
  ce->callback([&] { status = RunCerts(certs); });

  DealArgs deal;
  auto* d = app.add_subcommand("deal",
                               "run the dealer, which makes correlated randomness and sees neither weights nor texts");
  d->add_option("--plan", deal.plan, "plan file")->required();
  d->add_option("--certs", deal.certs, kCertsHelp)->required();
  AddAddress(d, "--listen", &deal.listen, "address to listen on; port 0 takes a free one", true);
  d->add_option("--state", deal.state, "directory of the serial counter (default: state/ in the folder of --certs)");
  auto* dn = d->add_option("--tokens", deal.tokens, "allow bundles made ahead for texts of this length in tokens");
  d->add_option("--count", deal.count,
                "most bundles made ahead, 1 to 65536; the least of this and both --ahead counts (default: 1)")
      ->needs(dn)
      ->check(CLI::Range(1, 1 << 16))
      ->option_text("N");
  d->add_option("--timeout", deal.timeout, kTimeoutHelp)->default_val(60);
  d->add_option("--times", deal.times, kTimesHelp);
  AddWindow(d, &deal.window, "are made before the slower party takes them");
  AddStreams(d, &deal.streams);
  AddKernels(d, &deal.kernels);
  AddBackend(d, &deal.backend);
  d->add_option("--variant", deal.variant, "variant of the bundles made ahead (default: the first)")->needs(dn);
  AddPins(d, &deal.pins);
  d->callback([&] { status = RunDeal(deal); });

  ServeArgs serve;
  auto* sv =
      app.add_subcommand("serve", "run the model owner (P0), which serves embeddings of texts that it never sees");
  sv->add_option("--model", serve.model, "model directory")->required();
  AddShifts(sv, &serve.shifts);
  sv->add_option("--variants", serve.variants, "variants of the plan that data owners may take (default: all)");
  AddAnswer(sv, &serve);
  sv->callback([&] { status = RunServe(serve); });

  EmbedArgs embed;
  auto* em = app.add_subcommand("embed", "run the data owner (P1), which embeds texts with a model that it never sees");
  AddParty(em, &embed);
  em->add_option("--vocab", embed.vocab,
                 "the model's vocab.txt, or its tokenizer.json if compile named that (public); --ids needs none");
  AddAddress(em, "--connect", &embed.connect, "address of the model owner");
  em->add_option("--variant,--profile", embed.variant, kAutoHelp)->default_val("auto");
  em->add_flag("--json", embed.json, kJsonHelp);
  em->add_flag("--truncate", embed.truncate, kTruncateHelp);
  auto one_by_one = em->add_flag("--one-by-one", embed.one_by_one, kOneByOneHelp);
  em->add_option("--out", embed.out, "also write the embeddings to this safetensors file");
  // its pauses would show the dealer the audited bundle before it deals the next one
  AddAudit(em, &embed.audit)->excludes(one_by_one);
  AddSource(em, &embed.source, true);
  em->callback([&] { status = RunEmbed(embed); });

  DemoArgs demo;
  demo.program = "/proc/self/exe";
  auto* de = app.add_subcommand(
      "demo", "run all three roles as processes on this machine, and compare with the result in clear");
  de->add_option("--model", demo.model, "model directory")->required();
  de->add_option("--plan", demo.plan, "plan file (default: compiled from the calibration texts)");
  de->add_option("--calibrate", demo.calibrate, "calibration texts, one a line (default: the texts themselves)");
  de->add_flag("--json", demo.json, kJsonHelp);
  de->add_flag("--truncate", demo.truncate, kTruncateHelp);
  de->add_flag("--one-by-one", demo.one_by_one, kOneByOneHelp);
  AddStreams(de, &demo.streams);
  AddKernels(de, &demo.kernels);
  AddBackend(de, &demo.backend);
  de->add_option("--variant", demo.variant, kAutoHelp)->default_val("auto");
  AddSource(de, &demo.source, false);
  de->callback([&] { status = RunDemo(demo); });

  FunctionCommands functions;
  AddFunctions(&app, &functions, &status);
  // after the commands, so that only `suf` has it
  app.set_help_all_flag("--help-all", "help of every command");
  NameValues(&app);
  RefuseEmpty(&app);
  try {
    const std::vector<std::string> words = WithDashes(app, argc, argv);
    std::vector<const char*> given;
    for (const std::string& w : words) given.push_back(w.c_str());
    app.parse(int(given.size()), given.data());
  } catch (const CLI::Success& x) {  // --help, --version
    return app.exit(x);
  } catch (const CLI::ParseError& x) {
    std::cerr << "suf: " << suf::Printable(Usage(app, x)) << std::endl;
    return ExitCode(suf::Cause::kInput);
  }
  return status;
}

// Runs the command and flushes stdout, even if the command throws.
int Flushed(int argc, char** argv) {
  try {
    const int status = Main(argc, argv);
    std::cout.flush();
    return status;
  } catch (const OutputError&) {
    throw;
  } catch (...) {
    try {
      std::cout.flush();
    } catch (const OutputError&) {  // the other error says more
    }
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardStreams();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // both become errors of the write
  const CheckedStdout output;
  AwaitSignals();
  const screen::ScreenStreams streams;
  int status, signal = 0;
  try {
    status = Flushed(argc, argv);
  } catch (const OutputError& x) {
    if (!x.closed()) std::cerr << "suf: " << x.what() << std::endl;
    status = x.closed() ? kUnread : ExitCode(x.cause());
  } catch (const suf::Error& x) {
    std::cerr << "suf: " << x.what() << std::endl;
    status = suf::apps::ExitCode(x.cause());
  } catch (const Interrupt& x) {
    std::cout.flush();
    std::cerr << "suf: " << x.what() << std::endl;
    signal = x.signal();
    status = 0;
  } catch (const std::exception& x) {
    std::cerr << "suf: " << suf::Message(x) << std::endl;
    status = suf::apps::ExitCode(suf::Cause::kResource);
  }
  if (signal) EndBy(signal);
  return status;
}
