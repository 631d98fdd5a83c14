// clear's executor: values as words, one loop per operation.
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

  // Unpacks a message bit by bit: the definition. `Backends.*` compare the frames and keys of all engines with it.
  WordVector Unpack(const Node& n, View packed) const;
  // Packs a message bit by bit.
  void Pack(const Node& n, const WordVector& v, std::span<uint8_t> out) const;

  // Applies f to one or two operands, which are broadcast.
  WordVector Elementwise(const Node& n, const std::function<uint64_t(uint64_t, uint64_t)>& f) const;
  // Returns the PRG words of a kRand node.
  WordVector Draw(const Node& n) const;
  WordVector Compute(int i, pfss::Io& io);

  // ---- clear_axes.cpp
  // Sums, multiplies or reads elements along axes.
  WordVector Axes(const Node& n) const;
  WordVector Matmul(const Node& n) const;
  WordVector RotSum(const Node& n) const;
  // Moves elements to other places.
  WordVector Views(const Node& n) const;
  WordVector Permute(const Node& n) const;
  // Computes kPack or kUnpack.
  WordVector Triangle(const Node& n) const;

  // ---- clear_trees.cpp
  // Makes the keys of DPFs and DCFs and reads them, all keys in one call.
  WordVector Tree(const Node& n) const;
  WordVector DpfKeys(const Node& n) const;
  WordVector DpfReads(const Node& n) const;
  WordVector DcfKeys(const Node& n) const;
  WordVector DcfShares(const Node& n) const;
  // Returns a batch of one key per element of shape `keys`, for numbers of `bits` bits.
  pfss::KeyBatch BatchOf(int64_t program, int bits, const pfss::Shape& keys) const;
  const uint8_t* BytesOf(const Node& n, size_t k) const;
  // Returns operand 2 less each threshold from attribute `first` on, for every row.
  WordVector Points(const Node& n, size_t first) const;

  // ---- clear_tables.cpp
  // Makes one-hot strings and reads them.
  WordVector Table(const Node& n) const;
  // Makes or reads other bit strings.
  WordVector BitString(const Node& n) const;
  // Computes digits, the monomials of the borrow polynomial and its values.
  WordVector Borrow(const Node& n) const;
  WordVector Digits(const Node& n) const;
  WordVector Monomials(const Node& n) const;
  // Returns the words that operand k has for element i.
  const uint64_t* Element(const Node& n, size_t k, int64_t i) const {
    return &In(n, k)[size_t(i * WordsOf(Arg(n, k).ring))];
  }

  const pfss::Trace& t_;
  const pfss::Kernels& kernels_;
  Role role_;
  std::vector<WordVector> values_;
  std::vector<int> last_;
  const pfss::Randomness* randomness_ = nullptr;
  int at_ = 0;
};

}  // namespace suf::reference
