#include "suf/compiler/dump.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "suf/base/plural.hpp"

namespace suf::compiler {

namespace {

std::string Bits(const std::array<int64_t, 2>& bits) { return Str(bits[0], " + ", bits[1]); }

// Returns the time of a bill and its terms, in whole nanoseconds.
std::string Terms(const Bill& b, const Prices& p) {
  const std::pair<const char*, Prices> terms[] = {{"flights", {.flight = p.flight}},
                                                  {"wire", {.wire = p.wire}},
                                                  {"key", {.key = p.key}},
                                                  {"AES", {.block = p.block}},
                                                  {"words", {.word = p.word}}};
  std::string s = Str(std::llround(Seconds(b, p) * 1e9), " ns =");
  for (auto& [name, price] : terms)
    s += Str(&price == &terms[0].second ? " " : " + ", name, " ", std::llround(Seconds(b, price) * 1e9));
  return s;
}

}  // namespace

std::string CandidatesText(const std::vector<Candidate>& all) {
  std::string s;
  for (const Candidate& c : all)
    s += c.name + ": " +
         (c.why_not.empty() ? Str(Plural(c.bill.flights, "flight"), ", key bits ", Bits(c.bill.key_bits))
                            : "no: " + c.why_not) +
         "\n";
  return s;
}

std::string ChoiceText(const std::vector<Candidate>& all) {
  std::string s;
  for (const Profile& p : Profiles()) {
    std::vector<Candidate> left = all;
    for (Candidate& c : left) c.seconds = Seconds(c.bill, p.prices);
    const Candidate best = Best(left);
    s += Str(p.name, ": ", best.name, ", ", Terms(best.bill, p.prices), "\n");
    std::erase_if(left, [&](const Candidate& c) { return !c.why_not.empty() || c.name == best.name; });
    if (left.empty()) {
      s += "  no other applies\n";
      continue;
    }
    const Candidate& next = Best(left);
    s += Str("  next ", next.name, ", ", Terms(next.bill, p.prices), "\n");
  }
  return s;
}

std::string EmitText(const pfss::Schedule& s) {
  const Trace& t = s.trace();
  std::vector<uint16_t> scopes;                            // in the order of the trace
  std::map<uint16_t, std::map<std::string, int>> counted;  // operations by name
  for (const pfss::Node& n : t.nodes()) {
    if (!counted.count(n.scope)) scopes.push_back(n.scope);
    ++counted[n.scope][Name(n.op)];
  }
  std::string out = Str("trace ", Hex(t.digest()), ", ", Plural(s.flights(), "flight"), ", key bits ", s.key_bits(0),
                        " + ", s.key_bits(1), "\n");
  const pfss::Cost cost = pfss::CostOf(s);
  for (uint16_t scope : scopes) {
    int nodes = 0;
    std::string names;
    for (auto& [name, count] : counted[scope]) {
      nodes += count;
      names += Str(names.empty() ? " " : ", ", count, " ", name);
    }
    out += Str(t.name(scope), ": ", nodes, nodes == 1 ? " operation" : " operations");
    for (const pfss::Cost::Row& row : cost.rows)
      if (row.scope == t.name(scope)) out += Str(", key bits ", Bits(row.key), ", sent bits ", Bits(row.online));
    out += Str(":", names, "\n");
  }
  return out;
}

}  // namespace suf::compiler
