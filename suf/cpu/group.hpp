// Groups: chains of nodes that work row by row, strip by strip. A node's strip is a register whose elements have the
// form that they have in memory. Only values that are read outside the group go to memory.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "suf/cpu/frame_progress.hpp"
#include "suf/cpu/members.hpp"

namespace suf::cpu {

// Memory for the registers of one strip, used by one thread at a time. It passes from strip to strip and from group to
// group. It is wiped at the end of the run.
class RegisterFile {
 public:
  RegisterFile() = default;
  RegisterFile(const RegisterFile&) = delete;
  RegisterFile& operator=(const RegisterFile&) = delete;
  ~RegisterFile();
  // Returns memory for `bytes` bytes.
  uint8_t* Reserve(size_t bytes);

 private:
  void Free();

  uint8_t* p_ = nullptr;
  size_t size_ = 0;
};

// The idle register files of a run. The last one in use serves next, because its memory is still in the cache; Arena
// has no such order. Thread-safe.
class RegisterFiles {
 public:
  std::unique_ptr<RegisterFile> Take();
  void Give(std::unique_ptr<RegisterFile> f);

 private:
  std::mutex m_;
  std::vector<std::unique_ptr<RegisterFile>> idle_;
};

// The division of an instruction's rows into strips.
struct StripDivision {
  const Registers& registers;
  std::vector<MemberResources> resources;  // by member
  size_t row;                              // bytes of registers per row
  size_t rows = kStrip;                    // rows per strip
};

// The groups of a run. It knows how strips and threads divide rows. It prepares the resources of members before the
// first strip: sections, buffers of messages, tables. MemberKernels computes the members.
class GroupRunner {
 public:
  GroupRunner(Tensors& tensors, const FrameProgress& frames, const ExecutionPlan& plan, exec::Pool& pool,
              ring::Isa variant)
      : tensors_(tensors),
        frames_(frames),
        plan_(plan),
        pool_(pool),
        loops_(LoopsFor(variant)),
        kernels_(tensors, variant) {}
  // Starts access to all sections that the run draws from. A section takes a microsecond.
  void OpenSections(const pfss::Randomness& randomness);
  // Runs a group. Returns the fraction of its time, 0 to 1, that key sections and PRG words took.
  double Run(const grouping::Instruction& ins, pfss::Io& io);
  // Determines the strips of an instruction and prepares its members.
  StripDivision Divide(const grouping::Instruction& ins, pfss::Io& io);
  // Writes rows [lo, lo + n) of an operation's drawn operand, as elements of `want` bytes. Thread-safe.
  void Draw(const grouping::Instruction& ins, const StripDivision& division, pfss::Io& io, size_t lo, size_t n,
            int want, void* to);

 private:
  MemberResources Prepare(const grouping::Member& m, pfss::Io& io);
  // Sets the buffer that a message member is read from or written to.
  void PrepareMessage(const grouping::Member& m, pfss::Io& io, MemberResources* r) const;

  Tensors& tensors_;
  const FrameProgress& frames_;
  const ExecutionPlan& plan_;
  exec::Pool& pool_;
  const StripLoops& loops_;
  const MemberKernels kernels_;
  RegisterFiles idle_;
  std::vector<std::unique_ptr<pfss::Randomness::SectionReader>> sections_;  // by node
};

}  // namespace suf::cpu
