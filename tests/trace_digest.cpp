// Digests of the traces of a committed plan, a line a token count: what every compiler's build must print alike. The
// second one is that of the DAG: it stays when only the order of pure nodes or the names of inputs change.
//   trace_digest PLAN N..
#include <fstream>
#include <iostream>
#include <iterator>

#include "suf/nn/build.hpp"
#include "suf/pfss/dag.hpp"
#include "suf/pfss/schedule.hpp"

int main(int argc, char** argv) {
  using namespace suf;
  try {
    std::ifstream in(argc > 1 ? argv[1] : "", std::ios::binary);
    nn::Plan plan = nn::Parse({std::istreambuf_iterator<char>(in), {}});
    std::cout << "plan " << Hex(nn::PlanHash(plan)) << "\n";
    for (int i = 2; i < argc; ++i) {
      pfss::Trace t;
      nn::Build(t, plan, std::stoi(argv[i]));
      pfss::Schedule s(t);
      std::cout << argv[i] << " " << Hex(t.digest()) << " dag " << Hex(pfss::DagDigest(t)) << " flights " << s.flights()
                << " key " << s.key_bytes(0) << " " << s.key_bytes(1) << "\n";
    }
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "trace_digest: " << e.what() << "\n";
    return 1;
  }
}
