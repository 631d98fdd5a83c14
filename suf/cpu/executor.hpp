// The packed backend's executor: values as tensors, groups in strips (group.cpp), bulk operations (bulk.cpp).
#pragma once
#include <map>
#include <mutex>

#include "suf/cpu/registers.hpp"
#include "suf/cpu/strips.hpp"
#include "suf/cpu/tensor.hpp"
#include "suf/exec/pool.hpp"
#include "suf/ring/gemm.hpp"

namespace suf::cpu {

// Weights: right operands packed once, by input name and ring, and used by every run until the input has another
// version.
template <class T>
using PackedWeights = std::map<std::pair<std::string, int>, std::pair<uint64_t, std::shared_ptr<const ring::Prepared<T>>>>;
struct Weights {
  std::mutex m;
  PackedWeights<uint16_t> p16;
  PackedWeights<uint32_t> p32;
  PackedWeights<uint64_t> p64;
};

class PackedExecutor : public pfss::Executor {
 public:
  PackedExecutor(const pfss::Schedule& s, Role role, std::shared_ptr<const ExecutionPlan> plan, exec::Pool& pool,
                 ring::Variant variant, Weights& weights, Arena& arena);
  ~PackedExecutor() override;
  void Run(const pfss::Program& program, const pfss::Randomness& randomness, pfss::Io& io) override;
  std::vector<uint64_t> Result(int node) override;

 private:
  using Node = pfss::Node;
  using Instruction = grouping::Instruction;
  using Member = grouping::Member;
  struct Host {
    const pfss::Randomness& randomness;
    pfss::Io& io;
  };

  const Node& node(int i) const { return t_.node(i); }
  const Node& arg(const Node& n, size_t i) const { return t_.node(n.args[i]); }
  size_t count(int i) const { return counts_[size_t(i)]; }
  // element: bytes of an element of node i in memory.
  int element(int i) const { return elements_[size_t(i)]; }
  const Tensor& in(const Node& n, size_t i) const { return values_[size_t(n.args[i])]; }
  std::shared_ptr<uint8_t> Make(int i);  // room for node i, which becomes its value
  void Alias(int i, int from);

  // words: operand a as words of type T in memory of its own if need be; canonical: reduced to its ring.
  template <class T>
  std::shared_ptr<const T> Words(int a, bool canonical);

  // Word i of a tensor, extended. Widen: n elements from lo, as words of `element` bytes.
  static uint64_t WordIn(const Tensor& v, size_t i);
  void Widen(const Tensor& v, size_t lo, size_t n, int element, void* to) const;

  // Operand a's elements at `element` bytes each.
  std::shared_ptr<const uint8_t> Raw(int a, int element);

  // All that the run draws from; a section costs a microsecond.
  void OpenSections(const pfss::Randomness& randomness);

  // ---- group.cpp
  struct Handle;
  struct Lane;
  struct Frame;
  struct Cut;
  class Arrivals;
  class Departures;
  const pfss::Part* NextPart(pfss::Io& io) const;
  // Whether the node is a message of the other party.
  bool Receives(int i) const { return node(i).op == pfss::Op::kSend && node(i).attrs[0] != int(role_); }
  // The idle ones.
  class Frames {
   public:
    Frames();
    ~Frames();
    std::unique_ptr<Frame> Take();
    void Give(std::unique_ptr<Frame> f);

   private:
    std::mutex m_;
    std::vector<std::unique_ptr<Frame>> idle_;
  };
  // The part of its time, 0 to 1, that went into key sections and PRG words.
  double Group(const Instruction& ins, Host& host);
  // In how many rows at a time the members of an instruction run. Draw: rows [lo, lo + n) of an operation's
  // drawn operand, elements of `want` bytes; any thread may call it.
  Cut CutOf(const Instruction& ins, Host& host);
  void Draw(const Instruction& ins, const Cut& cut, Host& host, size_t lo, size_t n, int want, void* to);
  // n elements of a map from `lo` on, as words of `element` bytes.
  void Load(const grouping::Map& map, size_t lo, size_t n, int element, void* to) const;
  // Operand k of the lane's member, elements of `want` bytes: where it lies, or in a spare register.
  const uint8_t* Operand(const Lane& l, size_t k, int want, int spare) const;
  const uint8_t* Operand(const Lane& l, size_t k, int want, uint8_t* room) const;
  void Arithmetical(const Lane& l) const;
  void Keep(const Lane& l) const;

  // ---- rows.cpp
  void Open(const Member& m, Host& host, Handle* h);
  void Row(const Lane& l) const;
  void Random(const Lane& l) const;
  void Receive(const Lane& l) const;
  void Emit(const Lane& l) const;
  void Unit(const Lane& l) const;
  void Digits(const Lane& l) const;
  void BorrowA(const Lane& l) const;
  void BorrowX(const Lane& l) const;
  template <class T>
  void Select(const Lane& l, const std::vector<T>& table) const;
  void Unbits(const Lane& l) const;
  // Strings: f(out) fills the member's bit strings as whole words; they lie as wide as the ring wants.
  template <class F>
  void Strings(const Lane& l, F f) const;
  const uint16_t* Index(const Lane& l, size_t k, int spare) const;

  // ---- bulk.cpp
  void Bulk(const Instruction& ins, Host& host);
  void Constant(int i);
  void Matmul(int i);
  template <class T>
  void MatmulAs(int i, PackedWeights<T>& cache);
  void Sum(int i);
  void Suffix(int i);
  void Take(int i);
  void RotSum(const Instruction& ins, Host& host);
  void Turn(int i);
  void Unbits(int i);
  void Triangle(int i);  // pack, unpack
  void DpfKeys(int i, Host& host);
  void DpfReads(int i, Host& host);
  void DcfKeys(int i, Host& host);
  void DcfShares(int i, Host& host);
  void ByTiles(size_t keys, size_t grain, const std::function<void(size_t first, size_t count)>& f);
  void PutWords(const uint64_t* words, size_t count, int i, size_t at, uint8_t* to) const;

  const pfss::Schedule& s_;
  const pfss::Trace& t_;
  Role role_;
  exec::Pool& pool_;
  ring::Variant variant_;
  const Strips& strips_;
  Weights& weights_;
  std::shared_ptr<const ExecutionPlan> plan_;
  size_t next_ = 0;  // program
  std::vector<size_t> counts_;
  std::vector<int> elements_;
  Arena& arena_;
  Frames frames_;
  std::vector<Tensor> values_;
  std::vector<std::unique_ptr<pfss::Randomness::Section>> sections_;  // by node
  std::map<int, uint64_t> versions_;                                  // of inputs
  std::vector<const pfss::Part*> part_;                               // of a frame, by node
  std::vector<char> done_;                                            // nodes
};

}  // namespace suf::cpu
