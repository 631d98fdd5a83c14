#include "apps/processes.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/exit.hpp"
#include "apps/fn/fn_source.hpp"
#include "suf/base/json.hpp"
#include "suf/net/certs.hpp"

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

}  // namespace

ThreeProcesses::ThreeProcesses()
    : taker_([](int signal, int) {
        EndChildren();
        EndBy(signal);
      }) {}

ProcessTimes ThreeProcesses::Run(const std::string& command, const std::string& plan,
                                 const std::array<std::vector<std::string>, 2>& options) const {
  const std::string file = dir_ / "plan", certs = dir_ / "certs";
  WriteText(file, plan);
  net::MakeCerts(certs);
  Child deal("the dealer",
             {"suf", "deal", "--plan", file, "--certs", certs + "/dealer", "--listen", "127.0.0.1:0", "--backend",
              "packed", "--times", dir_ / "dealer.times"},
             2);
  const std::string dealer = deal.Address();
  const auto party = [&](const char* verb, const char* role, const char* store, std::vector<std::string> more, int p) {
    std::vector<std::string> args{"suf",      command, verb,      "--plan",     file,        "--certs", certs + role,
                                  "--dealer", dealer,  "--store", dir_ / store, "--backend", "packed"};
    args.insert(args.end(), more.begin(), more.end());
    args.insert(args.end(), options[size_t(p)].begin(), options[size_t(p)].end());
    return args;
  };
  Child serve("P0", party("serve", "/model", "p0.store", {"--listen", "127.0.0.1:0", "--once"}, 0), 2);
  const std::string server = serve.Address();
  Child ask("P1",
            party("ask", "/data", "p1.store", {"--connect", server, "--times", dir_ / "p1.times", "--semi-honest"}, 1),
            2);
  ask.Drain();
  const int code = ask.Wait();
  deal.Stop();
  if (code) throw Error(CauseOf(code), "the process of P1 failed: " + ask.last());
  if (const int served = serve.Wait()) throw Error(CauseOf(served), "the process of P0 failed: " + serve.last());
  return {Total(dir_ / "dealer.times"), Total(dir_ / "p1.times")};
}

}  // namespace suf::apps
