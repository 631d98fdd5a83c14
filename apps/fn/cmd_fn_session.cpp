// The commands `suf fn plan`, `serve` and `ask`: a function's plan, and its two parties as processes. The dealer is
// `suf deal`.
#include <iostream>
#include <optional>

#include "apps/call.hpp"
#include "apps/exit.hpp"
#include "apps/fn/fn_pair.hpp"
#include "apps/fn/fn_show.hpp"
#include "apps/log.hpp"
#include "apps/output.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/times.hpp"
#include "suf/roles/function.hpp"

namespace suf::apps {

namespace {

// Reads the values of party p from --values if it brings any by the plan; otherwise returns none.
WipedVector<uint64_t> OwnValues(const roles::FunctionEngine& engine, int p, const std::string& path) {
  const gates::FunctionPlan& plan = engine.plan();
  if (!roles::Brings(plan, p)) {
    if (!path.empty())
      Fail(Cause::kInput, "the plan takes x from P", 1 - p, " alone; leave out --values, or make a plan with --from p",
           p);
    return {};
  }
  if (path.empty())
    Fail(Cause::kInput, "the plan takes ", plan.from == gates::Origin::kShared ? "a share of x" : "x", " from P", p,
         "; name a file of numbers with --values");
  // a share alone does not show the number that it stands for
  const std::optional<ArgumentLimits> limits =
      plan.from == gates::Origin::kShared ? std::nullopt : LimitsOf({plan.f, {}});
  std::vector<uint64_t> words = ReadWords(path, func::DomainBits(plan.f), limits);
  WipedVector<uint64_t> out(words.begin(), words.end());
  Wipe(words.data(), words.size() * sizeof(uint64_t));
  return out;
}

// Checks that --out fits the results of party p and that it can be written, before any value is sent.
void CheckOut(const gates::FunctionPlan& plan, int p, const std::string& out, size_t values) {
  if (!out.empty() && !roles::Learns(plan, p))
    Fail(Cause::kInput, "the plan gives P", p, " no result; leave out --out, or make a plan with --to both");
  if (out.empty() && plan.to == gates::To::kShared)
    Fail(Cause::kInput, "the plan leaves each party a share of the result; name a file for that of P", p,
         " with --out");
  if (!out.empty())
    ProbeValues(out, plan, values);
  else if (roles::Learns(plan, p))
    CheckOutput();
}

// Writes the results of a party to --out, or to stdout.
void Show(const FnRun& run, const std::string& out, const std::vector<uint64_t>& x, const ValueRows& y) {
  if (!out.empty())
    WriteValues(out, run.plan, y);
  else if (!y.empty())
    std::cout << FnTable(run.plan, {run.plan.f, std::nullopt}, x, y) << "\n" << std::flush;
}

// Logs the function and the ends of the plan, and refuses an unexpected plan, before any message is sent.
void CheckExpected(const char* command, const roles::FunctionEngine& engine, const ExpectArgs& expect) {
  const gates::FunctionPlan& plan = engine.plan();
  log::Info(Str(command, ": the function is ", func::Name(plan.f), ", by ", gates::Name(plan)));
  log::Info(Str(command, ": x comes from ", SourceName(plan.from), "; the result goes to ", ReceiverName(plan.to)));
  log::Info(Str(command, ": the plan is ", Hex(engine.hash())));
  if (!expect.to.empty() && gates::ToNamed(expect.to, "--expect-to") != plan.to)
    Fail(Cause::kRefused, "the plan gives the result to ", ReceiverName(plan.to), ", and --expect-to is ", expect.to,
         "; ask for the plan that was agreed");
  CheckPlanHash(engine.hash(), expect.hash, "suf fn plan");
}

// Returns the run of `count` values with its bill.
FnRun RunOf(roles::FunctionEngine& engine, uint32_t count) {
  const auto work = engine.Compile(int(count));
  return {engine.plan(), "packed", "", compiler::BillOf(*work->schedule), work->trace.digest(), std::nullopt};
}

}  // namespace

int RunFnPlan(const FnPlanArgs& a) {
  const NamedFunction g = FunctionOf(a.f);
  gates::FunctionFile file{PlanOf(g.f, a.ends), a.max_values};
  (void)FilesOf(a.out, file.plan);  // throws if a channel's name is no name of a file
  const compiler::Profile profile = compiler::ParseProfile(a.profile);
  const int64_t many = std::min<int64_t>(a.max_values, 1024);
  const std::vector<compiler::Candidate> all = gates::Price(file.plan, profile.prices, many);
  const compiler::Candidate& picked = gates::Pick(file.plan, all, a.lowering, a.semi_honest);
  if (!a.semi_honest) Hinted(Cause::kRefused, kTrustingHint, [&] { gates::RefuseSteering(file.plan, picked, all); });
  file.plan.choice = picked.choice;
  WriteText(a.out, gates::Print(file));
  pfss::Trace t;
  gates::Emit(t, file.plan, many);
  const FnRun run{file.plan, "packed", a.profile, compiler::BillOf(pfss::Schedule(t)), t.digest(), std::nullopt};
  std::cout << "plan " << Hex(gates::HashOfFile(file)) << "\nup to " << a.max_values << " values a call\n"
            << FnSentences(run, many,
                           Str("about ", Fixed(compiler::Seconds(run.bill, profile.prices) * 1e3, 1),
                               " ms by the profile ", profile.name));
  return 0;
}

int RunFnServe(const FnServeArgs& a) {
  const RoleProcess process = StartRole("fn serve", Role::kModel, a);
  roles::FunctionEngine engine(roles::LoadFunctionPlan(a.plan), *process.backend);
  if (!a.times.empty()) engine.MeasureScopes();
  CheckExpected("fn serve", engine, a.expect);
  WipedVector<uint64_t> values = OwnValues(engine, 0, a.values);
  CheckOut(engine.plan(), 0, a.out, values.size());
  if (!values.empty()) CheckCount(engine, values.size());
  // kept to be shown beside the results of P0
  const std::vector<uint64_t> x = engine.plan().from == gates::Origin::kP0 && a.out.empty()
                                      ? std::vector<uint64_t>(values.begin(), values.end())
                                      : std::vector<uint64_t>();
  AnswerCalls(
      "fn serve", a, process.own, engine,
      [&](LearnedHook learned) { return roles::ServerDataOf(engine.plan(), std::move(values), std::move(learned)); },
      [&](uint32_t count, const std::vector<uint64_t>& words) {
        Show(RunOf(engine, count), a.out, x, gates::ChannelWords(engine.plan(), words, count));
      });
  return 0;
}

int RunFnAsk(const FnAskArgs& a) {
  const RoleProcess process = StartRole("fn ask", Role::kData, a);
  roles::FunctionEngine engine(roles::LoadFunctionPlan(a.plan), *process.backend);
  if (!a.times.empty()) engine.MeasureScopes();
  const gates::FunctionPlan& plan = engine.plan();
  CheckExpected("fn ask", engine, a.expect);
  if (gates::RevealsToP0(plan) && a.expect.to.empty() && a.expect.hash.empty())
    Fail(Cause::kRefused, "by this plan P0 learns a result of our ",
         plan.from == gates::Origin::kShared ? "shares" : "values", "; if that is agreed, add --expect-to ",
         gates::Name(plan.to), ", or --plan-hash with the hash of the agreed plan");
  WipedVector<uint64_t> values = OwnValues(engine, 1, a.values);
  CheckOut(plan, 1, a.out, values.size());
  if (!values.empty()) {
    CheckCount(engine, values.size());
    if (!a.semi_honest)
      Hinted(Cause::kRefused, kTrustingHint, [&] { roles::RefuseSteering(*engine.Compile(int(values.size()))); });
  }
  std::vector<uint64_t> x;
  if (plan.from == gates::Origin::kP1) x.assign(values.begin(), values.end());
  TimesFile times(a.times);
  const auto brought = uint32_t(values.size());
  const auto request = [&](uint32_t count) { return roles::Values(plan, std::move(values), count); };
  const CallResult called =
      RunCall({"fn ask", a, a.connect, a.audit, a.semi_honest, brought, request}, process.own, engine);
  const roles::JobResult& ran = called.job;
  times.Add(ran.serial, ran.times);
  FnRun run = RunOf(engine, ran.count);
  ValueRows y;
  if (roles::Learns(plan, 1)) y = gates::ChannelWords(plan, ran.words, ran.count);
  Wrong wrong;
  if (!x.empty() && !y.empty() && plan.to != gates::To::kShared) {
    wrong = Compare(plan.f, x, y);
    run.equal = wrong.count == 0;
  }
  if (a.json) {
    auto row = FnRow(run, x, plan.to == gates::To::kShared ? ValueRows() : y);
    AddCallCosts(&row, engine.hash(), ran);
    std::cout << row.dump() << "\n";
    if (!a.out.empty()) WriteValues(a.out, plan, y);
  } else {
    Show(run, a.out, x, y);
    std::cerr << FnSentences(run, ran.count, CallTimes(ran));
  }
  // after all calls, so that P0 cannot see it; a retry would show P0 that its change of messages mattered
  if (wrong.count)
    Fail(Cause::kRefused, wrong.count, " of ", ran.count, " values differ from ", func::Name(plan.f),
         "'s own meaning, the first at x = ", x[wrong.first], "; do not retry before you know why P0's share is wrong");
  if (called.end) throw *called.end;
  return 0;
}

}  // namespace suf::apps
