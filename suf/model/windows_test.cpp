// Keys arrive while they are read, with no more memory than the trace needs (run::WindowOf). The dealer has a chunk for
// each party, and both parties have that window. They never wait for each other in a ring. Tests traces of models and
// gates.
#include <thread>

#include "suf/gates/function.hpp"
#include "suf/gates/product.hpp"
#include "suf/gates/rig_test.hpp"
#include "suf/model/rig_test.hpp"

namespace suf::model {
namespace {

// Runs the three roles at once. If one fails, `end` ends the others. Throws the exception of the first role that
// failed, in their order.
void RunRoles(const std::function<void(size_t)>& role, const std::function<void(const std::exception_ptr&)>& end) {
  std::array<std::exception_ptr, 3> error;
  const auto run = [&](size_t r) {
    try {
      role(r);
    } catch (...) {
      error[r] = std::current_exception();
      end(error[r]);
    }
  };
  std::thread others[2] = {std::thread(run, 1), std::thread(run, 2)};
  run(0);
  for (std::thread& t : others) t.join();
  for (const std::exception_ptr& e : error)
    if (e) std::rethrow_exception(e);
}

// Returns the results of both parties. The dealer has capacity for one finished chunk of each, a party for `window`
// bytes. If they wait in a ring, one gives up after `seconds`.
std::array<std::vector<uint64_t>, 2> Streamed(const run::PairJob& job, double seconds = 60) {
  const auto streams = [&](Role role) {
    pfss::BundleSecrets m{{}, job.secrets.rho};
    for (int p : {0, 1})
      if (role == Role::kDealer || int(role) == p) m.key[size_t(p)].emplace(job.secrets.key[size_t(p)]->view());
    return job.backend[size_t(role)]->Expand(std::move(m));
  };
  std::array<std::unique_ptr<store::KeySource>, 2> keys;
  for (int p : {0, 1})
    keys[size_t(p)] = std::make_unique<store::KeySource>(
        std::make_shared<const store::BodyLayout>(run::LayoutOf(job.schedule, p)), job.window);
  std::array<std::vector<uint64_t>, 2> result;
  const auto dealer = [&] {
    const auto sink = [&](size_t p) {
      return std::make_unique<store::Sink>(
          Hash{}, keys[p]->SharedBody(),
          [&keys = *keys[p]](View chunk) {
            const std::span<uint8_t> buffer = keys.NextBuffer();
            if (buffer.empty()) Fail(Cause::kPeer, "a party takes no more keys");
            std::copy(chunk.begin(), chunk.end(), buffer.begin());
            keys.MarkFilled();
          },
          1);
    };
    const auto to_p0 = sink(0), to_p1 = sink(1);
    run::Deal(job.schedule, *job.backend[2], *streams(Role::kDealer), *job.inputs[2], *to_p0, *to_p1);
    to_p0->Finish();
    to_p1->Finish();
  };
  auto links = run::MakeLinks(seconds);
  const auto party = [&](size_t p) {
    const auto link = std::move(links[p]);
    const auto randomness = streams(Role(p));
    result[p] = run::RunParty({.schedule = job.schedule,
                               .backend = *job.backend[p],
                               .party = int(p),
                               .randomness = *randomness,
                               .inputs = *job.inputs[p],
                               .keys = *keys[p],
                               .link = *link});
    keys[p]->AwaitAll();
  };
  const auto end = [&](const std::exception_ptr& why) {
    for (auto& k : keys) {
      k->Fail(why);
      k->Close();
    }
  };
  RunRoles([&](size_t r) { r == 2 ? dealer() : party(r); }, end);
  return result;
}

const auto& Backends() {
  static exec::Pool pool(2);
  static const auto every = backends::Every(pool);
  return every;
}
// Returns a job with the roles on other backends each turn.
run::PairJob JobOf(const pfss::Schedule& s, run::Inputs (&in)[3], size_t turn, uint64_t window) {
  static const pfss::BundleSecrets secrets{{Secret(Hash{1}), Secret(Hash{2})}, Hash{3}};
  return {s, backends::InTurn(Backends(), turn), {&in[0], &in[1], &in[2]}, secrets, {}, window};
}

// Expects the same result with every backend as dealer, and returns the window.
uint64_t ExpectNoRing(const pfss::Schedule& s, run::Inputs (&in)[3]) {
  const uint64_t window = run::WindowOf(s);
  EXPECT_LE(window, uint64_t(std::max(s.key_bytes(0), s.key_bytes(1))));
  const auto want = run::RunPair(JobOf(s, in, 0, store::KeySource::kWhole)).result;
  for (size_t turn = 0; turn < Backends().size(); ++turn)
    EXPECT_EQ(Streamed(JobOf(s, in, turn, window)), want) << "turn " << turn;
  return window;
}

TEST(Windows, OfAModelInOneTileAndInTwo) {
  Compiled c =
      CompileFor(SmallModel(1, {.d = 64, .heads = 4, .ff = 128, .vocab = 64, .layers = 2, .positions = 64}), 40);
  for (auto [n, tiles] : {std::pair{3, 1}, {40, 1}, {40, 2}}) {
    SCOPED_TRACE(Str(n, " tokens, tiles: ", tiles));
    for (nn::Class& one : c.plan.classes)
      if (one.max_n >= nn::kTiledTokens) one.tiles = tiles;
    pfss::Trace t;
    nn::Build(t, c.plan, n);
    const pfss::Schedule s(t);
    std::mt19937_64 rng(5);
    run::Inputs in[3];
    SetInputs(c.plan, c.q, Texts(9, 1, n, n, 64)[0], rng, in);
    EXPECT_GT(ExpectNoRing(s, in), 0u);
  }
}

// Computes squares after each other, 2^bits of them, each a section for one party or the other.
void Squares(gates::Rig& g, std::initializer_list<int> bits) {
  std::optional<pfss::Sh> sum;
  for (int b : bits) {
    const pfss::Shape column{int64_t{1} << b, 1};
    const auto x = g.Give(gates::Ints(size_t{1} << b, 7), 60, column);
    pfss::Sh y = -pfss::Sh(x.s) + x.hat;
    if (sum) y = y + Map(*sum, [&](auto v) { return Broadcast(v, column); });
    const auto z = g.t.open(y, "again");
    const pfss::Sh square = compiler::DealOwed(g.t, gates::Product(z, z, [](auto a, auto c) { return a * c; }));
    sum = Map(square, [](auto v) { return Sum(v, 0); });
  }
  (void)g.Run(*sum);
}

// Sections from far below a chunk to two chunks. With a byte less, P0 has no capacity for keys. Then P1 waits for keys
// behind them, and P0 waits for P1.
TEST(Windows, OfSectionsOfAnyLengthIsNotAByteMore) {
  gates::Rig g;
  Squares(g, {18, 16, 16, 17, 15, 18, 13});
  const uint64_t window = ExpectNoRing(*g.schedule, g.inputs);
  EXPECT_GT(window, store::kChunkBytes);
  EXPECT_LT(window, uint64_t(g.schedule->key_bytes(0)));
  // These backends request keys step by step. A device also takes present keys of coming steps.
  run::PairJob job = JobOf(*g.schedule, g.inputs, 1, window - 1);
  const auto packed =
      std::find_if(Backends().begin(), Backends().end(), [](auto& b) { return b->name().starts_with("packed"); });
  ASSERT_NE(packed, Backends().end());
  job.backend.fill(packed->get());
  EXPECT_THROW(Streamed(job, 1), Error);
}

TEST(Windows, OfFunctions) {
  gates::Rig g;
  auto z = g.Give(gates::Some(-(1 << 11), (1 << 11) - 1, 6000), 12);
  const compiler::CompiledFunction lines =
      compiler::Compile(func::Uniform("lines", 7, gates::Ints(8, 2), gates::Ints(8, 1), 64));
  using enum compiler::Kind;
  for (compiler::Kind kind : {kStepDcf, kWindowLut, kStepDcf, kWindowLut, kStepDcf}) {
    const gates::FunctionGate gate{lines, {kind}, gates::SignedEntry(12, 2), 12};
    z = g.t.open(compiler::DealOwed(g.t, gate.Build(g.t, z)), "y");
  }
  (void)g.Run(-pfss::Sh(z.s) + z.hat);
  const uint64_t window = ExpectNoRing(*g.schedule, g.inputs);
  EXPECT_GT(window, store::kChunkBytes);
  EXPECT_LT(window, uint64_t(g.schedule->key_bytes(0)) / 2);
}

}  // namespace
}  // namespace suf::model
