// The narrow waist, and all that one who writes a backend reads (examples/07_backend.cpp is one). A Program is a
// maximal piece of trace without openings (key generation at the dealer, reads and finishing polynomials at a party); a
// Backend runs programs, and its Capabilities say which. Backends of one PRG agree on every bit that they emit, so any
// two parties may use different ones. Who brings kernels of keys alone implements Kernels, the batch entry points.
#pragma once
#include <bitset>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "suf/base/secret.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

// What a backend can run. The compiler takes it: a lowering whose trace asks for more does not apply.
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
// Throws Cause::kRefused, with what is lacking, where a backend cannot run a node of t, or any of its
// nodes. Start of each backend asks for the second.
void RefuseLacking(const Capabilities& can, const Trace& t, const Node& n);
void RefuseLacking(const Capabilities& can, const Trace& t);

// Nodes of one role in dependency order, all of whose inputs are computed, told or received before it starts.
struct Program {
  Role role;
  std::vector<int> nodes;
};
// Programs of a role: one a step for a party (same order as Schedule::steps), one for the dealer.
std::vector<Program> Programs(const Schedule& s, Role role);

// Both parties' PRG streams as far as the holder has their keys, and the public key that tile keys of DPFs
// derive from.
class Randomness {
 public:
  virtual ~Randomness() = default;
  class Section {
   public:
    virtual ~Section() = default;
    // Bytes [offset, offset + out.size()); offset is a multiple of 16. Thread-safe. An element of a tensor takes
    // fss::ElementBytes(bits) bytes.
    virtual void Fill(uint64_t offset, std::span<uint8_t> out) const = 0;
  };
  // A section of `party`'s stream; must not outlive the Randomness.
  virtual std::unique_ptr<Section> Open(int party, int section) const = 0;
  virtual std::array<uint8_t, 16> TreeKey() const = 0;
};

// What Randomness expands, and takes over. key[p] is K_p of docs/mathematics.md#prg; a party holds its own,
// the dealer both.
struct Material {
  std::array<std::optional<Secret>, 2> key;
  Hash rho;
};

// Where time went, in seconds: arithmetic, of a device its kernels; key sections and PRG words; moving words to
// and from a device; what a device waited for its host; encrypting, decrypting and moving frames; waiting for the peer
// or for keys. launches: how many kernels a device ran.
struct Spent {
  double compute = 0, key = 0, upload = 0, host = 0, wire = 0, wait = 0;
  int64_t launches = 0;
  Spent& operator+=(const Spent& o) {
    compute += o.compute, key += o.key, upload += o.upload, host += o.host, wire += o.wire, wait += o.wait;
    launches += o.launches;
    return *this;
  }
  double all() const { return compute + key + upload + host + wire + wait; }
};

// Bytes that a backend's process had at most so far of a device's memory, and of its own as pages that a device
// reaches; 0 without a device.
struct Peak {
  int64_t device = 0, pinned = 0;
};

// kLongFrame: bytes of a frame beyond which it pays to read it while it comes and to let it leave while it is written.
inline constexpr size_t kLongFrame = size_t{64} << 10;

// What a running program asks of its host. Tensors cross as packed bits: element i is bits [i k, (i+1) k), low bit
// first. It lives until the executor is Finished.
class Io {
 public:
  virtual ~Io() = default;
  // The packed tensor of a told or received node, whole: waits for it. A received one is valid until the program
  // ends; a told one may be asked for again until it is Read. Throws what ended the session where it does not come.
  virtual View In(int node) = 0;
  // Whether a told node is here, so that In returns at once.
  virtual bool Ready(int /*node*/) { return false; }
  // Of a told node, once: it is asked for no more, and its memory is given back. One that is asked for or not.
  virtual void Read(int /*node*/) {}
  // Room for the packed tensor of a sent or told node; written once the node is Done, in any order.
  virtual std::span<uint8_t> Out(int node) = 0;

  // Whole frames, for who works on their prefixes or moves them at once: the frame that this program's step received,
  // the one that it sends; parts lie in them as Schedule::frames says. Empty where the step has none.
  virtual View Received() { return {}; }
  virtual std::span<uint8_t> Sending() { return {}; }
  // Returns when so many bytes of what was Received are here; In of a received node awaits the end of its part.
  // Written: so many bytes of what is Sending are final, so that they may leave; it only grows. Both from any thread.
  virtual void Await(size_t /*bytes*/) {}
  virtual void Written(size_t /*bytes*/) {}
  // All of what is Sending is final and leaves now, while the executor goes on with what its peer does not wait
  // for. From the thread of Run; who does not call it has his frame sent once he is Finished.
  virtual void Leave() {}

  // Input: a role's own data as it is kept: whole words of 1, 2, 4 or 8 bytes, row-major, kept alive by the host;
  // signed ones stand for two's complement of any width. `version` is another one whenever the data is: a backend may
  // keep what it prepared from an input as long as the version stays.
  struct Data {
    const void* words;
    int bytes;
    bool is_signed;
    uint64_t version;
  };
  virtual Data Input(int node) = 0;
  // These nodes' values are computed; for progress, and for sections that may leave.
  virtual void Done(std::span<const int> /*nodes*/) {}
  // Time that went into the nodes of a scope since the last call; waits within this Io included, as host where
  // that is not 0, else as compute.
  virtual void Took(uint16_t /*scope*/, const Spent&) {}
  // Whether the time of each scope is to be measured where that takes time itself: on a device. Else Took may be
  // told all that a step of several scopes took as compute of one of them.
  virtual bool Timed() const { return false; }
  // Called for each message of this role, by pieces and from any thread, with the words that it sends as they lie
  // in memory: from now on they are public.
  virtual void Sent(int /*node*/, View /*value*/) {}
};

// Word i of an input, extended to 64 bits.
uint64_t WordOf(const Io::Data& data, size_t i);

// One role's run of one trace, in order of its programs. Values live from program to program and die at their
// last use.
class Executor {
 public:
  virtual ~Executor() = default;
  // The next of Programs(schedule, role); a backend may have planned ahead and throw Bug for any other. It may
  // return before its work is done: what it calls of Io then comes from another thread.
  virtual void Run(const Program& program, const Randomness& randomness, Io& io) = 0;
  // Returns when all that was begun is done, and throws what failed therein. The host calls it before it sends
  // what a program wrote, and before it asks for a result.
  virtual void Finish() {}
  // A result of the role, once its program has run; one word an element.
  virtual std::vector<uint64_t> Result(int node) = 0;
};

// Keys of one node: `count` keys on n bits under the trace's public key and the node's program number. A DCF's
// payload has `words` words of `bits` bits.
struct Batch {
  std::array<uint8_t, 16> tree_key;
  uint32_t program;
  int n;
  size_t count;
  int words = 1, bits = 64;
};

// Batch entry points, for backends that differ in their keys alone (reference::MakeClear takes them). Elements
// stand one after another: roots and keys fss::ElementBytes of their ring apart; alpha and x below 2^n, a word or, of
// DCFs above 64 bits, two, the low one first; bit strings whole words. Thread-safe. Each is branch-free in what is
// secret: alpha, beta, roots. One that is not overridden throws Bug: the operation is not among the Capabilities.
class Kernels {
 public:
  virtual ~Kernels() = default;
  using Roots = std::array<const uint8_t*, 2>;  // of P0 and P1
  virtual void DpfGen(const Batch& b, const uint64_t* alpha, const Roots& roots, uint8_t* key) const;
  // Bits of 1[v = alpha >> level] at v = lo .. lo + m - 1 of each key.
  virtual void DpfWindow(const Batch& b, int party, const uint8_t* root, const uint8_t* key, int level,
                         const uint64_t* lo, int m, uint64_t* out) const;
  // Bits of 1[x < alpha] at m places x of each key.
  virtual void DpfParity(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
                         uint64_t* out) const;
  // table[(x - alpha) mod 2^n], a word a key.
  virtual void DpfDense(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
                        const uint64_t* table, uint64_t* out) const;
  // Word k of key i's payload is beta[k count + i].
  virtual void DcfGen(const Batch& b, const uint64_t* alpha, const uint64_t* beta, const Roots& roots,
                      uint8_t* key) const;
  // Shares of beta 1[x < alpha] modulo 2^bits at m places of each key, x[i m + j]: word k at
  // out[(k m + j) count + i].
  virtual void DcfEval(const Batch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
                       uint64_t* out) const;
};

// What can run programs. Start: the schedule must outlive the executor; throws Cause::kRefused for a trace
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
  // Reserve: sees, before anything is spent on a run, that it will find its memory, and keeps that for Start. Otherwise
  // what is lacking: bytes that the run needs, and those that are free. bytes_of: of a word of an input of two
  // dimensions, by its name, as the host keeps it; negative: signed.
  struct Lack {
    int64_t needed, free;
  };
  using InputBytes = std::function<int(const std::string& name)>;
  virtual std::optional<Lack> Reserve(const Schedule& /*s*/, Role /*role*/, const InputBytes& /*bytes_of*/) {
    return {};
  }
  // Bytes of the values that an executor has in memory, at their peak, inputs left out; 0: it is not told.
  virtual int64_t ValueBytes(const Schedule& /*s*/, Role /*role*/) { return 0; }
  virtual pfss::Peak Peak() const { return {}; }
};

// For each node, the index in the role's whole order (programs one after another) at which it is read last;
// -1: never.
std::vector<int> LastUse(const Schedule& s, const std::vector<Program>& programs);

}  // namespace suf::pfss
