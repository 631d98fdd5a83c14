// Where work runs on a device: which devices there are, streams, memory on the device and memory that it reaches on the
// host. Host code: a handle is a pointer to what the runtime keeps. Each failure is a sentence that names the call, the
// device and the remedy; what is asked of a device that does not answer any more throws Cause::kResource.
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

// As exec::WhyNot, of this machine; the driver is asked once a process and device.
std::string WhyNot(int index = 0);
// Throws Cause::kResource with WhyNot.
Gpu Find(int index = 0);
// Makes a device the one of this thread.
void Use(int index);
// Bytes of the current device that nobody has.
size_t Free();
// MostHeld: bytes that this process had at most so far, as Memory of all its devices and as pages of its own that they
// reach (Pinned, PinHostBuffers).
struct Most {
  size_t device = 0, pinned = 0;
};
Most MostHeld();
// One more kernel of this thread was launched, or described as part of a Graph. Launches: how many so far.
void Launched();
int64_t Launches();

using Stream = CUstream_st*;
// Returns when all that was asked of a stream is done; throws what failed therein.
void Finish(Stream s);

// A stream of its own, of the device that is current when it is made. Moved, never copied.
class Queue {
 public:
  // urgent: what is asked of it goes before what others ask for.
  explicit Queue(bool urgent = false);
  ~Queue();
  Queue(Queue&& o) noexcept : stream_(std::exchange(o.stream_, nullptr)) {}
  Queue& operator=(Queue&& o) noexcept {
    std::swap(stream_, o.stream_);
    return *this;
  }
  Stream stream() const { return stream_; }
  void Wait() const { Finish(stream_); }

 private:
  Stream stream_ = nullptr;
};

// An event: a place in a queue that another queue, or the host, waits for.
class Mark {
 public:
  // timed: Between may ask for it.
  explicit Mark(bool timed = false);
  ~Mark();
  Mark(Mark&& o) noexcept : event_(std::exchange(o.event_, nullptr)) {}
  Mark& operator=(Mark&& o) noexcept {
    std::swap(event_, o.event_);
    return *this;
  }
  void Record(Stream s) const;
  void Await(Stream s) const;  // what is asked of s from now on waits for the place
  void Wait() const;           // the host does
  bool Passed() const;         // whether it would not wait
  // Seconds from one timed mark to another; both have passed.
  static double Between(const Mark& from, const Mark& to);

 private:
  CUevent_st* event_ = nullptr;
};

// Bytes on the device, 256-byte aligned, not set; wiped when they go. Throws Cause::kResource with the bytes
// that are needed and free.
class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t bytes);
  ~Memory();
  Memory(Memory&& o) noexcept : p_(std::exchange(o.p_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  Memory& operator=(Memory&& o) noexcept {
    std::swap(p_, o.p_), std::swap(bytes_, o.bytes_);
    return *this;
  }
  uint8_t* data() const { return p_; }
  size_t size() const { return bytes_; }

 private:
  uint8_t* p_ = nullptr;
  size_t bytes_ = 0;
};

// Pages of the host that the device reads and writes by itself; wiped when they go.
class Pinned {
 public:
  Pinned() = default;
  explicit Pinned(size_t bytes);
  ~Pinned();
  Pinned(Pinned&& o) noexcept : p_(std::exchange(o.p_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  Pinned& operator=(Pinned&& o) noexcept {
    std::swap(p_, o.p_), std::swap(bytes_, o.bytes_);
    return *this;
  }
  uint8_t* data() const { return p_; }
  size_t size() const { return bytes_; }
  std::span<uint8_t> span() const { return {p_, bytes_}; }

 private:
  uint8_t* p_ = nullptr;
  size_t bytes_ = 0;
};

// What is asked of a stream between Begin and End waits for End, 2 ms at most: it runs as one piece, however long
// it took to ask for it.
class Hold {
 public:
  Hold();
  void Begin(Stream s);
  void End();

 private:
  Pinned turn_;
  uint32_t count_ = 0;
};

// exec::HostBuffer's pages are pinned from now on.
void PinHostBuffers();
// Whether kernels read and write this memory of the host at its own address: of Pinned and of such buffers.
bool Reached(const void* p, size_t bytes);

// Upload, Download: in the stream's order, by a copy engine; the host's memory stays until then. UploadNow,
// DownloadNow: for what a kernel or the host waits for: up to 128 KiB between aligned places, the host's pinned, by a
// kernel. Set: bytes to one value.
void Upload(void* to, const void* from, size_t bytes, Stream s);
void Download(void* to, const void* from, size_t bytes, Stream s);
void UploadNow(void* to, const void* from, size_t bytes, Stream s);
void DownloadNow(void* to, const void* from, size_t bytes, Stream s);
void Set(void* to, uint8_t value, size_t bytes, Stream s);

// Work that is described once and asked for often. Add describes a piece: whatever `f` asks of the stream that
// it is given comes after the pieces with these numbers; returns the piece's number.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&& o) noexcept;
  Graph& operator=(Graph&&) = delete;
  template <class F>
  int Add(std::span<const int> after, F f) {
    Begin(after);
    f(capture_.stream());
    return End();
  }
  // Ends the description. Launch: after all that was asked of the stream before.
  void Ready();
  void Launch(Stream s) const;

 private:
  void Begin(std::span<const int> after);
  int End();
  Queue capture_;
  CUgraph_st* graph_ = nullptr;
  CUgraphExec_st* exec_ = nullptr;
  std::vector<std::vector<CUgraphNode_st*>> ends_;  // by piece, what must be done before those after it
};

// Throws Cause::kResource for a runtime error, with the call.
void Check(int error, const char* call);

}  // namespace suf::exec::cuda
