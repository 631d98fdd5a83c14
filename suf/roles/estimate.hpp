// Estimate: what an inference costs, read off its schedule without running it.
#pragma once
#include <array>

#include "suf/pfss/schedule.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"

namespace suf::roles {

// Bytes that a role has at least while it runs a text, as far as plan and schedule tell. Without the program
// itself, the trace, the cipher's buffers, and what a backend prepares or keeps beside (packed weights, blocks for the
// next tensors).
struct Memory {
  int64_t weights = 0;  // masked ones of P1, masks of the dealer; P0's own, quantised, and as the trace reads them
  int64_t keys = 0;     // the window, of the dealer one for each party; no more than the keys
  int64_t frames = 0;   // rooms for those in flight
  int64_t values = 0;   // what the backend computes and keeps, at its peak
  int64_t total() const { return weights + keys + frames + values; }
};

struct Estimate {
  // Throws what Engine::At throws.
  Estimate(ModelEngine& engine, int tokens, int variant = 0);
  // Bytes of so many bundles made ahead, in the store of a party (0: model owner, 1: data owner).
  int64_t OnDisk(int party, int count) const;
  // Bytes of keys that a party holds where audits are asked for: whole bundles (proto::kWholeAtOnce).
  int64_t Audited(int party) const { return int64_t(proto::kWholeAtOnce) * key_bytes[party]; }
  // Seconds that the inference takes over a network, as the compiler's search counts them: keys and turns, too.
  double Online(const compiler::Prices& prices) const;

  int tokens;
  int tiles;                     // in which the text runs: 1, or 2 in antiphase
  Hash plan, trace;              // digests
  int flights;                   // one-way flights, from P1's first online frame to P0's last
  int frames[2];                 // online, of P0 and P1
  int64_t key_bytes[2];          // body of a bundle, of P0 and P1
  int64_t disk[2];               // bytes of its file
  int64_t window;                // keys, bytes, that a party holds ahead of its run at least (run::WindowOf)
  int64_t sent[2];               // online payload, bytes, by P0 and P1
  int64_t offline;               // payload, bytes, that P1 sends before it needs the text
  int64_t setup;                 // masked weights, bytes, once for a model and a data owner
  std::array<Memory, 3> memory;  // by Role
  int hard = 0, calibrated = 0;  // certificates
  pfss::Cost cost;               // by operator
  compiler::Bill bill;           // what prices apply to
};

}  // namespace suf::roles
