// The times of a run on a device.
#pragma once
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "suf/exec/cuda/device.hpp"
#include "suf/gpu/cuda/device_plan.hpp"
#include "suf/gpu/cuda/graphs.hpp"

namespace suf::gpu::cuda {

// Knows the time of the current batch: on the host, and if the run is measured also on the device. An instance keeps it
// from run to run, because events are made only once. A timed event costs some microseconds per step.
class BatchClock {
 public:
  using StreamHandle = exec::cuda::StreamHandle;
  // The points of a batch in its stream. At kCopied its data is on the device, at kExpanded its PRG words are there.
  enum BatchPoint { kBegin, kCopied, kExpanded, kEnd };
  void BeginRun(bool timed) { timed_ = timed; }
  // Returns whether each scope is measured.
  bool timed() const { return timed_; }

  // Starts the host's time.
  void Restart() { start_ = HostClock::now(); }
  // Returns the seconds since the last Lap or Restart.
  double Lap();

  // Begins a batch. If the run is measured, the device begins after End, when the whole batch is queued.
  void Begin(StreamHandle s);
  void End(StreamHandle s);
  // Records that the stream reaches a point.
  void Record(BatchPoint p, StreamHandle s) const;
  // Lets later work of a measured run's stream wait for a point.
  void Await(BatchPoint p, StreamHandle s) const;
  // Makes the events for ReachEnd, if they are too few.
  void ReserveEnds(size_t instructions);
  // Records that the stream reaches the end of instruction `k` of the batch.
  void RecordEnd(size_t k, StreamHandle s) const { ends_[k].Record(s); }
  // Runs copies to the host, and waits for them.
  void TimeDownloads(const exec::cuda::DeviceStream& by, const std::function<void()>& downloads);
  // Runs work of the Io during a copy. Its time does not count as copying.
  void TimeIo(const std::function<void()>& work);

  // Returns the seconds from one point of a finished batch to another.
  double Between(BatchPoint from, BatchPoint to) const { return Seconds(points_[from], points_[to]); }
  // Returns the seconds of instruction `k` of a finished batch. The first one begins at point `from`.
  double OfInstruction(size_t k, BatchPoint from) const { return Seconds(k ? ends_[k - 1] : points_[from], ends_[k]); }
  // Returns the seconds of a finished batch's copies, less those of the Io's work meanwhile.
  double Copies() const { return Between(kBegin, kCopied) + back_seconds_ - io_seconds_; }

 private:
  using HostClock = std::chrono::steady_clock;
  static double Seconds(const exec::cuda::Event& from, const exec::cuda::Event& to) {
    return exec::cuda::Event::Between(from, to);
  }
  std::array<exec::cuda::Event, 4> points_{exec::cuda::Event(true), exec::cuda::Event(true), exec::cuda::Event(true),
                                           exec::cuda::Event(true)};
  std::array<exec::cuda::Event, 2> back_{exec::cuda::Event(true), exec::cuda::Event(true)};  // around downloads
  std::vector<exec::cuda::Event> ends_;                                                      // of instructions
  exec::cuda::Fence fence_;
  bool timed_ = false;
  double back_seconds_ = 0, io_seconds_ = 0;
  HostClock::time_point start_;
};

// Divides the time of batches among scopes, and reports it to the host. It knows the scope of each instruction, of each
// copied byte and of each PRG word.
class TimeReport {
 public:
  TimeReport(const pfss::Schedule& s, Role role, const DevicePlan& plan, const BatchClock& clock,
             const LaunchCounts& launches)
      : s_(s), role_(role), plan_(plan), clock_(clock), launches_(launches) {}
  // Returns whether the instructions of a batch are measured one by one, because they belong to several scopes. A
  // single kernel with an event behind it takes longer than in a graph.
  bool Apart(const LaunchBatch& batch) const;
  // Reports the host's time of a finished batch. If scopes are not measured, the whole time goes to the scope with most
  // kernels.
  void Report(const DeviceStep& step, size_t b, double seconds, pfss::Io& io) const;

 private:
  using ScopeShares = std::map<uint16_t, double>;  // parts of a quantity
  using ScopeTimes = std::map<uint16_t, pfss::TimeUse>;
  const pfss::Node& node(int i) const { return s_.trace().node(i); }
  uint16_t ScopeOf(const grouping::Instruction& ins) const;
  ScopeTimes TimesOf(const LaunchBatch& batch, BatchClock::BatchPoint first) const;
  ScopeShares CopiedBytes(const DeviceStep& step, size_t b) const;
  ScopeShares DrawnBytes(const Chapter& chapter) const;
  std::vector<int> Finished(const LaunchBatch& batch) const;

  const pfss::Schedule& s_;
  const Role role_;
  const DevicePlan& plan_;
  const BatchClock& clock_;
  const LaunchCounts& launches_;
};

}  // namespace suf::gpu::cuda
