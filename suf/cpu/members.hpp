// Members of groups on strips: a strip in progress, and the kernels that compute one member of it.
#pragma once
#include <vector>

#include "suf/cpu/registers.hpp"
#include "suf/cpu/tensors.hpp"
#include "suf/cpu/variants.hpp"

namespace suf::cpu {

inline constexpr int kSpares = 3;

// The memory and data of a member that are prepared before the strips begin.
struct MemberResources {
  const pfss::Randomness::SectionReader* section = nullptr;
  bool key = false;  // it draws PRG words, or reads or writes a key section
  uint8_t* kept = nullptr;
  size_t element = 0;  // bytes per element of `kept`
  View in;
  std::span<uint8_t> out;
  std::vector<uint16_t> table16;
  std::vector<uint32_t> table32;
  std::vector<uint64_t> table64;
};

// Rows [lo, lo + n) of a group, in registers.
struct Strip {
  const grouping::Instruction& ins;
  const Registers& registers;
  const std::vector<MemberResources>& resources;
  pfss::Io& io;
  uint8_t* memory;  // of the registers
  size_t rows;      // that the registers hold
  size_t lo, n;
  size_t at = 0;  // the member that is computed
  const grouping::Member& member() const { return ins.members[at]; }
  const MemberResources& resource() const { return resources[at]; }
  const Register& own() const { return registers.members[at]; }
  uint8_t* reg(size_t k) const {
    const Register& r = registers.members[k];
    if (r.direct < 0) return memory + rows * size_t(r.at);
    const MemberResources& h = resources[size_t(r.direct)];
    return h.kept + lo * h.element;
  }
  uint8_t* reg() const { return reg(at); }
  uint8_t* spare(int k) const { return memory + rows * size_t(registers.row + k * registers.spare); }
};

// The kernels of members. They know how each operation computes the rows of a strip from registers, tensors, sections
// and messages. They know nothing of other strips, threads or the order of work. All functions are thread-safe.
class MemberKernels {
 public:
  MemberKernels(const Tensors& tensors, ring::Isa variant)
      : tensors_(tensors), variant_(variant), loops_(LoopsFor(variant)) {}
  // Computes member s.at into its register, and emits it if it is a message.
  void Compute(const Strip& s) const;
  // Copies the register of member s.at to the memory of its value.
  void Keep(const Strip& s) const;

 private:
  using Node = pfss::Node;
  // A one-hot table of 2^width bits per row, and the public places at which it is read.
  struct TableRead {
    int width;
    const uint8_t* table;
    const uint16_t* at;
  };

  const Node& node(const Strip& s) const { return tensors_.node(s.member().node); }
  const Node& arg(const Node& n, size_t k) const { return tensors_.arg(n, k); }
  int element(int i) const { return tensors_.element(i); }
  // Returns operand k of the strip's member as elements of `want` bytes, in place or in a spare register.
  const uint8_t* Operand(const Strip& s, size_t k, int want, int spare) const;
  const uint8_t* Operand(const Strip& s, size_t k, int want, uint8_t* buffer) const;
  template <class T>
  const T* WordsOf(const Strip& s, size_t k, int spare) const {
    return As<T>(Operand(s, k, sizeof(T), spare));
  }

  void Arithmetic(const Strip& s) const;
  void ShiftRight(const Strip& s) const;
  void SumPlanes(const Strip& s) const;
  void Unit(const Strip& s) const;
  void Random(const Strip& s) const;
  void Receive(const Strip& s) const;
  void Emit(const Strip& s) const;

  // ---- member_tables.cpp
  // Computes a member that makes or reads bit strings: one-hot tables, thresholds, parities, dot products.
  void BitString(const Strip& s) const;
  // Computes digits, the monomials of the borrow polynomial or its values.
  void Borrow(const Strip& s) const;
  void Digits(const Strip& s) const;
  void BorrowA(const Strip& s) const;
  void BorrowX(const Strip& s) const;
  void BorrowAt0(const Strip& s) const;
  template <class T>
  void Select(const Strip& s, const std::vector<T>& table) const;
  void Unbits(const Strip& s) const;
  void Less(const Strip& s, uint64_t* to) const;
  void Mix(const Strip& s, uint64_t* to) const;
  void Dot(const Strip& s) const;
  // Calls f(out) to fill the member's bit strings as whole words, then stores them in elements of the ring's width.
  template <class F>
  void Strings(const Strip& s, F f) const;
  // Returns operand k as public indices below 2^16, reduced to their ring.
  const uint16_t* Index(const Strip& s, size_t k, int spare) const;
  // Returns operands 0 and 1 as a table and its places.
  TableRead Table(const Strip& s) const;

  const Tensors& tensors_;
  ring::Isa variant_;
  const StripLoops& loops_;
};

}  // namespace suf::cpu
