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

// Right operands by input name and ring, each with the version of its input.
template <class T>
using PackedWeights =
    std::map<std::pair<std::string, int>, std::pair<uint64_t, std::shared_ptr<const ring::PackedOperand<T>>>>;
// Right operands that are packed once. Every run uses them until their input has another version.
struct WeightCache {
  std::mutex m;
  PackedWeights<uint16_t> p16;
  PackedWeights<uint32_t> p32;
  PackedWeights<uint64_t> p64;
};

class PackedExecutor : public pfss::Executor {
 public:
  PackedExecutor(const pfss::Schedule& s, Role role, std::shared_ptr<const ExecutionPlan> plan, exec::Pool& pool,
                 ring::Isa variant, WeightCache& weights, Arena& arena);
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
  // Returns the bytes of an element of node i in memory.
  int element(int i) const { return elements_[size_t(i)]; }
  const PackedTensor& in(const Node& n, size_t i) const { return values_[size_t(n.args[i])]; }
  // Allocates memory for node i and makes it the node's value.
  std::shared_ptr<uint8_t> Make(int i);
  void Alias(int i, int from);

  // Returns operand a as words of type T, in memory of its own if necessary. `canonical` reduces them to their ring.
  template <class T>
  std::shared_ptr<const T> Words(int a, bool canonical);

  // Returns word i of a tensor, extended.
  static uint64_t WordIn(const PackedTensor& v, size_t i);
  // Writes n elements from lo on as words of `element` bytes.
  void Widen(const PackedTensor& v, size_t lo, size_t n, int element, void* to) const;

  // Returns operand a's elements at `element` bytes each.
  std::shared_ptr<const uint8_t> Raw(int a, int element);

  // Starts access to all sections that the run draws from. A section takes a microsecond.
  void OpenSections(const pfss::Randomness& randomness);

  // ---- group.cpp
  struct Handle;
  struct Lane;
  struct Frame;
  struct Cut;
  class Arrivals;
  class Departures;
  const pfss::FrameField* NextPart(pfss::Io& io) const;
  // Returns whether the node is a message of the other party.
  bool Receives(int i) const { return node(i).op == pfss::Op::kSend && node(i).attrs[0] != int(role_); }
  // The idle frames.
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
  // Runs a group. Returns the fraction of its time, 0 to 1, that key sections and PRG words took.
  double Group(const Instruction& ins, Host& host);
  // Determines the strips of an instruction's members.
  Cut CutOf(const Instruction& ins, Host& host);
  // Writes rows [lo, lo + n) of an operation's drawn operand, as elements of `want` bytes. Thread-safe.
  void Draw(const Instruction& ins, const Cut& cut, Host& host, size_t lo, size_t n, int want, void* to);
  // Writes n elements of a map from `lo` on, as words of `element` bytes.
  void Load(const grouping::IndexMap& map, size_t lo, size_t n, int element, void* to) const;
  // Returns operand k of the lane's member as elements of `want` bytes, in place or in a spare register.
  const uint8_t* Operand(const Lane& l, size_t k, int want, int spare) const;
  const uint8_t* Operand(const Lane& l, size_t k, int want, uint8_t* room) const;
  void Arithmetical(const Lane& l) const;
  void Keep(const Lane& l) const;

  // ---- lane.cpp
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
  // Calls f(out) to fill the member's bit strings as whole words, then stores them in elements of the ring's width.
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
  ring::Isa variant_;
  const Strips& strips_;
  WeightCache& weights_;
  std::shared_ptr<const ExecutionPlan> plan_;
  size_t next_ = 0;  // the next program
  std::vector<size_t> counts_;
  std::vector<int> elements_;
  Arena& arena_;
  Frames frames_;
  std::vector<PackedTensor> values_;
  std::vector<std::unique_ptr<pfss::Randomness::SectionReader>> sections_;  // by node
  std::map<int, uint64_t> versions_;                                        // of inputs
  std::vector<const pfss::FrameField*> part_;                               // of a frame, by node
  std::vector<char> done_;                                                  // nodes
};

}  // namespace suf::cpu
