// A rig for tests of gates and layers: a trace between two parties in one process. P1 gives wires under random masks
// and learns the result. From run to run the roles change their backends. Every run passes the lint, and the counters
// of the channel equal those of the schedule.
#pragma once
#include <gtest/gtest.h>

#include <random>

#include "suf/backends/every_test.hpp"
#include "suf/gates/gate.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/sent_test.hpp"
#include "suf/run/pair.hpp"

namespace suf::gates {

inline constexpr compiler::StepSource kAllSteps[] = {compiler::StepSource::kParity, compiler::StepSource::kDigits,
                                                     compiler::StepSource::kBlocks};
inline constexpr Stages kAllStages[] = {Stages::kOne, Stages::kTwo, Stages::kThree};

// A trace and its run.
class Rig {
 public:
  Trace t;
  run::Inputs inputs[3];  // P0, P1, dealer

  // Returns values of P1 as a wire in Z_{2^k} under P1's mask.
  SharedWire<kPub> Give(const Ints& x, int k, pfss::Shape shape = {}) {
    if (shape.empty()) shape = {int64_t(x.size())};
    std::string name = "x" + std::to_string(wires_++);
    inputs[1].Set(name, x);
    pfss::Own<1> v = t.input<pfss::kP1>(name, shape, 64, 0);
    return t.give<1>(v, k, "x");
  }
  // Returns values of P1 as a wire under masks of both parties, which they share.
  SharedWire<kPub> Both(const Ints& x, int k, pfss::Shape shape = {}) {
    SharedWire<kPub> w = Give(x, k, std::move(shape));
    Sh y = -Sh(w.s) + w.hat;
    return t.open(y, "again");
  }
  // Reveals y to P1 and returns it as numbers of y's ring. `serial` varies all masks.
  Ints Run(const Sh& y, uint8_t serial = 1) {
    const int k = y.bits();
    t.reveal<1>(y);
    return Close(k, serial);
  }
  Ints Run(const OwedWord& y, uint8_t serial = 1) { return Run(compiler::DealOwed(t, y), serial); }
  // Runs the trace after a result of k bits was revealed.
  Ints Close(int k, uint8_t serial = 1) {
    t.close();
    schedule.emplace(t);
    pfss::LintReport lint = pfss::Lint(*schedule);
    EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
    EXPECT_EQ(lint.results, 1);
    EXPECT_TRUE(pfss::UnusedMessages(*schedule).empty()) << "a message that no result needs";
    static const auto every = backends::Every();
    static size_t turn = 0;
    pfss::BundleSecrets secrets{{Secret(Hash{1, 2, serial}), Secret(Hash{3, 4, serial})}, Hash{serial}};
    run::PairRun run =
        run::RunPair({*schedule, backends::InTurn(every, turn++), {&inputs[0], &inputs[1], &inputs[2]}, secrets});
    for (int p : {0, 1}) {
      EXPECT_EQ(run.online[size_t(p)], schedule->sent(p, true));
      EXPECT_EQ(run.offline[size_t(p)], schedule->sent(p, false));
      EXPECT_EQ(run.frames[size_t(p)], schedule->frame_count(p, true));
      EXPECT_EQ(int64_t(run.key[size_t(p)].size()), schedule->key_bytes(p));
    }
    EXPECT_TRUE(run.result[0].empty());
    Ints out;
    for (uint64_t v : run.result[1]) out.push_back(Number(v, k));
    return out;
  }

  int flights() const { return schedule->flights(); }
  int64_t key_bits() const { return schedule->key_bits(0) + schedule->key_bits(1); }
  // Returns the online bits that both parties send under a label.
  int64_t sent(const std::string& label) const { return pfss::SentUnder(*schedule, label); }
  std::optional<pfss::Schedule> schedule;

 private:
  int wires_ = 0;
};

// Returns low, low + 1, .., high - 1, `copies` times.
inline Ints Range(int64_t low, int64_t high, int copies = 1) {
  Ints v;
  for (int c = 0; c < copies; ++c)
    for (int64_t i = low; i < high; ++i) v.push_back(i);
  return v;
}
// Returns n seeded numbers in [low, high], including both ends.
inline Ints Some(int64_t low, int64_t high, size_t n, uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  std::uniform_int_distribution<int64_t> d(low, high);
  Ints v{low, high};
  while (v.size() < n) v.push_back(d(rng));
  return v;
}

}  // namespace suf::gates
