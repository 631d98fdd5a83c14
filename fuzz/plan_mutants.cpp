// The target plan_json without libFuzzer, for any compiler and without sanitizers.
// * `plan_mutants runs:N|seconds:S [SEED|new] [FOLDER]` runs random programs of changes, grown from those whose plans
//   were accepted. `new` chooses a seed and prints it.
// * `plan_mutants edges FOLDER [PLAN..]`: every node of every seed plan reads every earlier node at each of its inputs
//   in turn.
//
// A plan may end only by suf::Error, within the time limit. Anything else is a finding, and its plan is written to
// FOLDER.
#include <signal.h>
#include <sys/time.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <random>

#include "fuzz/plan_json.hpp"

namespace suf::fuzz {
namespace {

constexpr double kSlow = 10;   // processor seconds for one plan, independent of the machine's load
constexpr int kHopeless = 60;  // processor seconds after which the plan is aborted

std::string folder = ".", current;
std::map<std::string, long> findings;

void Keep(const std::string& name) { std::ofstream(folder + "/" + name + ".json") << current; }
// Sends SIGPROF after this many processor seconds; 0: never.
void Limit(int seconds) {
  const itimerval timer{{}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}
void OnSignal(int s) {
  Keep("signal-" + std::to_string(s));
  _exit(99);
}

// Returns whether the plan is accepted; counts findings and keeps the first of each kind.
bool Try(std::string text, bool every, const std::string& what) {
  current = std::move(text);
  const auto begin = std::clock();
  const auto found = [&](const std::string& how) {
    std::string kind = how;  // findings that differ only in numbers are one
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    if (findings[kind]++) return;
    std::cout << "finding: " << how << " (" << what << ")\n" << std::flush;
    Keep("finding-" + std::to_string(findings.size()));
  };
  bool accepted = false;
  Limit(kHopeless);
  try {
    TakePlan(current, every);
    accepted = true;
  } catch (const Error& e) {
    if (e.cause() != Cause::kRefused) found(Str("an error of cause ", Name(e.cause()), ": ", e.what()));
  } catch (const std::exception& e) {
    found(std::string(typeid(e).name()) + ": " + e.what());
  }
  Limit(0);
  if (double(std::clock() - begin) / CLOCKS_PER_SEC > kSlow) found(Str("more than ", kSlow, " s"));
  return accepted;
}

int Edges(int argc, char** argv) {
  long tried = 0, accepted = 0;
  auto sweep = [&](const std::string& name, Json plan) {
    Json& nodes = plan["nodes"];
    for (size_t i = 0; i < nodes.size(); ++i)
      for (size_t k = 0; k < nodes[i]["in"].size(); ++k) {
        const Json was = nodes[i]["in"][k];
        for (size_t from = 0; from < i; ++from) {
          if (was == from) continue;
          nodes[i]["in"][k] = from;
          accepted += Try(Hashed(plan), true, Str(name, ": node ", i, " reads ", from, " as input ", k));
          ++tried;
        }
        nodes[i]["in"][k] = was;
      }
  };
  if (argc == 0)
    for (auto& [name, plan] : SeedPlans()) sweep(name, plan);
  for (int i = 0; i < argc; ++i) sweep(argv[i], Json::parse(TextOf(ReadFrom(argv[i]))));
  std::cout << tried << " rewired edges, " << accepted << " accepted, " << findings.size() << " findings\n";
  return findings.empty() ? 0 : 1;
}

int Run(const std::string& length, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::cout << "seed " << seed << "\n" << std::flush;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const bool runs = length.starts_with("runs:");
  const double limit = std::stod(length.substr(length.find(':') + 1));
  std::vector<Bytes> pool;
  constexpr size_t kPool = 2000, kMostBytes = 160;
  long tried = 0, accepted = 0;
  for (; runs ? double(tried) < limit : seconds() < limit; ++tried) {
    if (tried && tried % 100'000 == 0) std::cout << tried << " plans, " << accepted << " accepted\n" << std::flush;
    Bytes program;
    if (!pool.empty() && rng() % 4) program = pool[rng() % pool.size()];
    if (program.size() > kMostBytes) program.resize(rng() % kMostBytes);
    if (program.empty()) program.push_back(uint8_t(rng()));
    if (rng() % 8 == 0) program[rng() % program.size()] = uint8_t(rng());
    for (size_t more = 1 + rng() % 8; more > 0; --more) program.push_back(uint8_t(rng()));
    if (!Try(Hashed(Mutant(program)), false, "seed " + std::to_string(seed))) continue;
    ++accepted;
    if (pool.size() < kPool)
      pool.push_back(program);
    else
      pool[rng() % kPool] = program;
  }
  std::cout << tried << " plans from seed " << seed << " in " << int(seconds()) << " s, " << accepted << " accepted, "
            << findings.size() << " findings\n";
  return findings.empty() ? 0 : 1;
}

}  // namespace
}  // namespace suf::fuzz

int main(int argc, char** argv) {
  using namespace suf::fuzz;
  const std::string what = argc > 1 ? argv[1] : "";
  if ((what != "edges" || argc < 3) && !what.starts_with("runs:") && !what.starts_with("seconds:")) {
    std::cerr << "usage: plan_mutants runs:N|seconds:S [SEED|new] [FOLDER] | plan_mutants edges FOLDER [PLAN..]\n";
    return 2;
  }
  for (int s : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGPROF}) signal(s, OnSignal);
  if (what == "edges") {
    folder = argv[2];
    return Edges(argc - 3, argv + 3);
  }
  if (argc > 3) folder = argv[3];
  const std::string seed = argc > 2 ? argv[2] : "1";
  return Run(what, seed == "new" ? std::random_device()() : std::stoull(seed));
}
