// The narrow waist: a Program is a maximal piece of trace without openings (key generation at the dealer, reads and
// finishing polynomials at a party); a Backend runs programs. Backends agree on every bit they emit, so any two parties
// may use different ones.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "suf/base/secret.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

// Program: nodes of one role in dependency order, all of whose inputs are computed, told or received before it starts.
struct Program {
  Role role;
  std::vector<int> nodes;
};
// Programs of a role: one a step for a party (same order as Schedule::steps), one for the dealer.
std::vector<Program> Programs(const Schedule& s, Role role);

// Randomness: both parties' PRG streams as far as the holder has their keys, and the public key that tile keys of DPFs
// derive from.
class Randomness {
 public:
  virtual ~Randomness() = default;
  class Section {
   public:
    virtual ~Section() = default;
    // Fill: bytes [offset, offset + out.size()); offset is a multiple of 16. Thread-safe. An element of a tensor takes
    // fss::ElementBytes(bits) bytes.
    virtual void Fill(uint64_t offset, std::span<uint8_t> out) const = 0;
  };
  // Open: a section of `party`'s stream; must not outlive the Randomness.
  virtual std::unique_ptr<Section> Open(int party, int section) const = 0;
  virtual std::array<uint8_t, 16> TreeKey() const = 0;
};

// Material: what Randomness expands, and takes over. key[p] is K_p of docs/mathematics.md#prg; a party holds its own,
// the dealer both.
struct Material {
  std::array<std::optional<Secret>, 2> key;
  Hash rho;
};

// Io: what a running program asks of its host. Tensors cross as packed bits: element i is bits [i k, (i+1) k), low bit
// first.
class Io {
 public:
  virtual ~Io() = default;
  // In: the packed tensor of a told or received node; a told one may be asked for again. Valid until the program ends.
  virtual View In(int node) = 0;
  // Out: room for the packed tensor of a sent or told node; written once the node is Done, in any order.
  virtual std::span<uint8_t> Out(int node) = 0;
  // Input: a role's own data, elements of `element_bytes` bytes (1, 2, 4 or 8), row-major, kept alive by the host.
  // `version` is another one whenever the data is: a backend may keep what it prepared from an input as long as the
  // version stays.
  struct Data {
    const void* words;
    uint64_t version;
  };
  virtual Data Input(int node, int element_bytes) = 0;
  // Done: called when a node's value is computed; for progress and timing.
  virtual void Done(int /*node*/) {}
  // Keys: called before Done: of the time since the last Done this part, 0 to 1, went into key sections and PRG words.
  virtual void Keys(double /*part*/) {}
  // Sent: called for each message of this role, by pieces and from any thread, with the words that it sends as they lie
  // in memory: from now on they are public.
  virtual void Sent(int /*node*/, View /*value*/) {}
};

// Executor: one role's run of one trace, in order of its programs. Values live from program to program and die at their
// last use.
class Executor {
 public:
  virtual ~Executor() = default;
  // Run: the next of Programs(schedule, role); a backend may have planned ahead and throw Bug for any other.
  virtual void Run(const Program& program, const Randomness& randomness, Io& io) = 0;
  // Result: a result of the role, once its program has run; one word an element.
  virtual std::vector<uint64_t> Result(int node) = 0;
};

// Backend: what can run programs. Start: the schedule must outlive the executor.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // prg: identity of the PRG that Expand uses; a field of the key header, and another one is refused.
  virtual uint32_t prg() const = 0;
  virtual std::unique_ptr<Randomness> Expand(Material material) = 0;
  virtual std::unique_ptr<Executor> Start(const Schedule& s, Role role) = 0;
};

// LastUse: for each node, the index in the role's whole order (programs one after another) at which it is read last;
// -1: never.
std::vector<int> LastUse(const Schedule& s, const std::vector<Program>& programs);

}  // namespace suf::pfss
