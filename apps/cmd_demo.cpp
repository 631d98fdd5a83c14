// The command `suf demo`: dealer, model owner and data owner as three processes on this machine. Only the demo holds
// both text and weights. It compares each result with the simulator (every word) and with the float model (cosine).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/child.hpp"
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
#include "suf/roles/simulator.hpp"

namespace suf::apps {

using nlohmann::ordered_json;

namespace {

void ShowRows(const std::vector<TextLine>& lines, const std::vector<ordered_json>& rows) {
  std::vector<std::vector<std::string>> table{{"text", "tokens", "cosine to float", "= simulator", "key fetch ms",
                                               "online ms", "dealing", "waiting for keys", "sent P0", "sent P1",
                                               "P1 ahead", "flights", "key each"}};
  for (auto& r : rows) {
    const TextLine& l = lines[r["i"].get<size_t>()];
    auto& b = r["bytes"];
    table.push_back({Str(l.i + 1, " ", screen::Clip(l.text, 38)), r["n"].dump(), Fixed(r["cos"], 6),
                     r["sim_equal"].get<bool>() ? "every word" : "NO", Fixed(r["ms"]["fetch"], 0),
                     Fixed(r["ms"]["online"], 0), Fixed(r["within_ms"]["deal"], 0), Fixed(r["within_ms"]["keys"], 0),
                     Bytes10(b["p0"]), Bytes10(b["p1"]), Bytes10(b["p1_offline"]), r["flights"].dump(),
                     Bytes10(r["key_bytes"][1])});
  }
  std::cout << "\n"
            << Table(table, {"dealing", "waiting for keys", "P1 ahead", "key fetch ms", "key each", "sent P0",
                             "sent P1", "flights", "cosine to float", "tokens"});
}

void ShowSimilarity(const std::vector<ordered_json>& rows) {
  if (rows.size() < 2 || rows.size() > 12) return;
  std::vector<std::vector<std::string>> table{{"similarity"}};
  for (auto& r : rows) table[0].push_back(Str(r["i"].get<int>() + 1));
  for (auto& a : rows) {
    std::vector<std::string> line{Str(a["i"].get<int>() + 1)};
    auto va = a["embedding"].get<std::vector<double>>();
    for (auto& b : rows) line.push_back(Fixed(nn::Cosine(va, b["embedding"].get<std::vector<double>>()), 3));
    table.push_back(line);
  }
  std::vector<std::string> last(table[0].rbegin(), table[0].rend() - 1);
  std::cout << "\n" << Table(table, last);
}

// Returns the operator of a scope, without its layer.
std::string Operator(const std::string& scope) { return scope.substr(scope.find('/') + 1); }

const char* NameOf(const std::string& role) {
  return role == "p0" ? "model owner" : role == "p1" ? "data owner" : "dealer";
}

// The parts of a role's time: key in the file of times, name in the table.
using Parts = std::vector<std::pair<const char*, const char*>>;

// The time of a role in one operator, by part.
struct Spent {
  std::vector<double> ms;
  int64_t launches = 0;
};
// Returns the time of a role by operator; the total comes last.
std::vector<std::pair<std::string, Spent>> SpentBy(const ordered_json& times, const Parts& parts) {
  std::map<std::string, Spent> by;
  for (auto& [scope, s] : times["by"].items())
    for (const std::string& row : {Operator(scope), std::string("total")}) {
      Spent& spent = by[row];
      spent.ms.resize(parts.size());
      for (size_t k = 0; k < parts.size(); ++k) spent.ms[k] += s.value(parts[k].first, 0.0);
      spent.launches += s.value("launches", int64_t{0});
    }
  std::vector<std::pair<std::string, Spent>> out(by.begin(), by.end());
  std::stable_partition(out.begin(), out.end(), [](auto& row) { return row.first != "total"; });
  return out;
}

// Returns the table with the roles side by side; a cell holds all parts.
PrintedRows TogetherTable(const ordered_json& times, const Parts& parts) {
  PrintedRows table{{""}};
  for (auto& [role, t] : times.items()) {
    table[0].push_back(NameOf(role));
    for (auto& [op, spent] : SpentBy(t, parts)) {
      auto line = std::find_if(table.begin(), table.end(), [&](auto& l) { return l[0] == op; });
      if (line == table.end()) line = table.insert(table.end(), {op});
      line->resize(table[0].size());
      std::string& cell = line->back();
      for (size_t k = 0; k < parts.size(); ++k) {
        cell += Str(k ? " / " : "", Fixed(spent.ms[k], 1));
        if (!k && spent.launches) cell += Str(" (", spent.launches, ")");
      }
    }
  }
  for (auto& line : table) line.resize(table[0].size());
  auto total = std::find_if(table.begin(), table.end(), [](auto& l) { return l[0] == "total"; });
  std::rotate(total, total + 1, table.end());
  return table;
}

// Prints each role's time in the longest text, by operator; of a device also the host's time and kernels. The roles are
// side by side if the terminal is wide enough; otherwise each has a table.
void ShowTimes(const std::vector<ordered_json>& rows) {
  auto most = std::max_element(rows.rbegin(), rows.rend(), [](auto& a, auto& b) { return a["n"] < b["n"]; });
  const auto& times = (*most)["times"];
  const bool device = std::any_of(times.begin(), times.end(), [](auto& t) { return t.contains("device_bytes"); });
  const Parts parts = device ? Parts{{"compute", "kernels (launches)"},
                                     {"key", "keys"},
                                     {"upload", "upload"},
                                     {"host", "host"},
                                     {"wire", "wire"},
                                     {"wait", "waiting"}}
                             : Parts{{"compute", "arithmetic"},
                                     {"key", "keys"},
                                     {"upload", "upload"},
                                     {"wire", "wire"},
                                     {"wait", "waiting"}};
  std::string names;
  for (auto& [key, name] : parts) names += Str(names.empty() ? "" : " / ", name);
  const PrintedRows together = TogetherTable(times, parts);
  const std::string table = Table(together, {}, 0);
  const size_t columns = screen::Columns(STDOUT_FILENO);
  if (!columns ||
      screen::Width(table.substr(table.find('\n') + 1, table.find('\n', table.find('\n') + 1))) <= columns) {
    std::cout << "\n" << (*most)["n"] << " tokens, ms: " << names << "\n" << table;
  } else {
    for (auto& [role, t] : times.items()) {
      PrintedRows own{{Str(NameOf(role), ", ms")}};
      for (auto& [key, name] : parts) own[0].push_back(name);
      for (auto& [op, spent] : SpentBy(t, parts)) {
        own.push_back({op});
        for (size_t k = 0; k < parts.size(); ++k)
          own.back().push_back(Fixed(spent.ms[k], 1) + (!k && spent.launches ? Str(" (", spent.launches, ")") : ""));
      }
      std::cout << "\n" << Table(own, {"upload", "host", "wire", "keys"});
    }
  }
  for (const char* role : {"dealer", "p0", "p1"})
    if (times.contains(role) && times[role].contains("device_bytes"))
      std::cout << "peak device memory of the " << NameOf(role) << ": "
                << Bytes10(times[role]["device_bytes"].get<int64_t>()) << ", and "
                << Bytes10(times[role]["pinned_bytes"].get<int64_t>()) << " of pinned host memory\n";
}

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

}  // namespace

int RunDemo(const DemoArgs& a) {
  // report wrong names here, before the roles start
  if (!a.kernels.empty()) (void)ring::VariantNamed(a.kernels);
  (void)BackendOf(a.backend, true);
  std::atomic<const Child*> running{nullptr};  // the data owner, while it runs
  std::atomic<int> stopped{0};                 // the signal that stopped the demo; 0: none
  const SignalTaker taker([&](int signal, int turn) {
    const Child* embed = running;
    if (!embed || turn > 1) {
      EndChildren();
      EndBy(signal);
    }
    stopped = signal;
    embed->Signal(signal);  // its log says when it ends
  });
  TempFolder dir;
  CheckOutput();
  auto lines = ReadTexts(a.source);
  const bool ids = !a.source.ids.empty();
  std::string plan_path = a.plan;
  if (plan_path.empty()) {
    CompileArgs c{a.model, a.calibrate, dir / "plan.json"};
    if (c.calibrate.empty()) {
      std::string& file = ids ? c.ids : c.calibrate;
      file = dir / "calibrate.txt";
      std::ofstream out(file, std::ios::binary);
      for (auto& l : lines)
        if (l.error.empty()) out << l.text << "\n";
    }
    (void)Compile(c);  // TokenizeFor finds the unusable lines again
    plan_path = c.out;
  }
  const nn::Plan plan = roles::LoadPlan(plan_path);
  const roles::Model model = ReadModel(a.model, plan_path, "", plan);
  std::optional<roles::Simulator> simulator;
  {
    Bar bar("demo");
    simulator.emplace(plan, model, bar.Hook());
  }
  TokenizeFor(plan, a.source, model.vocabulary_file(), a.truncate, &lines);
  if (std::none_of(lines.begin(), lines.end(), [](const TextLine& l) { return l.error.empty(); })) {
    for (const TextLine& l : lines)
      if (a.json) std::cout << ErrorRow(l) << "\n";
    return Finish(lines);
  }
  const std::string texts = dir / "texts";
  {
    std::ofstream out(texts, std::ios::binary);
    for (auto& l : lines) {  // an unusable one becomes an empty line, which embed refuses: indices agree
      if (l.error.empty()) out << (ids ? l.text : ordered_json{{"text", l.text}}.dump());
      out << "\n";
    }
  }
  std::string certs = dir / "certs", vocabulary = model.vocabulary_file();
  net::MakeCerts(certs);
  auto with_engine = [&](std::vector<std::string> args) {
    args.insert(args.end(), {"--backend", a.backend.name, "--streams", std::to_string(a.streams)});
    if (a.backend.device) args.insert(args.end(), {"--device", std::to_string(*a.backend.device)});
    if (!a.kernels.empty()) args.insert(args.end(), {"--kernels", a.kernels});
    return args;
  };
  Child deal("the dealer",
             with_engine({"suf", "deal", "--plan", plan_path, "--certs", certs + "/dealer", "--listen", "127.0.0.1:0",
                          "--times", dir / "dealer.times"}),
             2);
  std::string dealer = Str("127.0.0.1:", deal.Port());
  deal.Drain();
  Child serve("the model owner",
              with_engine({"suf", "serve", "--plan", plan_path, "--model", a.model, "--certs", certs + "/model",
                           "--dealer", dealer, "--listen", "127.0.0.1:0", "--store", dir / "model-store", "--once",
                           "--times", dir / "p0.times"}),
              2);
  std::string server = Str("127.0.0.1:", serve.Port());
  serve.Drain();
  std::vector<std::string> args{
      "suf",           "embed",   "--plan",        plan_path,          "--vocab",
      vocabulary,      "--certs", certs + "/data", "--dealer",         dealer,
      "--connect",     server,    "--store",       dir / "data-store", ids ? "--ids" : "--json-file",
      texts,           "--json",  "--variant",     a.variant,          "--times",
      dir / "p1.times"};
  if (a.truncate) args.push_back("--truncate");
  if (a.one_by_one) args.push_back("--one-by-one");
  Child embed("the data owner", with_engine(args), 1, true);
  running = &embed;
  std::cerr << "dealer: process " << deal.pid() << " at " << dealer << "\nmodel owner (P0): process " << serve.pid()
            << " at " << server << "\ndata owner (P1): process " << embed.pid() << "\n";

  // first all inferences, then all comparisons, which would change the times
  std::vector<ordered_json> all, rows;
  double memory[2] = {0, 0};
  const bool terminal = screen::Columns(STDERR_FILENO) > 0;
  Bar done("demo", Bar::Log::kRare);
  if (terminal) done.At(0, "keys from the dealer", Str("text 1 of ", lines.size()));
  for (std::string text; embed.Line(&text);) {
    CheckOutput();  // throws if stdout has no reader, and so ends all three
    ordered_json row = ReadOrderedJson(text, {"a result of the data owner's process", "start again", Cause::kResource});
    const size_t next = row.at("i").get<size_t>() + 2;
    const char* const became = row.contains("y") ? "done" : "cannot be used";
    if (terminal)
      done.At(double(next - 1) / double(lines.size()), Str("text ", next - 1, " ", became),
              Str("text ", std::min(next, lines.size()), " of ", lines.size()));
    else
      std::cerr << "text " << next - 1 << " of " << lines.size() << " " << became << "\n";
    memory[0] = std::max(memory[0], PeakRss(deal.pid()));
    memory[1] = std::max(memory[1], PeakRss(serve.pid()));
    if (row.contains("y")) row["rss_mb"] = {memory[0], memory[1], row["rss_mb"][0]};
    all.push_back(std::move(row));
  }
  done.Clear();
  running = nullptr;
  int code = embed.Wait();
  deal.Stop();
  if (stopped)
    serve.Stop();
  else if (code != 0 && code != ExitCode(Cause::kInput))
    throw Error(CauseOf(code), "the data owner's process failed; see its error above");
  if (int served = stopped ? 0 : serve.Wait(); served != 0)
    throw Error(CauseOf(served), "the model owner's process failed: " + serve.last());
  AddTimes(dir / "p0.times", "p0", &all);
  AddTimes(dir / "dealer.times", "dealer", &all);
  int wrong = 0;
  Bar bar("demo", Bar::Log::kRare);
  for (auto& row : all) {
    size_t i = row["i"].get<size_t>();
    bar.At(double(i) / double(lines.size()), "comparing with the simulator and the float model");
    if (!row.contains("y")) {
      if (lines[i].error.empty()) lines[i].error = row["error"].get<std::string>();
      if (a.json) std::cout << ErrorRow(lines[i]) << std::endl;
    } else {
      auto y = row["y"].get<std::vector<int64_t>>();
      const std::vector<int32_t> tokens(lines[i].ids.begin(), lines[i].ids.end());
      nn::Simulation sim = simulator->Run(tokens, plan.VariantNamed(row["variant"].get<std::string>()));
      auto differ = std::mismatch(y.begin(), y.end(), sim.y.begin(), sim.y.end());
      bool equal = y == sim.y;
      wrong += !equal;
      std::vector<double> real = model.Embed(tokens), got(y.begin(), y.end());
      row["sim_equal"] = equal;
      row["first_diff"] = equal ? ordered_json(nullptr) : ordered_json(differ.first - y.begin());
      row["cos"] = nn::Cosine(got, real);
      rows.push_back(row);
      if (a.json) std::cout << RowOf(row, lines[i]) << std::endl;
    }
  }
  bar.Clear();
  if (!a.json && !rows.empty()) {
    ShowRows(lines, rows);
    ShowSimilarity(rows);
    ShowTimes(rows);
    std::cout << "peak memory: dealer " << Fixed(rows.back()["rss_mb"][0], 0) << " MB, model owner "
              << Fixed(rows.back()["rss_mb"][1], 0) << " MB, data owner " << Fixed(rows.back()["rss_mb"][2], 0)
              << " MB; masked weights, once: " << Bytes10(rows.front()["bytes"]["setup"]) << "\n";
  }
  if (wrong)
    Fail(Cause::kRefused, wrong, " of ", Plural(rows.size(), "result"), " ", wrong == 1 ? "differs" : "differ",
         " from the simulator; please report this with the plan and the model's name");
  if (stopped && all.size() < lines.size())
    throw Interrupt(stopped, Str("demo was stopped by a signal; ", rows.size(), " of ", Plural(lines.size(), "text"),
                                 rows.size() == 1 ? " has a result" : " have a result"));
  return Finish(lines);
}

}  // namespace suf::apps
