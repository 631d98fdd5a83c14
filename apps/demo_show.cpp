#include "apps/demo_show.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/screen.hpp"
#include "apps/show.hpp"
#include "suf/nn/read/forward.hpp"

namespace suf::apps {

using nlohmann::ordered_json;

namespace {

// Returns the number of a line, and the begin of its text or pair.
std::string Begin(const TextLine& l) {
  return Str(l.i + 1, " ", screen::Clip(l.second ? Str(l.text, " | ", *l.second) : l.text, 38));
}

void ShowRows(const std::vector<TextLine>& lines, const std::vector<ordered_json>& rows) {
  const bool scores = rows[0].contains("scores"), hits = rows[0].contains("hits");
  const char* const error = scores ? "error of a score" : hits ? "hits" : "cosine to float";
  std::vector<std::vector<std::string>> table{{"text", "tokens", error, "= simulator", "key fetch ms", "online ms",
                                               "dealing", "waiting for keys", "sent P0", "sent P1", "P1 ahead",
                                               "flights", "key each"}};
  for (auto& r : rows) {
    const TextLine& l = lines[r["i"].get<size_t>()];
    auto& b = r["bytes"];
    const std::string close = scores ? Fixed(r["score_error"], 5)
                              : hits ? std::to_string(r["hits"].size())
                                     : Fixed(r["cos"], 6);
    table.push_back({Begin(l), r["n"].dump(), close, r["sim_equal"].get<bool>() ? "every word" : "NO",
                     Fixed(r["ms"]["fetch"], 0), Fixed(r["ms"]["online"], 0), Fixed(r["within_ms"]["deal"], 0),
                     Fixed(r["within_ms"]["keys"], 0), Bytes10(b["p0"]), Bytes10(b["p1"]), Bytes10(b["p1_offline"]),
                     r["flights"].dump(), Bytes10(r["key_bytes"][1])});
  }
  std::cout << "\n"
            << Table(table, {"dealing", "waiting for keys", "P1 ahead", "key fetch ms", "key each", "sent P0",
                             "sent P1", "flights", "online ms", "tokens", error});
}

// Prints the scores of each text or pair, with the label of the highest one.
void ShowScores(const std::vector<TextLine>& lines, const std::vector<ordered_json>& rows) {
  PrintedRows table{{"text", rows[0].contains("label") ? "label" : "", "scores"}};
  for (auto& r : rows) {
    const TextLine& l = lines[r["i"].get<size_t>()];
    table.push_back({Begin(l), r.value("label", ""), FirstOf(r["scores"], 4)});
  }
  std::cout << "\n" << Table(table);
}

// Prints the rows of each text's hits.
void ShowHits(const std::vector<TextLine>& lines, const std::vector<ordered_json>& rows) {
  PrintedRows table{{"text", "rows of its hits"}};
  for (auto& r : rows) {
    std::string hits;
    for (auto& h : r["hits"]) hits += Str(hits.empty() ? "" : " ", h["row"].get<int64_t>());
    table.push_back({Begin(lines[r["i"].get<size_t>()]), hits.empty() ? "none" : hits});
  }
  std::cout << "\n" << Table(table);
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

}  // namespace

void ShowDemo(const std::vector<TextLine>& lines, const std::vector<ordered_json>& rows) {
  ShowRows(lines, rows);
  if (rows[0].contains("scores"))
    ShowScores(lines, rows);
  else if (rows[0].contains("hits"))
    ShowHits(lines, rows);
  else
    ShowSimilarity(rows);
  ShowTimes(rows);
  const auto& memory = rows.back()["rss_mb"];
  std::cout << "peak memory: dealer " << Fixed(memory[0], 0) << " MB, model owner " << Fixed(memory[1], 0)
            << " MB, data owner " << Fixed(memory[2], 0)
            << " MB; masked weights, once: " << Bytes10(rows.front()["bytes"]["setup"]) << "\n";
}

}  // namespace suf::apps
