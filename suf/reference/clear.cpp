#include "suf/reference/clear.hpp"

#include <chrono>

#include "suf/fss/prg.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/grouping/halves.hpp"
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
    if (n.op == Op::kTell && role_ != Role::kDealer) io.Read(i);
    io.Took(n.scope, {.compute = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
    io.Done({&i, 1});
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

WordVector ClearExecutor::Compute(int i, Io& io) {
  const Node& n = t_.node(i);
  switch (n.op) {
    case Op::kConst:
      return Constant(n);
    case Op::kInput: {
      const Io::Data data = io.Input(i);
      WordVector v(size_t(Size(n.shape)));
      for (size_t k = 0; k < v.size(); ++k) v[k] = WordOf(data, k);
      return v;
    }
    case Op::kRand: {
      size_t bytes = fss::ElementBytes(n.ring.bits), size = size_t(Size(n.shape)), w = size_t(WordsOf(n.ring));
      Bytes raw(bytes * size);
      randomness_->Open(int(n.attrs[0]), int(n.attrs[1]))->Fill(0, raw);
      WordVector out(size * w);
      for (size_t e = 0; e < size; ++e) {
        std::memcpy(&out[e * w], &raw[e * bytes], bytes);
        if (n.ring.kind == Ring::kXor) out[e * w + w - 1] &= ring::Mask((n.ring.bits - 1) % 64 + 1);
      }
      return out;
    }
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
      if (Info(n.op).cls == OpClass::kTree) return Tree(n);
      return Info(n.op).cls == OpClass::kAxes || Info(n.op).cls == OpClass::kView ? Structure(n) : Table(n);
  }
}

WordVector ClearExecutor::Structure(const Node& n) const {
  const Node& a = Arg(n, 0);
  const WordVector& x = In(n, 0);
  int64_t size = Size(n.shape), w = WordsOf(n.ring);
  WordVector out(size_t(size * w));
  switch (n.op) {
    case Op::kMatmul: {
      int64_t m = n.shape[n.shape.size() - 2], cols = n.shape.back(), k = a.shape.back(), batch = size / (m * cols);
      bool one = Arg(n, 1).shape.size() == 2;
      for (int64_t b = 0; b < batch; ++b)
        for (int64_t r = 0; r < m; ++r)
          for (int64_t c = 0; c < cols; ++c) {
            uint64_t sum = 0;
            for (int64_t j = 0; j < k; ++j) {
              int64_t at = (one ? 0 : b * k * cols) + (n.attrs[0] ? c * k + j : j * cols + c);
              sum += x[size_t((b * m + r) * k + j)] * In(n, 1)[size_t(at)];
            }
            out[size_t((b * m + r) * cols + c)] = sum;
          }
      return out;
    }
    case Op::kSum: {
      int64_t inner = 1, len = a.shape[size_t(n.attrs[0])];
      for (size_t d = size_t(n.attrs[0]) + 1; d < a.shape.size(); ++d) inner *= a.shape[d];
      for (int64_t i = 0; i < Size(a.shape); ++i) out[size_t(i / (inner * len) * inner + i % inner)] += x[size_t(i)];
      return out;
    }
    case Op::kSuffix: {
      int64_t len = a.shape.back();
      for (int64_t i = size - 1; i >= 0; --i)
        out[size_t(i)] = x[size_t(i)] + (i % len == len - 1 ? 0 : out[size_t(i) + 1]);
      return out;
    }
    case Op::kTake: {
      int64_t m = a.shape.back();
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = x.at(size_t(i * m + int64_t(In(n, 1)[size_t(i)])));
      return out;
    }
    case Op::kRotSum: {
      int64_t m = a.shape.back(), len = a.shape[a.shape.size() - 2];
      const bool packed = !n.attrs.empty();
      for (int64_t r = 0, at = 0; r < size / m; ++r)
        for (int64_t many = packed ? r % n.attrs[0] + 1 : len; many > 0; --many, ++at)
          for (int64_t v = 0; v < m; ++v) {
            int64_t from = (int64_t(In(n, 1)[size_t(at)]) - v) % m;
            out[size_t(r * m + v)] += x[size_t(at * m + (from + m) % m)];
          }
      return out;
    }
    case Op::kTurn: {
      const int64_t m = n.shape.back();
      for (int64_t i = 0; i < size; ++i) out[size_t(i)] = In(n, 1)[size_t((i - int64_t(x[size_t(i / m)])) & (m - 1))];
      return out;
    }
    case Op::kPermute: {
      Shape stride(a.shape.size(), 1);
      for (size_t d = a.shape.size() - 1; d-- > 0;) stride[d] = stride[d + 1] * a.shape[d + 1];
      for (int64_t i = 0; i < size; ++i) {
        int64_t at = 0, rest = i;
        for (size_t d = n.shape.size(); d-- > 0; rest /= n.shape[d])
          at += rest % n.shape[d] * stride[size_t(n.attrs[d])];
        std::copy_n(&x[size_t(at * w)], w, &out[size_t(i * w)]);
      }
      return out;
    }
    case Op::kBetween: {
      int64_t inner = w, len = a.shape[size_t(n.attrs[0])], keep = n.attrs[2] - n.attrs[1];
      for (size_t d = size_t(n.attrs[0]) + 1; d < a.shape.size(); ++d) inner *= a.shape[d];
      for (int64_t o = 0; o < size * w / (inner * keep); ++o)
        std::copy_n(&x[size_t((o * len + n.attrs[1]) * inner)], inner * keep, &out[size_t(o * inner * keep)]);
      return out;
    }
    case Op::kPack:
    case Op::kUnpack: {
      bool pack = n.op == Op::kPack;
      int64_t m = pack ? a.shape.back() : n.attrs[0], pairs = m * (m + 1) / 2;
      for (int64_t b = 0; b < (pack ? size : Size(a.shape)) / pairs; ++b)
        for (int64_t i = 0, at = b * pairs; i < m; ++i)
          for (int64_t j = 0; j <= i; ++j, ++at) {
            int64_t square = (b * m + i) * m + j;
            std::copy_n(&x[size_t((pack ? square : at) * w)], w, &out[size_t((pack ? at : square) * w)]);
          }
      return out;
    }
    case Op::kConcat: {
      int64_t outer = 1, at = 0;
      for (size_t d = 0; d < size_t(n.attrs[0]); ++d) outer *= n.shape[d];
      const int64_t row = size * w / outer;
      for (size_t j = 0; j < n.args.size(); ++j) {
        const int64_t part = int64_t(In(n, j).size()) / outer;
        for (int64_t o = 0; o < outer; ++o) std::copy_n(&In(n, j)[size_t(o * part)], part, &out[size_t(o * row + at)]);
        at += part;
      }
      return out;
    }
    case Op::kStack:
      for (size_t j = 0; j < n.args.size(); ++j) {
        SUF_CHECK(WordsOf(Arg(n, j).ring) == w);
        std::copy(In(n, j).begin(), In(n, j).end(), out.begin() + int64_t(j) * int64_t(In(n, j).size()));
      }
      return out;
    default:
      SUF_CHECK(false);
      return {};
  }
}

WordVector ClearExecutor::Tree(const Node& n) {
  const WordVector& x = In(n, 0);
  auto bytes = [&](size_t a) { return reinterpret_cast<const uint8_t*>(In(n, a).data()); };
  const bool gen = n.op == Op::kDpfGen || n.op == Op::kDcfGen;
  WordVector out(size_t(Size(n.shape) * WordsOf(n.ring)));
  auto key = reinterpret_cast<uint8_t*>(out.data());
  auto batch = [&](int64_t program) {
    return KeyBatch{randomness_->TreeKey(), uint32_t(program), gen ? Arg(n, 0).ring.bits : int(n.attrs[1]),
                    size_t(Size(gen ? n.shape : Arg(n, 0).shape))};
  };
  // Returns whether a DCF's number is two halves (2, ..).
  auto halves = [&](const Node& number, const KeyBatch& b) { return size_t(Size(number.shape)) == 2 * b.count; };
  auto dcf = [&](int64_t program, int64_t words, int64_t form) {
    KeyBatch b = batch(program);
    b.words = int(words);
    b.bits = FormOf(form).bits;
    if (gen && halves(Arg(n, 0), b)) b.n *= 2;
    return b;
  };
  // Returns x less each threshold, for every row.
  auto points = [&](size_t first) {
    WordVector all;
    for (uint64_t v : In(n, 2))
      for (size_t j = first; j < n.attrs.size(); ++j)
        all.push_back((v - uint64_t(n.attrs[j])) & ring::Mask(int(n.attrs[1])));
    return all;
  };
  const int party = n.attrs[0] == 1;
  switch (n.op) {
    case Op::kDpfGen:
      kernels_.DpfGen(batch(n.attrs[0]), x.data(), {bytes(1), bytes(2)}, key);
      return out;
    case Op::kDpfWindow:
      kernels_.DpfWindow(batch(n.attrs[3]), party, bytes(0), bytes(1), int(n.attrs[4]), In(n, 2).data(),
                         int(n.attrs[2]), out.data());
      return out;
    case Op::kDpfParity:
      kernels_.DpfParity(batch(n.attrs[2]), party, bytes(0), bytes(1), points(3).data(), int(n.attrs.size()) - 3,
                         out.data());
      return out;
    case Op::kDpfDense:
      kernels_.DpfDense(batch(n.attrs[2]), party, bytes(0), bytes(1), In(n, 2).data(), In(n, 3).data(), out.data());
      for (uint64_t& v : out) v &= ring::Mask(n.ring.bits);
      return out;
    case Op::kDcfGen: {
      const KeyBatch b = dcf(n.attrs[0], Arg(n, 1).shape[0], n.attrs[1]);
      const int64_t none[2] = {};
      const WipedVector<uint64_t> alpha =
          halves(Arg(n, 0), b) ? grouping::HalvesLess(x.data(), x.data() + b.count, b.count, b.n / 2, none)
                               : WipedVector<uint64_t>(x.begin(), x.end());
      kernels_.DcfGen(b, alpha.data(), In(n, 1).data(), {bytes(2), bytes(3)}, key);
      return out;
    }
    default: {
      SUF_CHECK(n.op == Op::kDcfEval);
      const KeyBatch b = dcf(n.attrs[4], n.attrs[2], n.attrs[3]);
      const std::span<const int64_t> thresholds(n.attrs.begin() + 5, n.attrs.end());
      const uint64_t* at = In(n, 2).data();
      if (halves(Arg(n, 2), b))
        kernels_.DcfEval(b, party, bytes(0), bytes(1),
                         grouping::HalvesLess(at, at + b.count, b.count, b.n / 2, thresholds).data(),
                         int(thresholds.size() / 2), out.data());
      else
        kernels_.DcfEval(b, party, bytes(0), bytes(1), points(5).data(), int(thresholds.size()), out.data());
      return out;
    }
  }
}

namespace {

class Clear : public Backend {
 public:
  Clear(Capabilities can, uint32_t prg, std::shared_ptr<const Kernels> kernels)
      : can_(std::move(can)), prg_(prg), kernels_(std::move(kernels)) {}
  std::string name() const override { return can_.name; }
  const Capabilities& capabilities() const override { return can_; }
  uint32_t prg() const override { return prg_; }
  std::unique_ptr<Randomness> Expand(Material m) override { return grouping::MakeRandomness(std::move(m)); }
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
  return std::make_unique<Clear>(std::move(can), prg, std::move(kernels));
}

std::unique_ptr<Backend> MakeClear() {
  return MakeClear({"clear", "the reference: a loop an operation, always reduced"}, fss::kPrgId,
                   std::make_shared<const FssKernels>());
}

}  // namespace suf::reference
