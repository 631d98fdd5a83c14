// text_bench: the text of functions as in plans. It times Print and Parse by the byte and Evaluator by the point. It
// prints a JSON line for each function.
#include <cmath>
#include <random>

#include "suf/base/bench.hpp"
#include "suf/func/fit.hpp"
#include "suf/func/text.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func {

static void Report(const char* what, const Suf& f) {
  const std::string text = Print(f);
  bench::Verify(Print(Parse(text)) == text, "the text");
  size_t bytes = 0;
  const double print = bench::BestSeconds([&] { bytes += Print(f).size(); });
  const double parse = bench::BestSeconds([&] { bytes += Parse(text).pieces.size(); });
  std::mt19937_64 rng(1);
  std::vector<uint64_t> x(100'000), y(x.size());
  for (uint64_t& v : x) v = rng() & ring::Mask(f.n);
  const Evaluator e(f);
  for (size_t i = 0; i < x.size(); i += 97) bench::Verify(e.At(x[i]) == Evaluate(f, x[i]).poly[0], "a value");
  const double at = bench::BestSeconds([&] {
    for (size_t i = 0; i < x.size(); ++i) y[i] = e.At(x[i]);
  });
  const double prepare = bench::BestSeconds([&] { bytes += Evaluator(f).At(0); });
  std::printf(
      "{\"bench\":\"text\",\"function\":\"%s\",\"pieces\":%zu,\"bytes\":%zu,\"print_mb_per_s\":%.0f,\"parse_mb_per_s\":"
      "%.0f,\"prepare_us\":%.1f,\"at_ns\":%.1f}\n",
      what, f.pieces.size(), text.size(), double(text.size()) / print / 1e6, double(text.size()) / parse / 1e6,
      prepare * 1e6, at / double(x.size()) * 1e9);
  if (bytes == 0) std::abort();  // keeps the work from being optimised away
}

void BenchText() {
  std::mt19937_64 rng(1);
  std::vector<int64_t> a(4096), b(4096);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = int64_t(rng() >> 44);
    b[i] = int64_t(rng() >> 50) - 8000;
  }
  Report("table", Uniform("table", 4, a, {}, 64));
  Report("lines", Uniform("lines", 4, a, b, 64));
  auto fit = FitOctaves([](double v) { return std::ldexp(1, 50) / v; }, 10, 40, 5, 3);
  Report("octaves", FromGroups("octaves", fit.f, 40, 64));
  Suf f{"pieces", 40, 64, 1, 1, {}, U128{1} << 40, {}, {}};
  for (U128 at = 0; f.pieces.size() < 50'000; at += 3 + rng() % 5000)
    f.pieces.push_back({at, {{rng() >> 30, rng() >> 40}}});
  Report("pieces", f);
}

}  // namespace suf::func

int main() {
  using namespace suf::func;  // NOLINT: the module of functions
  BenchText();
}
