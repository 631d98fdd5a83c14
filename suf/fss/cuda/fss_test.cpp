// Compares the module on a device with the processor's functions, byte for byte, with both sizes of tables.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "suf/base/digest.hpp"
#include "suf/base/known_answers_test.hpp"
#include "suf/fss/cuda/launch.hpp"
#include "suf/fss/dcf.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/ring/modular.hpp"

namespace suf::fss::cuda {
namespace {

using exec::cuda::DeviceMemory;
using ring::Mask;

constexpr uint8_t kPoison = 0xa5;
constexpr size_t kGuard = 256;

// Calls f() with tables of 128 KiB, then of 64 KiB.
template <class F>
void EachTables(F f) {
  for (int tables : {4, 2}) {
    SCOPED_TRACE(tables);
    most_tables = tables;
    ASSERT_EQ(LaunchGrid(1).tables, tables)
        << "the device gives a block too little shared memory for tables of 128 KiB";
    f();
  }
  most_tables = 4;
}

// A copy on the device.
template <class T>
struct Input {
  DeviceMemory memory;
  explicit Input(std::span<const T> x) : memory(std::max<size_t>(x.size_bytes(), 16)) {
    const exec::cuda::DeviceStream q;
    exec::cuda::Upload(memory.data(), x.data(), x.size_bytes(), q.stream());
    q.Wait();
  }
  operator const T*() const { return reinterpret_cast<const T*>(memory.data()); }
  operator DeviceNumbers() const { return {memory.data(), int(sizeof(T)), int(8 * sizeof(T))}; }
};
template <class C>
Input(const C&) -> Input<typename C::value_type>;

// Returns the `count` Ts that f(where, stream) writes. The bytes behind them must not change.
template <class T, class F>
auto Ran(size_t count, F f) {
  const size_t bytes = count * sizeof(T);
  const DeviceMemory memory(bytes + kGuard);
  std::conditional_t<std::is_same_v<T, uint8_t>, Bytes, std::vector<T>> out(count);
  Bytes guard(kGuard);
  const exec::cuda::DeviceStream q;
  exec::cuda::Set(memory.data(), kPoison, bytes + kGuard, q.stream());
  f(reinterpret_cast<T*>(memory.data()), q.stream());
  exec::cuda::Download(out.data(), memory.data(), bytes, q.stream());
  exec::cuda::Download(guard.data(), memory.data() + bytes, kGuard, q.stream());
  q.Wait();
  EXPECT_EQ(guard, Bytes(kGuard, kPoison)) << "wrote beyond";
  return out;
}

Bytes RandomBytes(size_t n, std::mt19937_64& rng) {
  Bytes b(n);
  for (uint8_t& x : b) x = uint8_t(rng());
  return b;
}
std::vector<uint64_t> RandomWords(size_t n, std::mt19937_64& rng) {
  std::vector<uint64_t> w(n);
  for (uint64_t& x : w) x = rng();
  return w;
}

TEST(Expand, KnownAnswers) {
  EachTables([] {
    for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/prg.txt")) {
      const Hash key = r.Array<32>("key"), rho = r.Array<32>("rho");
      const Bytes want = r.Hex("out");
      const uint64_t offset = r.Number("offset");
      const Prg prg(Secret(View(key)), rho, int(r.Number("party")));
      const uint32_t list[] = {uint32_t(r.Number("section"))};
      r.ExpectAllRead();
      const auto keys = prg.KeysOf(list);
      const Input<Prg::SectionKeys> on(std::vector<Prg::SectionKeys>(1, keys[0]));
      const uint32_t blocks = uint32_t(want.size() + 15) / 16;
      Bytes got = Ran<uint8_t>(16 * blocks, [&](uint8_t* to, StreamHandle s) {
        const Input pieces(std::vector<PrgSpan>{{on, to, uint32_t(offset / 16), blocks}});
        Expand(pieces, 1, s);
        exec::cuda::Event done;
        done.Record(s);
        done.Wait();
      });
      got.resize(want.size());
      EXPECT_EQ(Hex(got), Hex(want));
    }
  });
}

TEST(Expand, PiecesOfEverySize) {
  std::mt19937_64 rng(1);
  const Prg prg(Secret(View(HashOf({AsView("key")}))), HashOf({AsView("rho")}), 1);
  std::vector<uint32_t> sections,
      sizes = {0, 1, 2, 31, 32, 33, 100, 511, 512, 513, 544, 545, 1000, 4095, 4096, 4097, 4608, 9999};
  for (int i = 0; i < 200; ++i) sizes.push_back(uint32_t(rng() % 40));
  for (size_t i = 0; i < sizes.size(); ++i) sections.push_back(uint32_t(rng()));
  const auto keys = prg.KeysOf(sections);
  const Input<Prg::SectionKeys> on(std::vector<Prg::SectionKeys>(keys.begin(), keys.end()));
  size_t bytes = 0;
  for (uint32_t n : sizes) bytes += 16 * n + 16;  // a block between two pieces must not change
  EachTables([&] {
    Bytes want(bytes, kPoison);
    std::vector<PrgSpan> pieces;
    const Bytes got = Ran<uint8_t>(bytes, [&](uint8_t* to, StreamHandle s) {
      size_t at = 0;
      for (size_t i = 0; i < sizes.size(); ++i, at += 16) {
        const uint32_t first = i % 3 == 0 ? 0 : i % 3 == 1 ? uint32_t(rng() >> 33) : 0 - sizes[i];
        pieces.push_back({on + i, to + at, sizes[i] ? first : 0, sizes[i]});
        prg.At(sections[i]).Fill(uint64_t{16} * pieces[i].first, std::span(want).subspan(at, 16 * sizes[i]));
        at += 16 * sizes[i];
      }
      const Input list(pieces);
      Expand(list, pieces.size(), s);
      exec::cuda::Event done;
      done.Record(s);
      done.Wait();
    });
    EXPECT_TRUE(got == want);
  });
}

// ---- DPF

// Keys made by the processor and their copies on the device.
struct Dpfs {
  DpfContext ctx{};
  std::vector<uint64_t> alpha;
  Bytes root[2], cw;
  Input<uint8_t> tree_key, root0, root1, key;
  Dpfs(int n, size_t count, std::mt19937_64& rng)
      : ctx{{}, uint32_t(rng()), n, rng() % 3 ? rng() : 0},
        alpha(RandomWords(count, rng)),  // not reduced
        root{RandomBytes(16 * count, rng), RandomBytes(16 * count, rng)},
        cw(Made(rng)),
        tree_key(Bytes(ctx.k_serial.begin(), ctx.k_serial.end())),
        root0(root[0]),
        root1(root[1]),
        key(cw) {}
  Bytes Made(std::mt19937_64& rng) {
    for (uint8_t& b : ctx.k_serial) b = uint8_t(rng());
    if (alpha.size() > 2) {
      alpha[0] = 0;
      alpha[1] = ~uint64_t{0};
    }
    Bytes keys(DpfKeyBytes(ctx.n) * alpha.size());
    DpfGen(ctx, alpha.data(), root[0].data(), root[1].data(), alpha.size(), keys.data());
    return keys;
  }
  DeviceKeyBatch batch() const { return {tree_key, ctx.program, ctx.n, alpha.size(), 1, 64, ctx.first_tile}; }
  const uint8_t* RootOf(int p) const { return p ? root1 : root0; }
};

TEST(Dpf, KnownAnswers) {
  EachTables([] {
    for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/dpf.txt")) {
      const Input tree_key(r.Hex("serial"));
      const uint32_t program = uint32_t(r.Number("program"));
      const DeviceKeyBatch b{tree_key, program, int(r.Number("n")), 1, 1, 64, r.Number("tile")};
      const Input alpha(std::vector{r.Number("alpha")}), lo(std::vector{r.Number("lo")});
      const int m = int(r.Number("m"));
      const Bytes want = r.Hex("cw"), share[2] = {r.Hex("share0"), r.Hex("share1")};
      const Input<uint8_t> root[2] = {Input(r.Hex("root0")), Input(r.Hex("root1"))}, cw(want);
      r.ExpectAllRead();
      const Bytes got = Ran<uint8_t>(
          want.size(), [&](uint8_t* to, StreamHandle s) { cuda::DpfGen(b, alpha, root[0], root[1], to, s); });
      EXPECT_EQ(Hex(got), Hex(want));
      for (int p = 0; p < 2; ++p) {
        const auto window = Ran<uint64_t>(size_t(m + 63) / 64, [&](uint64_t* to, StreamHandle s) {
          cuda::DpfWindow(b, p, root[p], cw, 0, lo, m, to, s);
        });
        EXPECT_EQ(Hex(View(reinterpret_cast<const uint8_t*>(window.data()), 8 * window.size())), Hex(share[p]));
      }
    }
  });
}

TEST(Dpf, KnownReads) {
  EachTables([] {
    for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/reads.txt")) {
      const Input tree_key(r.Hex("serial"));
      const uint32_t program = uint32_t(r.Number("program"));
      const DeviceKeyBatch b{tree_key, program, int(r.Number("n")), 1, 1, 64, r.Number("tile")};
      const int level = int(r.Number("level"));
      const Input<uint8_t> root[2] = {Input(r.Hex("root0")), Input(r.Hex("root1"))}, cw(r.Hex("cw"));
      const Bytes at[2] = {r.Hex("at0"), r.Hex("at1")}, less[2] = {r.Hex("less0"), r.Hex("less1")}, vs = r.Hex("v"),
                  xs = r.Hex("x");
      r.ExpectAllRead();
      const auto number = [](const Bytes& from, size_t j) {
        uint64_t x;
        std::memcpy(&x, from.data() + 8 * j, 8);
        return x;
      };
      for (int p = 0; p < 2; ++p) {
        // Points are x less a threshold: here zero less minus the point.
        const Input zero(std::vector<uint64_t>{0});
        std::vector<uint64_t> minus;
        for (size_t j = 0; j < xs.size() / 8; ++j) minus.push_back(0 - number(xs, j));
        uint64_t want = 0;
        for (size_t j = 0; j < minus.size(); ++j) want |= uint64_t{less[p][j]} << j;
        const Input thresholds(minus);
        const auto lt = Ran<uint64_t>(1, [&](uint64_t* to, StreamHandle s) {
          cuda::DpfParity(b, p, root[p], cw, zero, thresholds, int(minus.size()), to, s);
        });
        EXPECT_EQ(lt[0], want) << b.n;
        for (size_t j = 0; j < at[p].size(); ++j) {
          const Input lo(std::vector{number(vs, j)});
          for (int m : {1, 2}) {
            if (m == 2 && level == b.n) continue;
            const auto bits = Ran<uint64_t>(
                1, [&](uint64_t* to, StreamHandle s) { cuda::DpfWindow(b, p, root[p], cw, level, lo, m, to, s); });
            EXPECT_EQ(bits[0] & 1, at[p][j]) << b.n << ' ' << level << ' ' << m;
          }
        }
      }
    }
  });
}

TEST(Dpf, Keys) {
  std::mt19937_64 rng(2);
  EachTables([&] {
    for (int n = 8; n <= 64; n += n < 12 ? 1 : n < 30 ? 5 : 11) {
      for (size_t count : {1, 31, 32, 33, 1000}) {
        const Dpfs keys(n, count, rng);
        const Input alpha(keys.alpha);
        const Bytes got = Ran<uint8_t>(keys.cw.size(), [&](uint8_t* to, StreamHandle s) {
          cuda::DpfGen(keys.batch(), alpha, keys.root0, keys.root1, to, s);
        });
        ASSERT_TRUE(got == keys.cw) << n << ' ' << count;
      }
    }
  });
}

void ExpectWindow(const Dpfs& keys, int level, int m, std::mt19937_64& rng) {
  const size_t count = keys.alpha.size(), words = size_t(m + 63) / 64 * count;
  std::vector<uint64_t> lo = RandomWords(count, rng);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t places = Mask(keys.ctx.n - level);  // near alpha, at the ends, and anywhere
    const uint64_t at = level < 64 ? (keys.alpha[i] & Mask(keys.ctx.n)) >> level : 0;
    if (i % 4 == 0) lo[i] = at - rng() % uint64_t(m + 3);
    if (i % 4 == 1) lo[i] = places + 1 - rng() % uint64_t(m + 1);
    if (i % 8 == 2) lo[i] = 0;
  }
  std::vector<uint64_t> reduced = lo;  // the processor's input
  const Input on(lo);
  for (int p = 0; p < 2; ++p) {
    std::vector<uint64_t> want(words);
    DpfWindow(keys.ctx, p, keys.root[p].data(), keys.cw.data(), level, reduced.data(), count, m, want.data());
    const auto got = Ran<uint64_t>(words, [&](uint64_t* to, StreamHandle s) {
      cuda::DpfWindow(keys.batch(), p, keys.RootOf(p), keys.key, level, on, m, to, s);
    });
    ASSERT_TRUE(got == want) << "n " << keys.ctx.n << " level " << level << " m " << m << " count " << count;
    if (m > 16 || keys.ctx.n - level > 32) continue;
    // Repeats this from and to narrow elements.
    const Input narrow(std::vector<uint32_t>(lo.begin(), lo.end()));
    const auto few = Ran<uint16_t>(count, [&](uint16_t* to, StreamHandle s) {
      cuda::DpfWindow(keys.batch(), p, keys.RootOf(p), keys.key, level, narrow, m, {to, 2}, s);
    });
    ASSERT_TRUE(few == std::vector<uint16_t>(want.begin(), want.end())) << keys.ctx.n << ' ' << level << ' ' << m;
  }
}

TEST(Dpf, Windows) {
  std::mt19937_64 rng(3);
  EachTables([&] {
    for (int n : {8, 9, 10, 13, 16, 24, 25, 31, 33, 63, 64}) {
      for (size_t count : {1, 33}) {
        const Dpfs keys(n, count, rng);
        for (int level : {0, 1, 2, 5, 6, 7, 8, 9, 12, 17, 40, n - 1, n}) {
          if (level > n) continue;
          for (int m : {1, 2, 63, 64, 65, 127, 128, 129, 300, 1024, 2049, 5000}) {
            if (n - level < 20 && m > 1 << (n - level)) continue;
            if (count == 33 && m > 300 && level % 4) continue;
            ExpectWindow(keys, level, m, rng);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

TEST(Dpf, ManyPoints) {
  std::mt19937_64 rng(4);
  EachTables([&] {
    for (int n : {8, 33, 64}) {
      const Dpfs keys(n, 1000, rng);
      for (int level : {0, 3, 8}) {
        ExpectWindow(keys, level, 1, rng);
        ExpectWindow(keys, level, n == 8 ? 1 : 70, rng);
      }
    }
  });
}

TEST(Dpf, WholeDomains) {
  std::mt19937_64 rng(5);
  EachTables([&] {
    for (int n : {8, 9, 12, 16}) {
      const Dpfs keys(n, n < 16 ? 35 : 3, rng);
      for (int level : {0, 1, 6, 7, 8}) ExpectWindow(keys, level, 1 << (n - level), rng);
    }
    ExpectWindow(Dpfs(21, 1, rng), 1, 1 << 20, rng);
  });
}

void ExpectComparisons(int n, size_t count, int m, std::mt19937_64& rng) {
  const Dpfs keys(n, count, rng);
  const size_t words = size_t(m + 63) / 64;
  std::vector<uint64_t> x = RandomWords(count, rng), b = RandomWords(size_t(m), rng), points;
  for (size_t j = 0; j < b.size(); j += 2) b[j] = j / 2;
  for (size_t i = 0; i < count; ++i) {
    if (i % 3) x[i] = keys.alpha[i] + rng() % 5 - 2;
    for (uint64_t t : b) points.push_back(x[i] - t);
  }
  const Input on(x), thresholds(b);
  for (int p = 0; p < 2; ++p) {
    std::vector<uint64_t> want(words * count);
    DpfParity(keys.ctx, p, keys.root[p].data(), keys.cw.data(), points.data(), count, m, want.data());
    const auto got = Ran<uint64_t>(want.size(), [&](uint64_t* to, StreamHandle s) {
      cuda::DpfParity(keys.batch(), p, keys.RootOf(p), keys.key, on, thresholds, m, to, s);
    });
    ASSERT_TRUE(got == want) << "n " << n << " m " << m << " count " << count;
  }
}

TEST(Dpf, Comparisons) {
  std::mt19937_64 rng(6);
  EachTables([&] {
    for (int n : {8, 9, 10, 17, 32, 47, 63, 64}) {
      for (int m : {1, 2, 31, 32, 33, 64, 65, 100}) {
        for (size_t count : {1, 31, 33}) ExpectComparisons(n, count, m, rng);
      }
      for (int m : {1, 65}) ExpectComparisons(n, 1000, m, rng);
      if (HasFatalFailure()) return;
    }
    // Uses enough keys that a thread has a key, not a threshold.
    for (int m : {1, 32, 70}) ExpectComparisons(9, (size_t{1} << 17) + 7, m, rng);
  });
}

TEST(Dpf, Dense) {
  std::mt19937_64 rng(7);
  EachTables([&] {
    for (int n = 8; n <= 16; ++n) {
      for (size_t count : {1, 31, 33, 100}) {
        if (n > 13 && count > 1) count /= 10;
        const Dpfs keys(n, count, rng);
        const auto x = RandomWords(count, rng), table = RandomWords(size_t{1} << n, rng);
        const Input on(x), columns(table);
        for (int p = 0; p < 2; ++p) {
          std::vector<uint64_t> want(count);
          DpfDense(keys.ctx, p, keys.root[p].data(), keys.cw.data(), x.data(), table.data(), count, want.data());
          const auto got = Ran<uint64_t>(count, [&](uint64_t* to, StreamHandle s) {
            cuda::DpfDense(keys.batch(), p, keys.RootOf(p), keys.key, on, columns, to, s);
          });
          ASSERT_EQ(got, want) << "n " << n << " count " << count;
        }
      }
    }
  });
}

// ---- DCF

void ExpectDcf(int n, int words, int bits, size_t count, int m, std::mt19937_64& rng) {
  const size_t number = DcfWords(n), bytes = ElementBytes(int(DcfKeyBits(n, words, bits)));
  DcfContext ctx{{}, uint32_t(rng()), n, words, bits, rng() % 3 ? rng() : 0};
  for (uint8_t& b : ctx.k_serial) b = uint8_t(rng());
  std::vector<uint64_t> alpha = RandomWords(number * count, rng), beta = RandomWords(size_t(words) * count, rng);
  const Bytes root[2] = {RandomBytes(16 * count, rng), RandomBytes(16 * count, rng)};
  Bytes keys(bytes * count);
  DcfGen(ctx, alpha.data(), beta.data(), root[0].data(), root[1].data(), count, keys.data());

  const Input tree_key(Bytes(ctx.k_serial.begin(), ctx.k_serial.end()));
  const DeviceKeyBatch b{tree_key, ctx.program, n, count, words, bits, ctx.first_tile};
  const Input on_alpha(alpha), on_beta(beta);
  const Input<uint8_t> roots[2] = {Input(root[0]), Input(root[1])}, on_keys(keys);
  const Bytes made = Ran<uint8_t>(
      keys.size(), [&](uint8_t* to, StreamHandle s) { cuda::DcfGen(b, on_alpha, on_beta, roots[0], roots[1], to, s); });
  ASSERT_TRUE(made == keys) << "n " << n << " words " << words << " bits " << bits << " count " << count;

  std::vector<uint64_t> x = alpha, less = RandomWords(number * size_t(m), rng), points;
  for (size_t j = 0; j < less.size(); j += 2 * number) {
    less[j] = j;
    less[j + number - 1] = number > 1 ? 0 : j;
  }
  for (size_t i = 0; i < count; ++i) {
    if (i % 3 == 0) x[number * i + rng() % number] ^= uint64_t{1} << rng() % 64;
    for (size_t j = 0; j < size_t(m); ++j) {
      const uint64_t low = x[number * i] - less[number * j];
      points.push_back(low);
      if (number > 1) points.push_back(x[2 * i + 1] - less[2 * j + 1] - (x[2 * i] < less[2 * j]));
    }
  }
  const Input on_x(x), thresholds(less);
  for (int p = 0; p < 2; ++p) {
    std::vector<uint64_t> want(size_t(words) * size_t(m) * count);
    DcfEval(ctx, p, root[p].data(), keys.data(), points.data(), count, m, want.data());
    const auto got = Ran<uint64_t>(want.size(), [&](uint64_t* to, StreamHandle s) {
      cuda::DcfEval(b, p, roots[p], on_keys, on_x, thresholds, m, to, s);
    });
    ASSERT_TRUE(got == want) << "n " << n << " words " << words << " bits " << bits << " count " << count << " m " << m;
  }
}

TEST(Dcf, KnownAnswers) {
  EachTables([] {
    for (KnownAnswer& r : KnownAnswers("suf/fss/testdata/dcf.txt")) {
      const Input tree_key(r.Hex("serial"));
      const int n = int(r.Number("n")), words = int(r.Number("words")), bits = int(r.Number("bits"));
      const uint32_t program = uint32_t(r.Number("program"));
      const DeviceKeyBatch b{tree_key, program, n, 1, words, bits, r.Number("tile")};
      const Input alpha(std::vector{r.Number("alpha")}), x(std::vector{r.Number("x")}), zero(std::vector{uint64_t{0}});
      const Input<uint8_t> root[2] = {Input(r.Hex("root0")), Input(r.Hex("root1"))}, beta(r.Hex("beta"));
      const Bytes want = r.Hex("key"), share[2] = {r.Hex("share0"), r.Hex("share1")};
      r.ExpectAllRead();
      const Input key(want);
      const uint64_t* const payload = reinterpret_cast<const uint64_t*>(static_cast<const uint8_t*>(beta));
      const Bytes got = Ran<uint8_t>(
          want.size(), [&](uint8_t* to, StreamHandle s) { cuda::DcfGen(b, alpha, payload, root[0], root[1], to, s); });
      EXPECT_EQ(Hex(got), Hex(want)) << n;
      for (int p = 0; p < 2; ++p) {
        const auto out = Ran<uint64_t>(
            size_t(words), [&](uint64_t* to, StreamHandle s) { cuda::DcfEval(b, p, root[p], key, x, zero, 1, to, s); });
        EXPECT_EQ(Hex(View(reinterpret_cast<const uint8_t*>(out.data()), 8 * out.size())), Hex(share[p])) << n;
      }
    }
  });
}

TEST(Dcf, EveryNumberOfBits) {
  std::mt19937_64 rng(8);
  EachTables([&] {
    for (int n = 1; n <= 128; n += n < 9 || (n > 62 && n < 67) ? 1 : 7) {
      ExpectDcf(n, 1 + int(rng() % 3), 1 + int(rng() % 64), 5 + rng() % 40, 2, rng);
      if (HasFatalFailure()) return;
    }
    ExpectDcf(128, 1, 27, 33, 3, rng);
  });
}

TEST(Dcf, EveryPayload) {
  std::mt19937_64 rng(9);
  EachTables([&] {
    for (int words = 1; words <= 11; ++words) {
      for (int bits : {1, 8, 13, 31, 32, 33, 63, 64}) {
        ExpectDcf(words == 1 ? 64 : 9, words, bits, size_t(words == 2 ? 33 : 3), 1 + words % 3, rng);
        if (HasFatalFailure()) return;
      }
    }
  });
}

TEST(Dcf, ManyKeys) {
  std::mt19937_64 rng(10);
  EachTables([&] {
    for (size_t count : {1, 15, 16, 31, 33, 1000}) ExpectDcf(count == 1000 ? 33 : 40, 2, 40, count, 1, rng);
    ExpectDcf(16, 1, 32, 100, 40, rng);
  });
}

}  // namespace
}  // namespace suf::fss::cuda
