// table_bench [variant]: reads of one-hot tables in millions of elements per second on one core. Prints JSON lines.
#include <bit>
#include <functional>
#include <random>
#include <vector>

#include "suf/base/bench.hpp"
#include "suf/fss/table.hpp"

namespace {

using namespace suf;
using namespace suf::fss;

struct Tables {
  static constexpr size_t kCount = 2048;
  int w;
  std::vector<uint8_t> t;
  std::vector<uint16_t> a;
  explicit Tables(int width) : w(width), t(TableBytes(width) * kCount), a(kCount) {
    std::mt19937_64 rng(1);
    for (uint8_t& b : t) b = uint8_t(rng());
    for (uint16_t& x : a) x = uint16_t(rng() & ((1u << w) - 1));
  }
};

template <class F>
void Report(const char* what, const Tables& t, Isa v, F f) {
  const double s = bench::BestSeconds([&] { f(v); }) / Tables::kCount;
  std::printf("{\"bench\":\"table\",\"read\":\"%s\",\"w\":%d,\"variant\":\"%s\",\"m_per_s\":%.0f,\"bytes\":%zu}\n",
              what, t.w, ring::Name(v), 1e-6 / s, TableBytes(t.w));
}

template <class T>
void ReportSelect(const Tables& t, Isa v) {
  std::vector<T> column(size_t{1} << t.w), x(Tables::kCount), y(Tables::kCount), want;
  for (size_t i = 0; i < column.size(); ++i) column[i] = T(i * i + 3);
  const T* const columns[] = {column.data(), column.data()};
  T* const out[] = {x.data(), y.data()};
  Select<T>(t.w, t.t.data(), t.a.data(), columns, Tables::kCount, out, Isa::kPortable);
  want = x;
  auto select = [&](Isa u) { Select<T>(t.w, t.t.data(), t.a.data(), columns, Tables::kCount, out, u); };
  select(v);
  bench::Verify(x == want && y == want, "a selection");
  Report(sizeof(T) == 4 ? "select, 2 columns u32" : "select, 2 columns u64", t, v, select);
}

// Times many thresholds, a dense function of a few bits, and a column at an XOR.
void ReportLists(const Tables& t, Isa v) {
  constexpr size_t n = Tables::kCount;
  const std::vector<uint16_t> places(t.a.begin(), t.a.begin() + 16);
  std::vector<uint64_t> above(n), dense(n), selected(n), want[3], column(size_t{1} << t.w);
  for (size_t i = 0; i < column.size(); ++i) column[i] = i * i + 3;
  const uint64_t* const columns[] = {column.data()};
  uint64_t* const out[] = {selected.data()};
  const std::function<void(Isa)> reads[] = {
      [&](Isa u) { Above(t.w, t.t.data(), t.a.data(), places, n, above.data(), u); },
      [&](Isa u) { Dense(t.w, t.t.data(), t.a.data(), column.data(), 4, n, dense.data(), u); },
      [&](Isa u) { SelectX<uint64_t>(t.w, t.t.data(), t.a.data(), columns, n, out, u); }};
  const char* const names[] = {"above, 16 places", "dense, 4 bits", "selectx, u64"};
  const std::vector<uint64_t>* const results[] = {&above, &dense, &selected};
  for (int k = 0; k < 3; ++k) {
    reads[k](Isa::kPortable);
    want[k] = *results[k];
    reads[k](v);
    bench::Verify(*results[k] == want[k], names[k]);
    Report(names[k], t, v, reads[k]);
  }
}

// Times sums of a window of `m` places, the first `run` of which have one value. Such are the tables of e under a
// predicted shift.
void ReportDot(int run, int m, uint64_t most, Isa v) {
  constexpr size_t n = Tables::kCount;
  const size_t words = size_t(m + 64) / 64;
  std::mt19937_64 rng(1);
  std::vector<uint64_t> bits(n * words), table(static_cast<size_t>(m), most), sums(n), want;
  for (uint64_t& x : bits) x = rng();
  for (size_t i = size_t(run); i < table.size(); ++i) table[i] = most - i * (most / table.size());
  auto dot = [&](Isa u) { Dot<uint64_t>(bits.data(), words, 1, m, table.data(), n, sums.data(), u); };
  dot(Isa::kPortable);
  want = sums;
  dot(v);
  bench::Verify(sums == want, "a sum of a window");
  const double s = bench::BestSeconds([&] { dot(v); }) / double(n);
  std::printf(
      "{\"bench\":\"table\",\"read\":\"dot\",\"run\":%d,\"m\":%d,\"bits\":%d,\"variant\":\"%s\",\"ns\":%.1f,"
      "\"bytes\":%zu}\n",
      run, m, int(std::bit_width(most)), ring::Name(v), 1e9 * s, 8 * words);
}

}  // namespace

int main(int argc, char** argv) {
  const Isa v = argc > 1 ? ring::VariantNamed(argv[1]) : ring::Best();
  for (int w : {3, 4, 5, 6, 8}) {
    const Tables t(w);
    std::vector<uint8_t> out(Tables::kCount), want(Tables::kCount), hot(t.t.size());
    std::vector<uint64_t> turned(Tables::kCount * 4);
    Cmp(w, t.t.data(), t.a.data(), Tables::kCount, want.data(), Isa::kPortable);
    Cmp(w, t.t.data(), t.a.data(), Tables::kCount, out.data(), v);
    bench::Verify(out == want, "a comparison");
    Report("cmp", t, v, [&](Isa u) { Cmp(w, t.t.data(), t.a.data(), Tables::kCount, out.data(), u); });
    Report("point", t, v, [&](Isa u) { Point(w, t.t.data(), t.a.data(), Tables::kCount, out.data(), u); });
    Report("hot", t, v, [&](Isa u) { Hot(w, t.a.data(), Tables::kCount, hot.data(), u); });
    Report("rotate", t, v, [&](Isa u) { Rotate(w, t.t.data(), t.a.data(), 1 << w, Tables::kCount, turned.data(), u); });
  }
  for (int w : {4, 6, 7, 8, 9}) {
    const Tables t(w);
    ReportSelect<uint32_t>(t, v);
    ReportSelect<uint64_t>(t, v);
    ReportLists(t, v);
  }
  for (uint64_t most : {uint64_t{1} << 20, uint64_t{1} << 40})
    for (auto [run, m] : {std::pair{1, 659}, {905, 1564}, {1, 1318}, {1810, 3128}}) ReportDot(run, m, most, v);
}
