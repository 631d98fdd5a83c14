// 08: a composition of gates. `suf gate` runs the same texts as files (docs/gates.md); here a program holds one.
//
// P1 brings eight features a row, P0 brings a secret weight for each one. P1 learns a score between -1 and 1, and
// whether it reaches 0.
#include <algorithm>
#include <cstdio>

#include "suf/cpu/packed.hpp"
#include "suf/exec/pool.hpp"
#include "suf/gates/compose/composition.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/run/pair.hpp"

using namespace suf;

namespace {

constexpr const char* kText =
    "x    = input p1 12:8 [n, 8]\n"
    "v    = input p0 8:6 [8]\n"
    "s    = dot(x, v)                          # [n], at scale 8 + 6\n"
    "c    = clamp(s, low=-16384, high=16384)   # -1 and 1 at this scale\n"
    "y, b = reluars(s, shift=6) outputs y, w   # b: whether s is at least 0; s is opened once for both gates\n"
    "output c -> p1\n"
    "output b -> p1\n"
    "output y -> shared\n";

// Returns the words of an output statement that nobody learns, from both parties' shares.
gates::Ints SumOf(const gates::Ints& a, const gates::Ints& b, int bits) {
  gates::Ints y;
  for (size_t i = 0; i < a.size(); ++i) y.push_back(int64_t(gates::Word(a[i] + b[i], bits)));
  return y;
}

bool Main() {
  // The constructor infers every type and range. It refuses a text whose gates do not fit, with line and column.
  const gates::Composition c(gates::ParseComposition(kText));
  for (const auto& v : c.values()) std::printf("%s: %s\n", v.name.c_str(), gates::Name(v.type).c_str());

  // The lowerings of all statements are chosen together, by the price of the whole trace. Then it is emitted once, for
  // this number of rows.
  constexpr int64_t kCount = 100;  // of rows
  const gates::GateChoices choices = gates::Choose(c, compiler::ParseProfile("lan").prices, kCount);
  const auto backend = cpu::MakePacked(exec::Default());
  pfss::Trace t(backend->capabilities());
  gates::Emit(t, c, choices, kCount);
  const pfss::Schedule schedule(t);
  if (const auto faults = pfss::Lint(schedule).faults; !faults.empty()) throw std::runtime_error(faults[0]);
  std::printf("%zu statements in %d flights\n", c.gates().size(), schedule.flights());

  // Inputs are in order of the text. InputWords checks each number against the range of its input.
  std::vector<gates::Ints> numbers(2);
  for (int64_t i = 0; i < kCount * 8; ++i) numbers[0].push_back(i * 97 % 4096 - 2048);
  for (int64_t j = 0; j < 8; ++j) numbers[1].push_back(j * 53 % 200 - 90);
  run::Inputs given[3];  // of P0, of P1, and of the dealer (none)
  for (size_t i = 0; i < numbers.size(); ++i) {
    const gates::InputStatement& in = c.text().inputs[i];
    given[in.from == gates::Origin::kP0 ? 0 : 1].Set(in.name.name, gates::InputWords(in, numbers[i]));
  }

  // Dealer, P0 and P1 in one process, as in 01.
  const pfss::BundleSecrets secrets{{Secret::Random(), Secret::Random()}, RandomHash()};
  const auto run = run::RunPair(
      {schedule, {backend.get(), backend.get(), backend.get()}, {&given[0], &given[1], &given[2]}, secrets});
  const auto p0 = gates::OutputWords(c, 0, run.result[0], kCount), p1 = gates::OutputWords(c, 1, run.result[1], kCount);

  // Evaluate gives every value by the gates' own meaning, which shares no code with their emission.
  const std::vector<gates::Ints> meant = gates::Evaluate(c, numbers, kCount);
  const auto at = [&](const char* name) { return size_t(c.value(name)); };
  const gates::Ints y = SumOf(p0[2], p1[2], c.values()[at("y")].type.bits);
  std::printf("row 1: score %.4f, bit %ld\n", double(p1[0][0]) / 16384, long(p1[1][0]));
  return p0[0].empty() && p1[0] == meant[at("c")] && p1[1] == meant[at("b")] && y == meant[at("y")];
}

}  // namespace

int main() {
  const bool right = Main();
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
