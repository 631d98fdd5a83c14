// Prints the layout of an inference's frames as JSON, so that tests can separate padding bits from elements.
//
//    frame_layout PLAN N VARIANT   [{"kind": .., "sender": 0 or 1, "bytes": .., "parts": [[first byte, bits], ..]}, ..]
#include <fstream>
#include <iostream>
#include <iterator>

#include "suf/net/channel.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/pfss/schedule.hpp"

int main(int argc, char** argv) {
  using namespace suf;
  try {
    std::ifstream in(argc > 1 ? argv[1] : "", std::ios::binary);
    nn::Plan plan = nn::Parse({std::istreambuf_iterator<char>(in), {}});
    pfss::Trace t;
    nn::Build(t, plan, std::stoi(argc > 2 ? argv[2] : "0"), plan.VariantNamed(argc > 3 ? argv[3] : ""));
    pfss::Schedule s(t);
    for (size_t i = 0; i < s.frames().size(); ++i) {
      const pfss::Frame& f = s.frames()[i];
      std::cout << (i ? ",\n" : "[") << "{\"kind\": " << net::kFirstRun + i << ", \"sender\": " << f.sender
                << ", \"bytes\": " << f.bytes << ", \"parts\": [";
      for (size_t k = 0; k < f.parts.size(); ++k) {
        const pfss::Node& n = t.node(f.parts[k].node);
        std::cout << (k ? ", [" : "[") << f.parts[k].at << ", " << pfss::Size(n.shape) * n.ring.bits << "]";
      }
      std::cout << "]}";
    }
    std::cout << "]\n";
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "frame_layout: " << e.what() << "\n";
    return 1;
  }
}
