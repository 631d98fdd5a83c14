// Runs a function with dealer, P0 and P1 as processes of this machine, over TLS.
#include "apps/fn/fn_pair.hpp"
#include "apps/fn/fn_show.hpp"
#include "apps/processes.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/roles/function.hpp"

namespace suf::apps {

namespace {

const char* ValuesName(int p) { return p ? "p1.x" : "p0.x"; }
const char* ResultName(int p) { return p ? "p1.y" : "p0.y"; }

// Writes the values of party p. Returns its options for values and results.
std::vector<std::string> WriteInput(const ThreeProcesses& processes, const gates::FunctionPlan& plan,
                                    const PairInput& input, int p) {
  std::vector<std::string> options;
  if (roles::Brings(plan, p)) {
    const std::string file = processes / ValuesName(p);
    WriteWords(file, plan.from == gates::Origin::kShared ? input.shares[size_t(p)] : input.x, func::DomainBits(plan.f));
    options.insert(options.end(), {"--values", file});
  }
  if (roles::Learns(plan, p)) options.insert(options.end(), {"--out", processes / ResultName(p)});
  if (p == 1) options.insert(options.end(), {"--expect-to", gates::Name(plan.to)});
  return options;
}

}  // namespace

PairResult RunProcesses(const gates::FunctionPlan& plan, const PairInput& input) {
  const auto count = int64_t(input.x.size());
  if (count > gates::kMostValues)
    Fail(Cause::kInput, count, " values were given; a plan covers at most ", gates::kMostValues,
         "; run fewer at a time");
  Refuse(plan, count);
  const ThreeProcesses processes;
  const ProcessTimes times =
      processes.Run("fn", gates::Print(gates::FunctionFile{plan, count}),
                    {WriteInput(processes, plan, input, 0), WriteInput(processes, plan, input, 1)});
  PairResult out;
  pfss::Trace t;
  gates::Emit(t, plan, count);
  const pfss::Schedule s(t);
  out.bill = compiler::BillOf(s);
  out.trace = t.digest();
  out.online = times.online;
  out.seconds = times.online + times.deal;
  std::array<ValueRows, 2> y;
  for (int p : {0, 1})
    if (roles::Learns(plan, p)) y[size_t(p)] = ReadValues(processes / ResultName(p), plan);
  Join(plan, std::move(y), &out);
  return out;
}

}  // namespace suf::apps
