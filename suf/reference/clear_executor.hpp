// clear's executor: values as words, one loop per operation (clear.cpp). clear_tables.cpp has tables and the borrow
// polynomial.
#pragma once
#include <functional>

#include "suf/pfss/backend.hpp"

namespace suf::reference {

using WordVector = WipedVector<uint64_t>;

// Returns bit i of an element of several words.
inline uint64_t Bit(const uint64_t* e, int64_t i) { return e[i / 64] >> (i % 64) & 1; }
// Sets bit i of an element whose words are zero at first.
inline void Set(uint64_t* e, int64_t i, uint64_t bit) { e[i / 64] |= bit << (i % 64); }

// Returns all words of a constant.
WordVector Constant(const pfss::Node& n);

inline int WordsOf(pfss::Ring r) { return r.kind == pfss::Ring::kAdd ? 1 : (r.bits + 63) / 64; }

class ClearExecutor : public pfss::Executor {
 public:
  ClearExecutor(const pfss::Schedule& s, Role role, const pfss::Kernels& kernels);
  void Run(const pfss::Program& program, const pfss::Randomness& randomness, pfss::Io& io) override;
  std::vector<uint64_t> Result(int node) override {
    const WordVector& v = values_[size_t(node)];
    return {v.begin(), v.end()};
  }

 protected:
  using Node = pfss::Node;

  const Node& Arg(const Node& n, size_t i) const { return t_.node(n.args[i]); }
  const WordVector& In(const Node& n, size_t i) const { return values_[n.args[i]]; }

  WordVector Unpack(const Node& n, View packed) const;
  void Pack(const Node& n, const WordVector& v, std::span<uint8_t> out) const;

  // Applies f to one or two operands, which are broadcast.
  WordVector Elementwise(const Node& n, const std::function<uint64_t(uint64_t, uint64_t)>& f) const;
  WordVector Compute(int i, pfss::Io& io);
  // Moves or sums elements along axes.
  WordVector Structure(const Node& n) const;
  // Makes the keys of DPFs and DCFs and reads them, all keys in one call.
  WordVector Tree(const Node& n);

  // ---- clear_tables.cpp
  // Makes one-hot strings and reads them.
  WordVector Table(const Node& n) const;
  // Computes digits, the monomials of the borrow polynomial and its values.
  WordVector Borrow(const Node& n) const;

  const pfss::Trace& t_;
  const pfss::Kernels& kernels_;
  Role role_;
  std::vector<WordVector> values_;
  std::vector<int> last_;
  const pfss::Randomness* randomness_ = nullptr;
  int at_ = 0;
};

}  // namespace suf::reference
