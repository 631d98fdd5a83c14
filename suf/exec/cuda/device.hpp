// Devices, streams, memory on a device, and host memory that a device accesses. For host code: a handle is a pointer to
// an object of the runtime. Each failure is an error message that names the call, the device and the remedy. Calls to a
// device that no longer answers throw Cause::kResource.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/exec/gpu.hpp"

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;

namespace suf::exec::cuda {

using exec::Gpu;
using exec::kLeastMajor;

// Returns exec::WhyNot for this machine. The driver is queried once per process and device.
std::string WhyNot(int index = 0);
// Returns a device. Throws Cause::kResource with WhyNot if it cannot be used.
Gpu Find(int index = 0);
// Makes a device the current one of this thread.
void Use(int index);
// Returns the free bytes of the current device.
size_t Free();
// The most bytes that this process has held so far. `device` counts the DeviceMemory of all devices, `pinned` the host
// pages that devices access (PinnedMemory, PinHostBuffers).
struct Most {
  size_t device = 0, pinned = 0;
};
Most MostHeld();
// Counts a kernel that this thread launched, or described as part of a LaunchGraph.
void CountLaunch();
// Returns how many kernels this thread has counted so far.
int64_t Launches();

using StreamHandle = CUstream_st*;
// Waits until all work of a stream is done. Throws the error of failed work.
void Finish(StreamHandle s);

// A stream of its own, of the device that is current when it is made. Moved, never copied.
class DeviceStream {
 public:
  // Work of an urgent stream goes before that of others.
  explicit DeviceStream(bool urgent = false);
  ~DeviceStream();
  DeviceStream(DeviceStream&& o) noexcept : stream_(std::exchange(o.stream_, nullptr)) {}
  DeviceStream& operator=(DeviceStream&& o) noexcept {
    std::swap(stream_, o.stream_);
    return *this;
  }
  StreamHandle stream() const { return stream_; }
  void Wait() const { Finish(stream_); }

 private:
  StreamHandle stream_ = nullptr;
};

// An event: a point in a stream for which another stream, or the host, waits.
class Event {
 public:
  // `timed` allows a call of Between.
  explicit Event(bool timed = false);
  ~Event();
  Event(Event&& o) noexcept : event_(std::exchange(o.event_, nullptr)) {}
  Event& operator=(Event&& o) noexcept {
    std::swap(event_, o.event_);
    return *this;
  }
  void Record(StreamHandle s) const;
  void Await(StreamHandle s) const;  // later work of s waits for the event
  void Wait() const;                 // the host waits for the event
  bool Passed() const;               // whether a wait would return at once
  // Returns the seconds from one timed event to another. Both have passed.
  static double Between(const Event& from, const Event& to);

 private:
  CUevent_st* event_ = nullptr;
};

// Memory on the device, aligned to 256 bytes, not initialised, wiped when freed. Throws Cause::kResource with the
// needed and the free bytes.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& o) noexcept : p_(std::exchange(o.p_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  uint8_t* data() const { return p_; }
  size_t size() const { return bytes_; }

 private:
  uint8_t* p_ = nullptr;
  size_t bytes_ = 0;
};

// Pages of the host that the device reads and writes directly. Wiped when freed.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& o) noexcept : p_(std::exchange(o.p_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  PinnedMemory& operator=(PinnedMemory&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  uint8_t* data() const { return p_; }
  size_t size() const { return bytes_; }
  std::span<uint8_t> span() const { return {p_, bytes_}; }

 private:
  uint8_t* p_ = nullptr;
  size_t bytes_ = 0;
};

// A fence in a stream. Work submitted between Begin and End waits for End, 2 ms at most. So it runs as one piece,
// however long its submission took.
class Fence {
 public:
  Fence();
  void Begin(StreamHandle s);
  void End();

 private:
  PinnedMemory turn_;
  uint32_t count_ = 0;
};

// Pins the pages of all later buffers (exec::HostBuffer).
void PinHostBuffers();
// Returns whether kernels access this host memory at its own address, as they do PinnedMemory and pinned buffers.
bool IsPinned(const void* p, size_t bytes);

// Copies to the device in the stream's order, by a copy engine. The host's memory must stay until then.
void Upload(void* to, const void* from, size_t bytes, StreamHandle s);
// Copies to the host in the stream's order, by a copy engine. The host's memory must stay until then.
void Download(void* to, const void* from, size_t bytes, StreamHandle s);
// Copies data to the device that a kernel waits for. A kernel copies up to 128 KiB if both places are aligned to 16
// bytes and the host's is pinned. Otherwise Upload copies.
void UploadNow(void* to, const void* from, size_t bytes, StreamHandle s);
// Copies data to the host that the host waits for, as UploadNow does.
void DownloadNow(void* to, const void* from, size_t bytes, StreamHandle s);
// Sets bytes to one value, in the stream's order.
void Set(void* to, uint8_t value, size_t bytes, StreamHandle s);

// Work that is described once and launched often.
class LaunchGraph {
 public:
  LaunchGraph();
  ~LaunchGraph();
  LaunchGraph(LaunchGraph&& o) noexcept;
  LaunchGraph& operator=(LaunchGraph&&) = delete;
  // Adds a piece: all work that `f` submits to its stream. It follows the pieces with the numbers `after`. Returns the
  // number of the piece.
  template <class F>
  int Add(std::span<const int> after, F f) {
    Begin(after);
    f(capture_.stream());
    return End();
  }
  // Ends the description.
  void Ready();
  // Runs the graph after all earlier work of the stream.
  void Launch(StreamHandle s) const;

 private:
  void Begin(std::span<const int> after);
  int End();
  DeviceStream capture_;
  CUgraph_st* graph_ = nullptr;
  CUgraphExec_st* exec_ = nullptr;
  std::vector<std::vector<CUgraphNode_st*>> ends_;  // by piece, the nodes that must finish before the pieces after it
};

// Throws Cause::kResource, with the call, if `error` is an error of the runtime.
void Check(int error, const char* call);

}  // namespace suf::exec::cuda
