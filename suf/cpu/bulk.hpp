// Bulk operations: everything that is no chain of elementwise words.
#pragma once
#include "suf/cpu/group.hpp"
#include "suf/cpu/products.hpp"
#include "suf/cpu/trees.hpp"

namespace suf::cpu {

// The operations of a run that are no groups. They know how each is split over the pool by rows. Products and
// TreeOperations compute theirs.
class BulkOperations {
 public:
  BulkOperations(Tensors& tensors, GroupRunner& groups, const ExecutionPlan& plan, exec::Pool& pool, ring::Isa variant,
                 WeightCache& weights)
      : tensors_(tensors),
        groups_(groups),
        plan_(plan),
        pool_(pool),
        loops_(LoopsFor(variant)),
        products_(tensors, pool, variant, weights),
        trees_(tensors, pool, variant) {}
  // Runs an instruction that is one operation.
  void Run(const grouping::Instruction& ins, const pfss::Randomness& randomness, pfss::Io& io);

 private:
  using Node = pfss::Node;

  const Node& node(int i) const { return tensors_.node(i); }
  const Node& arg(const Node& n, size_t k) const { return tensors_.arg(n, k); }
  size_t count(int i) const { return tensors_.count(i); }
  int element(int i) const { return tensors_.element(i); }

  void Constant(int i);
  void Sum(int i);
  void Suffix(int i);
  // Computes kPack or kUnpack.
  void Triangle(int i);
  void Take(int i);
  void RotSum(const grouping::Instruction& ins, pfss::Io& io);
  void Turn(int i);
  void Unbits(int i);

  Tensors& tensors_;
  GroupRunner& groups_;
  const ExecutionPlan& plan_;
  exec::Pool& pool_;
  const StripLoops& loops_;
  Products products_;
  TreeOperations trees_;
};

}  // namespace suf::cpu
