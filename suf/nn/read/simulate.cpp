#include "suf/nn/read/simulate.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include "suf/nn/ops/lookup.hpp"
#include "suf/nn/read/rows.hpp"
#include "suf/ring/gemm.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {

namespace {

// A right operand. Products are taken modulo 2^bits, a few bits above the ring, so that a broken certificate shows.
struct Matrix {
  int bits = 0;
  std::variant<ring::PackedOperand<uint32_t>, ring::PackedOperand<uint64_t>> map;
};

int BitsFor(int ring) { return ring + 2 <= 32 ? 32 : ring + 2 <= 52 ? 52 : 64; }

Matrix MakeMatrix(const Tensor& t, int bits) {
  Matrix m{bits, {}};
  const size_t rows = size_t(t.rows()), cols = size_t(t.cols());
  if (bits == 32) {
    std::vector<uint32_t> w(rows * cols);
    t.Visit([&](const auto* p) { std::copy_n(p, w.size(), w.begin()); });
    m.map = ring::Prepare(w.data(), rows, cols, cols, 32);
  } else {
    m.map = ring::Prepare(t.Words().data(), rows, cols, cols, bits);
  }
  return m;
}

Ints Times(const Ints& x, const Matrix& m, exec::Pool& pool) {
  Ints y;
  std::visit(
      [&](const auto& map) {
        using T = std::conditional_t<std::is_same_v<std::decay_t<decltype(map)>, ring::PackedOperand<uint32_t>>,
                                     uint32_t, uint64_t>;
        const size_t in = map.depth(), out = map.columns(), n = x.size() / in;
        std::vector<T> a(x.begin(), x.end()), c(n * out);
        ring::Multiply(a.data(), in, n, map, c.data(), out, false, pool);
        y.resize(c.size());
        for (size_t i = 0; i < c.size(); ++i) y[i] = ring::Signed(uint64_t(c[i]), m.bits);
      },
      m.map);
  return y;
}

// The values of a node's wires, compared with its certificates.
class NodeWatch : public RangeObserver {
 public:
  explicit NodeWatch(std::string wire) : wire_(std::move(wire)) {}
  void See(const char* width, std::span<const int64_t> v) override {
    if (v.empty()) return;
    auto [low, high] = std::minmax_element(v.begin(), v.end());
    auto [at, fresh] = seen_.try_emplace(width, Spread{Name(width), *low, *high});
    if (!fresh) {
      at->second.low = std::min(at->second.low, *low);
      at->second.high = std::max(at->second.high, *high);
    }
  }
  void Leave(const char* width, int64_t value, int64_t limit) override {
    outside_.push_back({Name(width), value, limit, false});
  }
  void Finish(const std::vector<Certificate>& certificates, Simulation* out) {
    for (auto& [width, s] : seen_) {
      out->seen.push_back(s);
      for (const Certificate& c : certificates) {
        if (c.width != width || c.bits >= 63) continue;
        const int64_t limit = int64_t{1} << c.bits;
        if (s.high >= limit) outside_.push_back({s.wire, s.high, limit, c.hard});
        if (s.low <= -limit) outside_.push_back({s.wire, s.low, -limit, c.hard});
      }
    }
    out->outside.insert(out->outside.end(), outside_.begin(), outside_.end());
  }

 private:
  std::string Name(const std::string& width) const { return width.empty() ? wire_ : wire_ + "." + width; }
  std::string wire_;
  std::map<std::string, Spread> seen_;
  std::vector<Outside> outside_;
};

}  // namespace

std::string Sentence(const Outside& o) {
  return Str("wire ", o.wire, " reached ", o.value, ", its ", o.hard ? "hard" : "calibrated", " limit is ", o.limit,
             o.hard ? "; compile the plan again from these weights"
                    : "; the result may be less accurate, calibrate with texts like this one");
}

struct PlanSimulator::State {
  const Plan& plan;
  const QuantisedWeights& weights;
  exec::Pool& pool;
  std::map<std::pair<std::string, int>, Matrix> matrices;

  const Matrix& Prepared(const std::string& name, int ring) {
    const std::pair<std::string, int> key{name, BitsFor(ring)};
    auto at = matrices.find(key);
    if (at == matrices.end()) at = matrices.emplace(key, MakeMatrix(weights.at(name), key.second)).first;
    return at->second;
  }
};

PlanSimulator::PlanSimulator(const Plan& plan, const QuantisedWeights& weights, exec::Pool& pool)
    : s_(new State{plan, weights, pool, {}}) {}
PlanSimulator::~PlanSimulator() = default;

Simulation PlanSimulator::Run(std::span<const int32_t> ids, const IntVisitor& each, int variant) const {
  const Plan& plan = s_->plan;
  const Class& c = plan.For(int(ids.size()), variant);
  const auto op_of = [&c](const GraphNode& n) -> const Operator& { return *c.ops[size_t(n.index)]; };
  Simulation out;
  out.y = Forward<IntArray>(plan.graph, [&](const GraphNode& n, std::span<const IntArray* const> values) {
            const Operator& op = op_of(n);
            if (op.unused) return IntArray();
            const NodeInputs<int64_t> x(n, op_of, values);
            NodeWatch watch(Str(c.max_n, "/", Graph::Where(n)));
            std::map<std::string, std::string> names;
            for (const WeightSlot& s : op.Slots()) names[s.name] = SlotName(plan, c, n, s);
            const TextRows own = RangeOf(op.wanted, int(ids.size()));
            IntCall call{int(ids.size()),
                         ids,
                         s_->pool,
                         watch,
                         [&](const char* slot) -> const Tensor& { return s_->weights.at(names.at(slot)); },
                         [&](const Ints& v, const char* slot, int ring) {
                           return Times(v, s_->Prepared(names.at(slot), ring), s_->pool);
                         },
                         own.from,
                         own.rows};
            IntArray y = op.Spec(call, x.all());
            watch.See("", y.at);
            watch.Finish(c.certificates[size_t(n.index)], &out);
            if (each) each(n, y);
            return y;
          }).at;
  return out;
}

Simulation PlanSimulator::RunBatch(std::span<const std::vector<int32_t>> texts, int variant) const {
  (void)BatchIds(texts, kMostTexts);
  Simulation all;
  std::map<std::string, size_t> place;  // in all.seen, by wire
  for (const std::vector<int32_t>& ids : texts) {
    const Simulation one = Run(ids, {}, variant);
    all.y.insert(all.y.end(), one.y.begin(), one.y.end());
    all.outside.insert(all.outside.end(), one.outside.begin(), one.outside.end());
    for (const Spread& s : one.seen) {
      const auto [at, fresh] = place.try_emplace(s.wire, all.seen.size());
      if (fresh) {
        all.seen.push_back(s);
        continue;
      }
      Spread& was = all.seen[at->second];
      was.low = std::min(was.low, s.low);
      was.high = std::max(was.high, s.high);
    }
  }
  return all;
}

}  // namespace suf::nn
