// Key material of a run: the key sections of a bundle, and PRG words.
#pragma once
#include <map>
#include <vector>

#include "suf/exec/cuda/device.hpp"
#include "suf/gpu/cuda/device_plan.hpp"

namespace suf::gpu::cuda {

class BatchClock;
struct Instance;
class LaunchCounts;
class RunMemory;
struct RunStreams;

// Feeds a party's run with key sections, and sends those that the dealer makes. It knows which sections are on the
// device, and which copies are under way. A burst of copies has one event after it.
class KeyFeed {
 public:
  KeyFeed(const pfss::Schedule& s, Role role, Instance& instance);
  // Waits for the sections that a batch reads, so that the wait does not count as copying.
  void Await(const LaunchBatch& batch, pfss::Io& io) const;
  // Uploads the sections that a batch reads, and finds the burst with the last of them.
  void Take(const LaunchBatch& batch, pfss::Io& io);
  // Lets the stream of the batch of the last Take wait for its sections. The host does not wait.
  void AwaitUploads(exec::cuda::StreamHandle s) const;
  // Uploads available sections for later steps: some of them, or before the inference all.
  void TakeAhead(pfss::Io& io, bool all);
  // Releases the host's memory of sections that are on the device.
  void Release(pfss::Io& io);
  // Sends the dealer's sections of a finished batch in order, while the next one runs.
  void Send(const LaunchBatch& batch, pfss::Io& io) const;

 private:
  // A burst of copies to the device.
  struct CopyBurst {
    exec::cuda::Event copied;
    std::vector<int> nodes;
    bool released = false;
  };
  const pfss::Node& node(int i) const { return s_.trace().node(i); }
  void Upload(int node, pfss::Io& io);

  const pfss::Schedule& s_;
  const Role role_;
  const DevicePlan& plan_;
  const RunMemory& memory_;
  const exec::cuda::DeviceStream& stream_;
  BatchClock& clock_;
  std::vector<CopyBurst> bursts_;
  std::vector<int> burst_of_;  // by node: its burst; -1 if not yet copied
  int burst_ = -1;             // the burst with the last section of the prepared batch; -1: none
  size_t next_ = 0;            // the next section in the order of the bundle
};

// Feeds a run with PRG words, a chapter at a time. It knows which chapters' words are in the slots for them. The device
// expands them if the randomness gives it the keys of sections, otherwise the host does.
class WordFeed {
 public:
  WordFeed(const pfss::Schedule& s, Instance& instance);
  // Brings the keys of sections to the device.
  void Open(const pfss::Randomness& randomness);
  // Provides the words of a chapter for later work.
  void Provide(size_t chapter, const pfss::Randomness& randomness);
  // Expands the words of the chapter after this one, while this one runs.
  void ExpandNext(size_t chapter);
  // Records that all readers of a chapter's words are queued, so that its slots are free behind them.
  void FreeSlots(size_t chapter) const;

 private:
  void Expand(size_t chapter);
  void Fill(const Chapter& chapter, const pfss::Randomness& randomness) const;

  const pfss::Trace& t_;
  const DevicePlan& plan_;
  const RunMemory& memory_;
  const RunStreams& streams_;
  LaunchCounts& launches_;
  size_t next_ = 0;         // the next chapter to expand
  bool on_device_ = false;  // whether the device expands the PRG
};

}  // namespace suf::gpu::cuda
