// The cost of an inference, read from its schedule without running it.
#pragma once
#include <array>

#include "suf/pfss/schedule.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"

namespace suf::roles {

// The memory in bytes that a role needs at least while it runs a text, by plan and schedule. The program, the trace and
// the cipher's buffers are not included. Neither is the backend's own data (packed weights, blocks for the next
// tensors).
struct MemoryNeeds {
  int64_t weights = 0;  // of P1 masked, of the dealer masks, of P0 quantised and as the trace reads them
  int64_t keys = 0;     // the window (at the dealer one per party), or all keys if they are fewer
  int64_t frames = 0;   // buffers for frames in flight
  int64_t values = 0;   // values that the backend computes and keeps, at their peak
  int64_t total() const { return weights + keys + frames + values; }
};

// Returns the memory that a role needs for one job. `window` is the KeyPolicy's, or store::KeySource::kWhole for whole
// bundles. `weights` serve all jobs of a process, the rest is needed by each job that runs. Throws the errors of
// Engine::Compile.
MemoryNeeds NeedsOf(Engine& engine, const store::Job& job, Role role, uint64_t window);

// The cost of an inference at one length and variant, of one text or of a batch.
struct Estimate {
  // Throws the errors of Engine::Compile.
  Estimate(ModelEngine& engine, int tokens, int variant = 0, int texts = 1);
  // Returns the bytes of `count` preprocessed bundles in the store of a party (0: model owner, 1: data owner).
  int64_t OnDisk(int party, int count) const;
  // Returns the bytes of keys that a party with audits holds: whole bundles (proto::kWholeAtOnce).
  int64_t Audited(int party) const { return int64_t(proto::kWholeAtOnce) * key_bytes[party]; }
  // Returns the seconds that the inference takes over a network, as the compiler's search counts them. Keys and turns
  // are included.
  double Online(const compiler::Prices& prices) const;

  int tokens, texts;
  int tiles;             // tiles in which the text runs: 1, or 2 in antiphase
  Hash plan, trace;      // digests
  int flights;           // one-way flights, from P1's first online frame to P0's last
  int frames[2];         // online frames of P0 and P1
  int64_t key_bytes[2];  // bytes of a bundle's body, of P0 and P1
  // The same for each value of nn::Variant::keys_to: balanced, p0.
  std::array<std::array<int64_t, 2>, 2> keys_to;
  int64_t disk[2];                    // bytes of a bundle's file, of P0 and P1
  int64_t window;                     // bytes of keys that a party holds ahead of its run at least (run::WindowOf)
  int64_t sent[2];                    // bytes of online payload that P0 and P1 send
  int64_t offline;                    // bytes of payload that P1 sends before it needs the text
  int64_t setup;                      // bytes of masked weights, once per model and data owner
  std::array<MemoryNeeds, 3> memory;  // by Role
  int hard = 0, calibrated = 0;       // number of certificates
  pfss::Cost cost;                    // by operator
  compiler::Bill bill;                // amounts that prices apply to
};

}  // namespace suf::roles
