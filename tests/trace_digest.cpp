// Prints digests of traces, which must be equal for every compiler. A committed plan has one line for each token count.
// Library functions of 16 bits at scale 8, for 3 values of P1 who learns the results, have one line for each lowering.
// The second digest is that of the DAG. It does not change if only the order of pure nodes or input names change.
//
//    trace_digest PLAN N..     each N whole, then in two tiles if the plan's class may have them
//    trace_digest --functions NAME|FILE.suf..
#include <fstream>
#include <iostream>
#include <iterator>

#include "suf/func/library.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/nn/plan/knob_search.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/pfss/dag.hpp"
#include "suf/pfss/schedule.hpp"

namespace {

using namespace suf;

void Line(const std::string& name, const pfss::Trace& t) {
  const pfss::Schedule s(t);
  std::cout << name << " " << Hex(t.digest()) << " dag " << Hex(pfss::DagDigest(t)) << " flights " << s.flights()
            << " key " << s.key_bytes(0) << " " << s.key_bytes(1) << "\n";
}

void OfPlan(const char* file, const std::vector<std::string>& counts) {
  std::ifstream in(file, std::ios::binary);
  nn::Plan plan = nn::Parse({std::istreambuf_iterator<char>(in), {}});
  std::cout << "plan " << Hex(nn::PlanHash(plan)) << "\n";
  auto lines = [&](int tiles, const char* what) {
    for (const std::string& n : counts) {
      const nn::Class& c = plan.For(std::stoi(n));
      if (c.tiles != tiles) continue;
      pfss::Trace t;
      nn::Build(t, plan, std::stoi(n));
      Line(n + what, t);
    }
  };
  for (nn::Class& c : plan.classes) c.tiles = 1;
  lines(1, "");
  for (nn::Class& c : plan.classes) c.tiles = nn::MayTile(plan.graph, c) ? 2 : 1;
  lines(2, " in two tiles");
}

func::Function FunctionOf(const std::string& name) {
  constexpr int kBits = 16, kScale = 8;
  if (!name.ends_with(".suf")) return func::Make(name, kBits, kScale).f;
  std::ifstream in(name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return func::Parse(text);
}

void OfFunction(const std::string& name) {
  constexpr int kCount = 3;
  gates::FunctionPlan plan{FunctionOf(name), {}, gates::Origin::kP1, gates::To::kP1};
  std::cout << "function " << func::Name(plan.f) << "\n";
  for (const compiler::Candidate& c : gates::Price(plan, compiler::Profiles()[0].prices, kCount)) {
    if (!c.why_not.empty()) continue;
    plan.choice = c.choice;
    pfss::Trace t;
    gates::Emit(t, plan, kCount);
    Line(c.name, t);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> rest(argv + std::min(argc, 2), argv + argc);
    if (argc > 1 && std::string(argv[1]) == "--functions")
      for (const std::string& name : rest) OfFunction(name);
    else
      OfPlan(argc > 1 ? argv[1] : "", rest);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "trace_digest: " << e.what() << "\n";
    return 1;
  }
}
