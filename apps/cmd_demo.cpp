// The command `suf demo`: dealer, model owner and data owner as three processes on this machine. Only the demo holds
// both text and weights. It compares each result with the simulator (every word) and with the float model (cosine).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/child.hpp"
#include "apps/cmd_index.hpp"
#include "apps/demo_show.hpp"
#include "apps/exit.hpp"
#include "apps/output.hpp"
#include "apps/role.hpp"
#include "apps/screen.hpp"
#include "apps/show.hpp"
#include "apps/signals.hpp"
#include "apps/texts.hpp"
#include "suf/backends/all.hpp"
#include "suf/base/json.hpp"
#include "suf/net/certs.hpp"
#include "suf/nn/read/forward.hpp"
#include "suf/ring/cpu.hpp"
#include "suf/roles/index_folder.hpp"
#include "suf/roles/simulator.hpp"

namespace suf::apps {

using nlohmann::ordered_json;

namespace {

// Adds the times of another role's file to the rows of the same serial.
void AddTimes(const std::string& path, const char* role, std::vector<ordered_json>* rows) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    ordered_json t = ReadOrderedJson(line, {Str("a line of times of ", role), "start again", Cause::kResource});
    const ordered_json serial = t["serial"];
    t.erase("serial");
    for (auto& row : *rows)
      if (row.contains("serial") && row["serial"] == serial) row["times"][role] = t;
  }
}

// Takes signals during the demo. The first one while the data owner runs is passed to it; any other ends the demo.
class DemoSignals {
 public:
  // Returns the signal that stopped the data owner; 0 if none came.
  int stopped() const { return stopped_; }
  // Sets the data owner while it runs, else null.
  void SetRunning(const Child* embed) { running_ = embed; }

 private:
  std::atomic<const Child*> running_{nullptr};
  std::atomic<int> stopped_{0};
  const SignalTaker taker_{[this](int signal, int turn) {
    const Child* embed = running_;
    if (!embed || turn > 1) {
      EndChildren();
      EndBy(signal);
    }
    stopped_ = signal;
    embed->Signal(signal);  // its log says when it ends
  }};
};

// The files that the roles read, and the folder for those that they write.
struct DemoFiles {
  TempFolder dir;
  std::string plan, vocabulary = {};
  const std::string certs = dir / "certs", texts = dir / "texts";
};

// Compiles the plan, from the texts themselves if there are no others. Returns its file.
std::string CompilePlan(const DemoArgs& a, const std::vector<TextLine>& lines, const TempFolder& dir) {
  CompileArgs c{a.model, a.calibrate, dir / "plan.json"};
  if (c.calibrate.empty()) {
    std::string& file = a.source.ids.empty() ? c.calibrate : c.ids;
    file = dir / "calibrate.txt";
    std::ofstream out(file, std::ios::binary);
    for (auto& l : lines)
      if (l.error.empty()) out << l.text << (l.second ? "\t" + *l.second : "") << "\n";
  }
  (void)Compile(c);  // TokenizeFor finds the unusable lines again
  return c.out;
}

// Writes the usable texts for the data owner. Returns the index of each in `lines`.
std::vector<size_t> WriteTexts(const std::string& file, const std::vector<TextLine>& lines) {
  std::ofstream out(file, std::ios::binary);
  std::vector<size_t> usable;
  for (size_t i = 0; i < lines.size(); ++i) {
    const TextLine& l = lines[i];
    if (!l.error.empty()) continue;
    ordered_json row{{"text", l.text}};
    if (l.second) row["second"] = *l.second;
    out << (l.given ? l.text : row.dump()) << "\n";
    usable.push_back(i);
  }
  return usable;
}

// Returns the options of a role's backend, which are the same for all three.
std::vector<std::string> BackendOptions(const DemoArgs& a) {
  std::vector<std::string> out{"--backend", a.backend.name, "--streams", std::to_string(a.streams)};
  if (a.backend.device) out.insert(out.end(), {"--device", std::to_string(*a.backend.device)});
  if (!a.kernels.empty()) out.insert(out.end(), {"--kernels", a.kernels});
  return out;
}

// Reads the rows of the data owner's process. Adds the peak memory of all roles to each.
std::vector<ordered_json> ReadRows(Child& embed, const Child& deal, const Child& serve, size_t texts) {
  std::vector<ordered_json> all;
  double memory[2] = {0, 0};
  const bool terminal = screen::Columns(STDERR_FILENO) > 0;
  Bar done("demo", Bar::Log::kRare);
  if (terminal) done.At(0, "keys from the dealer", Str("text 1 of ", texts));
  for (std::string text; embed.Line(&text);) {
    CheckOutput();  // throws if stdout has no reader, and so ends all three
    ordered_json row = ReadOrderedJson(text, {"a result of the data owner's process", "start again", Cause::kResource});
    const size_t next = row.at("i").get<size_t>() + 2;
    const char* const became = row.contains("y") ? "done" : "cannot be used";
    if (terminal)
      done.At(double(next - 1) / double(texts), Str("text ", next - 1, " ", became),
              Str("text ", std::min(next, texts), " of ", texts));
    else
      std::cerr << "text " << next - 1 << " of " << texts << " " << became << "\n";
    memory[0] = std::max(memory[0], PeakRss(deal.pid()));
    memory[1] = std::max(memory[1], PeakRss(serve.pid()));
    if (row.contains("y")) row["rss_mb"] = {memory[0], memory[1], row["rss_mb"][0]};
    all.push_back(std::move(row));
  }
  return all;
}

// Returns the public file of the demo's index.
std::string IndexPlanOf(const DemoArgs& a) { return a.index + "/index.json"; }

// Returns the command line of the data owner.
std::vector<std::string> EmbedCommand(const DemoArgs& a, const DemoFiles& f, const std::string& dealer,
                                      const std::string& server) {
  std::vector<std::string> args{"suf",     a.index.empty() ? "embed" : "search",
                                "--plan",  f.plan,
                                "--vocab", f.vocabulary,
                                "--certs", f.certs + "/data"};
  args.insert(args.end(), {"--dealer", dealer, "--connect", server, "--store", f.dir / "data-store"});
  args.insert(args.end(), {a.source.ids.empty() ? "--json-file" : "--ids", f.texts, "--variant", a.variant});
  args.insert(args.end(), {"--json", "--times", f.dir / "p1.times"});
  if (a.index.empty()) args.insert(args.end(), {"--batch", std::to_string(a.batch)});
  if (!a.index.empty()) args.insert(args.end(), {"--index-plan", IndexPlanOf(a)});
  if (a.truncate) args.push_back("--truncate");
  if (a.source.prompt && a.source.prompt->empty()) args.push_back("--no-prompt");
  if (a.source.prompt && !a.source.prompt->empty()) args.insert(args.end(), {"--prompt", *a.source.prompt});
  if (a.one_by_one) args.push_back("--one-by-one");
  if (a.parallel) args.insert(args.end(), {"--parallel", std::to_string(a.parallel)});
  return args;
}

// Runs the three roles. Returns the rows of the data owner, with the times of all roles.
std::vector<ordered_json> RunDemoRoles(const DemoArgs& a, const DemoFiles& f, size_t texts, DemoSignals* signals) {
  const auto with_backend = [&](std::vector<std::string> args) {
    const std::vector<std::string> options = BackendOptions(a);
    args.insert(args.end(), options.begin(), options.end());
    return args;
  };
  // Returns options of a role for the index, if there is one.
  const auto with_index = [&](std::vector<std::string> args, const std::vector<std::string>& options) {
    if (!a.index.empty()) args.insert(args.end(), options.begin(), options.end());
    return with_backend(std::move(args));
  };
  Child deal("the dealer",
             with_index({"suf", "deal", "--plan", f.plan, "--certs", f.certs + "/dealer", "--listen", "127.0.0.1:0",
                         "--times", f.dir / "dealer.times"},
                        {"--index-plan", IndexPlanOf(a)}),
             2);
  const std::string dealer = deal.Address();
  Child serve("the model owner",
              with_index({"suf", "serve", "--plan", f.plan, "--model", a.model, "--certs", f.certs + "/model",
                          "--dealer", dealer, "--listen", "127.0.0.1:0", "--store", f.dir / "model-store", "--once",
                          "--times", f.dir / "p0.times"},
                         {"--index", a.index}),
              2);
  const std::string server = serve.Address();
  Child embed("the data owner", with_backend(EmbedCommand(a, f, dealer, server)), 1, true);
  signals->SetRunning(&embed);
  std::cerr << "dealer: process " << deal.pid() << " at " << dealer << "\nmodel owner (P0): process " << serve.pid()
            << " at " << server << "\ndata owner (P1): process " << embed.pid() << "\n";
  std::vector<ordered_json> rows = ReadRows(embed, deal, serve, texts);
  signals->SetRunning(nullptr);
  const int code = embed.Wait();
  deal.Stop();
  if (signals->stopped())
    serve.Stop();
  else if (code != 0 && code != ExitCode(Cause::kInput))
    throw Error(CauseOf(code), "the data owner's process failed; see its error above");
  if (int served = signals->stopped() ? 0 : serve.Wait(); served != 0)
    throw Error(CauseOf(served), "the model owner's process failed: " + serve.last());
  AddTimes(f.dir / "p0.times", "p0", &rows);
  AddTimes(f.dir / "dealer.times", "dealer", &rows);
  return rows;
}

// The model in clear: its simulator and its float model.
class ClearModel {
 public:
  // `index` is the folder of an index, or empty.
  ClearModel(const std::string& folder, const std::string& plan_file, const std::string& index)
      : plan(roles::LoadPlan(plan_file)),
        model(ReadModel(folder, plan_file, "", plan)),
        simulator_(MakeSimulator(index)) {}
  // Adds to a row the first word that differs from the simulator's. Adds the cosine to the float model's embedding, or
  // the largest error of a score. Returns whether no word differs.
  bool Compare(const TextLine& l, ordered_json* row) const {
    const auto y = (*row)["y"].get<std::vector<int64_t>>();
    const std::vector<int32_t> tokens(l.ids.begin(), l.ids.end());
    const nn::Simulation sim = simulator_->Run(tokens, plan.VariantNamed((*row)["variant"].get<std::string>()));
    const auto differ = std::mismatch(y.begin(), y.end(), sim.y.begin(), sim.y.end());
    const bool equal = y == sim.y;
    (*row)["sim_equal"] = equal;
    (*row)["first_diff"] = equal ? ordered_json(nullptr) : ordered_json(differ.first - y.begin());
    if (row->contains("hits")) return equal;
    const std::vector<double> real = model.Embed(tokens), values(y.begin(), y.end());
    if (plan.about.result != nn::ResultKind::kScores) {
      (*row)["cos"] = nn::Cosine(values, real);
      return equal;
    }
    double most = 0;
    for (size_t i = 0; i < real.size(); ++i)
      most = std::max(most, std::abs((*row)["scores"][i].get<double>() - real[i]));
    (*row)["score_error"] = most;
    return equal;
  }
  const nn::Plan plan;
  const roles::Model model;

 private:
  std::unique_ptr<const roles::Simulator> MakeSimulator(const std::string& index) const {
    std::optional<roles::IndexFolder> folder;
    if (!index.empty()) folder.emplace(index, roles::IndexAccess::kRead);
    if (folder) CheckModelOfIndex(*folder, plan, model);
    return std::make_unique<const roles::Simulator>(plan, model, Bar("demo").Hook(), folder ? &*folder : nullptr);
  }
  const std::unique_ptr<const roles::Simulator> simulator_;
};

// The rows with a result, after their comparison, and the number of those that differ from the simulator.
struct Comparison {
  std::vector<ordered_json> rows;
  int wrong = 0;
};
// Compares all results; prints the rows of --json, those of unusable lines too. The lines receive the errors of the
// data owner.
Comparison CompareAll(const ClearModel& clear, const std::vector<ordered_json>& all, bool json,
                      std::vector<TextLine>* lines) {
  Comparison out;
  Bar bar("demo", Bar::Log::kRare);
  size_t next = 0;  // the first line that is not printed yet
  const auto print_unusable = [&](size_t end) {
    for (; next < end; ++next)
      if (json && !(*lines)[next].error.empty()) std::cout << ErrorRow((*lines)[next]) << std::endl;
  };
  for (ordered_json row : all) {
    const size_t i = row["i"].get<size_t>();
    TextLine& line = (*lines)[i];
    print_unusable(i);
    next = i + 1;
    bar.At(double(i) / double(lines->size()), "comparing with the simulator and the float model");
    if (!row.contains("y")) {
      if (line.error.empty()) line.error = row["error"].get<std::string>();
      if (json) std::cout << ErrorRow(line) << std::endl;
      continue;
    }
    out.wrong += !clear.Compare(line, &row);
    if (json) std::cout << RowOf(row, line) << std::endl;
    out.rows.push_back(std::move(row));
  }
  print_unusable(lines->size());
  return out;
}

}  // namespace

int RunDemo(const DemoArgs& a) {
  // report wrong names here, before the roles start
  if (!a.kernels.empty()) (void)ring::VariantNamed(a.kernels);
  (void)BackendOf(a.backend, true);
  DemoSignals signals;
  DemoFiles files{{}, a.plan};
  CheckOutput();
  Source source = a.source;
  if (!a.index.empty() && !source.prompt)
    source.prompt = roles::IndexFolder(a.index, roles::IndexAccess::kRead).index().text;
  auto lines = ReadTexts(source);
  if (files.plan.empty()) files.plan = CompilePlan(a, lines, files.dir);
  const ClearModel clear(a.model, files.plan, a.index);
  files.vocabulary = clear.model.vocabulary_file();
  if (clear.model.vocabulary_built())
    std::ofstream(files.vocabulary = files.dir / "tokenizer.json", std::ios::binary) << clear.model.vocabulary_text();
  TokenizeFor(clear.plan, source, clear.model, a.truncate, &lines);
  const std::vector<size_t> usable = WriteTexts(files.texts, lines);
  // first all inferences, then all comparisons, which would change the times
  std::vector<ordered_json> all;
  if (!usable.empty()) {
    net::MakeCerts(files.certs);
    all = RunDemoRoles(a, files, usable.size(), &signals);
  }
  for (ordered_json& row : all) row["i"] = usable[row["i"].get<size_t>()];
  const auto [rows, wrong] = CompareAll(clear, all, a.json, &lines);
  if (!a.json && !rows.empty()) ShowDemo(lines, rows);
  if (wrong)
    Fail(Cause::kRefused, wrong, " of ", Plural(rows.size(), "result"), " ", wrong == 1 ? "differs" : "differ",
         " from the simulator; please report this with the plan and the model's name");
  if (signals.stopped() && all.size() < usable.size())
    throw Interrupt(signals.stopped(),
                    Str("demo was stopped by a signal; ", rows.size(), " of ", Plural(lines.size(), "text"),
                        rows.size() == 1 ? " has a result" : " have a result"));
  return Finish(lines);
}

}  // namespace suf::apps
