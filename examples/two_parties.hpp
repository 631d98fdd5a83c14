// Runs a trace between two parties in one process, as 01 did step by step, for the examples that follow.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "suf/compiler/words.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/exec/pool.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/run/pair.hpp"

namespace suf::examples {

class TwoParties {
 public:
  explicit TwoParties(std::unique_ptr<pfss::Backend> backend = cpu::MakePacked(exec::Default()))
      : t(backend->capabilities()), backend_(std::move(backend)) {}
  pfss::Trace t;

  // Numbers of P1 as a wire in Z_{2^k}: both parties know z + r, the dealer knows r.
  pfss::SharedWire<pfss::kPub> Give(const std::vector<int64_t>& z, int k) {
    inputs_[1].Set("z", z);
    pfss::Own<1> own = t.input<pfss::kP1>("z", {int64_t(z.size())}, 64, 0);
    return t.give<1>(own, k, "z");
  }
  // Reveals y to P1, lints and runs; returns the result as signed numbers of y's ring. A word of the dealer that a gate
  // still owes is settled first.
  std::vector<int64_t> Run(const compiler::OwedWord& y) {
    pfss::Sh shares = compiler::DealOwed(t, y);
    const int bits = shares.bits();
    t.reveal<1>(shares);
    t.close();
    schedule.emplace(t);
    const pfss::LintReport lint = pfss::Lint(*schedule);
    if (!lint.faults.empty()) throw std::runtime_error(lint.faults[0]);
    const pfss::BundleSecrets secrets{{Secret::Random(), Secret::Random()}, RandomHash()};
    const auto run = run::RunPair({*schedule,
                                   {backend_.get(), backend_.get(), backend_.get()},
                                   {&inputs_[0], &inputs_[1], &inputs_[2]},
                                   secrets});
    std::vector<int64_t> out;
    for (uint64_t v : run.result[1]) out.push_back(int64_t(v << (64 - bits)) >> (64 - bits));
    return out;
  }
  // The key bits of both parties' bundles together.
  int64_t KeyBits() const { return schedule->key_bits(0) + schedule->key_bits(1); }

  std::optional<pfss::Schedule> schedule;  // set by Run

 private:
  std::unique_ptr<pfss::Backend> backend_;
  run::Inputs inputs_[3];
};

}  // namespace suf::examples
