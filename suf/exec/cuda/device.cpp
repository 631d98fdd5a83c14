#include "suf/exec/cuda/device.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <mutex>

#include "suf/base/error.hpp"
#include "suf/exec/host.hpp"

namespace suf::exec::cuda {
namespace {

// The bytes that are allocated, and the most that were.
class ByteCount {
 public:
  void Take(size_t bytes) {
    const size_t now = now_ += bytes;
    for (size_t was = most_; was < now && !most_.compare_exchange_weak(was, now);) {
    }
  }
  void Give(size_t bytes) { now_ -= bytes; }
  size_t most() const { return most_; }

 private:
  std::atomic<size_t> now_{0}, most_{0};
};
ByteCount on_device, pinned;

// The pages that kernels access at the host's own address. Queried for each copy of a frame.
class PinnedPages {
 public:
  void Add(const void* p, size_t bytes) {
    std::lock_guard l(m_);
    of_[uintptr_t(p)] = bytes;
  }
  void Remove(const void* p) {
    std::lock_guard l(m_);
    of_.erase(uintptr_t(p));
  }
  bool Have(const void* p, size_t bytes) const {
    std::lock_guard l(m_);
    const auto after = of_.upper_bound(uintptr_t(p));
    if (after == of_.begin()) return false;
    const auto& [begin, most] = *std::prev(after);
    return uintptr_t(p) - begin + bytes <= most;
  }

 private:
  mutable std::mutex m_;
  std::map<uintptr_t, size_t> of_;
};
PinnedPages& pinned_pages = *new PinnedPages;  // never destroyed: pages are unpinned until the very end of a process
thread_local int64_t launches = 0;

// Adds pinned pages if host and device have one address for them.
void AddPages(void* p, size_t bytes) {
  void* there = nullptr;
  if (cudaHostGetDevicePointer(&there, p, 0) != cudaSuccess) (void)cudaGetLastError();
  if (there == p) pinned_pages.Add(p, bytes);
}

// Throws unless the call succeeded.
void Called(cudaError_t e, const char* call) { Check(int(e), call); }
#define SUF_CALL(call) Called((call), #call)

// Returns the driver's report.
GpuLook Look(int index) {
  GpuLook out;
  (void)cudaDriverGetVersion(&out.driver);
  (void)cudaRuntimeGetVersion(&out.runtime);
  if (!out.driver) return out;
  cudaDeviceProp p{};
  cudaError_t e = cudaGetDeviceCount(&out.count);
  if (e != cudaSuccess) out.count = 0;
  if (index >= 0 && index < out.count) e = cudaGetDeviceProperties(&p, index);
  if (e != cudaSuccess) out.error = cudaGetErrorString(e);
  (void)cudaGetLastError();
  out.gpu = {
      index,      p.name,     p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem, p.sharedMemPerBlockOptin,
      out.driver, out.runtime};
  return out;
}

struct Seen {
  std::string why_not;
  Gpu gpu;
};
const Seen& See(int index) {
  static std::mutex m;
  static std::map<int, Seen>* const all = new std::map<int, Seen>;
  std::lock_guard l(m);
  const auto [it, fresh] = all->try_emplace(index);
  if (fresh) {
    GpuLook look = Look(index);
    it->second = {exec::WhyNot(look, index), std::move(look.gpu)};
  }
  return it->second;
}

}  // namespace

void Check(int error, const char* call) {
  if (error == cudaSuccess) return;
  const auto e = cudaError_t(error);
  int device = -1;
  (void)cudaGetDevice(&device);
  (void)cudaGetLastError();
  const std::string_view name(call);
  Fail(Cause::kResource, "device ", device, " failed: ", cudaGetErrorName(e), " (", cudaGetErrorString(e), ") in ",
       name.substr(0, name.find('(')), "; restart the program, or run it on packed");
}

std::string WhyNot(int index) { return See(index).why_not; }

Gpu Find(int index) {
  const Seen& seen = See(index);
  if (!seen.why_not.empty()) Fail(Cause::kResource, "the backend cuda ", seen.why_not, ", or use packed");
  return seen.gpu;
}

void Use(int index) { SUF_CALL(cudaSetDevice(index)); }

size_t Free() {
  size_t free = 0, all = 0;
  SUF_CALL(cudaMemGetInfo(&free, &all));
  return free;
}

Most MostHeld() { return {on_device.most(), pinned.most()}; }

void CountLaunch() { ++launches; }
int64_t Launches() { return launches; }

DeviceStream::DeviceStream(bool urgent) {
  int least = 0, most = 0;
  SUF_CALL(cudaDeviceGetStreamPriorityRange(&least, &most));
  SUF_CALL(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? most : least));
}
DeviceStream::~DeviceStream() {
  if (stream_) (void)cudaStreamDestroy(stream_);
}
void Finish(StreamHandle s) { SUF_CALL(cudaStreamSynchronize(s)); }

Event::Event(bool timed) {
  SUF_CALL(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming));
}
Event::~Event() {
  if (event_) (void)cudaEventDestroy(event_);
}
void Event::Record(StreamHandle s) const { SUF_CALL(cudaEventRecord(event_, s)); }
void Event::Await(StreamHandle s) const { SUF_CALL(cudaStreamWaitEvent(s, event_)); }
void Event::Wait() const { SUF_CALL(cudaEventSynchronize(event_)); }
bool Event::Passed() const {
  const cudaError_t e = cudaEventQuery(event_);
  if (e == cudaErrorNotReady) return false;
  Called(e, "cudaEventQuery(event_)");
  return true;
}
double Event::Between(const Event& from, const Event& to) {
  float ms = 0;
  SUF_CALL(cudaEventElapsedTime(&ms, from.event_, to.event_));
  return double(ms) * 1e-3;
}

DeviceMemory::DeviceMemory(size_t bytes) : bytes_(bytes) {
  if (!bytes) return;
  void* p = nullptr;
  if (const cudaError_t e = cudaMalloc(&p, bytes); e == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    Fail(Cause::kResource, "the device has no room for ", bytes, " bytes: ", Free(),
         " are free; bring fewer tokens or values at once, or free memory of the device");
  } else {
    Called(e, "cudaMalloc(&p, bytes)");
  }
  on_device.Take(bytes);
  p_ = static_cast<uint8_t*>(p);
}
DeviceMemory::~DeviceMemory() {
  if (!p_) return;
  on_device.Give(bytes_);
  (void)cudaMemset(p_, 0, bytes_);
  (void)cudaFree(p_);
}

PinnedMemory::PinnedMemory(size_t bytes) : bytes_(bytes) {
  if (!bytes) return;
  void* p = nullptr;
  if (const cudaError_t e = cudaHostAlloc(&p, bytes, cudaHostAllocPortable); e == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    Fail(Cause::kResource, "the host has no pages for ", bytes,
         " bytes that the device reaches; bring fewer tokens or values at once, or free memory");
  } else {
    Called(e, "cudaHostAlloc(&p, bytes)");
  }
  pinned.Take(bytes);
  AddPages(p, bytes);
  p_ = static_cast<uint8_t*>(p);
}
PinnedMemory::~PinnedMemory() {
  if (!p_) return;
  pinned_pages.Remove(p_);
  pinned.Give(bytes_);
  Wipe(p_, bytes_);
  (void)cudaFreeHost(p_);
}

void PinHostBuffers() {
  // pages that cannot be pinned are copied through the driver's own buffers
  PinWith({[](void* p, size_t bytes) {
             if (cudaHostRegister(p, bytes, cudaHostRegisterPortable) == cudaSuccess) {
               pinned.Take(bytes);
               AddPages(p, bytes);
             } else
               (void)cudaGetLastError();
           },
           [](void* p, size_t bytes) {
             pinned_pages.Remove(p);
             if (cudaHostUnregister(p) == cudaSuccess)
               pinned.Give(bytes);
             else
               (void)cudaGetLastError();
           }});
}

bool IsPinned(const void* p, size_t bytes) { return pinned_pages.Have(p, bytes); }

void Upload(void* to, const void* from, size_t bytes, StreamHandle s) {
  if (bytes) SUF_CALL(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, s));
}
void Download(void* to, const void* from, size_t bytes, StreamHandle s) {
  if (bytes) SUF_CALL(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, s));
}
void Set(void* to, uint8_t value, size_t bytes, StreamHandle s) {
  if (bytes) SUF_CALL(cudaMemsetAsync(to, value, bytes, s));
}

LaunchGraph::LaunchGraph() { SUF_CALL(cudaGraphCreate(&graph_, 0)); }
LaunchGraph::~LaunchGraph() {
  // if a piece could not be described, its stream is still capturing
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (capture_.stream() && cudaStreamIsCapturing(capture_.stream(), &status) != cudaSuccess) (void)cudaGetLastError();
  if (status != cudaStreamCaptureStatusNone) {
    cudaGraph_t same = nullptr;
    if (cudaStreamEndCapture(capture_.stream(), &same) != cudaSuccess) (void)cudaGetLastError();
  }
  if (exec_) (void)cudaGraphExecDestroy(exec_);
  if (graph_) (void)cudaGraphDestroy(graph_);
}
LaunchGraph::LaunchGraph(LaunchGraph&& o) noexcept
    : capture_(std::move(o.capture_)),
      graph_(std::exchange(o.graph_, nullptr)),
      exec_(std::exchange(o.exec_, nullptr)),
      ends_(std::move(o.ends_)) {}

void LaunchGraph::Begin(std::span<const int> after) {
  std::vector<cudaGraphNode_t> nodes;
  for (int i : after) nodes.insert(nodes.end(), ends_[size_t(i)].begin(), ends_[size_t(i)].end());
  SUF_CALL(cudaStreamBeginCaptureToGraph(capture_.stream(), graph_, nodes.data(), nullptr, nodes.size(),
                                         cudaStreamCaptureModeThreadLocal));
}

int LaunchGraph::End() {
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t* nodes = nullptr;
  size_t many = 0;
#if CUDART_VERSION >= 13000
  SUF_CALL(cudaStreamGetCaptureInfo(capture_.stream(), &status, nullptr, nullptr, &nodes, nullptr, &many));
#else
  SUF_CALL(cudaStreamGetCaptureInfo_v2(capture_.stream(), &status, nullptr, nullptr, &nodes, &many));
#endif
  ends_.emplace_back(nodes, nodes + many);
  cudaGraph_t same = nullptr;
  SUF_CALL(cudaStreamEndCapture(capture_.stream(), &same));
  SUF_CHECK(same == graph_);
  return int(ends_.size()) - 1;
}

void LaunchGraph::Ready() { SUF_CALL(cudaGraphInstantiate(&exec_, graph_, 0)); }

void LaunchGraph::Launch(StreamHandle s) const { SUF_CALL(cudaGraphLaunch(exec_, s)); }

}  // namespace suf::exec::cuda
