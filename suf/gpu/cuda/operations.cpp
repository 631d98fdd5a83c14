// The work of an instruction for a stream.
#include "suf/fss/sizes.hpp"
#include "suf/gpu/cuda/bulk.hpp"
#include "suf/gpu/cuda/executor.hpp"
#include "suf/gpu/cuda/printer.hpp"
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
  p.weight = ReadsWeight(t, i);
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

bool ReadsWeight(const Trace& t, int i) {
  const Node& n = t.node(i);
  if (n.op != Op::kMatmul || n.attrs[0]) return false;
  const Node& b = t.node(n.args[1]);
  return b.op == Op::kInput && b.shape.size() == 2;
}

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
    const size_t product = ring::cuda::MultiplySpare(a, b, p.bits, bytes);
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

void CudaExecutor::Ask(const LaunchBatch& batch, size_t k, StreamHandle s) {
  const Instruction& ins = plan_.plan.instructions[k];
  const auto room = batch.spare.find(int(k));
  uint8_t* const spare = room == batch.spare.end() ? nullptr : At(room->second);
  const Instance::Kernel& printed = in_->printed_[k];
  const int64_t before = exec::cuda::Launches();
  if (printed.module)
    printed.module->Launch(View(reinterpret_cast<const uint8_t*>(printed.params.data()), 8 * printed.params.size()),
                           unsigned((ins.rows + kPrintedThreads - 1) / kPrintedThreads), kPrintedThreads, s);
  else if (ins.group)
    Interpret(in_->codes_.groups[k], ins.rows, plan_.frames[k].words, reinterpret_cast<Word*>(spare), s);
  else
    Operation(ins, k, spare, s);
  in_->launches_[k] = exec::cuda::Launches() - before;
}

void CudaExecutor::Operation(const Instruction& ins, size_t k, uint8_t* spare, StreamHandle s) {
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
      return Dot(in(0), count(ins.node), uint64_t(n.attrs[0]), in_->codes_.tables[k], uint64_t(arg(n, 1).shape[0]), to,
                 s);
    case Op::kUnbits:
      return Unbits(in(0), count(n.args[0]), uint64_t(n.shape[0]), to.data, s);
    case Op::kPack:
    case Op::kUnpack: {
      const bool pack = n.op == Op::kPack;
      return Triangle(in(0), pack, count(ins.node), uint64_t(pack ? from.back() : n.attrs[0]), to, s);
    }
    default:
      SUF_CHECK(IsTree(n.op));
      return Tree(ins, k, spare, s);
  }
}

void CudaExecutor::Matmul(const Instruction& ins, uint8_t* spare, StreamHandle s) {
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
    const DeviceWeightCache::OperandLimbs& weight = in_->weights_.at(ins.node);
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

void CudaExecutor::Tree(const Instruction& ins, size_t k, uint8_t* spare, StreamHandle s) {
  const Node& n = node(ins.node);
  const MemoryArray out = Value(ins.node);
  Cutter cut(spare);
  const uint8_t* const tree_key = in_->fixed_.data() + in_->tree_at_;
  // Returns operand j as reduced words.
  const auto numbers = [&](size_t j) {
    Word* const words = cut.Words(count(n.args[j]));
    Words(Value(n.args[j]), count(n.args[j]), row::LowBits(arg(n, j).ring.bits), words, s);
    return words;
  };
  // Returns operand j in place if it lies there as numbers, otherwise as reduced words.
  const auto direct = [&](size_t j) -> fss::cuda::DeviceNumbers {
    const MemoryArray x = Value(n.args[j]);
    if (x.indirect || x.splat) return numbers(j);
    return {x.data, int(x.bytes), arg(n, j).ring.bits};
  };
  // Returns operand j as words, its halves joined to numbers.
  const auto joined = [&](size_t j, uint64_t rows) -> const Word* {
    const Word* const words = numbers(j);
    if (count(n.args[j]) == rows) return words;
    Word* const both = cut.Words(count(n.args[j]));
    Halves(words, rows, arg(n, j).ring.bits, both, s);
    return both;
  };
  const auto plain = [&](size_t j) {
    const MemoryArray x = Value(n.args[j]);
    SUF_CHECK(!x.indirect && !x.splat);
    return x.data;
  };
  uint8_t* const to = const_cast<uint8_t*>(out.data);
  if (n.op == Op::kDpfGen) {
    const fss::cuda::DeviceKeyBatch b{tree_key, uint32_t(n.attrs[0]), arg(n, 0).ring.bits, count(ins.node)};
    return fss::cuda::DpfGen(b, direct(0), plain(1), plain(2), to, s);
  }
  if (n.op == Op::kDcfGen) {
    const uint64_t rows = count(ins.node);
    const bool halves = count(n.args[0]) != rows;
    const int bits = arg(n, 0).ring.bits;
    const fss::cuda::DeviceKeyBatch b{tree_key, uint32_t(n.attrs[0]),    halves ? 2 * bits : bits,
                                      rows,     int(arg(n, 1).shape[0]), FormOf(n.attrs[1]).bits};
    const Word* const alpha = joined(0, rows);
    return fss::cuda::DcfGen(b, alpha, numbers(1), plain(2), plain(3), to, s);
  }
  const int party = int(n.attrs[0]);
  const uint64_t rows = count(n.args[0]);
  if (n.op == Op::kDcfEval) {
    const fss::cuda::DeviceKeyBatch b{tree_key, uint32_t(n.attrs[4]), int(n.attrs[1]),
                                      rows,     int(n.attrs[2]),      FormOf(n.attrs[3]).bits};
    const int m = int(count(ins.node) / rows / uint64_t(b.words));
    const Word* const x = joined(2, rows);
    Word* const words = cut.Words(count(ins.node));
    fss::cuda::DcfEval(b, party, plain(0), plain(1), x, in_->codes_.tables[k], m, words, s);
    return Put(words, count(ins.node), {to, int(out.bytes)}, s);
  }
  const int64_t program = n.attrs[n.op == Op::kDpfWindow ? 3 : 2];
  const fss::cuda::DeviceKeyBatch b{tree_key, uint32_t(program), int(n.attrs[1]), rows};
  const int m = n.op == Op::kDpfDense ? 1 : n.ring.bits;
  const fss::cuda::DeviceResults results(to, m > 64 ? 8 : int(out.bytes));  // long strings are words
  if (n.op == Op::kDpfWindow)
    return fss::cuda::DpfWindow(b, party, plain(0), plain(1), int(n.attrs[4]), direct(2), m, results, s);
  if (n.op == Op::kDpfParity)
    return fss::cuda::DpfParity(b, party, plain(0), plain(1), direct(2), in_->codes_.tables[k], m, results, s);
  Word* const words = cut.Words(rows);
  fss::cuda::DpfDense(b, party, plain(0), plain(1), direct(2), numbers(3), words, s);
  Words({reinterpret_cast<const uint8_t*>(words), 8}, rows, row::LowBits(n.ring.bits), words, s);
  Put(words, rows, {to, int(out.bytes)}, s);
}

}  // namespace suf::gpu::cuda
