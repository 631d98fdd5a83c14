#include "apps/fn/fn_show.hpp"

#include <algorithm>
#include <cmath>

#include "apps/costs.hpp"
#include "apps/fn/curve.hpp"
#include "apps/show.hpp"
#include "suf/base/file.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/ring/modular.hpp"

namespace suf::apps {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr size_t kShownRows = 20;    // of the table
constexpr uint64_t kLineBytes = 21;  // most bytes of a line in a file of values: a word of 64 bits and its end

ordered_json Number(uint64_t word, const func::OutputChannel& c) {
  if (c.kind == func::OutputChannel::kSigned) return ring::Signed(word, c.bits);
  return word;
}

const char* KindName(const func::OutputChannel& c) {
  return c.kind == func::OutputChannel::kBit ? "bit" : c.kind == func::OutputChannel::kSigned ? "signed" : "unsigned";
}

}  // namespace

const char* SourceName(gates::Origin from) {
  return from == gates::Origin::kShared ? "shares of both parties"
         : from == gates::Origin::kP0   ? "P0, in private"
                                        : "P1, in private";
}

const char* ReceiverName(gates::To to) {
  return to == gates::To::kShared ? "nobody: each party keeps a share"
         : to == gates::To::kBoth ? "both parties"
         : to == gates::To::kP0   ? "P0 alone"
                                  : "P1 alone";
}

ordered_json FnRow(const FnRun& run, const std::vector<uint64_t>& x, const ValueRows& y) {
  const gates::FunctionPlan& plan = run.plan;
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(plan.f);
  ordered_json out{{"schema", "suf.fn/2"},           {"name", func::Name(plan.f)},     {"n", func::DomainBits(plan.f)},
                   {"ring", func::RingBits(plan.f)}, {"lowering", gates::Name(plan)},  {"backend", run.backend},
                   {"profile", run.profile},         {"from", gates::Name(plan.from)}, {"to", gates::Name(plan.to)}};
  out["channels"] = json::array();
  out["x"] = x;
  out["y"] = json::array();
  for (const func::OutputChannel& c : channels)
    out["channels"].push_back({{"name", c.name}, {"kind", KindName(c)}, {"bits", c.bits}});
  for (size_t i = 0; !y.empty() && i < y[0].size(); ++i) {
    ordered_json row = json::array();
    for (size_t c = 0; c < channels.size(); ++c) row.push_back(Number(y[c][i], channels[c]));
    out["y"].push_back(std::move(row));
  }
  out["equal"] = run.equal ? ordered_json(*run.equal) : ordered_json(nullptr);
  AddBill(&out, run.bill);
  out["trace"] = Hex(run.trace);
  return out;
}

std::string FnTable(const gates::FunctionPlan& plan, const NamedFunction& g, const std::vector<uint64_t>& x,
                    const ValueRows& y) {
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(plan.f);
  const Numeric numeric = NumericOf(g);
  const int n = func::DomainBits(g.f);
  const size_t count = y.empty() ? x.size() : y[0].size();
  auto real = [](double v, int scale) { return Short(std::ldexp(v, -scale)); };
  std::vector<std::vector<std::string>> rows{{x.empty() ? "value" : "x"}};
  if (g.made && !x.empty()) rows[0].push_back("in units");
  for (const func::OutputChannel& c : channels) {
    if (y.empty()) break;
    rows[0].push_back(c.name);
    if (g.made && c.kind != func::OutputChannel::kBit) rows[0].push_back("in units");
  }
  for (size_t i = 0; i < std::min(kShownRows, count); ++i) {
    rows.emplace_back();
    if (x.empty()) {
      rows.back().push_back(Str(i + 1));
    } else {
      const int64_t v = numeric.is_signed ? ring::Signed(x[i], n) : int64_t(x[i]);
      rows.back().push_back(numeric.is_signed ? Str(v) : Str(x[i]));
      if (g.made) rows.back().push_back(real(double(v), numeric.scale));
    }
    for (size_t c = 0; c < y.size(); ++c) {
      const uint64_t w = y[c][i];
      const bool negative = channels[c].kind == func::OutputChannel::kSigned;
      rows.back().push_back(negative ? Str(ring::Signed(w, channels[c].bits)) : Str(w));
      if (g.made && channels[c].kind != func::OutputChannel::kBit)
        rows.back().push_back(
            real(negative ? double(ring::Signed(w, channels[c].bits)) : double(w), numeric.result_scale));
    }
  }
  std::string out = Table(rows, {"in units", "in units"});
  if (count > kShownRows) out += Str("and ", Plural(count - kShownRows, "value"), " more (--json has them all)\n");
  return out;
}

std::string FnSentences(const FnRun& run, int64_t count, const std::string& time) {
  const compiler::Bill& b = run.bill;
  return Str(func::Name(run.plan.f), " by ", gates::Name(run.plan), " on ", run.backend, ": x from ",
             SourceName(run.plan.from), "; the result to ", ReceiverName(run.plan.to), "\n", Plural(count, "value"),
             ", ", Plural(b.flights, "flight"), "; P0 sends ", Bytes10(b.sent[0]), ", P1 ", Bytes10(b.sent[1]),
             "; keys ", Bytes10(b.key[0]), " and ", Bytes10(b.key[1]), "; ", time, "\n",
             run.equal.value_or(false) ? "equal to the function's own meaning at every value\n" : "");
}

std::vector<std::string> FilesOf(const std::string& out, const gates::FunctionPlan& plan) {
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(plan.f);
  if (channels.size() == 1) return {out};
  std::vector<std::string> files;
  for (const func::OutputChannel& c : channels) {
    if (c.name.find('/') != c.name.npos)
      Fail(Cause::kRefused, "the channel ", Quoted(c.name),
           " would name a file in another folder; use a function whose channels have no / in their names");
    files.push_back(Str(out, ".", c.name));
  }
  return files;
}

void ProbeValues(const std::string& out, const gates::FunctionPlan& plan, uint64_t values) {
  for (const std::string& file : FilesOf(out, plan)) ProbeFile(file, (values + 1) * kLineBytes);
}

void WriteValues(const std::string& out, const gates::FunctionPlan& plan, const ValueRows& y) {
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(plan.f);
  const std::vector<std::string> files = FilesOf(out, plan);
  for (size_t c = 0; c < channels.size(); ++c) {
    const bool negative = plan.to != gates::To::kShared && channels[c].kind == func::OutputChannel::kSigned;
    WriteWords(files[c], y[c], channels[c].bits, negative);
  }
}

ValueRows ReadValues(const std::string& out, const gates::FunctionPlan& plan) {
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(plan.f);
  const std::vector<std::string> files = FilesOf(out, plan);
  ValueRows y;
  for (size_t c = 0; c < channels.size(); ++c) y.push_back(ReadWords(files[c], channels[c].bits));
  return y;
}

}  // namespace suf::apps
