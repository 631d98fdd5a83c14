// ct_test: no branch and no address depends on a secret. Runs under valgrind, with secrets marked undefined; a report
// is an exit code of valgrind's. AVX-512, which valgrind does not know, is the same source compiled with other flags
// and is not covered.
#include <cstdio>
#include <string>

#include "tests/ct/secrets.hpp"

namespace suf::ct {
namespace {

// What must be reported.
int Planted(const std::string& what) {
  volatile uint8_t table[256] = {}, sink = 0;
  volatile uint8_t secret = 5;
  Hide(const_cast<const uint8_t*>(&secret), 1);
  if (what == "branch") {
    if (secret & 1) sink = 1;
  } else if (what == "index") {
    sink = table[secret];
  } else if (what == "blind") {
    Inference(ring::Variant::kAvx2, true);
  } else {
    return 2;
  }
  (void)sink;
  return 0;
}

int Main(int argc, char** argv) {
  if (!RUNNING_ON_VALGRIND) {
    std::fprintf(stderr, "ct_test: proves nothing outside valgrind; run tools/ct.sh\n");
    return 2;
  }
  if (argc == 3 && std::string(argv[1]) == "--planted") return Planted(argv[2]);
  int found = 0;
  for (ring::Variant v : {ring::Variant::kPortable, ring::Variant::kAvx2}) {
    auto check = [&](const char* what, auto f) {
      const auto before = VALGRIND_COUNT_ERRORS;
      f();
      const int reports = int(VALGRIND_COUNT_ERRORS - before);
      found += reports;
      std::printf("%s, %s: %d reports\n", what, ring::Name(v), reports);
      std::fflush(stdout);
    };
    check("kernels", [&] { Kernels(v); });
    check("dealer and parties", [&] { Inference(v, false); });
  }
  return found != 0;
}

}  // namespace
}  // namespace suf::ct

int main(int argc, char** argv) { return suf::ct::Main(argc, argv); }
