// The narrow waist, and all that one who writes a backend reads (examples/07_backend.cpp is one). A Program is a
// maximal piece of trace without openings (key generation at the dealer, reads and finishing polynomials at a party); a
// Backend runs programs, and its Capabilities say which. Backends of one PRG agree on every bit that they emit, so any
// two parties may use different ones. Who brings kernels of keys alone implements Kernels, the batch entry points.
#pragma once
#include <bitset>
#include <memory>
#include <span>
#include <string>

#include "suf/base/secret.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

// Capabilities: what a backend can run. The compiler takes it: a lowering whose trace asks for more does not apply.
struct Capabilities {
  std::string name;  // as in "NAME has no DPF"
  std::string what;  // one sentence on what it is
  // of DCFs; a trace for this backend has the first
  std::vector<fss::DcfScheme> schemes{fss::DcfScheme::kSuf};
  std::bitset<64> operations = ~std::bitset<64>{};  // by number of the operation
  int largest = 128;                                // bits of alpha of a DCF, or of a DPF, which has 64 at most
  bool Has(Op op) const { return operations[size_t(op)]; }
  Capabilities Without(std::initializer_list<Op> ops) const;
};
// RefuseLacking: throws Cause::kRefused, with what is lacking, where a backend cannot run a node of t, or any of its
// nodes. Start of each backend asks for the second.
void RefuseLacking(const Capabilities& can, const Trace& t, const Node& n);
void RefuseLacking(const Capabilities& can, const Trace& t);

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

// Batch: keys of one node: `count` keys on n bits under the trace's public key and the node's program number. A DCF's
// payload has `words` words of `bits` bits.
struct Batch {
  std::array<uint8_t, 16> tree_key;
  uint32_t program;
  int n;
  size_t count;
  int words = 1, bits = 64;
};

// Kernels: batch entry points, for backends that differ in their keys alone (backends::MakeClear takes them). Elements
// stand one after another: roots and keys fss::ElementBytes of their ring apart; alpha and x below 2^n, a word or, of
// DCFs above 64 bits, two, the low one first; bit strings whole words. Thread-safe. Each is branch-free in what is
// secret: alpha, beta, roots. One that is not overridden throws Bug: the operation is not among the Capabilities.
class Kernels {
 public:
  virtual ~Kernels() = default;
  using Roots = std::array<const uint8_t*, 2>;  // of P0 and P1
  virtual void DpfGen(const Batch& b, const uint64_t* alpha, const Roots& roots, uint8_t* key) const;
  // DpfWindow: bits of 1[v = alpha >> level] at v = lo .. lo + m - 1 of each key.
  virtual void DpfWindow(const Batch& b, int party, const uint8_t* root, const uint8_t* key, int level,
                         const uint64_t* lo, int m, uint64_t* out) const;
  // DpfParity: bits of 1[x < alpha] at m places x of each key.
  virtual void DpfParity(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
                         uint64_t* out) const;
  // DpfDense: table[(x - alpha) mod 2^n], a word a key.
  virtual void DpfDense(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
                        const uint64_t* table, uint64_t* out) const;
  // DcfGen: word k of key i's payload is beta[k count + i].
  virtual void DcfGen(const Batch& b, const uint64_t* alpha, const uint64_t* beta, const Roots& roots,
                      uint8_t* key) const;
  // DcfEval: shares of beta 1[x < alpha] modulo 2^bits at m places of each key, x[i m + j]: word k at
  // out[(k m + j) count + i].
  virtual void DcfEval(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
                       uint64_t* out) const;
};

// Backend: what can run programs. Start: the schedule must outlive the executor; throws Cause::kRefused for a trace
// that asks for more than the capabilities.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  // prg: identity of the PRG that Expand uses; a field of the key header, and another one is refused.
  virtual uint32_t prg() const = 0;
  virtual std::unique_ptr<Randomness> Expand(Material material) = 0;
  virtual std::unique_ptr<Executor> Start(const Schedule& s, Role role) = 0;
};

// LastUse: for each node, the index in the role's whole order (programs one after another) at which it is read last;
// -1: never.
std::vector<int> LastUse(const Schedule& s, const std::vector<Program>& programs);

}  // namespace suf::pfss
