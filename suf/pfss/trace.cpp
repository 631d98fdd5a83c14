#include "suf/pfss/trace.hpp"

#include <algorithm>

#include "suf/pfss/backend.hpp"
#include "suf/pfss/internal/infer.hpp"
#include "suf/pfss/ops.hpp"

namespace suf::pfss {

int64_t Size(const Shape& s) {
  int64_t n = 1;
  for (int64_t v : s) n *= v;
  return n;
}

const Shape& Any::shape() const { return t_->node(id_).shape; }
Ring Any::ring() const { return t_->node(id_).ring; }

namespace {

size_t Mix(size_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 29); }

size_t KeyOf(Op op, const std::vector<int>& args, const std::vector<int64_t>& attrs) {
  size_t h = size_t(op) + 1;
  for (int a : args) h = Mix(h, uint64_t(a) + 1);
  for (int64_t a : attrs) h = Mix(h, uint64_t(a) + 0x51ed27);
  return h;
}

}  // namespace

Trace::Trace(const Capabilities& target) : target_(std::make_shared<const Capabilities>(target)) {}

Trace::Trace(const Trace& closed, std::span<const int> bare)
    : nodes_(closed.nodes_), names_(closed.names_), name_ids_(closed.name_ids_) {
  SUF_CHECK(closed.closed_);
  for (int v : bare) results_[0].push_back({Tell(v, kP0, -1), false});
  close();
}

void Trace::SetKeysTo(KeysTo keys_to) {
  SUF_CHECK(dealt_.empty());
  keys_to_ = keys_to;
}

fss::DcfScheme Trace::scheme() const {
  return target_ && !target_->schemes.empty() ? target_->schemes[0] : fss::DcfScheme::kSuf;
}

namespace {

// The most nodes of a trace, and bits of all its values, including one-hot words that are never stored. With these
// limits every count stays below 2^63.
constexpr size_t kMostNodes = size_t{1} << 22;
constexpr int64_t kMostBits = int64_t{1} << 56;
[[noreturn]] void RefuseSize() {
  Fail(Cause::kRefused, "the trace has more than ", kMostNodes,
       " operations or 2^56 bits of values; use a shorter text ", "or a smaller plan");
}
int64_t BitsOf(const Node& n) {
  int64_t bits = n.ring.bits;
  for (int64_t v : n.shape)
    if (__builtin_mul_overflow(bits, v, &bits) || bits > kMostBits) RefuseSize();
  return bits;
}

}  // namespace

int Trace::AddNode(Node n) {
  SUF_CHECK(!closed_);
  if (nodes_.size() >= kMostNodes) RefuseSize();
  (void)BitsOf(n);
  n.scope = scope_;
  nodes_.push_back(std::move(n));
  return int(nodes_.size()) - 1;
}

uint16_t Trace::Intern(const std::string& s) {
  auto [it, fresh] = name_ids_.try_emplace(s, uint16_t(names_.size()));
  if (fresh) {
    if (names_.size() >= 65535)
      Fail(Cause::kRefused, "the trace names more than 65534 inputs, messages and scopes; use a smaller plan");
    names_.push_back(s);
  }
  return it->second;
}

Const Trace::constant(std::vector<uint64_t> values, Shape shape) {
  SUF_CHECK(values.size() == 1 || int64_t(values.size()) == Size(shape));
  size_t key = KeyOf(Op::kConst, {}, shape);
  for (uint64_t v : values) key = Mix(key, v);
  auto [a, b] = seen_.equal_range(key);
  for (auto it = a; it != b; ++it) {
    const Node& n = nodes_[it->second];
    if (n.op == Op::kConst && n.shape == shape && *n.data == values) return {this, it->second};
  }
  Node n{Op::kConst, kAll,    0,
         0,          Add(64), std::move(shape),
         {},         {},      std::make_shared<const std::vector<uint64_t>>(std::move(values))};
  int id = AddNode(std::move(n));
  seen_.emplace(key, id);
  return {this, id};
}

int Trace::Input(const std::string& name, Shape shape, int bits, unsigned know, int tick) {
  const uint16_t label = Intern(name);
  const auto [at, fresh] = inputs_.try_emplace({label, know}, int(nodes_.size()));
  if (!fresh) {
    const Node& n = nodes_[size_t(at->second)];
    SUF_CHECK(n.shape == shape && n.ring == Add(bits) && n.attrs[0] == tick);
    return at->second;
  }
  return AddNode({Op::kInput, uint8_t(know), 0, label, Add(bits), std::move(shape), {}, {tick}, nullptr});
}

// Folds x + 0, 1 x, x << 0 and the like. They must be ONE node with x, because a key for them would be dealt twice.
std::optional<int> Trace::Fold(Op op, const std::vector<int>& args, const std::vector<int64_t>& attrs) {
  auto splat = [&](int a, uint64_t v) {
    const Node& n = nodes_[a];
    return n.op == Op::kConst && n.data->size() == 1 && (*n.data)[0] == v;
  };
  auto keeps = [&](int a, int b) {  // without b, shape and ring are the same
    return nodes_[a].ring.kind == Ring::kAdd && nodes_[b].ring.kind == Ring::kAdd &&
           internal::Elementwise(nodes_[a].shape, nodes_[b].shape) == nodes_[a].shape;
  };
  switch (op) {
    case Op::kAdd:
    case Op::kMul: {
      uint64_t unit = op == Op::kMul;
      if (splat(args[1], unit) && keeps(args[0], args[1])) return args[0];
      if (splat(args[0], unit) && keeps(args[1], args[0])) return args[1];
      break;
    }
    case Op::kSub:
      if (splat(args[1], 0) && keeps(args[0], args[1])) return args[0];
      break;
    case Op::kShl:
    case Op::kShr:
      if (attrs[0] == 0) return args[0];
      break;
    case Op::kLow: {
      const Node& n = nodes_[args[0]];
      if (attrs[0] >= n.ring.bits) return args[0];
      if (n.op == Op::kLow) return fn(Op::kLow, n.args, attrs);
      break;
    }
    case Op::kLift:
      if (nodes_[args[0]].ring == Add(64)) return args[0];
      break;
    case Op::kReshape:
    case Op::kBroadcast:
      if (nodes_[args[0]].shape == attrs) return args[0];
      break;
    case Op::kWait:
      if (attrs[0] == 0) return args[0];
      break;
    case Op::kConcat:
      if (args.size() == 1) return args[0];
      break;
    default:
      break;
  }
  return std::nullopt;
}

int Trace::fn(Op op, std::vector<int> args, std::vector<int64_t> attrs) {
  SUF_CHECK(Pure(Info(op).cls) && Info(op).Takes(args.size(), attrs.size()));
  if (op == Op::kSum || op == Op::kBetween || op == Op::kConcat)
    attrs[0] = (attrs[0] + int64_t(nodes_[args[0]].shape.size())) % int64_t(nodes_[args[0]].shape.size());
  if (auto same = Fold(op, args, attrs)) return *same;
  size_t key = KeyOf(op, args, attrs);
  auto [a, b] = seen_.equal_range(key);
  for (auto it = a; it != b; ++it) {
    const Node& n = nodes_[it->second];
    if (n.op == op && n.args == args && n.attrs == attrs) return it->second;
  }
  unsigned know = kAll;
  for (int i : args) know &= nodes_[i].know;
  SUF_CHECK(know != 0);
  Node n{op, uint8_t(know), 0, 0, {}, {}, std::move(args), std::move(attrs), nullptr};
  internal::Infer(nodes_, n);
  if (target_) RefuseLacking(*target_, *this, n);
  int id = AddNode(std::move(n));
  seen_.emplace(key, id);
  return id;
}

int Trace::Rand(int party, Ring ring, const Shape& shape) {
  return AddNode(
      {Op::kRand, uint8_t(kDealer | Party(party)), 0, 0, ring, shape, {}, {party, sections_[party]++}, nullptr});
}

int Trace::Tell(int v, unsigned to, int pad) {
  const Node& n = nodes_[v];
  SUF_CHECK(n.know & kDealer);
  return AddNode({Op::kTell, uint8_t(n.know | to), 0, 0, n.ring, n.shape, {v}, {int64_t(to), pad}, nullptr});
}

int Trace::Send(int v, int party, const char* label) {
  const Node& n = nodes_[v];
  SUF_CHECK(n.know & Party(party));
  return AddNode({Op::kSend, kPub, 0, Intern(label), n.ring, n.shape, {v}, {party}, nullptr});
}

Dealt Trace::deal(Sec v) {
  SUF_CHECK(v.ring().kind == Ring::kXor);
  return deal(v, v.bits());
}

Dealt Trace::deal(Sec v, int k) {
  const Node& secret = nodes_[v.id()];
  SUF_CHECK(secret.know != kAll);  // a constant is not dealt
  SUF_CHECK(secret.ring.kind == Ring::kAdd ? k <= secret.ring.bits : k == secret.ring.bits);
  Ring ring{secret.ring.kind, k};
  // each reader has its own kLow node, because the ring of the dealt words may still grow
  auto low = [&](int id) {
    if (ring.kind == Ring::kXor) return id;
    size_t key = KeyOf(Op::kLow, {id}, {k});
    auto [a, b] = seen_.equal_range(key);
    for (auto it = a; it != b; ++it)
      if (const Node& n = nodes_[it->second]; n.op == Op::kLow && n.args[0] == id && n.attrs[0] == k) return it->second;
    int node = AddNode({Op::kLow, nodes_[id].know, 0, 0, ring, nodes_[id].shape, {id}, {k}, nullptr});
    seen_.emplace(key, node);
    return node;
  };
  if (auto f = free_.find(v.id()); f != free_.end() && k <= nodes_[f->second[0]].ring.bits) {
    int a = low(f->second[0]), b = low(f->second[1]);
    return {{this, a}, {this, b}};
  }
  int64_t n = Size(secret.shape);
  auto it = dealt_.find(v.id());
  if (it == dealt_.end()) {
    const int p = keys_to_ == KeysTo::kBalanced && load_[1] < load_[0];
    Shape shape = secret.shape;
    int rand = Rand(1 - p, ring, shape);
    int diff = AddNode({Op::kSub, kDealer, 0, 0, ring, shape, {v.id(), rand}, {}, nullptr});
    int tell = Tell(diff, Party(p), rand);
    it = dealt_.emplace(v.id(), DealtNodes{p, rand, diff, tell}).first;
    load_[p] += n * k;
  }
  const DealtNodes& dealt = it->second;
  if (int had = nodes_[dealt.tell].ring.bits; had < k) {
    load_[dealt.party] += n * (k - had);
    for (int id : {dealt.rand, dealt.diff, dealt.tell}) nodes_[id].ring = ring;
  }
  int mine = dealt.party == 0 ? dealt.tell : dealt.rand, theirs = dealt.party == 0 ? dealt.rand : dealt.tell;
  int a = low(mine), b = low(theirs);
  return {{this, a}, {this, b}};
}

Trace::OpenedNodes Trace::Open(const Sh& y, unsigned to, const char* label, const Sec* owed) {
  SUF_CHECK(to == kPub || to == kP0 || to == kP1);
  Ring ring = y.ring();
  Shape shape = internal::Elementwise(y.a.shape(), y.b.shape());
  SUF_CHECK(!owed || (owed->ring().kind == ring.kind && owed->bits() >= ring.bits && owed->shape() == shape));
  int pad[2], part[2];
  for (int p : {0, 1}) pad[p] = Rand(p, ring, shape);
  for (int p : {0, 1}) part[p] = fn(Op::kAdd, {p == 0 ? y.a.id() : y.b.id(), pad[p]});
  std::array<int, 2> sent{-1, -1};
  for (size_t p : {0, 1})
    if (to & Party(1 - int(p))) part[p] = sent[p] = Send(part[p], int(p), label);
  OpenedNodes o{};
  o.hat = fn(Op::kAdd, {part[0], part[1]});
  o.r = fn(Op::kAdd, {pad[0], pad[1]});
  if (owed) o.r = fn(Op::kSub, {o.r, owed->id()});
  o.s[0] = pad[0];
  o.s[1] = pad[1];
  if (!owed) free_[o.r] = {pad[0], pad[1]};
  wires_.push_back({o.hat, o.r, sent});
  return o;
}

Trace::OpenedNodes Trace::Give(const Any& v, int party, int k, const char* label) {
  int pad = Rand(party, Add(k), v.shape());
  int masked = fn(Op::kAdd, {v.id(), pad});
  int zero = fn(Op::kBroadcast, {constant(0).id()}, v.shape());
  OpenedNodes o{Send(masked, party, label), pad, {}};
  o.s[party] = pad;
  o.s[1 - party] = zero;
  free_[pad] = {o.s[0], o.s[1]};
  wires_.push_back({o.hat, pad, {party == 0 ? o.hat : -1, party == 1 ? o.hat : -1}});
  return o;
}

int Trace::Reveal(const Sh& y, int party) {
  int k = y.bits();
  int part[2] = {fn(Op::kLow, {y.a.id()}, {k}), fn(Op::kLow, {y.b.id()}, {k})};
  part[1 - party] = Send(part[1 - party], 1 - party, "result");
  int sum = fn(Op::kAdd, {part[0], part[1]});
  results_[size_t(party)].push_back({sum, false});
  return sum;
}

void Trace::keep(const Sh& y) {
  SUF_CHECK(y.ring().kind == Ring::kAdd && y.a.shape() == y.b.shape());
  Sh share = Low(y, y.bits());
  results_[0].push_back({share.a.id(), true});
  results_[1].push_back({share.b.id(), true});
}

Trace::RootedKey Trace::Key(Op gen, std::vector<int> args, std::vector<int64_t> attrs, int root_bits) {
  Shape shape = nodes_[args.back()].shape;  // alpha's, or a payload's
  if (gen == Op::kDcfGen) shape.erase(shape.begin());
  RootedKey out{{Rand(0, Xor(root_bits), shape), 0}, 0, programs_++};
  out.root[1] = Rand(1, Xor(root_bits), shape);
  args.push_back(out.root[0]);
  args.push_back(out.root[1]);
  attrs.insert(attrs.begin(), out.program);
  int key = fn(gen, std::move(args), std::move(attrs));
  out.told = Tell(key, kPub, -1);
  int64_t bits = Size(shape) * nodes_[key].ring.bits;
  load_[0] += bits;
  load_[1] += bits;
  return out;
}

Trace::Tree Trace::tree(Sec alpha) {
  if (auto it = trees_.find(alpha.id()); it != trees_.end()) return it->second;
  RootedKey k = Key(Op::kDpfGen, {alpha.id()}, {}, 128);
  Tree t{{this, k.root[0]}, {this, k.root[1]}, {this, k.told}, alpha.bits(), k.program};
  return trees_.emplace(alpha.id(), t).first->second;
}

// Emits the read of each party, which is attribute 0, from its root, the key and `rest`.
template <class Keys>
Sh Trace::ReadBy(Op op, const Keys& k, std::vector<int> rest, std::vector<int64_t> attrs) {
  rest.insert(rest.begin(), {k.root0.id(), k.key.id()});
  attrs.insert(attrs.begin(), 0);
  int a = fn(op, rest, attrs);
  rest[0] = k.root1.id();
  attrs[0] = 1;
  int b = fn(op, rest, attrs);
  return {{this, a}, {this, b}};
}

Sh Trace::window(const Tree& t, Pub lo, int m, int w) {
  return ReadBy(Op::kDpfWindow, t, {lo.id()}, {t.n, m, t.program, w});
}

Sec Trace::point_of_p0(const Tree& t, Sec place, int w) {
  // the dealer reads the key before it is sent; the kTell node is for the parties
  int key = nodes_[t.key.id()].args[0];
  return {this, fn(Op::kDpfWindow, {t.root0.id(), key, place.id()}, {0, t.n, 1, t.program, w})};
}

Sh Trace::parity(const Tree& t, Pub x, const std::vector<uint64_t>& thresholds) {
  std::vector<int64_t> attrs{t.n, t.program};
  attrs.insert(attrs.end(), thresholds.begin(), thresholds.end());
  return ReadBy(Op::kDpfParity, t, {x.id()}, std::move(attrs));
}

Sh Trace::dense(const Tree& t, Pub x, Const table, int bits) {
  return ReadBy(Op::kDpfDense, t, {x.id(), table.id()}, {t.n, t.program, bits});
}

Trace::Comparison Trace::comparison(Sec alpha, Sec beta, int w) {
  auto [it, fresh] = comparisons_.try_emplace({alpha.id(), beta.id(), w});
  if (!fresh) return it->second;
  const int words = int(beta.shape()[0]);
  const DcfForm form{w, scheme()};
  RootedKey k = Key(Op::kDcfGen, {alpha.id(), beta.id()}, {AttributeOf(form)}, fss::DcfRootBits(words, form.scheme));
  const int n = alpha.shape().size() == beta.shape().size() ? 2 * alpha.bits() : alpha.bits();  // halves or a number
  return it->second = {{this, k.root[0]}, {this, k.root[1]}, {this, k.told}, n, words, form, k.program};
}

Sh Trace::below(const Comparison& c, Pub x, const std::vector<uint64_t>& thresholds) {
  std::vector<int64_t> attrs{c.n, c.words, AttributeOf(c.form), c.program};
  attrs.insert(attrs.end(), thresholds.begin(), thresholds.end());
  return ReadBy(Op::kDcfEval, c, {x.id()}, std::move(attrs));
}

void Trace::close() {
  SUF_CHECK(!closed_ && !(results_[0].empty() && results_[1].empty()));
  int64_t bits = 0;
  for (const Node& n : nodes_)
    if ((bits += BitsOf(n)) > kMostBits) RefuseSize();
  closed_ = true;
}

Hash Trace::Digest() const {
  Sha256 h;
  h.Add("suf trace 1").Number(uint64_t(nodes_.size()));
  for (const Node& n : nodes_) {
    h.Number(int(n.op)).Number(n.know).Number(int(n.ring.kind)).Number(n.ring.bits);
    auto list = [&](const auto& v) {
      h.Number(uint64_t(v.size()));
      for (auto x : v) h.Number(int64_t(x));
    };
    list(n.shape);
    list(n.args);
    list(n.attrs);
    if (n.data) list(*n.data);
    if (n.op == Op::kInput) h.Add(names_[n.label]);
  }
  for (int p : {0, 1}) {
    if (results(p).empty() || result(p) >= 0) {
      h.Number(result(p));
      continue;
    }
    h.Number(-1 - int(results(p).size()));  // marks a list: neither a node nor the -1 of no result
    for (const Result& r : results(p)) h.Number(r.node).Number(r.kept);
  }
  return h.Done();
}

const Hash& Trace::digest() const {
  SUF_CHECK(closed_);
  std::call_once(hashed_, [&] { digest_ = Digest(); });
  return digest_;
}

}  // namespace suf::pfss
