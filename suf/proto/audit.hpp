// Audits of bundle pairs. Both sides mark the serial AUDITED. P1 then sends K_1 and the hash of its bundle to P0, which
// deals both bundles again and compares. P0 answers with one bit. P1's bundle as dealt again, or any word of it that P1
// lacked, would give P1 the value r_1 B. P1 keeps its session seed, because K_1 is enough to deal again. The seed would
// also give K_1 of the other bundles that were fetched with this one. docs/security.md#audits.
#pragma once
#include "suf/proto/supply.hpp"

namespace suf::proto {

class Bond;

// P0's callbacks for audits.
struct Auditor {
  // Deals a bundle pair as the dealer does.
  Generate generate;
  // Names the section of P0's bundle that has this byte of the body, in the job's trace; for error messages.
  std::function<std::string(const store::Job&, uint64_t byte)> section;
  // Called after a passed audit; for a log line.
  std::function<void(const store::Job&, uint64_t serial)> passed;
};

// The result of an audit. Only P0 sees it.
struct Difference {
  bool own = false, other = false;  // whether P0's bundle differs, and P1's
  uint64_t at = 0;                  // first byte of P0's body that differs
  bool any() const { return own || other; }
};

// Deals both bundles of a job again, from K_0, K_1 and the seed of B. Compares every byte of P0's bundle, and the hash
// of P1's. Does the same work whatever it finds.
Difference Redeal(const store::Bundle& own, DealJob job, store::SharedLayout other_body, const Hash& other_hash,
                  const Generate& generate);

// Callbacks of an audit for the bundle of the next job.
struct NextBundleHooks {
  std::function<void()> announce = [] {};  // announces the next job; called after both sides marked the serial
  std::function<void()> drop = [] {};      // cancels that bundle's delivery; called before all bundles are burnt
};

// Runs P1's side of an audit after the serial was agreed on. `setup` is as in Bond. Throws Cause::kRefused if P0
// reports wrong bundles; all bundles of the pair's lanes are burnt by then.
void OpenBundle(net::Channel& p0, store::Lane& lane, uint64_t serial, const Task& task, const Hash& setup,
                const NextBundleHooks& next = {});
// The masks B behind a bundle.
struct AuditMasks {
  SharedSecret b_seed;
  IndexMask index = {};
};
// Runs P0's side of an audit from P1's first MAC on. Throws Cause::kRefused if a bundle is wrong; all others are burnt
// by then.
void AuditBundle(net::Channel& p1, store::Lane& lane, Bond& bond, const Task& task, AuditMasks masks,
                 const Auditor& auditor, const NextBundleHooks& next = {});

// Takes a bundle out of the lane, by Lane::Audit if `kind` is kAudited and by Lane::Claim otherwise. An audited
// bundle is complete when this returns. If this throws, the peer has received a refusal, which says if the bundle was
// altered.
store::Bundle TakeBundle(net::Channel& ch, store::Lane& lane, uint64_t serial, store::RecordKind kind, const Task& task,
                         uint64_t window = store::KeySource::kWhole);

}  // namespace suf::proto
