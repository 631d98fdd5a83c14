#include "suf/nn/measure.hpp"

#include <cmath>
#include <tuple>

namespace suf::nn {

// One: of one node; what is measured is kept.
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

  struct Entry {
    Tensor values;
    int scale = 0;
  };
  std::map<std::string, Entry> slots_;

 private:
  Reals Rows(int64_t begin, int64_t count) const {
    const Reals all = At("full").Numbers();
    const int64_t cols = At("full").cols();
    return {all.begin() + begin * cols, all.begin() + (begin + count) * cols};
  }
  const Measures& all_;
  mutable Reals columns_, magnitudes_;
  mutable std::map<std::pair<int64_t, int64_t>, double> largest_;
  mutable std::map<std::tuple<int, int64_t, int64_t, int64_t>, Path> paths_;
};

const NodeWeights& Measures::Of(const Node& n) const { return *nodes_.at(n.index); }

void Measures::Set(const Node& n, const Slot& s, const Weights& weights) {
  auto at = nodes_.find(n.index);
  if (at != nodes_.end() && at->second->slots_.count(s.name)) {
    if (at->second->slots_.at(s.name).scale != s.scale)
      Fail(Cause::kRefused, "the weight ", s.name, " of ", Graph::Where(n),
           " would have two scales in two length classes; choose scales that do not depend on the length");
    return;
  }
  Set(n, s, Fixed(Graph::Where(n) + " (" + s.name + ")", s.weight.shape(), weights.Value(s.weight), s.scale));
}

void Measures::Set(const Node& n, const Slot& s, const Tensor& values) {
  auto& one = nodes_[n.index];
  if (!one) one = std::make_shared<One>(*this);
  one->slots_[s.name] = {values, s.scale};
}

}  // namespace suf::nn
