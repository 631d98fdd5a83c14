#include "suf/gpu/cuda/operations.hpp"

#include "suf/fss/sizes.hpp"
#include "suf/gpu/cuda/bulk.hpp"
#include "suf/gpu/cuda/groups/interpreter.hpp"
#include "suf/gpu/cuda/instance.hpp"
#include "suf/grouping/element.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using ring::cuda::Limbs;

namespace {

constexpr size_t kWord = 8;
size_t Rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }

// A slot that is cut into parts.
class Cutter {
 public:
  explicit Cutter(uint8_t* p) : p_(p) {}
  uint8_t* Take(size_t bytes) { return std::exchange(p_, p_ + Rounded(bytes)); }
  Word* Words(size_t many) { return reinterpret_cast<Word*>(Take(many * kWord)); }

 private:
  uint8_t* p_;
};

// The shape of a product, and whether its right operand is a weight.
struct Product {
  int rows, columns, depth;
  size_t batch;  // of both operands
  bool one, plain, weight, thin;
  int bits;
};
// The most columns of a thin product. Tensor cores would not be full, so an entry takes a warp.
constexpr int kThin = 8;
Product ProductOf(const Schedule& s, int i) {
  const Trace& t = s.trace();
  const Node &n = t.node(i), &a = t.node(n.args[0]), &b = t.node(n.args[1]);
  Product p{};
  p.columns = int(n.shape.back());
  p.depth = int(a.shape.back());
  p.one = b.shape.size() == 2;
  p.plain = !n.attrs[0];
  p.weight = grouping::ReadsWeight(t, i);
  const int64_t m = n.shape[n.shape.size() - 2], batch = Size(n.shape) / (m * p.columns);
  p.rows = int(p.one ? m * batch : m);
  p.batch = p.one ? 1 : size_t(batch);
  p.bits = std::max(1, s.width(i));
  p.thin = !p.weight && p.columns <= kThin;
  return p;
}
Limbs LeftOf(const Product& p, int bytes, bool is_signed) {
  return ring::cuda::LimbsOf(bytes, is_signed, false, p.rows, p.depth, p.batch, p.bits);
}
Limbs RightOf(const Product& p, int bytes, bool is_signed) {
  return ring::cuda::LimbsOf(bytes, is_signed, false, p.columns, p.depth, p.batch, p.bits);
}

bool IsTree(Op op) { return Info(op).cls == OpClass::kTree; }

}  // namespace

size_t SpareOf(const Schedule& s, const grouping::Instruction& ins, const RegisterFrame& frame) {
  if (ins.group) return InterpretScratch(frame.words);
  const Trace& t = s.trace();
  const Node& n = t.node(ins.node);
  auto words = [&](int i) { return Rounded(size_t(Size(t.node(i).shape)) * kWord); };
  if (n.op == Op::kTurn)
    return TurnSpare(uint64_t(Size(n.shape)) >> t.node(n.args[0]).ring.bits, t.node(n.args[0]).ring.bits);
  if (n.op == Op::kMatmul) {
    const Product p = ProductOf(s, ins.node);
    if (p.thin) return 0;
    const int bytes = grouping::Element(s, ins.node);
    const Limbs a = LeftOf(p, 8, false), b = RightOf(p, 8, false);
    // This does not depend on the width in which a weight is split.
    const size_t product = ring::cuda::MultiplySpare(a, b, bytes);
    size_t all = Rounded(a.bytes()) + Rounded(product) + words(n.args[0]);
    if (!p.weight) all += Rounded(b.bytes()) + words(n.args[1]);
    return all;
  }
  if (!IsTree(n.op)) return 0;
  // Numbers are read, words are written.
  size_t all = 0;
  for (int a : n.args)
    if (t.node(a).ring.kind == Ring::kAdd) all += words(a);
  if (n.op == Op::kDcfEval) return all + words(n.args[2]) + words(ins.node);
  if (n.op == Op::kDcfGen) return all + words(n.args[0]);
  return all + words(ins.node);
}

int LaunchesOf(const Schedule& s, const DevicePlan& plan, const grouping::Instruction& ins) {
  if (ins.group) return 1;
  const Trace& t = s.trace();
  const Node& n = t.node(ins.node);
  if (n.op == Op::kTurn) return t.node(n.args[0]).ring.bits;
  const auto at = [&](size_t j) -> const Node& { return t.node(plan.Root(n.args[j])); };
  if (n.op == Op::kMatmul) {
    const Product p = ProductOf(s, ins.node);
    if (p.thin) return 1;
    int all = 2;  // limbs, the product, and inputs that are copied first
    for (size_t j = 0; j < (p.weight ? 1 : 2); ++j) all += at(j).op == Op::kInput;
    return all;
  }
  if (!IsTree(n.op)) return 1;
  // Numbers that need conversion, joined halves, the operation, and numbers that are moved to their places.
  const auto made = [&](size_t j) {
    return at(j).op == Op::kInput || (at(j).op == Op::kConst && at(j).data->size() == 1);
  };
  const auto halves = [&](size_t j, uint64_t rows) { return uint64_t(Size(t.node(n.args[j]).shape)) != rows; };
  if (n.op == Op::kDpfGen) return 1 + made(0);
  if (n.op == Op::kDcfGen) return 3 + halves(0, uint64_t(Size(n.shape)));
  if (n.op == Op::kDcfEval) return 3 + halves(2, uint64_t(Size(t.node(n.args[0]).shape)));
  return (n.op == Op::kDpfDense ? 4 : 1) + made(2);
}

// ---- Operations on trees

namespace {

// One operation on trees, for a stream. It takes parts of `spare` for operands that must be converted, and for results.
class TreeWork {
 public:
  TreeWork(const Schedule& s, const RunMemory& memory, int node, uint8_t* spare, StreamHandle stream)
      : s_(s), memory_(memory), node_(node), n_(s.trace().node(node)), stream_(stream), cut_(spare) {
    const MemoryArray out = memory.Value(s, node);
    to_ = {const_cast<uint8_t*>(out.data), int(out.bytes)};
  }
  // Enqueues the operation. `table` has its thresholds, if it has some.
  void Run(const Word* table) {
    switch (n_.op) {
      case Op::kDpfGen:
        return DpfGen();
      case Op::kDcfGen:
        return DcfGen();
      case Op::kDcfEval:
        return DcfEval(table);
      default:
        return DpfRead(table);
    }
  }

 private:
  uint64_t Rows() const { return Count(node_); }
  uint64_t Count(int i) const { return uint64_t(Size(s_.trace().node(i).shape)); }
  uint64_t OperandCount(size_t j) const { return Count(n_.args[j]); }
  const Node& Operand(size_t j) const { return s_.trace().node(n_.args[j]); }
  int Bits(size_t j) const { return Operand(j).ring.bits; }
  MemoryArray Array(size_t j) const { return memory_.Value(s_, n_.args[j]); }

  // Returns operand j as reduced words.
  Word* Numbers(size_t j) {
    Word* const words = cut_.Words(OperandCount(j));
    Words(Array(j), OperandCount(j), row::LowBits(Bits(j)), words, stream_);
    return words;
  }
  // Returns operand j in place if it lies there as numbers, otherwise as reduced words.
  fss::cuda::DeviceNumbers Direct(size_t j) {
    const MemoryArray x = Array(j);
    if (x.indirect || x.splat) return Numbers(j);
    return {x.data, int(x.bytes), Bits(j)};
  }
  // Returns operand j as words, its halves joined to numbers.
  const Word* Joined(size_t j, uint64_t rows) {
    const Word* const words = Numbers(j);
    if (OperandCount(j) == rows) return words;
    Word* const both = cut_.Words(OperandCount(j));
    Halves(words, rows, Bits(j), both, stream_);
    return both;
  }
  // Returns operand j in place: roots or keys.
  const uint8_t* Plain(size_t j) const {
    const MemoryArray x = Array(j);
    SUF_CHECK(!x.indirect && !x.splat);
    return x.data;
  }

  void DpfGen() {
    const fss::cuda::DeviceKeyBatch b{memory_.tree_key(), uint32_t(n_.attrs[0]), Bits(0), Rows()};
    fss::cuda::DpfGen(b, Direct(0), Plain(1), Plain(2), to_.data, stream_);
  }
  void DcfGen() {
    const bool halves = OperandCount(0) != Rows();
    const fss::cuda::DeviceKeyBatch b{.tree_key = memory_.tree_key(),
                                      .program = uint32_t(n_.attrs[0]),
                                      .n = halves ? 2 * Bits(0) : Bits(0),
                                      .count = Rows(),
                                      .words = int(Operand(1).shape[0]),
                                      .bits = FormOf(n_.attrs[1]).bits};
    const Word* const alpha = Joined(0, Rows());
    fss::cuda::DcfGen(b, alpha, Numbers(1), Plain(2), Plain(3), to_.data, stream_);
  }
  void DcfEval(const Word* thresholds) {
    const uint64_t keys = OperandCount(0);
    const fss::cuda::DeviceKeyBatch b{.tree_key = memory_.tree_key(),
                                      .program = uint32_t(n_.attrs[4]),
                                      .n = int(n_.attrs[1]),
                                      .count = keys,
                                      .words = int(n_.attrs[2]),
                                      .bits = FormOf(n_.attrs[3]).bits};
    const int m = int(Rows() / keys / uint64_t(b.words));
    const Word* const x = Joined(2, keys);
    Word* const words = cut_.Words(Rows());
    fss::cuda::DcfEval(b, Party(), Plain(0), Plain(1), x, thresholds, m, words, stream_);
    Put(words, Rows(), to_, stream_);
  }
  // Reads a window, parities or a dense table.
  void DpfRead(const Word* thresholds) {
    const uint64_t keys = OperandCount(0);
    const int64_t program = n_.attrs[n_.op == Op::kDpfWindow ? 3 : 2];
    const fss::cuda::DeviceKeyBatch b{memory_.tree_key(), uint32_t(program), int(n_.attrs[1]), keys};
    if (n_.op == Op::kDpfDense) {
      Word* const words = cut_.Words(keys);
      fss::cuda::DpfDense(b, Party(), Plain(0), Plain(1), Direct(2), Numbers(3), words, stream_);
      Words({reinterpret_cast<const uint8_t*>(words), 8}, keys, row::LowBits(n_.ring.bits), words, stream_);
      return Put(words, keys, to_, stream_);
    }
    const int m = n_.ring.bits;
    const fss::cuda::DeviceResults results(to_.data, m > 64 ? 8 : to_.bytes);  // long strings are words
    if (n_.op == Op::kDpfWindow)
      fss::cuda::DpfWindow(b, Party(), Plain(0), Plain(1), int(n_.attrs[4]), Direct(2), m, results, stream_);
    else
      fss::cuda::DpfParity(b, Party(), Plain(0), Plain(1), Direct(2), thresholds, m, results, stream_);
  }
  int Party() const { return int(n_.attrs[0]); }

  const Schedule& s_;
  const RunMemory& memory_;
  const int node_;
  const Node& n_;
  const StreamHandle stream_;
  Cutter cut_;
  WordTarget to_{};
};

}  // namespace

// ---- All operations

DeviceOperations::DeviceOperations(const Schedule& s, Instance& instance)
    : s_(s),
      plan_(*instance.plan),
      memory_(instance.memory),
      inputs_(instance.inputs),
      kernels_(instance.kernels),
      launches_(instance.launches) {}

MemoryArray DeviceOperations::Value(int i) const { return memory_.Value(s_, i); }

void DeviceOperations::Enqueue(const LaunchBatch& batch, size_t k, StreamHandle s) const {
  const Instruction& ins = plan_.plan.instructions[k];
  const auto slot = batch.spare.find(int(k));
  uint8_t* const spare = slot == batch.spare.end() ? nullptr : memory_.At(slot->second);
  launches_.CountInstruction(k, [&] {
    if (kernels_.Launch(k, ins.rows, s)) return;
    if (ins.group)
      Interpret(memory_.codes().groups[k], ins.rows, plan_.frames[k].words, reinterpret_cast<Word*>(spare), s);
    else
      Operation(ins, k, spare, s);
  });
}

void DeviceOperations::Operation(const Instruction& ins, size_t k, uint8_t* spare, StreamHandle s) const {
  const Node& n = node(ins.node);
  const MemoryArray out = Value(ins.node);
  const WordTarget to{const_cast<uint8_t*>(out.data), int(out.bytes)};
  const auto mask = [&](size_t j) { return row::LowBits(arg(n, j).ring.bits); };
  const auto in = [&](size_t j) { return Value(n.args[j]); };
  const Shape& from = arg(n, 0).shape;
  switch (n.op) {
    case Op::kMatmul:
      return Matmul(ins, spare, s);
    case Op::kSum: {
      uint64_t inner = 1;
      for (size_t d = size_t(n.attrs[0]) + 1; d < from.size(); ++d) inner *= uint64_t(from[d]);
      return Sum(in(0), count(ins.node), uint64_t(from[size_t(n.attrs[0])]), inner, to, s);
    }
    case Op::kSuffix:
      return Suffix(in(0), count(ins.node) / uint64_t(n.shape.back()), uint64_t(n.shape.back()), to, s);
    case Op::kTake:
      return Take(in(0), in(1), mask(1), count(ins.node), uint64_t(from.back()), to, s);
    case Op::kRotSum: {
      const uint64_t m = uint64_t(from.back()), len = uint64_t(from[from.size() - 2]);
      const uint64_t packed = n.attrs.empty() ? 0 : uint64_t(n.attrs[0]);
      return RotSum(in(0), in(1), mask(1), count(ins.node) / m, m, len, packed, to, s);
    }
    case Op::kTurn: {
      const int width = arg(n, 0).ring.bits;
      return Turn(in(0), in(1), count(ins.node) >> width, width, reinterpret_cast<Word*>(spare), to, s);
    }
    case Op::kDot:
      return Dot(in(0), count(ins.node), uint64_t(n.attrs[0]), memory_.codes().tables[k], uint64_t(arg(n, 1).shape[0]),
                 to, s);
    case Op::kUnbits:
      return Unbits(in(0), count(n.args[0]), uint64_t(n.shape[0]), to.data, s);
    case Op::kPack:
    case Op::kUnpack: {
      const bool pack = n.op == Op::kPack;
      return Triangle(in(0), pack, count(ins.node), uint64_t(pack ? from.back() : n.attrs[0]), to, s);
    }
    default:
      SUF_CHECK(IsTree(n.op));
      return TreeWork(s_, memory_, ins.node, spare, s).Run(memory_.codes().tables[k]);
  }
}

void DeviceOperations::Matmul(const Instruction& ins, uint8_t* spare, StreamHandle s) const {
  const Node& n = node(ins.node);
  const Product p = ProductOf(s_, ins.node);
  const MemoryArray out = Value(ins.node);
  if (p.thin) {
    const ThinShape shape{uint64_t(p.rows), uint64_t(p.columns), uint64_t(p.depth), p.one, !p.plain};
    return Thin(Value(n.args[0]), Value(n.args[1]), count(ins.node), shape,
                {const_cast<uint8_t*>(out.data), int(out.bytes)}, s);
  }
  Cutter cut(spare);
  // Returns the split of operand j. An input's address is not the graph's, so it is copied first.
  const auto splitting = [&](size_t j) {
    MemoryArray x = Value(n.args[j]);
    if (x.indirect) {
      Word* const words = cut.Words(count(n.args[j]));
      Words(x, count(n.args[j]), ~Word{0}, words, s);
      x = {reinterpret_cast<const uint8_t*>(words), 8};
    }
    const Limbs form = (j ? RightOf : LeftOf)(p, int(x.bytes), x.is_signed);
    return ring::cuda::LimbSplit{form,    x.data,       int(x.bytes),          x.is_signed,
                                 x.splat, j && p.plain, cut.Take(form.bytes())};
  };
  const ring::cuda::LimbSplit a = splitting(0);
  ring::cuda::LimbSplit b;
  Limbs right;
  const uint8_t* planes = nullptr;
  if (p.weight) {
    const DeviceWeightCache::OperandLimbs& weight = inputs_.Weight(ins.node);
    right = weight.form;
    planes = weight.planes->data();
  } else {
    b = splitting(1);
    right = b.to;
    planes = b.planes;
  }
  uint8_t *const to = const_cast<uint8_t*>(out.data), *const rest = cut.Take(0);
  ring::cuda::Split(a, b, ring::cuda::Sums(a.to, right, to, int(out.bytes), rest), s);
  ring::cuda::Multiply(a.to, a.planes, right, planes, p.bits, to, int(out.bytes), rest, s);
}

}  // namespace suf::gpu::cuda
