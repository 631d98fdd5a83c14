// The commands `suf fn plan`, `serve` and `ask`: a function's plan, and its two parties as processes. The dealer is
// `suf deal`.
#include <cctype>
#include <iostream>
#include <optional>

#include "apps/exit.hpp"
#include "apps/fn/fn_pair.hpp"
#include "apps/fn/fn_show.hpp"
#include "apps/log.hpp"
#include "apps/output.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/signals.hpp"
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

// Throws unless the plan and this machine's memory take `count` values.
void CheckCount(roles::FunctionEngine& engine, size_t count) {
  Refuse(*engine.Compile(int(std::min<size_t>(count, INT32_MAX)))->schedule, int64_t(count));
}

// Writes the results of a party to --out, or to stdout.
void Show(const FnRun& run, const std::string& out, const std::vector<uint64_t>& x, const ValueRows& y) {
  if (!out.empty())
    WriteValues(out, run.plan, y);
  else if (!y.empty())
    std::cout << FnTable(run.plan, {run.plan.f, std::nullopt}, x, y) << "\n" << std::flush;
}

// The hint in every refusal that --semi-honest lifts.
constexpr const char* kTrusting = "or trust P0 to follow the protocol: --semi-honest";

// Logs the function and the ends of the plan, and refuses an unexpected plan, before any message is sent.
void CheckExpected(const char* command, const roles::FunctionEngine& engine, const ExpectArgs& expect) {
  const gates::FunctionPlan& plan = engine.plan();
  const std::string hash = Hex(engine.hash());
  log::Info(Str(command, ": the function is ", func::Name(plan.f), ", by ", gates::Name(plan)));
  log::Info(Str(command, ": x comes from ", SourceName(plan.from), "; the result goes to ", ReceiverName(plan.to)));
  log::Info(Str(command, ": the plan is ", hash));
  if (!expect.to.empty() && gates::ToNamed(expect.to, "--expect-to") != plan.to)
    Fail(Cause::kRefused, "the plan gives the result to ", ReceiverName(plan.to), ", and --expect-to is ", expect.to,
         "; ask for the plan that was agreed");
  if (expect.hash.empty()) return;
  std::string lower = expect.hash;
  for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
  if (lower.size() != hash.size() || lower.find_first_not_of("0123456789abcdef") != lower.npos)
    Fail(Cause::kInput, "--plan-hash takes the ", hash.size(), " hexadecimal digits that suf fn plan prints; got ",
         expect.hash.size(), " characters");
  if (lower != hash)
    Fail(Cause::kRefused, "the plan has the hash ", hash, ", and --plan-hash names another one",
         "; ask for the plan that was agreed");
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
  if (!a.semi_honest) Hinted(Cause::kRefused, kTrusting, [&] { gates::RefuseSteering(file.plan, picked, all); });
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
  // The error of writing P0's results. This session ends as any other; no further one begins.
  std::exception_ptr unwritten;
  auto learned = [&](uint32_t count, std::vector<uint64_t> words) {
    try {
      Show(RunOf(engine, count), a.out, x, gates::ChannelWords(engine.plan(), words, count));
    } catch (const Error&) {
      unwritten = std::current_exception();
    }
    Wipe(words.data(), words.size() * sizeof(uint64_t));
  };
  Answer(
      "fn serve", a, process.own, engine.unit(),
      [&](store::Store& store, proto::DialDealer dial, roles::Server::Options options) {
        return std::make_unique<roles::Server>(engine, roles::ServerDataOf(engine.plan(), std::move(values), learned),
                                               store, std::move(dial), std::move(options));
      },
      [&] { return unwritten != nullptr; });
  if (unwritten) std::rethrow_exception(unwritten);
  return 0;
}

namespace {

// The result of a call, and the error that ended the session after it, which does not invalidate the result.
struct CallResult {
  roles::JobResult job;
  std::optional<Error> end;
};

// Runs one job with P0, from greeting to end. Nothing in it depends on the result.
CallResult Call(const FnAskArgs& a, const net::Credentials& own, roles::FunctionEngine& engine,
                WipedVector<uint64_t> values) {
  PartyStore store("fn ask", a.store);
  const auto recorder = RecorderOf(a);
  const auto timeout = Timeout(a.timeout);
  Bar bar("fn ask", Bar::Log::kRare);
  roles::Client::Options options{.keys = KeysOf(a.keys, store), .audits = a.audit, .semi_honest = a.semi_honest};
  options.audited = [] { log::Info("fn ask: P0 audited a bundle and found nothing wrong"); };
  options.progress = [&](size_t, double done, const std::string& what) { bar.At(done, what); };
  roles::Client client(engine, store, CallDealer(own, a.dealer, timeout, a.streams), std::move(options));
  auto ch = net::Dial(own, net::Address::Parse(a.connect), Role::kModel, timeout, {}, a.streams);
  ch->set_recorder(recorder.get());
  roles::Client::Session session(client, *ch);
  Warn("fn ask", session.notices());
  const uint32_t brought = session.brought();
  if (!values.empty() && brought && brought != values.size())
    Fail(Cause::kInput, "we bring ", values.size(), " values, and P0 brings ", brought, "; give both the same number");
  if (values.empty() && !brought)
    Fail(Cause::kPeer, "P0 does not announce its number of values; install the same suf on both sides");
  if (values.empty()) CheckCount(engine, brought);
  KeepPages();
  std::vector<roles::JobRequest> jobs;
  jobs.push_back(roles::Values(engine.plan(), std::move(values), brought));
  CallResult out;
  const SignalTaker taker([](int signal, int turn) {
    if (turn > 1) EndBy(signal, "suf: fn ask ended at once by a signal; the call in flight is lost with its keys\n");
    log::Info(
        "fn ask: ending after the call in flight; a second Ctrl-C or SIGTERM ends at once, and its keys are lost");
  });
  session.Run(std::move(jobs), [&](size_t, roles::JobResult r) { out.job = std::move(r); });
  try {
    session.End();
  } catch (const Error& e) {
    if (roles::Learns(engine.plan(), 1) && out.job.words.empty()) throw;
    out.end = e;
  }
  return out;
}

// Returns the row of --json: FnRow, and the costs of the call.
nlohmann::ordered_json CallRow(const FnRun& run, const Hash& plan, const roles::JobResult& ran,
                               const std::vector<uint64_t>& x, const ValueRows& y) {
  auto row = FnRow(run, x, run.plan.to == gates::To::kShared ? ValueRows() : y);
  row["serial"] = ran.serial;
  row["plan"] = Hex(plan);
  row["wire_bytes"] = {ran.bytes.p0, ran.bytes.p1};
  row["ms"] = {{"fetch", ran.fetch_ms}, {"ahead", ran.ahead_ms}, {"online", ran.times.total * 1e3}};
  row["within_ms"] = {{"deal", ran.deal_ms}, {"keys", ran.keys_ms}};
  return row;
}

}  // namespace

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
      Hinted(Cause::kRefused, kTrusting, [&] { roles::RefuseSteering(*engine.Compile(int(values.size()))); });
  }
  std::vector<uint64_t> x;
  if (plan.from == gates::Origin::kP1) x.assign(values.begin(), values.end());
  TimesFile times(a.times);
  const CallResult called = Call(a, process.own, engine, std::move(values));
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
    std::cout << CallRow(run, engine.hash(), ran, x, y).dump() << "\n";
    if (!a.out.empty()) WriteValues(a.out, plan, y);
  } else {
    Show(run, a.out, x, y);
    std::cerr << FnSentences(run, ran.count,
                             Str(Fixed(ran.times.total * 1e3, 1), " ms online, ", Fixed(ran.fetch_ms, 1),
                                 " ms until keys arrived, ", Fixed(ran.deal_ms, 1), " ms of dealing"));
  }
  // after all calls, so that P0 cannot see it; a retry would show P0 that its change of messages mattered
  if (wrong.count)
    Fail(Cause::kRefused, wrong.count, " of ", ran.count, " values differ from ", func::Name(plan.f),
         "'s own meaning, the first at x = ", x[wrong.first], "; do not retry before you know why P0's share is wrong");
  if (called.end) throw *called.end;
  return 0;
}

}  // namespace suf::apps
