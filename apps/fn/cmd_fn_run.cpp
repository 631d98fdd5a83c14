// The commands `suf fn run`, a function between two parties of this machine, and `suf backends`.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/fn/fn_pair.hpp"
#include "apps/fn/fn_show.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "suf/base/digest.hpp"
#include "suf/ring/modular.hpp"

namespace suf::apps {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr int kMostAll = 20;  // most bits of a domain for --all

// Reads the input of the run from the one source that is given.
PairInput Values(const FnRunArgs& a, const gates::FunctionPlan& plan, const NamedFunction& g) {
  const int n = func::DomainBits(plan.f);
  const bool shared = plan.from == gates::Origin::kShared;
  const std::optional<ArgumentLimits> limits = LimitsOf(g);
  std::vector<uint64_t> x;
  if (a.all) {
    if (n > kMostAll)
      Fail(Cause::kInput, "--all runs at most 2^", kMostAll, " values, and the domain of ", func::Name(plan.f),
           " has 2^", n, "; use --random N");
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
      Fail(Cause::kInput, "--values takes one file, or with --from shared two, with the shares of each party; got ",
           files.size());
    x = ReadWords(files[0], n, files.size() == 1 ? limits : std::nullopt);
    if (files.size() == 2) {
      PairInput out{{}, {x, ReadWords(files[1], n)}};
      if (out.shares[1].size() != x.size())
        Fail(Cause::kInput, files[0], " holds ", x.size(), " shares and ", files[1], " ", out.shares[1].size(),
             "; give the same number in both");
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = (x[i] + out.shares[1][i]) & ring::Mask(n);
        const int64_t number = limits && limits->is_signed ? ring::Signed(x[i], n) : int64_t(x[i]);
        if (limits) limits->Want(Str("the sum of shares ", i + 1), Str(number), number);
      }
      out.x = std::move(x);
      return out;
    }
  } else {
    for (const std::string& s : AtCommas(a.x)) x.push_back(WordOf(s, n, "--x", limits));
  }
  if (shared) return Shared(std::move(x), n);
  return {std::move(x), {}};
}

// Returns the clause about time for FnSentences.
std::string Time(const PairResult& r, size_t count) {
  if (r.online == 0) return Fixed(r.seconds * 1e3, 1) + " ms with dealing";
  const double rate = double(count) / r.online;
  return Str(Fixed(r.online * 1e3, 1), " ms online, ",
             rate < 1e6 ? Str(int64_t(rate)) : Fixed(rate / 1e6, 2) + " million", " values a second; ",
             Fixed((r.seconds - r.online) * 1e3, 1), " ms dealing");
}

}  // namespace

int RunFnRun(const FnRunArgs& a) {
  if (int(!a.x.empty()) + int(!a.values.empty()) + int(a.all) + int(a.random.has_value()) != 1)
    Fail(Cause::kInput, "suf fn run takes its values from one of --x, --values, --all and --random; give one of them");
  const NamedFunction g = FunctionOf(a.f);
  gates::FunctionPlan plan = PlanOf(g.f, a.ends);
  if (!a.out.empty() && plan.to != gates::To::kShared)
    Fail(Cause::kInput, "--out holds the shares of --to shared; with --to ", a.ends.to, " use --json for the values");
  if (a.processes && a.backend.name != "packed")
    Fail(Cause::kInput, "--processes runs the three roles, which compute on packed; leave out --backend ",
         a.backend.name);
  const backends::BackendEntry entry = BackendOf(a.backend, false);
  const auto backend = entry.make(exec::Default());
  const compiler::Profile profile = compiler::ParseProfile(a.profile);
  // the choice is for the number of values, if it is known before they are read
  const int64_t many = a.random      ? *a.random
                       : a.all       ? int64_t{1} << std::min(kMostAll, func::DomainBits(g.f))
                       : a.x.empty() ? 1024
                                     : int64_t(AtCommas(a.x).size());
  plan.choice = ChoiceFor(plan, a.lowering, profile, many, backend->capabilities());
  const PairInput in = Values(a, plan, g);
  if (!a.out.empty())
    for (size_t p : {0, 1}) ProbeValues(Str(a.out, ".p", p), plan, in.x.size());
  const PairResult r = a.processes ? RunProcesses(plan, in) : RunFunction(plan, in, *backend);
  const Wrong wrong = Compare(plan.f, in.x, r.words);
  const FnRun run{plan, entry.name, a.profile, r.bill, r.trace, wrong.count == 0};
  if (a.json) {
    ordered_json row = FnRow(run, in.x, r.words);
    row["ms"] = {{"total", r.seconds * 1e3}};
    if (a.processes) row["ms"] = {{"deal", (r.seconds - r.online) * 1e3}, {"online", r.online * 1e3}};
    std::cout << row.dump() << "\n";
  } else {
    std::cout << FnTable(plan, g, in.x, r.words) << "\n"
              << FnSentences(run, int64_t(in.x.size()), Time(r, in.x.size()));
  }
  if (!a.out.empty())
    for (size_t p : {0, 1}) WriteValues(Str(a.out, ".p", p), plan, r.shares[p]);
  if (wrong.count)
    Fail(Cause::kRefused, wrong.count, " of ", Plural(in.x.size(), "value"),
         wrong.count == 1 ? " differs from " : " differ from ", func::Name(plan.f),
         "'s own meaning, the first at x = ", in.x[wrong.first], "; report it, and use another lowering");
  return 0;
}

int RunBackends(const BackendsArgs& a) {
  ordered_json all = json::array();
  PrintedRows rows;
  for (const backends::BackendEntry& b : backends::All()) {
    ordered_json lacks = json::array(), schemes = json::array();
    std::string names, dcfs;
    for (const pfss::OpInfo& op : pfss::Ops())
      if (!b.can.Has(op.op)) {
        lacks.push_back(op.name);
        names += (names.empty() ? " but " : ", ") + Str(op.name);
      }
    for (fss::DcfScheme s : b.can.schemes) {
      schemes.push_back(fss::Name(s));
      dcfs += (dcfs.empty() ? "" : ", ") + Str(fss::Name(s));
    }
    all.push_back({{"name", b.name},
                   {"built", b.built},
                   {"runs", b.why_not.empty()},
                   {"why_not", b.why_not},
                   {"models", b.models},
                   {"what", b.can.what},
                   {"dcf_schemes", schemes},
                   {"lacks", lacks},
                   {"largest_n", b.can.largest}});
    rows.push_back({b.name,
                    !b.built             ? "not built here"
                    : !b.why_not.empty() ? "not on this machine"
                    : b.models           ? "runs models and functions"
                                         : "runs functions alone",
                    b.can.what});
    rows.push_back(
        {"", "", Str("every operation", names, "; DCFs of ", dcfs, "; keys of up to ", Plural(b.can.largest, "bit"))});
    if (!b.why_not.empty()) rows.push_back({"", "", b.why_not});
  }
  std::cout << (a.json ? ordered_json{{"schema", "suf.backends/1"}, {"backends", all}}.dump() + "\n" : Listing(rows));
  return 0;
}

}  // namespace suf::apps
