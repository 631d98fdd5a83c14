// A device double: it offers suf/exec/cuda, suf/ring/cuda, suf/fss/cuda and the kernels of suf/gpu/cuda on the host.
// Everything runs at once. So all host code for a device (plans, memory, codes, graphs, frames) is tested without a
// device. Row functions and operations are the device's own text. Memory is poisoned, and graphs run their pieces in
// reverse if nothing forbids it.
#include "suf/exec/cuda/device.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "suf/base/error.hpp"
#include "suf/fss/cuda/fss.hpp"
#include "suf/fss/dcf.hpp"
#include "suf/fss/dpf.hpp"
#include "suf/fss/internal/aes_kernels.hpp"
#include "suf/gpu/cuda/bulk.hpp"
#include "suf/gpu/cuda/groups/interpreter.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/ring/cuda/products.hpp"
#include "tests/double/compiler.hpp"

struct CUstream_st {
  std::vector<std::function<void()>>* captures = nullptr;  // null: calls run at once
};
struct CUevent_st {};

namespace suf::exec::cuda {

std::atomic<int> calls{0}, fails_from{0}, buffers{0};

namespace {

thread_local int64_t launches = 0;

// Counts one more call; fails if a test has planted that.
void CountCall(const char* call) {
  const int n = ++calls;
  if (fails_from && n >= fails_from) Check(719, call);
}

}  // namespace

void Do(StreamHandle s, std::function<void()> f) {
  CountCall("a kernel");
  if (s->captures)
    s->captures->push_back(std::move(f));
  else
    f();
  CountLaunch();
}

std::string WhyNot(int index) { return index == 0 ? "" : "has one device, a double"; }
Gpu Find(int index) {
  SUF_CHECK(index == 0);
  return {0, "double", 9, 0, 4, size_t{1} << 40, size_t{1} << 18, 13000, 13000};
}
void Check(int error, const char* call) {
  if (error)
    Fail(Cause::kResource, "device 0 failed: error ", error, " in ", call,
         "; restart the program, or run it on packed");
}
void Use(int) { CountCall("Use"); }
std::atomic<size_t> free_bytes{size_t{1} << 40};
size_t Free() {
  CountCall("Free");
  return free_bytes;
}
Most MostHeld() { return {1, 1}; }
void CountLaunch() { ++launches; }
int64_t Launches() { return launches; }
void Finish(StreamHandle) { CountCall("Finish"); }
DeviceStream::DeviceStream(bool) {
  CountCall("DeviceStream");
  stream_ = new CUstream_st;
}
DeviceStream::~DeviceStream() { delete stream_; }

Event::Event(bool) { CountCall("Event"); }
Event::~Event() = default;
void Event::Record(StreamHandle) const { CountCall("Record"); }
void Event::Await(StreamHandle) const { CountCall("Await"); }
void Event::Wait() const { CountCall("Wait"); }
bool Event::Passed() const {
  CountCall("Passed");
  return true;
}
double Event::Between(const Event&, const Event&) {
  CountCall("Between");
  return 0;
}

void PinHostBuffers() {}

DeviceMemory::DeviceMemory(size_t bytes) : bytes_(bytes) {
  if (!bytes) return;
  CountCall("DeviceMemory");
  ++buffers;
  p_ = static_cast<uint8_t*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::memset(p_, 0xa5, bytes);
}
DeviceMemory::~DeviceMemory() {
  if (p_) --buffers;
  std::free(p_);
}
void Upload(void* to, const void* from, size_t bytes, StreamHandle s) {
  CountCall("a copy");
  SUF_CHECK(!s->captures);
  if (bytes) std::memcpy(to, from, bytes);
}
void Download(void* to, const void* from, size_t bytes, StreamHandle s) { Upload(to, from, bytes, s); }
void UploadNow(void* to, const void* from, size_t bytes, StreamHandle s) { Upload(to, from, bytes, s); }
void DownloadNow(void* to, const void* from, size_t bytes, StreamHandle s) { Upload(to, from, bytes, s); }
PinnedMemory::PinnedMemory(size_t) {}
PinnedMemory::~PinnedMemory() = default;
Fence::Fence() = default;
void Fence::Begin(StreamHandle) { CountCall("Fence"); }
void Fence::End() {}
void Set(void* to, uint8_t, size_t bytes, StreamHandle) {
  CountCall("Set");
  std::memset(to, 0xa5, bytes);
}

}  // namespace suf::exec::cuda

// The pieces of a graph, and the predecessors of each.
struct CUgraph_st {
  std::vector<std::vector<std::function<void()>>> pieces;
  std::vector<std::vector<int>> after;
  std::vector<int> next;
};

namespace suf::exec::cuda {

LaunchGraph::LaunchGraph() {
  CountCall("LaunchGraph");
  graph_ = new CUgraph_st;
}
LaunchGraph::~LaunchGraph() { delete graph_; }
LaunchGraph::LaunchGraph(LaunchGraph&& o) noexcept
    : capture_(std::move(o.capture_)), graph_(std::exchange(o.graph_, nullptr)), ends_(std::move(o.ends_)) {}
void LaunchGraph::Begin(std::span<const int> after) {
  CountCall("Begin");
  graph_->after.emplace_back(after.begin(), after.end());
  graph_->pieces.emplace_back();
  capture_.stream()->captures = &graph_->pieces.back();
}
int LaunchGraph::End() {
  CountCall("End");
  capture_.stream()->captures = nullptr;
  ends_.emplace_back();
  return int(ends_.size()) - 1;
}
void LaunchGraph::Ready() { CountCall("Ready"); }
// Always runs the last piece that is ready: an order that the plan's own never is.
void LaunchGraph::Launch(StreamHandle) const {
  CountCall("Launch");
  const size_t n = graph_->pieces.size();
  std::vector<size_t> left(n);
  std::vector<std::vector<size_t>> then(n);
  std::set<size_t> ready;
  for (size_t i = 0; i < n; ++i) {
    left[i] = graph_->after[i].size();
    for (int a : graph_->after[i]) then[size_t(a)].push_back(i);
    if (!left[i]) ready.insert(i);
  }
  while (!ready.empty()) {
    const size_t i = *ready.rbegin();
    ready.erase(i);
    for (const auto& f : graph_->pieces[i]) f();
    for (size_t j : then[i])
      if (!--left[j]) ready.insert(j);
  }
}

}  // namespace suf::exec::cuda

namespace suf::gpu::cuda {

template <class F>
void Each(uint64_t n, const F& f, StreamHandle s) {
  exec::cuda::Do(s, [=] {
    for (uint64_t i = 0; i < n; ++i) f(i);
  });
}

}  // namespace suf::gpu::cuda

#include "suf/gpu/cuda/bulk_core.hpp"

namespace suf::gpu::cuda {

void RotSumRows(const MemoryArray& x, const MemoryArray& at, Word mask, uint64_t rows, uint64_t m, uint64_t len,
                uint64_t packed, WordTarget out, StreamHandle s) {
  Each(rows * m, RotSumOf{x, at, mask, m, len, packed, out}, s);
}
void SumRows(const MemoryArray& x, uint64_t rows, uint64_t len, WordTarget out, StreamHandle s) {
  Each(rows, SumOf{x, len, 1, out}, s);
}
void SuffixRows(const MemoryArray& x, uint64_t rows, uint64_t len, WordTarget out, StreamHandle s) {
  Each(rows, SuffixOf{x, len, out}, s);
}
void DotRows(const MemoryArray& x, uint64_t rows, uint64_t first, const Word* table, uint64_t m, WordTarget out,
             StreamHandle s) {
  Each(rows, DotOf{x, first, m, table, out}, s);
}
void ThinRows(const MemoryArray& x, const MemoryArray& y, uint64_t count, const ThinShape& shape, WordTarget out,
              StreamHandle s) {
  Each(count, ThinOf{x, y, shape, out}, s);
}

size_t InterpretScratch(int) { return 0; }
void Interpret(const GroupCode* code, uint64_t rows, int frame, Word*, StreamHandle s) {
  struct Bits {
    void Receive(const uint8_t* in, uint64_t at, int k, Word* out) const { row::Receive(in, at, k, out); }
    void Emit(const MemberCode& m, const Word* x, uint64_t first, uint64_t at, uint64_t in_all, bool) const {
      const uint64_t k = uint64_t(m.bits);
      row::Emit(x, (first + at) * k, m.bits, uint64_t(m.planes) * in_all * k, m.out);
    }
  };
  exec::cuda::Do(s, [=] {
    SUF_CHECK(code->rows == rows && code->frame == frame);
    std::vector<Word> registers(size_t(frame) + 1, 0xa5a5a5a5a5a5a5a5);
    for (uint64_t at = 0; at < rows; ++at) RunRow(*code, at, true, registers.data(), Bits{});
    SUF_CHECK(registers.back() == 0xa5a5a5a5a5a5a5a5);
  });
}

}  // namespace suf::gpu::cuda

namespace suf::ring::cuda {

// Planes here are words.
Limbs LimbsOf(int, bool, bool, int rows, int depth, size_t batch, int) { return {8, false, rows, depth, batch}; }
void Split(const LimbSplit& one, const LimbSplit& other, const ZeroRange& cleared, StreamHandle s) {
  exec::cuda::Do(s, [=] {
    for (const LimbSplit& x : {one, other}) {
      auto* out = reinterpret_cast<uint64_t*>(x.planes);
      const auto* const words = static_cast<const uint8_t*>(x.words);
      const size_t rows = size_t(x.to.rows), depth = size_t(x.to.depth);
      for (size_t b = 0; b < x.to.batch; ++b)
        for (size_t r = 0; r < rows; ++r)
          for (size_t d = 0; d < depth; ++d) {
            const size_t at = b * rows * depth + (x.transposed ? d * rows + r : r * depth + d);
            *out++ = pfss::WordOf(words + (x.splat ? 0 : at * size_t(x.bytes)), x.bytes, x.is_signed);
          }
    }
    std::fill_n(cleared.at, cleared.bytes, uint8_t{0});
  });
}
ZeroRange Sums(const Limbs& a, const Limbs& b, void* c, int c_bytes, uint8_t*) {
  return {static_cast<uint8_t*>(c), a.batch * size_t(a.rows) * size_t(b.rows) * size_t(c_bytes)};
}
size_t MultiplySpare(const Limbs&, const Limbs&, int) { return 0; }
void Multiply(const Limbs& a, const uint8_t* a_planes, const Limbs& b, const uint8_t* b_planes, int, void* c,
              int c_bytes, uint8_t*, StreamHandle s) {
  exec::cuda::Do(s, [=] {
    SUF_CHECK(a.depth == b.depth && (b.batch == a.batch || b.batch == 1));
    const auto* x = reinterpret_cast<const uint64_t*>(a_planes);
    const auto* y = reinterpret_cast<const uint64_t*>(b_planes);
    const size_t m = size_t(a.rows), n = size_t(b.rows), k = size_t(a.depth);
    for (size_t i = 0; i < a.batch * m * n; ++i) {
      const size_t row = i / n, column = b.batch == 1 ? i % n : i / (m * n) * n + i % n;
      uint64_t sum = 0;
      for (size_t d = 0; d < k; ++d) sum += x[row * k + d] * y[column * k + d];
      std::memcpy(static_cast<uint8_t*>(c) + i * size_t(c_bytes), &sum, size_t(c_bytes));
    }
  });
}

}  // namespace suf::ring::cuda

namespace suf::fss::cuda {
namespace {

DpfContext DpfOf(const DeviceKeyBatch& b) {
  DpfContext c{{}, b.program, b.n};
  std::memcpy(c.k_serial.data(), b.tree_key, 16);
  return c;
}
DcfContext DcfOf(const DeviceKeyBatch& b) {
  DcfContext c{{}, b.program, b.n, b.words, b.bits};
  std::memcpy(c.k_serial.data(), b.tree_key, 16);
  return c;
}
std::vector<uint64_t> WordsOf(const DeviceNumbers& x, size_t count) {
  std::vector<uint64_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(&out[i], static_cast<const uint8_t*>(x.data) + i * size_t(x.bytes), size_t(x.bytes));
    if (x.bits < 64) out[i] &= (uint64_t{1} << x.bits) - 1;
  }
  return out;
}
void Give(const std::vector<uint64_t>& words, const DeviceResults& out) {
  for (size_t i = 0; i < words.size(); ++i)
    std::memcpy(static_cast<uint8_t*>(out.data) + i * size_t(out.bytes), &words[i], size_t(out.bytes));
}
// Differences of x and each threshold.
std::vector<uint64_t> Points(const DeviceKeyBatch& b, const uint64_t* x, const uint64_t* thresholds, int m) {
  using U128 = unsigned __int128;
  const size_t words = DcfWords(b.n);
  const U128 mask = b.n < 128 ? (U128{1} << b.n) - 1 : ~U128{0};
  const auto number = [&](const uint64_t* p) { return words > 1 ? U128{p[1]} << 64 | p[0] : U128{p[0]}; };
  std::vector<uint64_t> out;
  for (size_t i = 0; i < b.count; ++i)
    for (size_t j = 0; j < size_t(m); ++j) {
      const U128 p = (number(x + i * words) - number(thresholds + j * words)) & mask;
      out.push_back(uint64_t(p));
      if (words > 1) out.push_back(uint64_t(p >> 64));
    }
  return out;
}

}  // namespace

void Expand(const PrgSpan* pieces, size_t count, StreamHandle s) {
  exec::cuda::Do(s, [=] {
    for (size_t i = 0; i < count; ++i) {
      const PrgSpan& p = pieces[i];
      const auto& aes = ring::Supports(Isa::kAvx2) ? avx2::kAes : portable::kAes;
      aes.ctr(p.keys->round_keys.data(), p.keys->nonce.data(), p.first, p.to, size_t{16} * p.blocks);
    }
  });
}
void DpfGen(const DeviceKeyBatch& b, DeviceNumbers alpha, const uint8_t* root0, const uint8_t* root1, uint8_t* key,
            StreamHandle s) {
  exec::cuda::Do(s, [=] { fss::DpfGen(DpfOf(b), WordsOf(alpha, b.count).data(), root0, root1, b.count, key); });
}
void DpfWindow(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, int level, DeviceNumbers lo,
               int m, DeviceResults out, StreamHandle s) {
  exec::cuda::Do(s, [=] {
    std::vector<uint64_t> words(b.count * size_t((m + 63) / 64));
    fss::DpfWindow(DpfOf(b), party, root, key, level, WordsOf(lo, b.count).data(), b.count, m, words.data());
    Give(words, out);
  });
}
void DpfParity(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, DeviceNumbers x,
               const uint64_t* thresholds, int m, DeviceResults out, StreamHandle s) {
  exec::cuda::Do(s, [=] {
    std::vector<uint64_t> words(b.count * size_t((m + 63) / 64));
    const std::vector<uint64_t> points = Points(b, WordsOf(x, b.count).data(), thresholds, m);
    fss::DpfParity(DpfOf(b), party, root, key, points.data(), b.count, m, words.data());
    Give(words, out);
  });
}
void DpfDense(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, DeviceNumbers x,
              const uint64_t* table, uint64_t* out, StreamHandle s) {
  exec::cuda::Do(s,
                 [=] { fss::DpfDense(DpfOf(b), party, root, key, WordsOf(x, b.count).data(), table, b.count, out); });
}
void DcfGen(const DeviceKeyBatch& b, const uint64_t* alpha, const uint64_t* beta, const uint8_t* root0,
            const uint8_t* root1, uint8_t* key, StreamHandle s) {
  exec::cuda::Do(s, [=] { fss::DcfGen(DcfOf(b), alpha, beta, root0, root1, b.count, key); });
}
void DcfEval(const DeviceKeyBatch& b, int party, const uint8_t* root, const uint8_t* key, const uint64_t* x,
             const uint64_t* thresholds, int m, uint64_t* out, StreamHandle s) {
  exec::cuda::Do(
      s, [=] { fss::DcfEval(DcfOf(b), party, root, key, Points(b, x, thresholds, m).data(), b.count, m, out); });
}

}  // namespace suf::fss::cuda
