// One role's run of a trace on a device.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "suf/gpu/cuda/assemble.hpp"
#include "suf/gpu/cuda/kernels.hpp"
#include "suf/ring/cuda/products.hpp"

namespace suf::gpu::cuda {

// Inputs that stay on the device between runs, by name, until they have another version. Right operands of products
// stay as limbs, by name and ring. Thread-safe.
class DeviceWeightCache {
 public:
  using SharedMemory = std::shared_ptr<const exec::cuda::DeviceMemory>;
  // Returns the words of an input of `count` elements, uploading them if the version is new. `own` is the caller's
  // reference to the words before. If it is the only other one, the upload reuses that memory.
  SharedMemory Get(const std::string& name, const pfss::Io::Data& data, size_t count, const SharedMemory& own,
                   exec::cuda::StreamHandle s);
  // The limbs of a right operand.
  struct OperandLimbs {
    ring::cuda::Limbs form;
    SharedMemory planes;
  };
  // Returns the limbs of an input that is the right operand (depth, columns) of a product modulo 2^bits.
  OperandLimbs Limbs(const std::string& name, const pfss::Io::Data& data, int depth, int columns, int bits,
                     exec::cuda::StreamHandle s);
  int64_t bytes() const;

 private:
  mutable std::mutex m_;
  std::map<std::string, std::pair<uint64_t, SharedMemory>> words_;
  std::map<std::pair<std::string, int>, std::pair<uint64_t, OperandLimbs>> limbs_;
};

// A plan with its own memory, and the graphs that work there. One executor at a time owns it. Later runs of the same
// trace reuse everything. It keeps no reference to a trace, because two traces with one digest are alike.
class Instance {
 public:
  // If `kernels` is null, the interpreter runs all groups. `worth` says whether missing kernels are compiled.
  Instance(const pfss::Schedule& s, Role role, std::shared_ptr<const DevicePlan> plan, KernelCache* kernels,
           bool worth);
  // Makes the codes again, because inputs have another form.
  void Assembled(const pfss::Schedule& s, Role role);
  // Loads the kernels of all groups if they do not fit the codes.
  void LoadKernels();
  // Marks the kernels for loading if more may be available than before. Called between runs.
  void LackKernels();
  // Returns why some groups will have no kernels although they are worth it. Empty if all have or will have theirs.
  std::string Lacks() const;
  // Wipes the data of a run.
  void Wipe();

 private:
  friend class CudaExecutor;
  void ClearEdges();
  // The kernel of a group that has its own.
  struct Kernel {
    const exec::cuda::Module* module = nullptr;
    std::vector<Word> params;
  };
  const std::shared_ptr<const DevicePlan> plan_;
  KernelCache* const kernels_;
  const bool worth_;
  std::vector<Kernel> printed_;  // by instruction
  bool stale_ = false, lacks_ = false;
  std::function<std::string()> why_not_;
  int filled_ = 0;                                         // of the kernels, at the last load
  exec::cuda::DeviceStream queue_{true}, ahead_, copies_;  // steps; words of later chapters; key sections
  std::array<exec::cuda::Event, 2> expanded_, used_;       // by a chapter's parity: its words are there; they were read
  std::array<exec::cuda::Event, 8> copied_;                // of chunks of a frame that is sent
  // Events around a batch's copies, its wait for words, and its kernels.
  std::array<exec::cuda::Event, 4> time_{exec::cuda::Event(true), exec::cuda::Event(true), exec::cuda::Event(true),
                                         exec::cuda::Event(true)};
  // Events around a batch's copies to the host.
  std::array<exec::cuda::Event, 2> back_{exec::cuda::Event(true), exec::cuda::Event(true)};
  // The end of each instruction, if scopes are measured.
  std::vector<exec::cuda::Event> ends_;
  exec::cuda::Fence hold_;  // fence of a measured batch: the device begins after the whole batch is queued
  Base base_;
  cuda::GroupCodes codes_;
  exec::cuda::DeviceMemory slab_, code_, fixed_;  // fixed_: input addresses, keys of sections, tree key
  size_t keys_at_ = 0, tree_at_ = 0;
  std::set<int> words_;                                     // inputs that are not only read by products of weights
  std::map<int, DeviceWeightCache::OperandLimbs> weights_;  // by product: the limbs that its graph reads
  std::map<int, DeviceWeightCache::SharedMemory> held_;     // by input
  std::vector<std::optional<exec::cuda::LaunchGraph>> graphs_;
  std::vector<int> runs_;          // by batch
  std::vector<int64_t> launches_;  // by instruction, then by chapter of words
};

// Returns the form of an input that is assumed until its host states it.
InputForm FirstForm(const pfss::Trace& t, int i);
// Returns whether node i is a product whose right operand is an input that stays.
bool ReadsWeight(const pfss::Trace& t, int i);
// Returns the input nodes that are not only read by products of weights.
std::set<int> ReadAsWords(const pfss::Trace& t, const DevicePlan& plan);
// Returns the least number of kernels of an instruction. One more runs if many parts of a product add to narrow words.
int LaunchesOf(const pfss::Schedule& s, const DevicePlan& plan, const grouping::Instruction& ins);
// Returns the bytes that an instruction needs in addition to its operands and result, for PlanOf.
size_t SpareOf(const pfss::Schedule& s, const grouping::Instruction& ins, const RegisterFrame& frame);

class CudaExecutor : public pfss::Executor {
 public:
  using InstanceReturn = std::function<void(std::unique_ptr<Instance>)>;
  CudaExecutor(const pfss::Schedule& s, Role role, int device, DeviceWeightCache& weights,
               std::unique_ptr<Instance> instance, InstanceReturn done);
  ~CudaExecutor() override;
  void Run(const pfss::Program& program, const pfss::Randomness& randomness, pfss::Io& io) override;
  std::vector<uint64_t> Result(int node) override;

 private:
  using Instruction = grouping::Instruction;
  using StreamHandle = exec::cuda::StreamHandle;
  const pfss::Node& node(int i) const { return t_.node(i); }
  const pfss::Node& arg(const pfss::Node& n, size_t k) const { return t_.node(n.args[k]); }
  uint64_t count(int i) const { return uint64_t(pfss::Size(node(i).shape)); }
  MemoryArray Value(int i) const { return ArrayOf(s_, plan_, in_->base_, in_->codes_, i); }
  uint8_t* At(const Room& r) const { return in_->base_.slab + r.at; }

  void OpenKeys(const pfss::Randomness& randomness);
  bool Note(int i, const pfss::Io::Data& data);
  void AskForms(pfss::Io& io);
  void TakeInputs(size_t b, pfss::Io& io);
  void TakeFrame(const DeviceStep& part, pfss::Io& io);
  void TakeSections(const LaunchBatch& batch, pfss::Io& io);
  void TakeAhead(pfss::Io& io, bool all);
  void UploadSection(int node, pfss::Io& io);
  void GiveBack(pfss::Io& io);
  void Prepare(size_t b, pfss::Io& io);
  void FillWords(const Chapter& c, const pfss::Randomness& randomness);
  void ExpandWords(size_t chapter);
  uint16_t ScopeOf(const Instruction& ins) const;
  bool Apart(const LaunchBatch& batch) const;
  void Launch(size_t b);
  void AwaitFrame(const DeviceStep& part, pfss::Io& io);
  void AwaitSections(const LaunchBatch& batch, pfss::Io& io);
  void Stamp(const exec::cuda::Event& mark, const exec::cuda::DeviceStream& by) const;
  void Back(const exec::cuda::DeviceStream& by, const std::function<void()>& downloads);
  void Meanwhile(const std::function<void()>& f);
  void GiveSections(const LaunchBatch& batch, pfss::Io& io);
  void GiveFrame(const DeviceStep& part, pfss::Io& io);
  using CoreShares = std::map<uint16_t, double>;  // parts of a quantity, by scope
  CoreShares Copied(const DeviceStep& part, size_t b) const;
  void Report(const DeviceStep& part, size_t b, double host, pfss::Io& io);

  // ---- operations.cpp: an instruction's work for a stream
  void Ask(const LaunchBatch& batch, size_t k, StreamHandle s);
  void Operation(const Instruction& ins, size_t k, uint8_t* spare, StreamHandle s);
  void Matmul(const Instruction& ins, uint8_t* spare, StreamHandle s);
  void Tree(const Instruction& ins, size_t k, uint8_t* spare, StreamHandle s);

  const pfss::Schedule& s_;
  const pfss::Trace& t_;
  Role role_;
  int device_;
  DeviceWeightCache& weights_;
  std::unique_ptr<Instance> in_;
  const DevicePlan& plan_;
  InstanceReturn done_;
  size_t next_ = 0;
  std::map<int, pfss::Io::Data> data_;  // of inputs, by node
  // A burst of copies of key sections to the device, with an event after it.
  struct Burst {
    exec::cuda::Event mark;
    std::vector<int> nodes;
    bool given = false;
  };
  std::vector<Burst> bursts_;
  std::vector<int> burst_of_;  // by node: its burst; -1 if not yet copied
  int burst_ = -1;             // the burst with the last section of the prepared batch; -1: none
  size_t prepared_ = 0;        // the number of prepared batches
  size_t next_key_ = 0;        // in the order of the bundle
  size_t next_chapter_ = 0;    // the next one to expand
  bool ours_ = false;          // whether the device expands the PRG
  bool timed_ = false;         // whether each scope is measured
  double back_ = 0;            // seconds of a batch's copies to the host
  double meanwhile_ = 0;       // seconds of the Io's work during a batch's copies
};

}  // namespace suf::gpu::cuda
