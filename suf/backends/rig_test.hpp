// For tests of backends: a trace between two parties in one process, with words from P1, run on every backend.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "suf/backends/all.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/grouping/check_test.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/ops.hpp"
#include "suf/reference/clear.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::backends {

using namespace pfss;  // NOLINT

struct Fixture {
  Trace t;
  run::Inputs inputs[3];
  std::map<std::string, std::vector<uint64_t>> given;  // P1's words, by name
  std::mt19937_64 rng{12345};

  std::vector<uint64_t> Random(int64_t n, int bits) {
    std::vector<uint64_t> v(static_cast<size_t>(n));
    for (auto& x : v) x = rng() & ring::Mask(bits);
    return v;
  }
  SharedWire<kPub> Wire1(const std::string& name, Shape shape, int k) {
    auto x = t.input<kP1>(name, shape, k, 0);
    inputs[1].Set(name, given[name] = Random(Size(shape), k));
    return t.give<1>(Own<1>(x), k, name.c_str());
  }
};

// Makes a trace of one table that is read at 100 secret places.
inline Schedule DenseRead(Fixture& f) {
  const auto x = f.Wire1("x", {100}, 9);
  f.t.reveal<1>(f.t.dense(f.t.tree(Sec(x.r)), x.hat, f.t.constant(std::vector<uint64_t>(512, 3), {512}), 20));
  f.t.close();
  return Schedule(f.t);
}

inline run::PairRun RunOn(Fixture& f, const Schedule& s, Backend& p0, Backend& p1, Backend& dealer) {
  BundleSecrets m{{Secret(Hash{1, 2, 3}), Secret(Hash{4, 5, 6})}, Hash{7}};
  return run::RunPair({s, {&p0, &p1, &dealer}, {&f.inputs[0], &f.inputs[1], &f.inputs[2]}, m});
}

// Returns whether a trace has neither tree nor DCF. Then a backend of other keys computes the same as ours.
inline bool Without(const Trace& t) {
  return std::none_of(t.nodes().begin(), t.nodes().end(),
                      [](const Node& n) { return Info(n.op).cls == OpClass::kTree; });
}

// Compares clear with all others that run here, among them each variant of packed. Traces without trees also run on
// backends of other keys. The parties' backends are mixed as well.
inline run::PairRun Compare(Fixture& f) {
  f.t.close();
  Schedule s(f.t);
  EXPECT_TRUE(Lint(s).faults.empty()) << Lint(s).faults[0];
  for (int i : UnusedMessages(s)) ADD_FAILURE() << "no result needs %" << i << ", so it never runs";
  grouping::CheckAll(s);
  auto clear = reference::MakeClear();
  auto want = RunOn(f, s, *clear, *clear, *clear);
  exec::Pool pool(2);
  for (const BackendEntry& e : All()) {
    if (e.name == "clear" || e.name == "packed" || !e.why_not.empty() || !(e.models || Without(f.t))) continue;
    const auto b = e.make(pool);
    // A device makes its graphs in the second run and reuses them in the third.
    for (int run = 0; run < (e.name == "cuda" ? 3 : 1); ++run) {
      SCOPED_TRACE(testing::Message() << b->name() << ", run " << run);
      auto got = RunOn(f, s, *b, *clear, *b);
      EXPECT_EQ(got.result, want.result);
      for (int p : {0, 1}) EXPECT_EQ(got.key[size_t(p)], want.key[size_t(p)]) << "bundle " << p;
      for (size_t i = 0; i < want.frame.size(); ++i) EXPECT_EQ(got.frame[i], want.frame[i]) << "frame " << i;
      auto other = RunOn(f, s, *clear, *b, *clear);
      EXPECT_EQ(other.result, want.result);
      for (size_t i = 0; i < want.frame.size(); ++i) EXPECT_EQ(other.frame[i], want.frame[i]) << "frame " << i;
    }
  }
  for (int p : {0, 1}) {
    EXPECT_EQ(want.online[size_t(p)], s.sent(p, true));
    EXPECT_EQ(want.offline[size_t(p)], s.sent(p, false));
    EXPECT_EQ(want.frames[size_t(p)], s.frame_count(p, true));
  }
  return want;
}

}  // namespace suf::backends
