#include "suf/nn/plan/measure.hpp"

#include <cmath>
#include <tuple>

namespace suf::nn {

// The weights and norms of one node. Every measured norm is kept.
class Measures::One : public NodeWeights {
 public:
  explicit One(const Measures& all) : all_(all) {}
  const Tensor& At(const std::string& slot) const override { return slots_.at(slot).values; }
  const Reals& Columns() const override {
    if (columns_.empty()) columns_ = ColumnNorms(At("full").Numbers(), At("full").cols());
    return columns_;
  }
  const Reals& Magnitudes() const override {
    if (magnitudes_.empty()) {
      magnitudes_ = At("full").Numbers();
      for (double& x : magnitudes_) x = std::abs(x);
    }
    return magnitudes_;
  }
  double Largest(int64_t begin, int64_t count) const override {
    auto [at, fresh] = largest_.try_emplace({begin, count}, 0.0);
    if (fresh) at->second = Singular(Rows(begin, count), At("full").cols(), all_.pool_);
    return at->second;
  }
  const Path& Behind(const Image& i) const override {
    auto [at, fresh] = paths_.try_emplace({i.node, i.begin, i.count, i.column});
    if (fresh) {
      const Tensor& before = all_.nodes_.at(i.node)->At("full");
      at->second =
          PathOf(Part(before.Numbers(), before.cols(), i.column, i.count), Rows(i.begin, i.count), i.count, all_.pool_);
    }
    return at->second;
  }

  bool Has(const WeightSlot& s) const {
    const auto at = slots_.find(s.name);
    return at != slots_.end() && at->second.scale == s.scale;
  }
  // Sets a weight. Returns true if earlier measures of this node, and of paths through it, are of other values.
  bool Set(const WeightSlot& s, const Tensor& values) {
    slots_[s.name] = {values, s.scale};
    if (s.name != "full") return false;
    columns_.clear();
    magnitudes_.clear();
    largest_.clear();
    return true;
  }
  void Forget() { paths_.clear(); }

 private:
  struct Entry {
    Tensor values;
    int scale = 0;
  };
  Reals Rows(int64_t begin, int64_t count) const {
    const Tensor& all = At("full");
    return all.Visit([&](const auto* p) { return Reals(p + begin * all.cols(), p + (begin + count) * all.cols()); });
  }
  const Measures& all_;
  std::map<std::string, Entry> slots_;
  mutable Reals columns_, magnitudes_;
  mutable std::map<std::pair<int64_t, int64_t>, double> largest_;
  mutable std::map<std::tuple<int, int64_t, int64_t, int64_t>, Path> paths_;
};

const NodeWeights& Measures::Of(const GraphNode& n) const { return *nodes_.at(n.index); }

void Measures::Set(const GraphNode& n, const WeightSlot& s, const Checkpoint& weights) {
  if (const auto at = nodes_.find(n.index); at != nodes_.end() && at->second->Has(s)) return;
  Set(n, s, Fixed(Graph::Where(n) + " (" + s.name + ")", s.weight.shape(), weights.Value(s.weight), s.scale));
}

void Measures::Set(const GraphNode& n, const WeightSlot& s, const Tensor& values) {
  auto& one = nodes_[n.index];
  if (!one) one = std::make_shared<One>(*this);
  if (one->Has(s)) return;
  if (one->Set(s, values))
    for (auto& [index, other] : nodes_) other->Forget();
}

}  // namespace suf::nn
