// The command line. Only this file and options*.cpp include CLI11.
#include "apps/program.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <map>
#include <set>

#include "apps/child.hpp"
#include "apps/commands.hpp"
#include "apps/exit.hpp"
#include "apps/options.hpp"
#include "apps/output.hpp"
#include "apps/screen.hpp"
#include "apps/signals.hpp"
#include "suf/base/foreign.hpp"
#include "suf/base/printable.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/net/credentials.hpp"
#include "suf/nn/plan/plan.hpp"
#include "suf/store/bundle.hpp"

namespace suf::apps {

namespace {

// Names the values of options in the help, instead of TEXT and INT, and the files for which - can stand.
void NameValues(CLI::App* c) {
  static const std::map<std::string, std::string> kNames = {
      {"--calibrate", "FILE"},   {"--ids", "FILE"},     {"--svg", "FILE"},
      {"--certs", "DIR"},        {"--file", "FILE"},    {"--json-file", "FILE"},
      {"--max-tokens", "N"},     {"--model", "DIR"},    {"--out", "FILE"},
      {"--pin", "ROLE=SHA256"},  {"--plan", "FILE"},    {"--preset", "NAME"},
      {"--record", "FILE"},      {"--seed", "N"},       {"--shifts", "FILE"},
      {"--state", "DIR"},        {"--store", "DIR"},    {"--timeout", "SECONDS"},
      {"--times", "FILE"},       {"--tokens", "N"},     {"--trace", "TOKENS"},
      {"--backend", "NAME"},     {"--kernels", "NAME"}, {"--variant", "NAME"},
      {"--variants", "NAME,.."}, {"--vocab", "FILE"},   {"dir", "DIR"},
      {"plan", "FILE"},          {"function", "F"},     {"gate", "G"},
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
    if ((!o->get_positional() || o->get_type_name() == "DIR") && o->get_items_expected_max() > 0)
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
    const bool number = given.find_first_not_of("+-.0123456789") == given.npos;
    return name + " takes a number" + (number ? " in its range" : ", in digits") + "; got " +
           (given.empty() ? "something else" : "\"" + given + "\"");
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&x) && option &&
      option->results().size() > size_t(option->get_items_expected_max()))
    return name + " is given twice; give it once";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&x) && option)
    return name + " takes " + (option->get_items_expected_max() > 1 ? "values" : "one value") +
           (option->get_type_name().empty() ? "" : ", " + option->get_type_name());
  if (dynamic_cast<const CLI::ValidationError*>(&x) && option)
    for (const std::string& r : option->results())
      if (r.empty()) return name + " is empty; give it a value, or leave it out";
  if (dynamic_cast<const CLI::ExcludesError*>(&x)) return what + "; give one of them";
  if (dynamic_cast<const CLI::ExtrasError*>(&x)) {
    auto rest = c->remaining(true);
    std::erase(rest, "--");
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
    if (!rest.empty() && rest.front() == "gateway") what = "gateway is a command of the Python package suf";
  }
  return what + "; see " + command + " --help";
}

// Returns the version of this program with those of its files, its messages and its libraries.
std::string Version() {
  const std::string cuda = gpu::CudaBuilt();
  return Str("suf " SUF_VERSION ", plan version ", nn::kPlanVersion, ", wire version ", store::kWireVersion, ", ",
             net::TlsLibrary(), cuda.empty() ? ", without cuda" : ", cuda with ", cuda);
}

// Parses the command line and runs its command. Returns the exit code.
int Main(int argc, char** argv) {
  CLI::App app{
      "suf: private sentence embeddings. A data owner embeds texts with a model owner's model; neither learns the "
      "other's data.\n"
      "Start with:  suf demo --model DIR --file texts.txt"};
  app.require_subcommand(1);
  app.set_version_flag("--version", Version);
  int status = 0;

  ModelCommands models;
  AddModels(&app, &models, &status);
  IndexCommands indexes;
  AddIndex(&app, &indexes, &status);
  ReceiptCommands receipts;
  AddReceipts(&app, &receipts, &status);
  FunctionCommands functions;
  AddFunctions(&app, &functions, &status);
  GateCommands gates;
  AddGates(&app, &gates, &status);
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
    std::cerr << "suf: " << Printable(Usage(app, x)) << std::endl;
    return ExitCode(Cause::kInput);
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

int RunProgram(int argc, char** argv, std::vector<std::string> self) {
  SetProgram(std::move(self));
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
  } catch (const Error& x) {
    std::cerr << "suf: " << x.what() << std::endl;
    status = ExitCode(x.cause());
  } catch (const Interrupt& x) {
    std::cout.flush();
    std::cerr << "suf: " << x.what() << std::endl;
    signal = x.signal();
    status = 0;
  } catch (const std::exception& x) {
    std::cerr << "suf: " << Message(x) << std::endl;
    status = ExitCode(Cause::kResource);
  }
  if (signal) EndBy(signal);
  return status;
}

}  // namespace suf::apps
