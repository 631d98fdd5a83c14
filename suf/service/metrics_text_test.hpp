// For tests: reads the text format of Prometheus, and refuses text that is cut or mixed.
#pragma once
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "suf/service/metrics.hpp"

namespace suf::service {

struct MetricsText {
  std::map<std::string, std::string> types, help;  // by family
  std::map<std::string, double> series;            // by name and labels, as they stand there

  // Returns the value of a series. Throws if there is none.
  double Of(const std::string& key) const {
    const auto at = series.find(key);
    if (at == series.end()) throw std::runtime_error("there is no series " + key);
    return at->second;
  }
  // Returns the number of series that begin so.
  size_t Count(const std::string& begin) const {
    size_t n = 0;
    for (auto at = series.lower_bound(begin); at != series.end() && at->first.starts_with(begin); ++at) ++n;
    return n;
  }
};

// Throws std::runtime_error if the last line is cut, or if a line is not of the format. Throws it also for a series
// without a type above it, and for anything that is there twice.
inline MetricsText ReadMetrics(const std::string& text) {
  const auto check = [](bool good, const std::string& line) {
    if (!good) throw std::runtime_error("this is no line of metrics: " + line);
  };
  check(text.ends_with('\n'), "the last one");
  MetricsText out;
  std::istringstream in(text);
  std::string family;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string mark, kind, name;
    if (line.starts_with("# ")) {
      words >> mark >> kind >> name;
      check(kind == "HELP" || kind == "TYPE", line);
      check(line.size() > 8 + name.size(), line);
      check((kind == "HELP" ? out.help : out.types).emplace(name, line.substr(8 + name.size())).second, line);
      family = name;
      continue;
    }
    const size_t end = line.rfind("} ");
    check(end != std::string::npos && !family.empty() && line.starts_with(family), line);
    std::istringstream number(line.substr(end + 2));
    double value = 0;
    check(bool(number >> value) && number.peek() == EOF, line);
    check(out.types.count(family) && out.help.count(family), line);
    check(out.series.emplace(line.substr(0, end + 1), value).second, line);
  }
  return out;
}

// Returns all metrics of a process named `p`.
inline std::string TextOf(const Metrics& metrics) {
  std::string text;
  metrics.Write("p", [&](std::string_view piece) { text += piece; });
  return text;
}
inline MetricsText ReadMetrics(const Metrics& metrics) { return ReadMetrics(TextOf(metrics)); }

}  // namespace suf::service
