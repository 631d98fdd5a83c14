// The contract between a backend, which computes traces, and its host, which moves keys and frames (suf/run).
// To write a backend, implement Backend, Executor and Randomness. If you bring only key kernels, implement Kernels
// and pass it to reference::MakeClear (examples/07_backend.cpp). A host calls Expand and Start, then Run and Finish
// for each program in order, then Result. Run calls back into Io for key sections, messages and inputs.
// Backends with the same prg() agree on every bit that they send, so the roles may use different ones.
// No branch, index or log line of an executor may depend on a secret.
#pragma once
#include <bitset>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "suf/base/secret.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

// The operations and key sizes that a backend supports. The compiler rules out a lowering whose trace needs more.
struct Capabilities {
  std::string name;  // subject of error messages: "NAME has no DPF"
  std::string what;  // one sentence that describes the backend
  // DCF schemes; a trace for this backend uses the first
  std::vector<fss::DcfScheme> schemes{fss::DcfScheme::kSuf};
  std::bitset<64> operations = ~std::bitset<64>{};  // by number of Op
  int largest = 128;                                // most bits of alpha in a DCF or DPF; a DPF never exceeds 64
  // Returns whether the backend supports `op`.
  bool Has(Op op) const { return operations[size_t(op)]; }
  // Returns a copy that lacks `ops`.
  Capabilities Without(std::initializer_list<Op> ops) const;
};
// Throws Cause::kRefused if the backend cannot run node n of t; the error message names the missing capability.
void RefuseLacking(const Capabilities& can, const Trace& t, const Node& n);
// Throws Cause::kRefused if the backend cannot run some node of t. Every Backend::Start calls it.
void RefuseLacking(const Capabilities& can, const Trace& t);

// A maximal piece of a role's trace without openings. For the dealer it generates keys; for a party it is one step,
// with key reads and finishing polynomials. Its inputs are earlier values, key sections, and the frame it receives.
struct Program {
  Role role;
  std::vector<int> nodes;  // in an order of dependency
};
// Returns a role's programs in the order in which they run. A party has one for each of Schedule::steps, and
// the dealer has a single one.
std::vector<Program> Programs(const Schedule& s, Role role);

// The PRG streams of the parties whose keys the holder has (docs/mathematics.md#prg), and the public tree key.
class Randomness {
 public:
  virtual ~Randomness() = default;
  // The bytes of one kRand node. Element i of the tensor begins at byte i fss::ElementBytes(bits).
  class SectionReader {
   public:
    virtual ~SectionReader() = default;
    // Writes bytes [offset, offset + out.size()) of the section; offset is a multiple of 16. Thread-safe.
    virtual void Fill(uint64_t offset, std::span<uint8_t> out) const = 0;
  };
  // Returns a section of `party`'s stream, by the attributes [p, section] of its kRand node. The section must not
  // outlive the Randomness. Thread-safe.
  virtual std::unique_ptr<SectionReader> SectionAt(int party, int section) const = 0;
  // Returns the public AES key from which DPFs and DCFs derive the keys of their tiles (KeyBatch::tree_key).
  virtual std::array<uint8_t, 16> TreeKey() const = 0;
};

// The secrets of one bundle, from which Backend::Expand derives its randomness.
struct BundleSecrets {
  std::array<std::optional<Secret>, 2> key;  // K_p of docs/mathematics.md#prg: a party has its own, the dealer both
  Hash rho;                                  // public: 32 fresh bytes of this bundle pair
};

// Seconds that a role spent, by activity.
struct TimeUse {
  // * compute: arithmetic; on a device, its kernels
  // * key: key sections and PRG words
  // * upload: copies to and from a device
  // * host: time in which a device waited for its host
  // * wire: encrypting, decrypting and moving frames
  // * wait: waiting for the peer or for keys
  double compute = 0, key = 0, upload = 0, host = 0, wire = 0, wait = 0;
  int64_t launches = 0;  // kernels that a device ran
  TimeUse& operator+=(const TimeUse& o) {
    compute += o.compute;
    key += o.key;
    upload += o.upload;
    host += o.host;
    wire += o.wire;
    wait += o.wait;
    launches += o.launches;
    return *this;
  }
  // Returns the sum of all seconds.
  double all() const { return compute + key + upload + host + wire + wait; }
};

// The process's peak memory in bytes: of the device, and of host pages that the device can access. Both are 0 without
// a device.
struct Peak {
  int64_t device = 0, pinned = 0;
};

// A frame of more bytes than this is long: it pays to move it in pieces, by Io::Await and Io::ReportWritten.
inline constexpr size_t kLongFrame = size_t{64} << 10;

// The host's side of a running program: key sections, messages, inputs and progress. It must stay valid until
// Executor::Finish returns. Calls come from one thread at a time, except for the functions marked thread-safe.
//
// A kTell node is a key section. A kSend node is received if it is the peer's, and sent if it is the role's own.
// Tensors are packed: element i of a ring of k bits is bits [i k, (i+1) k), low bit first.
class Io {
 public:
  virtual ~Io() = default;
  // Waits for a key section or a received node and returns its whole packed tensor. A received tensor stays valid
  // until the program ends. A section stays valid until Release, and In may be called again until then. Throws the
  // error that ended the session if the tensor cannot arrive. The dealer never calls In.
  virtual View In(int node) = 0;
  // Returns whether a key section has arrived, so that In would not wait.
  virtual bool Ready(int /*node*/) { return false; }
  // Releases a key section: In will not be called for it again, so the host frees its memory. A party's executor
  // calls Release exactly once for each section of its programs, even if it never called In.
  virtual void Release(int /*node*/) {}
  // Returns the buffer for the packed tensor of a sent node or, at the dealer, of a key section. Buffers may be
  // filled in any order. Each must be complete when ReportDone names its node.
  virtual std::span<uint8_t> Out(int node) = 0;

  // Returns the whole frame that this program's step receives; Schedule::frames gives the place of each tensor. Only
  // bytes that were awaited are valid. Empty if the step receives none, or if the host offers only In.
  virtual View Received() { return {}; }
  // Returns the buffer of the whole frame that this program's step sends. Schedule::frames gives the place of each
  // tensor. Empty if the step sends none, or if the host offers only Out.
  virtual std::span<uint8_t> Sending() { return {}; }
  // Waits until the first `bytes` bytes of Received() have arrived. In of a received node waits in the same way.
  // Thread-safe.
  virtual void Await(size_t /*bytes*/) {}
  // Reports that the first `bytes` bytes of Sending() are final; the host may send them at once. Smaller numbers than
  // before have no effect. Thread-safe.
  virtual void ReportWritten(size_t /*bytes*/) {}
  // Reports that all of Sending() is final. The host sends the rest at once, while the executor continues with work
  // that the peer does not need. Called from the thread of Run. If it is never called, the host sends the frame after
  // Finish().
  virtual void SendNow() {}

  // A role's own data as its host stores it.
  struct Data {
    // Returns the words, row-major. They may be made at each call, and live as long as they are held. A backend that
    // has what it derives from this version does not call it. Thread-safe.
    std::function<std::shared_ptr<const void>()> words;
    int bytes;         // bytes of a word: 1, 2, 4 or 8
    bool is_signed;    // words are in two's complement and extend to any width
    uint64_t version;  // changes with the data, so a backend may cache all that it derives from this version
  };
  // Returns the data of a kInput node.
  virtual Data Input(int node) = 0;
  // Reports that the values of these nodes are computed. The dealer's host then sends their key sections.
  virtual void ReportDone(std::span<const int> /*nodes*/) {}
  // Reports the time spent on the nodes of a scope since the last call. It includes waits within this Io: in `host` if
  // that is not 0, otherwise in `compute`. The host subtracts them there.
  virtual void ReportTime(uint16_t /*scope*/, const TimeUse&) {}
  // Returns whether each scope must be measured even if measuring takes time, as on a device. If not, ReportTime may
  // report all the time of a step with several scopes as `compute` of one of them.
  virtual bool NeedsScopeTimes() const { return false; }
  // Reports words of a sent node, as they lie in the executor's memory; from now on they are public. The engines packed
  // and rows report every message, possibly in pieces. Tests of constant time (tests/ct) run these two and need it.
  // The engines clear, myl7 and cuda never call it, and no host may rely on it. Thread-safe.
  virtual void ReportSent(int /*node*/, View /*value*/) {}
};

// Returns a word of an input, extended to 64 bits.
uint64_t WordOf(const void* word, int bytes, bool is_signed);

// The run of one trace by one role. It keeps values from program to program, until their last use. Not thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs the next of Programs(schedule, role). Any other program may throw Bug, because a backend may have planned
  // ahead. Run may return before the work is done; another thread then calls Io.
  virtual void Run(const Program& program, const Randomness& randomness, Io& io) = 0;
  // Waits until all work of Run is done; throws the error of that work if it failed. The host calls Finish before it
  // sends a program's frame and before it calls Result.
  virtual void Finish() {}
  // Returns a result of the role (Trace::results) once its program has run. Each element is one 64-bit word, reduced
  // to the node's ring.
  virtual std::vector<uint64_t> Result(int node) = 0;
};

// The keys of one kDpfGen or kDcfGen node, as a kernel sees them.
struct KeyBatch {
  std::array<uint8_t, 16> tree_key;  // Randomness::TreeKey
  uint32_t program;                  // number of the node's keys in the trace; tile keys derive from it
  int n;                             // bits of alpha and x
  size_t count;                      // keys
  int words = 1, bits = 64;          // words of a DCF's payload, and bits of a word
};

// Batch entry points, for a backend that has its own keys and takes the rest from reference::MakeClear.
//
// Array elements are adjacent, one for each key unless a function says otherwise. Roots and keys are
// fss::ElementBytes of their ring apart (fss::DcfRootBits, fss::DpfKeyBits, fss::DcfKeyBits). Numbers (alpha, x, lo)
// are below 2^n and take one 64-bit word. In a DCF with n > 64 they take two words, the low one first. A string of m
// bits takes ceil(m / 64) words, low bit first.
//
// All functions are thread-safe, and branch-free in alpha, beta and the roots, which are secret. A function that is not
// overridden throws Bug, so its operation must be missing from the Capabilities.
class Kernels {
 public:
  virtual ~Kernels() = default;
  using Roots = std::array<const uint8_t*, 2>;  // roots of P0 and of P1
  // Makes the correction words of 1-bit DPFs at alpha, the same for both parties. 8 <= n <= 64.
  virtual void DpfGen(const KeyBatch& b, const uint64_t* alpha, const Roots& roots, uint8_t* key) const;
  // Writes a string of m bits for each key. Bit j is the party's XOR share of 1[v = alpha >> level] at v = lo + j,
  // modulo 2^(n - level). If m = 1, it is branch-free in lo, because the dealer reads at secret places. Otherwise lo
  // is public.
  virtual void DpfWindow(const KeyBatch& b, int party, const uint8_t* root, const uint8_t* key, int level,
                         const uint64_t* lo, int m, uint64_t* out) const;
  // Writes a string of m bits for each key. Bit j of key i is the party's XOR share of 1[x < alpha] at x[i m + j].
  virtual void DpfParity(const KeyBatch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
                         int m, uint64_t* out) const;
  // Writes for each key one word, the party's XOR share of table[(x - alpha) mod 2^n]. The table has 2^n words and
  // serves all keys; n <= 16. Bits above the node's ring are ignored.
  virtual void DpfDense(const KeyBatch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
                        const uint64_t* table, uint64_t* out) const;
  // Makes DCF keys at alpha, the same for both parties. Word k of the payload of key i is beta[k count + i], of which
  // the low `bits` bits count. 1 <= n <= 128.
  virtual void DcfGen(const KeyBatch& b, const uint64_t* alpha, const uint64_t* beta, const Roots& roots,
                      uint8_t* key) const;
  // Writes the party's additive shares, modulo 2^bits, of beta 1[x < alpha] at m places x[i m + j] of key i. Word k of
  // the payload goes to out[(k m + j) count + i].
  virtual void DcfEval(const KeyBatch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x, int m,
                       uint64_t* out) const;
};

// The memory of one run that is to come or in progress. Its holder keeps it until the run ends.
struct Reservation {
  virtual ~Reservation() = default;
};
// The most bytes of plans that a backend keeps unless KeepPlans sets others.
inline constexpr uint64_t kPlanBytes = uint64_t{128} << 20;

// A factory of runs. It may keep plans, memory and prepared inputs from run to run, and must outlive its executors.
// Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  // Returns the name that people see.
  virtual std::string name() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  // Returns the identity of the PRG that Expand uses. Key headers carry it, and a bundle of another PRG is refused.
  virtual uint32_t prg() const = 0;
  // Returns the PRG streams of `secrets`, which it takes over.
  virtual std::unique_ptr<Randomness> Expand(BundleSecrets secrets) = 0;
  // Begins a run of a trace by a role. The schedule must outlive the executor. Throws Cause::kRefused if the trace
  // needs more than the capabilities, and Cause::kResource if memory is short.
  virtual std::unique_ptr<Executor> Start(const Schedule& s, Role role) = 0;
  // The memory that a run lacks, in bytes.
  struct Lack {
    int64_t needed, free;
  };
  // Returns the bytes of a word of a named input with two dimensions; negative if the words are signed.
  using InputBytes = std::function<int(const std::string& name)>;
  // Reserves the memory of one run for Start; called before anything is spent on the run. Returns the reservation,
  // never null, or else the bytes that the run needs and those that are free. Runs that follow each other may share a
  // reservation. Runs side by side need one each. The backend must outlive it.
  virtual std::variant<std::shared_ptr<Reservation>, Lack> Reserve(const Schedule& /*s*/, Role /*role*/,
                                                                   const InputBytes& /*bytes_of*/) {
    return std::make_shared<Reservation>();
  }
  // Returns the peak bytes of the values that an executor keeps in memory, without inputs; 0 if unknown.
  virtual int64_t ValueBytes(const Schedule& /*s*/, Role /*role*/) { return 0; }
  // Sets the most bytes of plans that are kept for later runs. They follow from traces, without data. A plan that a run
  // uses stays in any case. The default is kPlanBytes.
  virtual void KeepPlans(uint64_t /*bytes*/) {}
  // Returns the peak memory of all runs so far.
  virtual pfss::Peak Peak() const { return {}; }
};

// Returns the index of each node's last reader, or -1 without one. Indices count the nodes of all programs, one after
// another. A result is read behind the last node.
std::vector<int> LastUse(const Schedule& s, const std::vector<Program>& programs);

}  // namespace suf::pfss
