// suf fn run and suf backends: a function between two parties of this process.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/curve.hpp"
#include "apps/fn_pair.hpp"
#include "apps/fn_source.hpp"
#include "apps/show.hpp"
#include "suf/base/digest.hpp"
#include "suf/ring/words.hpp"

namespace suf::apps {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr int kMostAll = 20;       // --all: bits of the domain
constexpr size_t kShownRows = 20;  // of the table

// Values: what the function is run on, from the one source that is given.
PairInput Values(const FnRunArgs& a, const gates::FunctionPlan& plan) {
  const int n = func::DomainBits(plan.f);
  const bool shared = plan.from == gates::From::kShared;
  std::vector<uint64_t> x;
  if (a.all) {
    if (n > kMostAll)
      Fail(Cause::kInput, "--all runs at most 2^", kMostAll, " values, the domain of ", func::Name(plan.f), " has 2^",
           n, "; use --random N");
    Refuse(plan, int64_t{1} << n);
    for (uint64_t v = 0; v < uint64_t{1} << n; ++v) x.push_back(v);
  } else if (a.random) {
    Refuse(plan, *a.random);
    x.resize(size_t(*a.random));
    RandomBytes({reinterpret_cast<uint8_t*>(x.data()), x.size() * sizeof(uint64_t)});
    for (uint64_t& v : x) v &= ring::Mask(n);
  } else if (!a.values.empty()) {
    const std::vector<std::string> files = AtCommas(a.values);
    if (files.size() > 2 || (files.size() == 2 && !shared))
      Fail(Cause::kInput, "--values takes one file, or with --from shared two, one of each party's shares; got ",
           files.size());
    x = ReadWords(files[0], n);
    if (files.size() == 2) {
      PairInput out{{}, {x, ReadWords(files[1], n)}};
      if (out.shares[1].size() != x.size())
        Fail(Cause::kInput, files[0], " holds ", x.size(), " shares and ", files[1], " ", out.shares[1].size(),
             "; give as many in both");
      for (size_t i = 0; i < x.size(); ++i) x[i] = (x[i] + out.shares[1][i]) & ring::Mask(n);
      out.x = std::move(x);
      return out;
    }
  } else {
    for (const std::string& s : AtCommas(a.x)) x.push_back(WordOf(s, n, "--x"));
  }
  if (shared) return Shared(std::move(x), n);
  return {std::move(x), {}};
}

ordered_json Number(uint64_t word, const func::Channel& c) {
  if (c.kind == func::Channel::kSigned) return ring::Signed(word, c.bits);
  return word;
}

const char* KindName(const func::Channel& c) {
  return c.kind == func::Channel::kBit ? "bit" : c.kind == func::Channel::kSigned ? "signed" : "unsigned";
}

void PrintJson(const FnRunArgs& a, const gates::FunctionPlan& plan, const PairInput& in, const PairResult& r,
               bool equal) {
  const std::vector<func::Channel> channels = func::ChannelsOf(plan.f);
  const compiler::Bill& b = r.bill;
  ordered_json out{{"schema", "suf.fn/1"},           {"name", func::Name(plan.f)},    {"n", func::DomainBits(plan.f)},
                   {"ring", func::RingBits(plan.f)}, {"lowering", gates::Name(plan)}, {"backend", a.backend},
                   {"profile", a.profile},           {"from", a.ends.from},           {"to", a.ends.to}};
  out["channels"] = json::array(), out["x"] = in.x, out["y"] = json::array();
  for (const func::Channel& c : channels)
    out["channels"].push_back({{"name", c.name}, {"kind", KindName(c)}, {"bits", c.bits}});
  for (size_t i = 0; i < in.x.size(); ++i) {
    ordered_json row = json::array();
    for (size_t c = 0; c < channels.size(); ++c) row.push_back(Number(r.words[c][i], channels[c]));
    out["y"].push_back(std::move(row));
  }
  out["equal"] = equal, out["rounds"] = b.flights, out["sent_bytes"] = b.sent, out["key_bytes"] = b.key;
  out["aes_blocks"] = {b.blocks[2], b.blocks[0], b.blocks[1]}, out["trace"] = Hex(r.trace);
  std::cout << out.dump() << "\n";
}

// PrintTable: the first values; as numbers, too, where the library gives scales.
void PrintTable(const FnRunArgs& a, const Given& g, const gates::FunctionPlan& plan, const PairInput& in,
                const PairResult& r, bool equal) {
  const std::vector<func::Channel> channels = func::ChannelsOf(plan.f);
  const Numeric numeric = NumericOf(g);
  const int n = func::DomainBits(g.f);
  auto real = [](double v, int scale) { return Short(std::ldexp(v, -scale)); };
  std::vector<std::vector<std::string>> rows{{"x"}};
  if (g.made) rows[0].push_back("in units");
  for (const func::Channel& c : channels) {
    rows[0].push_back(c.name);
    if (g.made && c.kind != func::Channel::kBit) rows[0].push_back("in units");
  }
  for (size_t i = 0; i < std::min(kShownRows, in.x.size()); ++i) {
    const int64_t x = numeric.is_signed ? ring::Signed(in.x[i], n) : int64_t(in.x[i]);
    rows.push_back({numeric.is_signed ? Str(x) : Str(in.x[i])});
    if (g.made) rows.back().push_back(real(double(x), numeric.scale));
    for (size_t c = 0; c < channels.size(); ++c) {
      const uint64_t w = r.words[c][i];
      const bool negative = channels[c].kind == func::Channel::kSigned;
      rows.back().push_back(negative ? Str(ring::Signed(w, channels[c].bits)) : Str(w));
      if (g.made && channels[c].kind != func::Channel::kBit)
        rows.back().push_back(
            real(negative ? double(ring::Signed(w, channels[c].bits)) : double(w), numeric.result_scale));
    }
  }
  std::cout << Table(rows);
  if (in.x.size() > kShownRows)
    std::cout << "and " << in.x.size() - kShownRows << " values more (--json has them all)\n";
  const compiler::Bill& b = r.bill;
  const char* const whom = plan.to == gates::To::kShared ? "nobody: each party keeps a share"
                           : plan.to == gates::To::kBoth ? "both parties"
                           : plan.to == gates::To::kP0   ? "P0 alone"
                                                         : "P1 alone";
  const char* const whose = plan.from == gates::From::kShared ? "shares of both parties"
                            : plan.from == gates::From::kP0   ? "P0, in private"
                                                              : "P1, in private";
  std::cout << "\n"
            << func::Name(plan.f) << " by " << gates::Name(plan) << " on " << a.backend << ": x from " << whose
            << "; the result to " << whom << "\n"
            << in.x.size() << (in.x.size() == 1 ? " value, " : " values, ") << b.flights
            << (b.flights == 1 ? " round; " : " rounds; ") << "P0 sends " << Bytes10(b.sent[0]) << ", P1 "
            << Bytes10(b.sent[1]) << "; keys " << Bytes10(b.key[0]) << " and " << Bytes10(b.key[1]) << "; "
            << Fixed(r.seconds * 1e3, 1) << " ms with dealing\n"
            << (equal ? "equal to the function's own meaning at every value\n" : "");
}

// WriteShares: a file a party and channel.
void WriteShares(const std::string& out, const gates::FunctionPlan& plan, const PairResult& r) {
  const std::vector<func::Channel> channels = func::ChannelsOf(plan.f);
  for (size_t p : {0, 1})
    for (size_t c = 0; c < channels.size(); ++c)
      WriteWords(Str(out, channels.size() > 1 ? "." + channels[c].name : "", ".p", p), r.shares[p][c],
                 channels[c].bits);
}

}  // namespace

int RunFnRun(const FnRunArgs& a) {
  if (int(!a.x.empty()) + int(!a.values.empty()) + int(a.all) + int(a.random.has_value()) != 1)
    Fail(Cause::kInput, "suf fn run takes its values from one of --x, --values, --all and --random; see --help");
  const Given g = FunctionOf(a.f);
  gates::FunctionPlan plan = PlanOf(g.f, a.ends);
  if (!a.out.empty() && plan.to != gates::To::kShared)
    Fail(Cause::kInput, "--out holds the shares of --to shared; with --to ", a.ends.to, " --json has the values");
  const auto backend = MakeBackend(a.backend);
  const pfss::Capabilities& can = backend->capabilities();
  const compiler::Profile profile = compiler::ParseProfile(a.profile);
  // the choice is for as many values as there are, as far as that is known before they are read
  const int64_t many = a.random      ? *a.random
                       : a.all       ? int64_t{1} << std::min(kMostAll, func::DomainBits(g.f))
                       : a.x.empty() ? 1024
                                     : int64_t(AtCommas(a.x).size());
  plan.choice = a.lowering == "auto" ? compiler::Best(gates::Price(plan, profile.prices, many, can)).choice
                                     : gates::Named(plan, a.lowering, profile.prices, many, can);
  const PairInput in = Values(a, plan);
  const PairResult r = RunFunction(plan, in, *backend);
  const Wrong wrong = Compare(plan.f, in.x, r.words);
  if (a.json)
    PrintJson(a, plan, in, r, wrong.count == 0);
  else
    PrintTable(a, g, plan, in, r, wrong.count == 0);
  if (!a.out.empty()) WriteShares(a.out, plan, r);
  if (wrong.count)
    Fail(Cause::kRefused, wrong.count, " of ", in.x.size(), " values differ from ", func::Name(plan.f),
         "'s own meaning, the first at x = ", in.x[wrong.first], "; report it, and take another lowering");
  return 0;
}

int RunBackends(const BackendsArgs& a) {
  ordered_json all = json::array();
  std::string text;
  for (const BackendInfo& b : Backends()) {
    ordered_json lacks = json::array(), schemes = json::array();
    std::string names, dcfs;
    for (const pfss::OpInfo& op : pfss::Ops())
      if (!b.can.Has(op.op)) lacks.push_back(op.name), names += (names.empty() ? " but " : ", ") + Str(op.name);
    for (fss::DcfScheme s : b.can.schemes)
      schemes.push_back(fss::Name(s)), dcfs += (dcfs.empty() ? "" : ", ") + Str(fss::Name(s));
    all.push_back({{"name", b.name},
                   {"built", b.built},
                   {"runs", b.runs},
                   {"what", b.can.what},
                   {"dcf_schemes", schemes},
                   {"lacks", lacks},
                   {"largest_n", b.can.largest}});
    const char* const here = !b.built ? "not built here         "
                             : b.runs ? "runs here      "
                                      : "not on this processor  ";
    text += Str(b.name, std::string(18 - b.name.size(), ' '), here, b.can.what, "\n", std::string(18, ' '),
                "every operation", names, "; DCFs of ", dcfs, "; keys on up to ", b.can.largest, " bits\n");
  }
  std::cout << (a.json ? ordered_json{{"schema", "suf.backends/1"}, {"backends", all}}.dump() + "\n" : text);
  return 0;
}

}  // namespace suf::apps
