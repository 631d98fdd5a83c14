#include "suf/run/deal.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "suf/base/cores.hpp"
#include "suf/exec/pool.hpp"

namespace suf::run {
namespace {

// The dealer's Io. Sections are made in any order, at the place that they leave from: in their party's chunk. A section
// for both parties is made in P0's chunk and copied to P1's.
class DealerIo : public pfss::Io {
 public:
  DealerIo(const pfss::Schedule& s, Inputs& inputs, store::Sink* p0, store::Sink* p1, bool timed)
      : meter(s.trace()),
        t_(s.trace()),
        inputs_(inputs),
        to_{p0, p1},
        timed_(timed),
        section_(t_.nodes().size(), {-1, -1}) {
    for (int p : {0, 1})
      for (size_t i = 0; i < s.key(p).size(); ++i) section_[size_t(s.key(p)[i].node)][size_t(p)] = int(i);
    room_.resize(t_.nodes().size());
  }
  View In(int) override {
    SUF_CHECK(false);  // the dealer receives nothing
    return {};
  }
  std::span<uint8_t> Out(int node) override {
    const auto begin = Meter::SteadyClock::now();
    const auto [own, other] = section_[size_t(node)];
    inference_.Wait(begin);
    // both buffers are requested before either is filled, so that waiting for one delays no chunk that was begun
    for (int p : {0, 1})
      if (const int i = section_[size_t(node)][size_t(p)]; i >= 0)
        room_[size_t(node)][size_t(p)] = to_[p]->Buffer(size_t(i));
    inference_.Resume();
    meter.Within({.wire = Meter::Since(begin)});
    return room_[size_t(node)][own >= 0 ? 0 : 1];
  }
  Data Input(int node) override {
    const pfss::Node& n = t_.node(node);
    return inputs_.Get(t_.name(n.label), size_t(pfss::Size(n.shape)));
  }
  void ReportDone(std::span<const int> nodes) override {
    const auto begin = Meter::SteadyClock::now();
    for (int node : nodes) {
      const auto [own, other] = section_[size_t(node)];
      const auto& [from, to] = room_[size_t(node)];
      if (own >= 0 && other >= 0) exec::Copy(from, to.data());
      for (int p : {0, 1})
        if (const int i = section_[size_t(node)][size_t(p)]; i >= 0) to_[p]->MarkWritten(size_t(i));
    }
    meter.Within({.wire = Meter::Since(begin)});
  }
  void ReportTime(uint16_t scope, const TimeUse& s) override { meter.Add(scope, s); }
  bool NeedsScopeTimes() const override { return timed_; }

  Meter meter;

 private:
  RunningInference inference_;
  const pfss::Trace& t_;
  Inputs& inputs_;
  store::Sink* const to_[2];
  const bool timed_;
  std::vector<std::array<int, 2>> section_;              // of each party's body, by node; -1: none
  std::vector<std::array<std::span<uint8_t>, 2>> room_;  // by node
};

}  // namespace

store::BodyLayout LayoutOf(const pfss::Schedule& schedule, int p) {
  std::vector<uint64_t> sections;
  for (const pfss::FrameField& part : schedule.key(p)) sections.push_back(uint64_t(part.bytes));
  return store::BodyLayout(sections);
}

uint64_t WindowOf(const pfss::Schedule& s) {
  // A party's chunk: its end in the body, and how many of its sections are not dealt yet. The tick is that of the first
  // step that reads one.
  struct Chunk {
    uint64_t end = 0;
    size_t left = 0;
    int tick = 1 << 30;
  };
  std::array<std::vector<Chunk>, 2> chunks;
  const size_t nodes = s.trace().nodes().size();
  std::array<std::vector<Chunk*>, 2> of{std::vector<Chunk*>(nodes), std::vector<Chunk*>(nodes)};
  // by tick: bytes that a party has requested when all its earlier steps are over
  std::array<std::map<int, uint64_t>, 2> asked;
  for (size_t p : {0, 1}) {
    const store::BodyLayout layout = LayoutOf(s, int(p));
    uint64_t end = 0, most = 0;
    for (const store::BodyLayout::Chunk& c : layout.chunks()) chunks[p].push_back({end += c.bytes, c.sections});
    for (size_t i = 0; i < layout.sections().size(); ++i)
      if (const auto& section = layout.sections()[i]; section.bytes)
        of[p][size_t(s.key(int(p))[i].node)] = &chunks[p][section.chunk];
    for (const pfss::Step& step : s.steps(int(p))) {
      asked[p][step.tick] = most;
      for (int i : step.nodes)
        if (Chunk* c = of[p][size_t(i)]) {
          c->tick = std::min(c->tick, step.tick);
          most = std::max(most, c->end);
        }
    }
  }
  uint64_t need = 0;
  std::array<uint64_t, 2> dealt{};
  for (int i : s.dealing()) {
    for (size_t p : {0, 1})
      if (const Chunk* c = of[p][size_t(i)]) dealt[p] = std::max(dealt[p], c->end);
    for (size_t reader : {0, 1}) {
      Chunk* c = of[reader][size_t(i)];
      if (!c || --c->left) continue;
      for (size_t p : {0, 1}) {
        const auto step = asked[p].lower_bound(c->tick);
        const uint64_t behind = step == asked[p].end() ? s.key_bytes(int(p)) : step->second;
        need = std::max(need, dealt[p] - std::min(dealt[p], behind));
      }
    }
  }
  return need;
}

void Deal(const pfss::Schedule& schedule, pfss::Backend& backend, const pfss::Randomness& randomness, Inputs& inputs,
          store::Sink& to_p0, store::Sink& to_p1, Times* times, bool timed) {
  auto begin = Meter::SteadyClock::now();
  if (times) times->deal.begin = Stamp();
  DealerIo io(schedule, inputs, &to_p0, &to_p1, timed);
  auto executor = backend.Start(schedule, Role::kDealer);
  for (const auto& program : pfss::Programs(schedule, Role::kDealer)) executor->Run(program, randomness, io);
  executor->Finish();
  if (!times) return;
  times->deal.end = Stamp();
  times->peak = backend.Peak();
  io.meter.Report(Meter::Since(begin), times);
}

std::array<Bytes, 2> DealBodies(const pfss::Schedule& schedule, pfss::Backend& backend,
                                const pfss::Randomness& randomness, Inputs& inputs) {
  std::array<Bytes, 2> body;
  const auto sink = [&](int p) {
    body[size_t(p)].reserve(size_t(schedule.key_bytes(p)));
    return std::make_unique<store::Sink>(
        Hash{}, std::make_shared<const store::BodyLayout>(LayoutOf(schedule, p)),
        [out = &body[size_t(p)]](View chunk) { Append(out, chunk.subspan(net::ChunkTags::kBytes)); });
  };
  const auto to_p0 = sink(0), to_p1 = sink(1);
  Deal(schedule, backend, randomness, inputs, *to_p0, *to_p1);
  to_p0->Finish();
  to_p1->Finish();
  return body;
}

}  // namespace suf::run
