// Estimate: what an inference costs, read off its schedule without running it.
#pragma once
#include "suf/pfss/schedule.hpp"
#include "suf/roles/engine.hpp"

namespace suf::roles {

struct Estimate {
  // Throws what Engine::At throws.
  Estimate(ModelEngine& engine, int tokens, int variant = 0);
  // OnDisk: bytes of so many bundles made ahead, in the store of a party (0: model owner, 1: data owner).
  int64_t OnDisk(int party, int count) const;
  // Online: seconds that the inference takes over a network, as the compiler's search counts them: keys and turns, too.
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
  int hard = 0, calibrated = 0;  // certificates
  pfss::Cost cost;               // by operator
  compiler::Bill bill;           // what prices apply to
};

}  // namespace suf::roles
