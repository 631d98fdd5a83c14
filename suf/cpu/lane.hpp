// A strip of a group in progress, as group.cpp and lane.cpp see it.
#pragma once
#include "suf/cpu/executor.hpp"
#include "suf/cpu/variants.hpp"

namespace suf::cpu {

inline constexpr int kSpares = 3;
inline constexpr size_t kLeastStrip = 64, kShortStrip = 8;  // packed bits end at whole bytes
inline constexpr size_t kFrame = size_t{512} << 10;         // bytes of registers that stay in the L2 cache

// Memory for the registers of one strip, used by one thread at a time. It passes from strip to strip and from group to
// group. It is wiped at the end of the run.
struct PackedExecutor::Frame {
  ~Frame() { Release(); }
  void Reserve(size_t bytes) {
    if (bytes <= size) return;
    Release();
    size = (bytes + 4095) / 4096 * 4096;
    p = static_cast<uint8_t*>(std::aligned_alloc(4096, size + 4096));  // kernels may read a little beyond
    if (!p) Fail(Cause::kResource, "no memory for registers of ", size, " bytes; free memory");
  }
  void Release() {
    if (p) {
      Wipe(p, size);
      std::free(p);
    }
  }
  uint8_t* at() const { return p; }
  uint8_t* p = nullptr;
  size_t size = 0;
};

// The memory and data of a member that are prepared before the strips begin.
struct PackedExecutor::Handle {
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

// The division of an instruction's rows into strips.
struct PackedExecutor::Cut {
  const Registers& registers;
  std::vector<Handle> handles;
  size_t row;            // bytes of registers per row
  size_t rows = kStrip;  // rows per strip
};

// Rows [lo, lo + n) of a group, in registers.
struct PackedExecutor::Lane {
  const Instruction& ins;
  const Registers& registers;
  const std::vector<Handle>& handles;
  Host& host;
  uint8_t* frame;
  size_t strip, lo, n;
  size_t at = 0;
  const grouping::Member& member() const { return ins.members[at]; }
  const Handle& handle() const { return handles[at]; }
  const Register& own() const { return registers.members[at]; }
  uint8_t* reg(size_t k) const {
    const Register& r = registers.members[k];
    if (r.direct < 0) return frame + strip * size_t(r.at);
    const Handle& h = handles[size_t(r.direct)];
    return h.kept + lo * h.element;
  }
  uint8_t* reg() const { return reg(at); }
  uint8_t* spare(int k) const { return frame + strip * size_t(registers.room + k * registers.spare); }
};

}  // namespace suf::cpu
