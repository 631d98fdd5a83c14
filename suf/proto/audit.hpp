// The audit of a bundle pair, by P0 alone: both sides mark the serial AUDITED, P1 hands over K_1 and the hash of its
// bundle, P0 deals both bundles again, as the dealer should have, and compares. P1 learns one bit: its own bundle from
// P0's hands, or any word of it that it had not, would give r_1 B. P1's session seed stays with P1, as K_1 is all that
// dealing needs and the seed would give K_1 of the other bundles that were fetched with this one.
// docs/security.md#audits.
#pragma once
#include "suf/proto/supply.hpp"

namespace suf::proto {

class Bond;

// What P0 brings to audits.
struct Auditor {
  Generate generate;  // what the dealer runs
  // section: words for the section of P0's bundle that holds this byte of the body, in the trace of this job
  std::function<std::string(const store::Job&, uint64_t byte)> section;
  std::function<void(const store::Job&, uint64_t serial)> passed;  // for a log line
};

// What P0 finds and nobody else is told.
struct Difference {
  bool own = false, other = false;  // P0's bundle, P1's
  uint64_t at = 0;                  // first byte of P0's body that differs
  bool any() const { return own || other; }
};

// Both bundles of a job, K_0 and K_1 and B's seed, compared with P0's own (all of its bytes) and with P1's
// hash. Does the same work whatever it finds.
Difference DealAgain(const store::Bundle& own, DealJob job, store::SharedLayout other_body, const Hash& other_hash,
                     const Generate& generate);

// What the session fetches while an audit goes on.
struct Ahead {
  std::function<void()> announce = [] {};  // the next bundle; once both sides have marked the serial
  std::function<void()> drop = [] {};      // nothing more comes: before all bundles are burnt
};

// P1's side, when a serial is agreed on; setup as in Bond. Throws Cause::kRefused when P0 says that the
// bundles are wrong; then all bundles of the store are burnt.
void OpenBundle(net::Channel& p0, store::Store& store, uint64_t serial, const Task& task, const Hash& setup,
                const Ahead& ahead = {});
// P0's side, from P1's first MAC on. Throws Cause::kRefused when a bundle is wrong, all others being
// burnt.
void AuditBundle(net::Channel& p1, store::Store& store, Bond& bond, const Task& task, const SharedSecret& b_seed,
                 const Auditor& auditor, const Ahead& ahead = {});

// Store::Claim or Store::Audit; a bundle that turns out altered is named to the peer.
store::Bundle Take(net::Channel& ch, store::Store& store, uint64_t serial, store::Fate fate, const Task& task,
                   uint64_t window = store::KeySource::kWhole);

}  // namespace suf::proto
