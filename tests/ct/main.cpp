// ct_test checks that no branch and no address depends on a secret. It runs under valgrind, with secrets marked
// undefined. The exit code of valgrind reports faults. AVX-512 is unknown to valgrind; its code is the same source with
// other flags. timing.cpp times it.
#include <cstdio>
#include <random>
#include <string>

#include "tests/ct/cases.hpp"
#include "tests/ct/secrets.hpp"

namespace suf::ct {
namespace {

// A leak that must be reported.
int Planted(const std::string& what) {
  volatile uint8_t table[256] = {}, sink = 0;
  volatile uint8_t secret = 5;
  Hide(const_cast<const uint8_t*>(&secret), 1);
  if (what == "branch") {
    if (secret & 1) sink = 1;
  } else if (what == "index") {
    sink = table[secret];
  } else if (what == "blind") {
    Inference("packed/avx2", false, true);
  } else {
    return 2;
  }
  (void)sink;
  return 0;
}

// Runs every kernel in one variant.
void Kernels(ring::Isa v) {
  std::mt19937_64 rng(1);
  for (Case& c : Cases(v)) {
    for (auto& s : c.secrets) {
      for (uint8_t& b : s.bytes) b = uint8_t(rng());
      Hide(s.bytes);
    }
    c.run();
    // Poisoned results do not prove that secrets arrived. So outputs start as known zeros and must end hidden.
    for (auto& out : c.out) SUF_CHECK(Hidden(out.bytes) >= out.words / 2);
  }
}

int Main(int argc, char** argv) {
  if (!RUNNING_ON_VALGRIND) {
    std::fprintf(stderr, "ct_test: proves nothing outside valgrind; run tools/ct.sh\n");
    return 2;
  }
  if (argc == 3 && std::string(argv[1]) == "--planted") return Planted(argv[2]);
  int found = 0;
  auto check = [&](const char* what, const std::string& on, auto f) {
    const auto before = VALGRIND_COUNT_ERRORS;
    f();
    const int reports = int(VALGRIND_COUNT_ERRORS - before);
    found += reports;
    std::printf("%s, %s: %d reports\n", what, on.c_str(), reports);
    std::fflush(stdout);
  };
  for (ring::Isa v : {ring::Isa::kPortable, ring::Isa::kAvx2}) check("kernels", ring::Name(v), [&] { Kernels(v); });
  // The backend clear is left out, because its addresses depend on secrets.
  for (const std::string backend : {"packed/portable", "packed/avx2", "rows"}) {
    check("dealer and parties", backend, [&] { Inference(backend, false, false); });
    check("dealer and parties, far", backend, [&] { Inference(backend, true, false); });
    check("strings and lists", backend, [&] { Strings(backend); });
  }
  return found != 0;
}

}  // namespace
}  // namespace suf::ct

int main(int argc, char** argv) { return suf::ct::Main(argc, argv); }
