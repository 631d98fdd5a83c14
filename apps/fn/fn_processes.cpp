// Runs a function with dealer, P0 and P1 as processes of this machine, over TLS.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/child.hpp"
#include "apps/exit.hpp"
#include "apps/fn/fn_pair.hpp"
#include "apps/fn/fn_show.hpp"
#include "apps/signals.hpp"
#include "suf/base/json.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/net/certs.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/function.hpp"

namespace suf::apps {

namespace {

// Reads the seconds of the one run in a file of times.
double Total(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return ReadJson(line, {"the times that the data owner wrote", "start again", Cause::kResource})
             .at("total")
             .get<double>() /
         1e3;
}

const char* ValuesName(int p) { return p ? "p1.x" : "p0.x"; }
const char* ResultName(int p) { return p ? "p1.y" : "p0.y"; }

// Writes the values of party p. Returns its options for values, results and backend.
std::vector<std::string> WriteInput(const TempFolder& dir, const gates::FunctionPlan& plan, const PairInput& input,
                                    int p) {
  std::vector<std::string> options{"--backend", "packed"};
  if (roles::Brings(plan, p)) {
    const std::string file = dir / ValuesName(p);
    WriteWords(file, plan.from == gates::Origin::kShared ? input.shares[size_t(p)] : input.x, func::DomainBits(plan.f));
    options.insert(options.end(), {"--values", file});
  }
  if (roles::Learns(plan, p)) options.insert(options.end(), {"--out", dir / ResultName(p)});
  return options;
}

// Runs the three roles, whose files are in `dir`. Throws the error of a process that fails.
void RunRoles(const TempFolder& dir, const gates::FunctionPlan& plan, const PairInput& input) {
  const std::string file = dir / "f.plan", certs = dir / "certs";
  WriteText(file, gates::Print({plan, int64_t(input.x.size())}));
  net::MakeCerts(certs);
  const std::vector<std::string> options[2] = {WriteInput(dir, plan, input, 0), WriteInput(dir, plan, input, 1)};
  const auto with = [&](std::vector<std::string> args, int p) {
    args.insert(args.end(), options[p].begin(), options[p].end());
    return args;
  };
  Child deal("the dealer",
             {"suf", "deal", "--plan", file, "--certs", certs + "/dealer", "--listen", "127.0.0.1:0", "--backend",
              "packed", "--times", dir / "dealer.times"},
             2);
  const std::string dealer = deal.Address();
  Child serve("P0",
              with({"suf", "fn", "serve", "--plan", file, "--certs", certs + "/model", "--dealer", dealer, "--listen",
                    "127.0.0.1:0", "--store", dir / "p0.store", "--once"},
                   0),
              2);
  const std::string server = serve.Address();
  Child ask("P1",
            with({"suf", "fn", "ask", "--plan", file, "--certs", certs + "/data", "--dealer", dealer, "--connect",
                  server, "--store", dir / "p1.store", "--times", dir / "p1.times", "--semi-honest", "--expect-to",
                  gates::Name(plan.to)},
                 1),
            2);
  ask.Drain();
  const int code = ask.Wait();
  deal.Stop();
  if (code) throw Error(CauseOf(code), "the process of P1 failed: " + ask.last());
  if (const int served = serve.Wait()) throw Error(CauseOf(served), "the process of P0 failed: " + serve.last());
}

// Reads the results and times that the roles wrote.
PairResult ReadResult(const TempFolder& dir, const gates::FunctionPlan& plan, int64_t count) {
  PairResult out;
  pfss::Trace t;
  gates::Emit(t, plan, count);
  const pfss::Schedule s(t);
  out.bill = compiler::BillOf(s);
  out.trace = t.digest();
  out.online = Total(dir / "p1.times");
  out.seconds = out.online + Total(dir / "dealer.times");
  std::array<ValueRows, 2> y;
  for (int p : {0, 1})
    if (roles::Learns(plan, p)) y[size_t(p)] = ReadValues(dir / ResultName(p), plan);
  Join(plan, std::move(y), &out);
  return out;
}

}  // namespace

PairResult RunProcesses(const gates::FunctionPlan& plan, const PairInput& input) {
  const auto count = int64_t(input.x.size());
  if (count > gates::kMostValues)
    Fail(Cause::kInput, count, " values were given; a plan covers at most ", gates::kMostValues,
         "; run fewer at a time");
  Refuse(plan, count);
  const SignalTaker taker([](int signal, int) {
    EndChildren();
    EndBy(signal);
  });
  const TempFolder dir;
  RunRoles(dir, plan, input);
  return ReadResult(dir, plan, count);
}

}  // namespace suf::apps
