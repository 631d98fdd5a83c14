// The command line. CLI11 stays here and in options.cpp and options_fn.cpp.
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
#include "suf/gpu/cuda.hpp"
#include "suf/base/foreign.hpp"
#include "suf/base/printable.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/net/credentials.hpp"
#include "suf/nn/plan.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/store/bundle.hpp"

namespace {

using namespace suf::apps;  // NOLINT: this file is the list of commands

// Exactly one of the ways to give texts. Not an option group: its positional would not be found after "--".
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
    if (given == 0) throw CLI::RequiredError("one of " + names);
    if (given > 1) throw CLI::ValidationError("give only one of " + names);
  });
}

// What --set takes.
std::string SettingsHelp() {
  std::string help =
      "another number than the compiler's own, where it asks for one; may be repeated, the last one of a name counts:";
  for (const suf::roles::Setting& s : suf::roles::Compiler::Settings())
    help += suf::Str("\n", s.name, "=", s.value, "  ", s.meaning);
  return help;
}

// Says in the help what an option takes, instead of TEXT and INT, and which files - can stand for.
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

// Refuses an option that is given and empty, as of a shell variable that is not set: it would read as not given.
void RefuseEmpty(CLI::App* c) {
  for (CLI::Option* o : c->get_options())
    if (!o->get_positional() && o->get_items_expected_max() > 0)
      o->check([](const std::string& s) { return s.empty() ? std::string("empty") : std::string(); });
  for (CLI::App* sub : c->get_subcommands({})) RefuseEmpty(sub);
}

// The option of this command that a sentence of CLI11 names first, or null.
const CLI::Option* OptionIn(const CLI::App* c, const std::string& sentence) {
  const CLI::Option* found = nullptr;
  size_t first = sentence.npos;
  for (const CLI::Option* o : c->get_options()) {
    const size_t at = sentence.find(o->get_name());
    if (at < first || (at == first && found && o->get_name().size() > found->get_name().size())) found = o, first = at;
  }
  return found;
}

// What CLI11 found, where its own words leave out what would be right.
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

// The sentence for a command line that cannot be read.
std::string Usage(const CLI::App& app, const CLI::ParseError& x) {
  std::string command = "suf";
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back(), command += " " + at->get_name();
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
  auto* m = app.add_subcommand("model", "where the model is, or a random one for tests");
  m->require_subcommand(1);
  m->add_subcommand("path", "print the directory of the fetched all-MiniLM-L6-v2")->callback([&] {
    status = RunModel(model);
  });
  auto* mr = m->add_subcommand("random", "write a model with random weights");
  mr->add_option(
        "--preset", model.preset,
        "tiny, tiny-gpt2, tiny-llama: for tests; minilm (91 MB): the published model's shape; bert-tiny (17 MB), "
        "bert-base (436 MB), bert-large (1.3 GB), gpt2 (498 MB): published shapes with the scores of trained ones, for "
        "measurements")
      ->required();
  mr->add_option("--seed", model.seed, "the same seed gives the same files")->required();
  mr->add_option("--out", model.out, "directory to write")->required()->type_name("DIR");
  mr->callback([&] { model.random = true, status = RunModel(model); });

  TokenizeArgs tok;
  auto* t = app.add_subcommand("tokenize", "texts to token ids, as the data owner does it");
  t->add_option("--model", tok.model, "model directory (its vocab.txt or tokenizer.json)")->required();
  t->add_flag("--json", tok.json, "JSON lines");
  AddSource(t, &tok.source, false, false);
  t->callback([&] { status = RunTokenize(tok); });

  CompileArgs comp;
  auto* c = app.add_subcommand("compile", "make the plan: everything public, and no weight (model owner)");
  c->add_option("--model", comp.model,
                "model directory: config.json, model.safetensors, and vocab.txt or tokenizer.json")
      ->required();
  c->add_option("--calibrate", comp.calibrate,
                "texts, one a line, that are like those to come; they place the windows");
  c->add_option("--ids", comp.ids, "instead of --calibrate: a file with the token ids of one text a line");
  c->add_option("--max-tokens", comp.max_tokens, "longest text the plan covers")->default_val(256);
  c->add_option("--out", comp.out, "plan file to write")->required();
  c->add_option("--set", comp.settings, SettingsHelp())->allow_extra_args(false)->option_text("NAME=VALUE");
  c->add_option("--profile", comp.profile,
                "whose prices choose: " + suf::compiler::PricesHelp() +
                    "; several make a variant each: names with commas, others with ; between (default: lan)")
      ->option_text("P");
  c->add_option("--variant", comp.variants,
                "a variant with its name and prices, beside those of --profile; may be repeated")
      ->allow_extra_args(false)
      ->option_text("NAME=PRICES");
  c->add_option("--keys", comp.keys,
                "when keys come: ahead of a text, or now, while the parties wait (default: as the profile says, ahead)")
      ->check(CLI::IsMember({"ahead", "now"}));
  c->parse_complete_callback([&] {
    if (comp.calibrate.empty() && comp.ids.empty()) throw CLI::RequiredError("one of --calibrate and --ids");
    if (!comp.calibrate.empty() && !comp.ids.empty())
      throw CLI::ValidationError("give only one of --calibrate and --ids");
  });
  c->callback([&] { status = RunCompile(comp); });

  PlanShowArgs show;
  auto* p = app.add_subcommand("plan", "look at a plan");
  p->require_subcommand(1);
  auto* ps = p->add_subcommand("show", "print a plan: rings, certificates, tables");
  ps->add_option("plan", show.plan, "plan file")->required();
  auto* whole = ps->add_flag("--json", show.json, "the whole plan as JSON");
  auto* trace = ps->add_option("--trace", show.tokens,
                               "print instead the trace for so many tokens, one node a line, and its schedule");
  auto* graph =
      ps->add_flag("--graph", show.graph, "print instead the graph: operators, what they read, forms, rings, scales");
  auto* svg = ps->add_option("--svg", show.svg, "draw the graph into this file");
  whole->excludes(trace)->excludes(graph)->excludes(svg);
  trace->excludes(graph)->excludes(svg);
  AddVariant(ps, &show.variant);
  ps->callback([&, trace] { show.trace = trace->count() > 0, status = RunPlanShow(show); });

  EstimateArgs est;
  auto* e = app.add_subcommand("estimate", "what an inference will cost: flights, keys, bytes, by layer and operator");
  e->add_option("--plan", est.plan, "plan file")->required();
  e->add_option("--tokens", est.tokens, "length of the text, [CLS] and [SEP] included")->required();
  e->add_option("--ahead", est.ahead, "also the bytes of so many keys made ahead")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  e->add_option("--audit", est.audit, "also the memory and the keys of so many audits")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  e->add_option("--profile", est.profile, "also the online time over this network: " + suf::compiler::PricesHelp())
      ->option_text("P");
  e->add_flag("--device", est.device, "also the memory and the kernels of each role on an NVIDIA device; needs none");
  e->add_flag("--json", est.json, "JSON");
  AddVariant(e, &est.variant);
  e->callback([&] { status = RunEstimate(est); });

  KernelsArgs kernels;
  auto* ks = app.add_subcommand("kernels", "compile what --backend cuda runs for a plan, where there is no device");
  ks->add_option("--plan", kernels.plan, "plan file")->required();
  ks->add_option("--tokens", kernels.tokens, "length of the texts, [CLS] and [SEP] included")->required();
  ks->add_option("--arch", kernels.arch, "compute capability of the device, 90 for 9.0 (default: 90)")
      ->check(CLI::Range(80, 999))
      ->option_text("N");
  ks->add_option("--role", kernels.role, "deal, serve or embed (default: all three)")
      ->check(CLI::IsMember({"deal", "serve", "embed"}));
  ks->add_option("--out", kernels.out, "folder (default: where the backend looks, suf/kernels in the user's cache)")
      ->option_text("DIR");
  AddVariant(ks, &kernels.variant);
  ks->callback([&] { status = RunKernels(kernels); });

  SimulateArgs sim;
  auto* s = app.add_subcommand(
      "simulate", "the specification: the plan's whole numbers in clear, and every wire that leaves its window");
  s->add_option("--model", sim.model, "model directory")->required();
  s->add_option("--plan", sim.plan, "plan file")->required();
  AddShifts(s, &sim.shifts);
  s->add_flag("--json", sim.json, "JSON lines");
  s->add_flag("--truncate", sim.truncate, "cut texts over the limit instead of refusing them");
  AddVariant(s, &sim.variant);
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
  AddAddress(d, "--listen", &deal.listen, "where to listen; port 0 takes a free one", true);
  d->add_option("--state", deal.state, "directory of the serial counter (default: state/ in the folder of --certs)");
  auto* dn = d->add_option("--tokens", deal.tokens, "for texts of so many tokens bundles may be made ahead");
  d->add_option("--count", deal.count,
                "how many at most, with --tokens; parties get as many as both ask for with --ahead (default: 1)")
      ->needs(dn)
      ->check(CLI::Range(1, 1 << 16))
      ->option_text("N");
  d->add_option("--timeout", deal.timeout, "seconds to wait for a silent peer")->default_val(60);
  d->add_option(
      "--times", deal.times,
      "write to this file where the time went, a JSON line a bundle; measures each operator on a device, which "
      "takes longer");
  AddWindow(d, &deal.window, "megabytes of keys that are made before the slower party takes them");
  AddStreams(d, &deal.streams);
  AddKernels(d, &deal.kernels);
  AddBackend(d, &deal.backend);
  d->add_option("--variant", deal.variant, "with --tokens: bundles made ahead are of this variant (default: the first)")
      ->needs(dn);
  AddPins(d, &deal.pins);
  d->callback([&] { status = RunDeal(deal); });

  ServeArgs serve;
  auto* sv = app.add_subcommand("serve", "the model owner (P0): serves embeddings of texts it never sees");
  sv->add_option("--model", serve.model, "model directory")->required();
  AddShifts(sv, &serve.shifts);
  sv->add_option("--variants", serve.variants, "variants of the plan that data owners may take (default: all)");
  AddAnswer(sv, &serve);
  sv->callback([&] { status = RunServe(serve); });

  EmbedArgs embed;
  auto* em = app.add_subcommand("embed", "the data owner (P1): embeds texts with a model it never sees");
  AddParty(em, &embed, kModelOwner, kDataOwner);
  em->add_option("--vocab", embed.vocab,
                 "the model's vocab.txt, or its tokenizer.json where compile named that (public); --ids needs none");
  AddAddress(em, "--connect", &embed.connect, "where the model owner listens");
  em->add_option("--variant,--profile", embed.variant, kAutoHelp)->default_val("auto");
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
  NameValues(&app), RefuseEmpty(&app);
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

// Runs the command and flushes stdout, also behind what went wrong.
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
  std::signal(SIGPIPE, SIG_IGN), std::signal(SIGXFSZ, SIG_IGN);  // both come back as errors of the write
  const Output output;
  AwaitSignals();
  const screen::Streams streams;
  int status, signal = 0;
  try {
    status = Flushed(argc, argv);
  } catch (const OutputError& x) {
    if (!x.closed()) std::cerr << "suf: " << x.what() << std::endl;
    status = x.closed() ? kUnread : ExitCode(x.cause());
  } catch (const suf::Error& x) {
    std::cerr << "suf: " << x.what() << std::endl;
    status = suf::apps::ExitCode(x.cause());
  } catch (const Interrupted& x) {
    std::cout.flush();
    std::cerr << "suf: " << x.what() << std::endl;
    signal = x.signal(), status = 0;
  } catch (const std::exception& x) {
    std::cerr << "suf: " << suf::Message(x) << std::endl;
    status = suf::apps::ExitCode(suf::Cause::kResource);
  }
  if (signal) EndBy(signal);
  return status;
}
