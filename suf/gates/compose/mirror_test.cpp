// The opened wires of compositions in clear (run/mirror.hpp), on every backend. The parties' messages add up to the
// masked values. Values that are opened by name are those of Evaluate.
#include "suf/run/mirror.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "suf/backends/all.hpp"
#include "suf/gates/compose/composition.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::gates {

namespace {

// Numbers of both parties and shares of them, bits and masks; products, choices and rescales.
constexpr const char* kMirrored = R"(
x    = input p1 20:8 [n, 3]
v    = input p0 12:6 [3]
a    = input shared 16:4 [n, 3]
g    = input p1 bit [n]
k    = input p0 mask 5 [n]
m    = input shared mask 5 [n]
y, b = reluars(x, shift=4) outputs y, w
s    = dot(y, v)
z    = select(b, a)
t, h = reluars(s, shift=2) outputs y, w
q    = and(h, g)
e    = select(q, t)
r    = xor(k, m)
output e -> p1
output z -> both
output r -> shared
)";

run::PairRun RunMirrored(const pfss::Schedule& s, const Composition& c, const std::vector<Ints>& in,
                         pfss::Backend& backend, const pfss::BundleSecrets& secrets, run::Inputs* given) {
  std::mt19937_64 rng(11);
  for (size_t i = 0; i < in.size(); ++i) {
    const InputStatement& statement = c.text().inputs[i];
    std::vector<uint64_t> words = InputWords(statement, in[i]);
    if (statement.from == Origin::kShared) {
      std::vector<uint64_t> share(words.size());
      for (size_t k = 0; k < words.size(); ++k) {
        share[k] = rng() & ring::Mask(statement.type.bits);
        words[k] = statement.type.kind == ValueKind::kNumber ? words[k] - share[k] : words[k] ^ share[k];
        words[k] &= ring::Mask(statement.type.bits);
      }
      given[0].Set(statement.name.name, share);
    }
    given[statement.from != Origin::kP0].Set(statement.name.name, words);
  }
  return run::RunPair({s, {&backend, &backend, &backend}, {&given[0], &given[1], &given[2]}, secrets});
}

void ExpectTheMirror(pfss::Backend& backend) {
  constexpr int64_t kMirroredRows = 5;
  const Composition c(ParseComposition(kMirrored));
  pfss::Trace t(backend.capabilities());
  const compiler::Prices prices = compiler::ParseProfile("lan").prices;
  Emit(t, c, Choose(c, prices, kMirroredRows, backend.capabilities()), kMirroredRows);
  const pfss::Schedule s(t);
  std::mt19937_64 rng(5);
  std::vector<Ints> in;
  for (size_t i = 0; i < c.text().inputs.size(); ++i) {
    const ValueType& type = c.text().inputs[i].type;
    Ints x(size_t(CountOf(c, int(i), kMirroredRows)));
    for (int64_t& w : x) w = int64_t(type.low + Bound(rng()) % (type.high - type.low + 1));
    in.push_back(std::move(x));
  }
  const pfss::BundleSecrets secrets{{Secret(Hash{1, 9}), Secret(Hash{2, 9})}, Hash{9}};
  run::Inputs given[3];
  const run::PairRun run = RunMirrored(s, c, in, backend, secrets, given);
  const std::vector<run::OpenedWire> wires = run::OpenedWires(s, backend, secrets, given[2], run.frame);

  // every message but the results is in one wire
  size_t messages = 0, results = 0;
  for (const pfss::Frame& f : s.frames())
    for (const pfss::FrameField& part : f.parts) ++(t.name(t.node(part.node).label) == "result" ? results : messages);
  size_t sent = 0;
  std::map<std::string, const run::OpenedWire*> named;
  for (const run::OpenedWire& w : wires) {
    SCOPED_TRACE(w.name + " of " + w.scope);
    const size_t words = size_t(w.count()) * size_t(w.words());
    for (const auto& of : w.sent) sent += !of.empty();
    if (w.masked.empty()) {
      EXPECT_TRUE(w.clear.empty());
      continue;
    }
    ASSERT_EQ(w.clear.size(), words);
    ASSERT_EQ(w.masked.size(), words);
    int moved = 0;
    for (size_t i = 0; i < words; ++i) {
      uint64_t all = 0;
      for (const auto& of : w.sent)
        if (!of.empty()) all = w.ring.kind == pfss::Ring::kXor ? all ^ of[i] : all + of[i];
      if (w.ring.kind == pfss::Ring::kAdd) all &= ring::Mask(w.ring.bits);
      EXPECT_EQ(w.masked[i], all);
      moved += w.clear[i] != w.masked[i];
    }
    if (words * size_t(w.ring.bits) >= 40) {
      EXPECT_GT(moved, 0) << "a mask of zeros";
    }
    if (w.scope == "input" || w.scope == w.name + "/open") named[w.name] = &w;
  }
  EXPECT_EQ(sent, messages);
  EXPECT_GT(results, 0u);

  const std::vector<Ints> meant = Evaluate(c, in, kMirroredRows);
  for (const auto& [name, wire] : named) {
    SCOPED_TRACE(name);
    const auto v = size_t(c.value(name));
    const int bits = std::min(c.values()[v].type.bits, wire->ring.bits);
    if (wire->masked.empty()) continue;
    ASSERT_EQ(meant[v].size(), wire->clear.size());
    for (size_t i = 0; i < meant[v].size(); ++i)
      EXPECT_EQ(wire->clear[i] & ring::Mask(bits), uint64_t(meant[v][i]) & ring::Mask(bits)) << i;
  }
  for (const char* name : {"x", "v", "a", "g", "y", "s", "q"}) {
    ASSERT_TRUE(named.count(name)) << name;
    EXPECT_FALSE(named[name]->masked.empty()) << name;
  }
}

TEST(Mirror, OpenedWiresOfACompositionOnEveryBackend) {
  int backends = 0;
  for (const backends::BackendEntry& e : backends::Usable(false)) {
    SCOPED_TRACE(e.name);
    const auto backend = e.make(exec::Default());
    ExpectTheMirror(*backend);
    ++backends;
  }
  EXPECT_GE(backends, 3);
}

// A string of two words, and a wire with a word that the shares lack. Also wires that P0 alone learns or no result
// needs.
TEST(Mirror, StringsOwedWordsAndWiresOfOneParty) {
  const auto backend = backends::Make("clear");
  pfss::Trace t;
  t.scope("here");
  const SharedWire<kPub> x = t.give<1>(t.input<pfss::kP1>("x", {3}, 7, 0), 7, "x");
  const Sh again = -Sh(x.s) + x.hat;
  const Wire<kPub> hot = t.open(Sh(t.deal(pfss::Hot(pfss::Sec(x.r)))), "hot");
  const Wire<kPub> owed = t.open(again, "owed", pfss::Sec(x.r * 5));
  const Wire<pfss::kP0> alone = t.open<pfss::kP0>(again, "alone");
  t.open(again, "unused");
  const pfss::Pub bit = Lift(pfss::Point(hot.hat, owed.hat));
  t.reveal<1>(Sh{again.a + alone.hat, again.b + bit});
  t.close();
  const pfss::Schedule s(t);
  const pfss::BundleSecrets secrets{{Secret(Hash{1, 8}), Secret(Hash{2, 8})}, Hash{8}};
  run::Inputs given[3];
  const std::vector<uint64_t> numbers{5, 0, 127};
  given[1].Set("x", numbers);
  const run::PairRun run =
      run::RunPair({s, {backend.get(), backend.get(), backend.get()}, {&given[0], &given[1], &given[2]}, secrets});
  const std::vector<run::OpenedWire> wires = run::OpenedWires(s, *backend, secrets, given[2], run.frame);
  ASSERT_EQ(wires.size(), 4u);
  const auto& [x_wire, hot_wire, owed_wire, alone_wire] = std::tie(wires[0], wires[1], wires[2], wires[3]);
  EXPECT_EQ(x_wire.name + x_wire.scope, "xhere");
  EXPECT_EQ(x_wire.clear, numbers);
  EXPECT_TRUE(x_wire.sent[0].empty());
  EXPECT_EQ(hot_wire.words(), 2);
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t mask = (x_wire.masked[i] - numbers[i]) & 127;
    for (size_t w : {0, 1}) EXPECT_EQ(hot_wire.clear[2 * i + w], mask / 64 == w ? uint64_t{1} << mask % 64 : 0) << mask;
    EXPECT_EQ(owed_wire.clear[i], (numbers[i] + 5 * mask) & 127);
  }
  EXPECT_EQ(alone_wire.name, "alone");
  EXPECT_TRUE(alone_wire.clear.empty() && alone_wire.masked.empty() && alone_wire.sent[0].empty());
  EXPECT_EQ(alone_wire.sent[1].size(), 3u);
}

}  // namespace

}  // namespace suf::gates
