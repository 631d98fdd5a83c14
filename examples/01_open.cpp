// 01: two parties open a value that neither may know. P0 has x and P1 has y. Both learn x + y + r, where r is a mask
// known only to the dealer. At the end P1 learns x + y, and nothing more is learned.
//
// Everything runs in one process; the parties exchange bytes through two queues only.
#include <cstdio>

#include "suf/cpu/packed.hpp"
#include "suf/exec/pool.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/ops.hpp"
#include "suf/run/pair.hpp"

using namespace suf;

int main() {
  // A protocol is written once, as a trace: straight-line code over tensors, without data. It is public. A value's type
  // says who may know it: Own<0> is P0's, Own<1> is P1's, Pub both parties', Sec the dealer's.
  pfss::Trace t;
  const pfss::Shape three{3};
  pfss::Own<0> x = t.input<pfss::kP0>("x", three, 64, 0);
  pfss::Own<1> y = t.input<pfss::kP1>("y", three, 64, 0);

  // give: a party sends its value under a mask of its own. The result is a masked wire in Z_{2^32}. Both parties know
  // hat = x + r, the dealer knows r, and the parties hold shares of r: x = hat - r.
  pfss::SharedWire<pfss::kPub> wx = t.give<0>(x, 32, "x under a mask"), wy = t.give<1>(y, 32, "y under a mask");

  // So the parties have shares of x: hat minus the shares of r. They add up without any message: sum.a + sum.b = x + y.
  pfss::Sh sum_x = -pfss::Sh(wx.s) + wx.hat, sum_y = -pfss::Sh(wy.s) + wy.hat;
  pfss::Sh sum = sum_x + sum_y;

  // open: each party sends its share under a fresh pad, and both learn sum + (new mask). Values become public only this
  // way, and the parties see uniform numbers. (Try `pfss::Pub p = x;`: it does not compile.)
  pfss::SharedWire<pfss::kPub> opened = t.open(sum, "x + y under a mask");

  // reveal: the only message without a pad, which gives the result to P1.
  pfss::Sh result = -pfss::Sh(opened.s) + opened.hat;
  t.reveal<1>(result);
  t.close();
  std::printf("The trace:\n%s\n", pfss::Print(t).c_str());

  // The schedule is read off the trace: each message, its sender and its time, and how large the keys are. The lint is
  // another reading. It proves that every message but the result has a pad of its own.
  const pfss::Schedule schedule(t);
  const pfss::LintReport lint = pfss::Lint(schedule);
  std::printf("%d messages are padded, %d result; one-way flights: %d; faults found: %zu\n", lint.padded, lint.results,
              schedule.flights(), lint.faults.size());

  // Now the data, and the randomness: one key K_p for each party. Both are fresh for every inference and never reused.
  run::Inputs inputs[3];  // of P0, P1 and the dealer
  inputs[0].Set("x", std::vector<int64_t>{1, 20, -300});
  inputs[1].Set("y", std::vector<int64_t>{5, 5, 5});
  const pfss::BundleSecrets secrets{{Secret::Random(), Secret::Random()}, RandomHash()};
  const auto backend = cpu::MakePacked(exec::Default());
  const run::PairRun run = run::RunPair(
      {schedule, {backend.get(), backend.get(), backend.get()}, {&inputs[0], &inputs[1], &inputs[2]}, secrets});

  std::printf("P1 learns:");
  for (uint64_t v : run.result[1]) std::printf(" %d", int32_t(v));
  std::printf("; P0 learns nothing (%zu values)\n", run.result[0].size());
  std::printf("sent online: P0 %ld bytes, P1 %ld bytes; key bytes: %zu and %zu\n", long(run.online[0]),
              long(run.online[1]), run.key[0].size(), run.key[1].size());

  const bool right = run.result[1] == std::vector<uint64_t>{6, 25, uint32_t(-295)} && lint.faults.empty();
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
