// cut_bench: the comparisons of a 12-bit cut by two 6-bit digits, as a party's program computes them. These are digits
// of 32-bit wires, one-hot tables, their lt and eq bits, the pad and the message. It reports millions of elements per
// second on one core. It also reports the fraction of AES at 16 bytes per element, the size of the tables. It runs once
// with both tables from the party's PRG, and once with one from its key, as dealt. Prints JSON lines.
#include <random>

#include "suf/base/bench.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/fss/prg.hpp"
#include "suf/pfss/ops.hpp"
#include "suf/run/pair.hpp"

namespace {

using namespace suf;
using namespace suf::pfss;

constexpr int64_t kCount = 1 << 18;

// P0's link in a run whose frames are known. `seconds` is the time from the arrival of the wires to the message with
// the bits, frame `watched`.
class ReplayLink : public run::FrameLink {
 public:
  ReplayLink(const run::PairRun& run, int watched) : run_(run), watched_(watched) {}
  void Send(int index, View payload, size_t bytes) override {
    if (bytes < payload.size()) return;
    if (index == watched_) seconds = bench::Now() - came_;
    bench::Verify(std::equal(payload.begin(), payload.end(), run_.frame[size_t(index)].begin()), "a frame");
  }
  void Post(int index, std::span<uint8_t> into) override {
    std::copy(run_.frame[size_t(index)].begin(), run_.frame[size_t(index)].end(), into.begin());
  }
  void Receive(int, size_t) override { came_ = bench::Now(); }
  double waited() const override { return 0; }
  double seconds = 0;

 private:
  const run::PairRun& run_;
  int watched_;
  double came_ = 0;
};

// Returns P0's seconds for the step that sends the comparisons.
double Cut(bool drawn) {
  Trace t;
  run::Inputs inputs[3];
  std::mt19937_64 rng(7);
  std::vector<uint32_t> values(kCount);
  for (uint32_t& v : values) v = uint32_t(rng());
  inputs[1].Set("x", values);
  inputs[0].Set("word", std::vector<uint32_t>{77});
  const auto x = t.give<1>(t.input<kP1>("x", {kCount}, 32, 0), 32, "x");
  // The party with less to read gets the next correction. If P0 reads another table first, both of these come from its
  // PRG. That table is read a flight later, after P0's one word has come back.
  std::optional<Dealt> other;
  if (drawn) other = t.deal(Hot(Low(Sec(x.r) >> 12, 7)));
  std::vector<Dealt> tables;
  for (int lo : {0, 6}) tables.push_back(t.deal(Hot(Low(Sec(x.r) >> lo, 6))));
  const Sh bits{Digits(x.hat, std::vector{tables[0].a, tables[1].a}, {6, 6}),
                Digits(x.hat, std::vector{tables[0].b, tables[1].b}, {6, 6})};
  const auto opened = t.open(bits, "bits");
  Sh result = Sh(opened.s) + opened.hat;
  if (other) {
    const auto word = t.give<0>(t.input<kP0>("word", {1}, 7, 0), 7, "word");
    const auto back = t.open(Sh(word.s) + word.hat, "back");
    const auto at = Broadcast(back.hat, {kCount});
    const auto read = t.open(Sh{Point(other->a, at), Point(other->b, at)}, "read");
    result = result + Bits(Lift(read.hat), 3);
  }
  t.reveal<1>(result);
  t.close();
  const Schedule s(t);
  exec::Pool pool(1);
  const auto portable = cpu::MakePacked(pool, ring::Isa::kPortable), packed = cpu::MakePacked(pool);
  const BundleSecrets m{{Secret(Hash{1, 2}), Secret(Hash{3, 4})}, Hash{5}};
  const auto run =
      run::RunPair({s, {portable.get(), portable.get(), portable.get()}, {&inputs[0], &inputs[1], &inputs[2]}, m});
  const auto randomness = packed->Expand({{Secret(m.key[0]->view()), std::nullopt}, m.rho});
  int watched = -1;
  for (int i = 0; i < int(s.frames().size()); ++i)
    for (auto& part : s.frames()[size_t(i)].parts)
      if (s.frames()[size_t(i)].sender == 0 && t.name(t.node(part.node).label) == "bits") watched = i;
  double best = 1e300;
  for (int i = 0; i < 25; ++i) {
    ReplayLink link(run, watched);
    store::KeySource keys(std::make_shared<const store::BodyLayout>(run::LayoutOf(s, 0)), store::KeySource::kWhole);
    keys.FeedFrom(run.key[0]);
    keys.AwaitAll();
    run::RunParty({.schedule = s,
                   .backend = *packed,
                   .party = 0,
                   .randomness = *randomness,
                   .inputs = inputs[0],
                   .keys = keys,
                   .link = link});
    if (i) best = std::min(best, link.seconds);
  }
  return best;
}

}  // namespace

int main() {
  const fss::Prg prg(Secret(), Hash{}, 0);
  const auto section = prg.At(1);
  alignas(64) static uint8_t out[32768];
  for (bool drawn : {true, false}) {
    const double fill = bench::BestSeconds([&] { section.Fill(0, out); }) / sizeof out * 16, cut = Cut(drawn) / kCount;
    std::printf(
        "{\"bench\":\"cut\",\"bits\":12,\"digits\":[6,6],\"tables_drawn\":%d,\"m_per_s\":%.0f,\"of_expansion\":%.2f}\n",
        drawn ? 2 : 1, 1e-6 / cut, fill / cut);
  }
}
