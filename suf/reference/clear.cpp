#include "suf/reference/clear.hpp"

#include <chrono>

#include "suf/fss/prg.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/grouping/randomness.hpp"
#include "suf/reference/clear_executor.hpp"
#include "suf/reference/fss_kernels.hpp"
#include "suf/ring/modular.hpp"

namespace suf::reference {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

// Maps an index into shape `out` to one into shape `in`, which is broadcast.
int64_t Broadcasted(const Shape& out, const Shape& in, int64_t flat) {
  int64_t at = 0, stride = 1;
  for (size_t d = out.size(); d-- > 0;) {
    int64_t i = flat % out[d];
    flat /= out[d];
    size_t back = out.size() - d;
    if (back > in.size()) continue;
    int64_t len = in[in.size() - back];
    at += (len == 1 ? 0 : i) * stride;
    stride *= len;
  }
  return at;
}

}  // namespace

WordVector Constant(const Node& n) {
  if (n.data->size() == 1) return WordVector(size_t(Size(n.shape)), n.data->at(0));
  return {n.data->begin(), n.data->end()};
}

ClearExecutor::ClearExecutor(const Schedule& s, Role role, const Kernels& kernels)
    : t_(s.trace()), kernels_(kernels), role_(role), values_(t_.nodes().size()), last_(LastUse(s, Programs(s, role))) {}

void ClearExecutor::Run(const Program& program, const Randomness& randomness, Io& io) {
  randomness_ = &randomness;
  for (int i : program.nodes) {
    const auto begin = std::chrono::steady_clock::now();
    values_[i] = Compute(i, io);
    const Node& n = t_.node(i);
    if (n.ring.kind == Ring::kAdd)
      for (uint64_t& v : values_[i]) v &= ring::Mask(n.ring.bits);
    if (n.op == Op::kTell && role_ != Role::kDealer) io.Release(i);
    io.ReportTime(n.scope,
                  {.compute = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
    io.ReportDone({&i, 1});
    for (int a : n.args)
      if (last_[a] <= at_) values_[a] = {};
    ++at_;
  }
}

WordVector ClearExecutor::Unpack(const Node& n, View packed) const {
  int64_t size = Size(n.shape), w = WordsOf(n.ring), k = n.ring.bits;
  WordVector out(size_t(size * w));
  for (int64_t i = 0; i < size; ++i)
    for (int64_t b = 0; b < k; ++b)
      Set(&out[size_t(i * w)], b, packed[size_t((i * k + b) / 8)] >> ((i * k + b) % 8) & 1);
  return out;
}

void ClearExecutor::Pack(const Node& n, const WordVector& v, std::span<uint8_t> out) const {
  int64_t size = Size(n.shape), w = WordsOf(Arg(n, 0).ring), k = n.ring.bits;
  std::fill(out.begin(), out.end(), uint8_t{0});
  for (int64_t i = 0; i < size; ++i)
    for (int64_t b = 0; b < k; ++b)
      out[size_t((i * k + b) / 8)] |= uint8_t(Bit(&v[size_t(i * w)], b) << ((i * k + b) % 8));
}

WordVector ClearExecutor::Elementwise(const Node& n, const std::function<uint64_t(uint64_t, uint64_t)>& f) const {
  int64_t size = Size(n.shape), w = WordsOf(n.ring);
  WordVector out(size_t(size * w));
  for (int64_t i = 0; i < size; ++i)
    for (int64_t k = 0; k < w; ++k) {
      int64_t a = Broadcasted(n.shape, Arg(n, 0).shape, i),
              b = n.args.size() > 1 ? Broadcasted(n.shape, Arg(n, 1).shape, i) : 0;
      out[size_t(i * w + k)] = f(In(n, 0)[size_t(a * w + k)], n.args.size() > 1 ? In(n, 1)[size_t(b * w + k)] : 0);
    }
  return out;
}

WordVector ClearExecutor::Draw(const Node& n) const {
  const size_t bytes = fss::ElementBytes(n.ring.bits), size = size_t(Size(n.shape)), w = size_t(WordsOf(n.ring));
  Bytes raw(bytes * size);
  randomness_->SectionAt(int(n.attrs[0]), int(n.attrs[1]))->Fill(0, raw);
  WordVector out(size * w);
  for (size_t e = 0; e < size; ++e) {
    std::memcpy(&out[e * w], &raw[e * bytes], bytes);
    if (n.ring.kind == Ring::kXor) out[e * w + w - 1] &= ring::Mask((n.ring.bits - 1) % 64 + 1);
  }
  return out;
}

WordVector ClearExecutor::Compute(int i, Io& io) {
  const Node& n = t_.node(i);
  switch (n.op) {
    case Op::kConst:
      return Constant(n);
    case Op::kInput: {
      const Io::Data data = io.Input(i);
      const std::shared_ptr<const void> words = data.words();
      WordVector v(size_t(Size(n.shape)));
      for (size_t k = 0; k < v.size(); ++k)
        v[k] = WordOf(static_cast<const uint8_t*>(words.get()) + k * size_t(data.bytes), data.bytes, data.is_signed);
      return v;
    }
    case Op::kRand:
      return Draw(n);
    case Op::kTell:
      if (role_ != Role::kDealer) return Unpack(n, io.In(i));
      Pack(n, In(n, 0), io.Out(i));
      return In(n, 0);
    case Op::kSend:
      if (int(role_) != n.attrs[0]) return Unpack(n, io.In(i));
      Pack(n, In(n, 0), io.Out(i));
      return In(n, 0);
    case Op::kAdd:
      if (n.ring.kind == Ring::kXor) return Elementwise(n, std::bit_xor<uint64_t>());
      return Elementwise(n, std::plus<uint64_t>());
    case Op::kSub:
      if (n.ring.kind == Ring::kXor) return Elementwise(n, std::bit_xor<uint64_t>());
      return Elementwise(n, std::minus<uint64_t>());
    case Op::kMul:
      return Elementwise(n, std::multiplies<uint64_t>());
    case Op::kShl:
      return Elementwise(n, [&](uint64_t a, uint64_t) { return n.attrs[0] < 64 ? a << n.attrs[0] : 0; });
    case Op::kShr:
      return Elementwise(n, [&](uint64_t a, uint64_t) { return a >> n.attrs[0]; });
    case Op::kLow:
    case Op::kLift:
    case Op::kBroadcast:
      return Elementwise(n, [](uint64_t a, uint64_t) { return a; });
    case Op::kBits:
      return Elementwise(n, [&](uint64_t a, uint64_t) { return a & ring::Mask(n.ring.bits); });
    case Op::kReshape:
    case Op::kWait:
      return In(n, 0);
    default:
      break;
  }
  switch (Info(n.op).cls) {
    case OpClass::kTree:
      return Tree(n);
    case OpClass::kAxes:
      return Axes(n);
    case OpClass::kView:
      return Views(n);
    default:
      return Table(n);
  }
}

namespace {

class ClearBackend : public Backend {
 public:
  ClearBackend(Capabilities can, uint32_t prg, std::shared_ptr<const Kernels> kernels)
      : can_(std::move(can)), prg_(prg), kernels_(std::move(kernels)) {}
  std::string name() const override { return can_.name; }
  const Capabilities& capabilities() const override { return can_; }
  uint32_t prg() const override { return prg_; }
  std::unique_ptr<Randomness> Expand(BundleSecrets m) override { return grouping::MakeRandomness(std::move(m)); }
  std::unique_ptr<Executor> Start(const Schedule& s, Role role) override {
    RefuseLacking(can_, s.trace());
    return std::make_unique<ClearExecutor>(s, role, *kernels_);
  }

 private:
  const Capabilities can_;
  const uint32_t prg_;
  const std::shared_ptr<const Kernels> kernels_;
};

}  // namespace

std::unique_ptr<Backend> MakeClear(Capabilities can, uint32_t prg, std::shared_ptr<const Kernels> kernels) {
  return std::make_unique<ClearBackend>(std::move(can), prg, std::move(kernels));
}

std::unique_ptr<Backend> MakeClear() {
  return MakeClear({"clear", "the reference: a loop an operation, always reduced"}, fss::kPrgId,
                   std::make_shared<const FssKernels>());
}

}  // namespace suf::reference
