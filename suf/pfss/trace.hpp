// The trace: a protocol emitted once as straight-line SSA over tensors (docs/mathematics.md#masked-wires). Gates emit
// pure functions (ops.hpp) and the four compositions that communicate: Deal, Open, Give, Reveal. Dealer, parties,
// schedule, cost and lint are readings of this data. Not here: any gate, any key, any byte on a wire.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "suf/base/digest.hpp"
#include "suf/pfss/op.hpp"
#include "suf/pfss/values.hpp"

namespace suf::pfss {

struct Node {
  Op op;
  uint8_t know;    // Knower bits
  uint16_t scope;  // where it was emitted, for Trace::name
  uint16_t label;  // of a message or input, for Trace::name
  Ring ring;
  Shape shape;
  std::vector<int> args;
  std::vector<int64_t> attrs;
  std::shared_ptr<const std::vector<uint64_t>> data;  // kConst: row-major values (one value: a splat)
};

struct Capabilities;  // backend.hpp

class Trace {
 public:
  // A trace for any backend, with our DCFs; or for one that can do this: its scheme of DCFs, and an operation that it
  // lacks is refused (Cause::kRefused) where it is emitted.
  Trace() = default;
  explicit Trace(const Capabilities& target);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // ---- inputs
  Const constant(std::vector<uint64_t> values, Shape shape);
  Const constant(int64_t splat) { return constant({uint64_t(splat)}, {}); }
  // input: a role's own data, present before the inference (tick -1) or, for the text, at tick 0. Ring Add(bits). One
  // node a name: who asks again asks for the same.
  template <unsigned K>
  Val<K> input(const std::string& name, Shape shape, int bits = 64, int tick = -1) {
    return {this, Input(name, std::move(shape), bits, K, tick)};
  }

  // ---- the four compositions that communicate
  // deal: shares of a dealer's value in Add(k) (or its own Xor ring). The same value is dealt once, at the widest ring
  // that anybody asks for; shares of a fresh mask are free.
  Dealt deal(Sec v, int k);
  Dealt deal(Sec v);
  // open: y + owed under fresh masks of both parties. Without `owed` the parties share the new mask. With `owed`, a
  // dealer's word that is missing from the shares goes into the mask: no key, and nobody holds shares of it ("defined
  // mask").
  template <unsigned H = kPub>
  SharedWire<H> open(const Sh& y, const char* label) {
    auto o = Open(y, H, label, nullptr);
    return {{{this, o.hat}, {this, o.r}}, {{this, o.s[0]}, {this, o.s[1]}}};
  }
  template <unsigned H = kPub>
  Wire<H> open(const Sh& y, const char* label, Sec owed) {
    auto o = Open(y, H, label, &owed);
    return {{this, o.hat}, {this, o.r}};
  }
  // give: a party's own input as a wire in Add(k); its mask is one PRG word of that party.
  template <int P>
  SharedWire<kPub> give(Own<P> v, int k, const char* label) {
    auto o = Give(v, P, k, label);
    return {{{this, o.hat}, {this, o.r}}, {{this, o.s[0]}, {this, o.s[1]}}};
  }
  // reveal: the only unpadded message: party P learns y, one of its results.
  template <int P>
  Own<P> reveal(const Sh& y) {
    return {this, Reveal(y, P)};
  }
  // keep: nobody learns y in Add(k), and nothing is sent: each party's share is one of its results.
  void keep(const Sh& y);
  // tree: keys of 1-bit DPFs at alpha (Add(n), n >= 8): both parties' roots and the correction words that both receive.
  // One a value: whoever asks again gets the same keys.
  struct Tree {
    Rnd<0> root0;
    Rnd<1> root1;
    Const key;  // correction words: known to all
    int n, program;
  };
  Tree tree(Sec alpha);
  // window: both parties' XOR shares of 1[v = alpha >> w] at lo .. lo+m-1 (mod 2^(n-w)); and the dealer's copy of P0's
  // bit at alpha >> w.
  Sh window(const Tree& t, Pub lo, int m, int w = 0);
  Sec point_of_p0(const Tree& t, Sec place, int w = 0);
  // parity: XOR shares of 1[(x - b_j) mod 2^n < alpha], a string of a bit a threshold.
  Sh parity(const Tree& t, Pub x, const std::vector<uint64_t>& thresholds);
  // dense: XOR shares of the low `bits` bits of table[(x - alpha) mod 2^n], n <= 16.
  Sh dense(const Tree& t, Pub x, Const table, int bits);
  // comparison: keys of DCFs at alpha (Add(n), or halves (2, ..) in Add(n/2), the high one first) with payload beta
  // (c, ..) in Add(w). below: shares (c, m, ..) in Add(w) of beta 1[(x - b_j) mod 2^n < alpha]; x and b_j likewise.
  struct Comparison {
    Rnd<0> root0;
    Rnd<1> root1;
    Const key;
    int n, words;
    Form form;
    int program;
  };
  Comparison comparison(Sec alpha, Sec beta, int w);
  Sh below(const Comparison& c, Pub x, const std::vector<uint64_t>& thresholds);

  // ---- naming: where the emission is, for costs and printing
  void scope(const std::string& name) { scope_ = Intern(name); }
  const std::string& scope() const { return names_[scope_]; }
  const std::string& name(uint16_t i) const { return names_[i]; }

  // close: ends the emission. digest: of a closed trace; taken when it is first asked for, by any thread, as most
  // traces that a search prices are never compared.
  void close();
  bool closed() const { return closed_; }
  const Hash& digest() const;

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int id) const { return nodes_[id]; }
  // What a party ends with: a value that it learns, or, kept, a share of what nobody learns.
  struct Result {
    int node;
    bool kept;
  };
  // results: of a party, in order of emission.
  const std::vector<Result>& results(int party) const { return results_[size_t(party)]; }
  // result: node of the only value that `party` ends with, when it learns it; else -1.
  int result(int party) const {
    const std::vector<Result>& all = results(party);
    return all.size() == 1 && !all[0].kept ? all[0].node : -1;
  }

  // fn: emission of a pure function, folded and hash-consed; typed wrappers are in ops.hpp. Throws Bug when nobody may
  // know the result.
  int fn(Op op, std::vector<int> args, std::vector<int64_t> attrs = {});

  // For tests of the readings only: a party's PRG words and a bare message, which gates cannot emit.
  struct Raw;

 private:
  struct Opened {
    int hat, r, s[2];
  };
  struct Paid {
    int party, rand, diff, tell;  // party: who receives the correction
  };
  fss::DcfScheme scheme() const;
  int AddNode(Node n);
  int Input(const std::string& name, Shape shape, int bits, unsigned know, int tick);
  int Rand(int party, Ring ring, const Shape& shape);
  int Tell(int v, unsigned to, int pad);
  int Send(int v, int party, const char* label);
  Opened Open(const Sh& y, unsigned to, const char* label, const Sec* owed);
  Opened Give(const Any& v, int party, int k, const char* label);
  int Reveal(const Sh& y, int party);
  // Key: a tree's key under fresh roots, told to both parties.
  struct Rooted {
    int root[2], told, program;
  };
  Rooted Key(Op gen, std::vector<int> args, std::vector<int64_t> attrs, int root_bits);
  template <class Keys>
  Sh ReadBy(Op op, const Keys& k, std::vector<int> rest, std::vector<int64_t> attrs);
  uint16_t Intern(const std::string& s);
  std::optional<int> Fold(Op op, const std::vector<int>& args, const std::vector<int64_t>& attrs);
  void Infer(Node& n) const;  // ring and shape
  Hash Digest() const;

  std::shared_ptr<const Capabilities> target_;  // null: any backend
  std::vector<Node> nodes_;
  std::unordered_multimap<size_t, int> seen_;
  std::map<int, Paid> paid_;                // dealt values
  std::map<int, std::array<int, 2>> free_;  // fresh masks: their halves
  std::vector<std::string> names_{""};
  std::map<std::string, uint16_t> name_ids_{{"", 0}};
  std::map<std::pair<uint16_t, unsigned>, int> inputs_;   // by name and knowers
  std::map<int, Tree> trees_;                             // by alpha
  std::map<std::array<int, 3>, Comparison> comparisons_;  // by alpha, beta, ring
  std::array<std::vector<Result>, 2> results_;
  std::array<int, 2> sections_{0, 0};
  std::array<int64_t, 2> load_{0, 0};
  int programs_ = 0;
  uint16_t scope_ = 0;
  bool closed_ = false;
  mutable std::once_flag hashed_;
  mutable Hash digest_{};
};

}  // namespace suf::pfss
