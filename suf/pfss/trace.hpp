// The trace of a protocol, emitted once as straight-line code over tensors in single assignment
// (docs/mathematics.md#masked-wires). Gates emit pure functions (ops.hpp) and four compositions that communicate: deal,
// open, give and reveal. Dealer, parties, schedule, cost and lint read the trace. It knows no gate, no key and no byte
// of a frame.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "suf/base/digest.hpp"
#include "suf/pfss/op.hpp"
#include "suf/pfss/values.hpp"

namespace suf::pfss {

// One operation of a trace and its result, a tensor.
struct Node {
  Op op;
  uint8_t know;    // Knower bits
  uint16_t scope;  // scope of the emission, for Trace::name
  uint16_t label;  // label of a message or name of an input, for Trace::name
  Ring ring;
  Shape shape;
  std::vector<int> args;
  std::vector<int64_t> attrs;
  std::shared_ptr<const std::vector<uint64_t>> data;  // kConst: row-major values (one value: a splat)
};

struct Capabilities;  // backend.hpp

// The bundle that receives the correction of a dealt value: the lighter one, or always that of P0.
enum class KeysTo : uint8_t { kBalanced, kP0 };

// The nodes of a trace. A reference to one stays valid while others are added: handles return a node's shape so.
using NodeList = std::deque<Node>;

class Trace {
 public:
  // Makes a trace for any backend, with the DCFs of suf.
  Trace() = default;
  // Makes a trace for one backend, with its first DCF scheme. Emitting an operation that it lacks throws
  // Cause::kRefused.
  explicit Trace(const Capabilities& target);
  // Makes a closed trace in which the dealer sends P0 its nodes `bare` without a pad, and nothing else. They are P0's
  // results. Nodes keep their numbers, and PRG words their sections. For mirrors of a run on one machine (suf/run); no
  // protocol may run it.
  Trace(const Trace& closed, std::span<const int> bare);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Sets which bundle receives corrections, before anything is dealt. The default is kBalanced.
  void SetKeysTo(KeysTo keys_to);
  // Balances the corrections that follow by themselves. For prices of parts; a bundle is balanced better without it.
  void BalanceAfresh() { load_ = {0, 0}; }

  // ---- inputs
  // Emits public data of the plan in Add(64), in row-major order. One value fills the whole shape.
  Const constant(std::vector<uint64_t> values, Shape shape);
  // Emits one number.
  Const constant(int64_t splat) { return constant({uint64_t(splat)}, {}); }
  // Emits a role's own data in Add(bits). It is present before the inference (tick -1), or at tick 0 for the text. A
  // name has one node for each set of knowers. Throws Bug if a later call differs in shape, bits or tick.
  template <unsigned K>
  Val<K> input(const std::string& name, Shape shape, int bits = 64, int tick = -1) {
    return {this, Input(name, std::move(shape), bits, K, tick)};
  }

  // ---- the four compositions that communicate
  // Deals a dealer's value: returns its shares in Add(k), or in its own Xor ring. A value is dealt once, at the widest
  // ring of all calls: k bits of key for each element. Shares of a fresh mask cost no key.
  Dealt deal(Sec v, int k);
  // Deals a bit string in its own ring.
  Dealt deal(Sec v);
  // Opens shares as a wire under a fresh mask, which the parties share. A party sends its padded share if its peer is
  // in H.
  template <unsigned H = kPub>
  SharedWire<H> open(const Sh& y, const char* label) {
    auto o = Open(y, H, label, nullptr);
    return {{{this, o.hat}, {this, o.r}}, {{this, o.s[0]}, {this, o.s[1]}}};
  }
  // Opens y + owed, in which `owed` is a dealer's word that the shares lack. The word goes into the mask, which costs
  // no key. No party holds shares of this mask (a defined mask).
  template <unsigned H = kPub>
  Wire<H> open(const Sh& y, const char* label, Sec owed) {
    auto o = Open(y, H, label, &owed);
    return {{this, o.hat}, {this, o.r}};
  }
  // Sends a party's own value as a wire in Add(k). Its mask is one PRG tensor of that party.
  template <int P>
  SharedWire<kPub> give(Own<P> v, int k, const char* label) {
    auto o = Give(v, P, k, label);
    return {{{this, o.hat}, {this, o.r}}, {{this, o.s[0]}, {this, o.s[1]}}};
  }
  // Reveals y to party P as one of its results. The peer sends its bare share: the only message without a pad.
  template <int P>
  Own<P> reveal(const Sh& y) {
    return {this, Reveal(y, P)};
  }
  // Makes each party's share of y, in Add(k), one of its results. It sends nothing, and no party learns y.
  void keep(const Sh& y);
  // Keys of 1-bit DPFs at alpha, on n bits.
  struct Tree {
    Rnd<0> root0;
    Rnd<1> root1;
    Const key;  // correction words, which both parties receive
    int n, program;
  };
  // Makes the keys at alpha, in Add(n) with n >= 8. Further calls with the same alpha return the same keys.
  Tree tree(Sec alpha);
  // Returns XOR shares of 1[v = alpha >> w] at v = lo .. lo+m-1 mod 2^(n-w), as a string of m bits.
  Sh window(const Tree& t, Pub lo, int m, int w = 0);
  // Returns the dealer's copy of P0's share of 1[place = alpha >> w].
  Sec point_of_p0(const Tree& t, Sec place, int w = 0);
  // Returns XOR shares of 1[(x - b_j) mod 2^n < alpha], as a string with a bit for each threshold b_j.
  Sh parity(const Tree& t, Pub x, const std::vector<uint64_t>& thresholds);
  // Returns XOR shares of the low `bits` bits of table[(x - alpha) mod 2^n], n <= 16.
  Sh dense(const Tree& t, Pub x, Const table, int bits);
  // Keys of DCFs on n bits with a payload of `words` words.
  struct Comparison {
    Rnd<0> root0;
    Rnd<1> root1;
    Const key;
    int n, words;
    DcfForm form;
    int program;
  };
  // Makes the keys at alpha with payload beta (c, ..) in Add(w). The number alpha is in Add(n), or it is two halves
  // (2, ..) in Add(n/2), the high one first. Further calls with the same arguments return the same keys.
  Comparison comparison(Sec alpha, Sec beta, int w);
  // Returns shares (c, m, ..) in Add(w) of beta 1[(x - b_j) mod 2^n < alpha]. x has the form of alpha. Of halves, each
  // threshold b_j is two entries, the high one first.
  Sh below(const Comparison& c, Pub x, const std::vector<uint64_t>& thresholds);

  // ---- names, for costs and printing
  // Begins a scope: the nodes that follow belong to it.
  void scope(const std::string& name) { scope_ = Intern(name); }
  const std::string& scope() const { return names_[scope_]; }
  // Returns the name with the number of a Node::scope or Node::label.
  const std::string& name(uint16_t i) const { return names_[i]; }

  // Ends the emission. The trace must have a result.
  void close();
  bool closed() const { return closed_; }
  // Returns the digest of a closed trace. It is computed in the first call, because a search prices many traces that
  // it never compares. Thread-safe.
  const Hash& digest() const;

  const NodeList& nodes() const { return nodes_; }
  const Node& node(int id) const { return nodes_[id]; }
  // A value that a party learns or, if `kept`, its share of a value that no party learns.
  struct Result {
    int node;
    bool kept;
  };
  // Returns a party's results in order of emission.
  const std::vector<Result>& results(int party) const { return results_[size_t(party)]; }
  // Returns the node of the party's result if it has a single one and learns it, otherwise -1.
  int result(int party) const {
    const std::vector<Result>& all = results(party);
    return all.size() == 1 && !all[0].kept ? all[0].node : -1;
  }

  // A wire that was opened or given: x = hat - r. `sent` are the messages of P0 and P1; -1: the party sends none.
  struct WireNodes {
    int hat, r;
    std::array<int, 2> sent;
  };
  // Returns all wires in order of emission.
  const std::vector<WireNodes>& wires() const { return wires_; }

  // Emits a pure function and returns its node. Equal calls return the same node, and a function that equals its
  // operand returns the operand. Throws Bug if no role may know the result. ops.hpp has typed wrappers.
  int fn(Op op, std::vector<int> args, std::vector<int64_t> attrs = {});

  // Emissions that gates cannot make, such as a bare message; for tests of readings (lint.hpp).
  struct Raw;

 private:
  struct OpenedNodes {
    int hat, r, s[2];
  };
  // The nodes of a dealt value. `party` receives the correction, and the other party's share is PRG output.
  struct DealtNodes {
    int party, rand, diff, tell;
  };
  fss::DcfScheme scheme() const;
  int AddNode(Node n);
  int Input(const std::string& name, Shape shape, int bits, unsigned know, int tick);
  int Rand(int party, Ring ring, const Shape& shape);
  int Tell(int v, unsigned to, int pad);
  int Send(int v, int party, const char* label);
  OpenedNodes Open(const Sh& y, unsigned to, const char* label, const Sec* owed);
  OpenedNodes Give(const Any& v, int party, int k, const char* label);
  int Reveal(const Sh& y, int party);
  // The nodes of a tree's key.
  struct RootedKey {
    int root[2], told, program;
  };
  // Emits a tree's key under fresh roots; both parties receive it.
  RootedKey Key(Op gen, std::vector<int> args, std::vector<int64_t> attrs, int root_bits);
  template <class Keys>
  Sh ReadBy(Op op, const Keys& k, std::vector<int> rest, std::vector<int64_t> attrs);
  uint16_t Intern(const std::string& s);
  // Returns the operand that the function equals, if there is one.
  std::optional<int> Fold(Op op, const std::vector<int>& args, const std::vector<int64_t>& attrs);
  Hash Digest() const;

  std::shared_ptr<const Capabilities> target_;  // null: any backend
  NodeList nodes_;
  std::vector<WireNodes> wires_;
  std::unordered_multimap<size_t, int> seen_;
  std::map<int, DealtNodes> dealt_;         // by dealt value
  std::map<int, std::array<int, 2>> free_;  // shares of fresh masks, by mask
  std::vector<std::string> names_{""};
  std::map<std::string, uint16_t> name_ids_{{"", 0}};
  std::map<std::pair<uint16_t, unsigned>, int> inputs_;   // by name and knowers
  std::map<int, Tree> trees_;                             // by alpha
  std::map<std::array<int, 3>, Comparison> comparisons_;  // by alpha, beta, ring
  std::array<std::vector<Result>, 2> results_;
  std::array<int, 2> sections_{0, 0};
  std::array<int64_t, 2> load_{0, 0};
  KeysTo keys_to_ = KeysTo::kBalanced;
  int programs_ = 0;
  uint16_t scope_ = 0;
  bool closed_ = false;
  mutable std::once_flag hashed_;
  mutable Hash digest_{};
};

}  // namespace suf::pfss
