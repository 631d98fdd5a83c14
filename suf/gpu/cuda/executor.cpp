#include "suf/gpu/cuda/executor.hpp"

#include "suf/gpu/cuda/bulk.hpp"
#include "suf/ring/modular.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using exec::cuda::DeviceMemory;
using exec::cuda::Download;
using exec::cuda::StreamHandle;
using exec::cuda::Upload;

CudaExecutor::CudaExecutor(const Schedule& s, Role role, int device, DeviceWeightCache& weights,
                           std::unique_ptr<Instance> instance, InstanceReturn done)
    : s_(s),
      role_(role),
      device_(device),
      in_(std::move(instance)),
      plan_(*in_->plan),
      done_(std::move(done)),
      inputs_(s, role, *in_, weights),
      keys_(s, role, *in_),
      words_(s, *in_),
      frames_(s, *in_),
      times_(s, role, plan_, in_->clock, in_->launches),
      operations_(s, *in_) {}

CudaExecutor::~CudaExecutor() {
  try {
    exec::cuda::Use(device_);
    in_->Wipe();
    done_(std::move(in_));
  } catch (const std::exception&) {  // the device is lost, and its memory with it
  }
}

void CudaExecutor::OpenKeys(const Randomness& randomness) {
  const auto tree = randomness.TreeKey();
  Upload(in_->memory.tree_key(), tree.data(), tree.size(), in_->streams.work.stream());
  words_.Open(randomness);
}

// Begins the run, before its first program.
void CudaExecutor::Begin(const Randomness& randomness, Io& io) {
  in_->clock.BeginRun(io.NeedsScopeTimes());
  OpenKeys(randomness);
  inputs_.TakeForms(io);
  in_->kernels.Recheck();
}

// Takes from the host everything that a batch needs except the frame, if possible while the peer works.
void CudaExecutor::Prepare(size_t b, Io& io) {
  const LaunchBatch& batch = plan_.batches[b];
  keys_.Await(batch, io);
  inputs_.Take(b, io);
  keys_.Take(batch, io);
  prepared_ = b + 1;
}

// Launches a batch. The first time, and if instructions are measured, it launches them one by one, otherwise as a
// graph.
void CudaExecutor::Launch(size_t b) {
  const LaunchBatch& batch = plan_.batches[b];
  const StreamHandle s = in_->streams.work.stream();
  in_->LoadKernels();
  const auto enqueue = [&](size_t k, StreamHandle to) { operations_.Enqueue(batch, k, to); };
  const bool apart = times_.Apart(batch), first = in_->graphs.CountRun(b);
  if (!first && !apart) return in_->graphs.Launch(s_.trace(), plan_, b, enqueue, s);
  if (apart) in_->clock.ReserveEnds(batch.end - batch.begin);
  for (size_t k = batch.begin; k < batch.end; ++k) {
    if (!plan_.Idle(s_.trace(), k)) enqueue(k, s);
    if (apart) in_->clock.RecordEnd(k - batch.begin, s);
  }
}

// Submits a batch to the stream: copies of its frame, waits for its keys and words, and its kernels.
void CudaExecutor::Submit(const DeviceStep& step, size_t b, const Randomness& randomness, Io& io) {
  BatchClock& clock = in_->clock;
  const StreamHandle s = in_->streams.work.stream();
  const size_t c = plan_.batches[b].chapter;
  clock.Begin(s);
  if (b == step.begin) frames_.Receive(step, io);
  keys_.AwaitUploads(s);
  clock.Record(BatchClock::kCopied, s);
  clock.Await(BatchClock::kCopied, in_->streams.words.stream());
  if (b == plan_.chapters[c].begin) {
    words_.Provide(c, randomness);
    clock.Record(BatchClock::kExpanded, s);
  }
  Launch(b);
  clock.End(s);
  if (b + 1 == plan_.chapters[c].end) words_.FreeSlots(c);
}

// Moves data while the device works and then while the peer works. `before` says whether the inference has yet to
// begin.
void CudaExecutor::Move(const DeviceStep& step, size_t b, bool before, Io& io) {
  const LaunchBatch& batch = plan_.batches[b];
  const bool last = b + 1 == step.end;
  // While the device works: expand the next chapter's words, unless they are measured apart, and send key sections.
  if (!in_->clock.timed() && b == plan_.chapters[batch.chapter].begin) words_.ExpandNext(batch.chapter);
  if (role_ == Role::kDealer) {
    if (b > step.begin) keys_.Send(plan_.batches[b - 1], io);
    if (last) {
      in_->streams.work.Wait();
      keys_.Send(batch, io);
    }
  }
  if (last) frames_.Send(step, io);
  // While the peer works: upload key sections.
  keys_.TakeAhead(io, before);
}

void CudaExecutor::Run(const Program& program, const Randomness& randomness, Io& io) {
  const grouping::GroupPlan& plan = plan_.plan;
  SUF_CHECK(next_ < plan.programs.size() && program.role == role_ && program.nodes == plan.programs[next_].nodes);
  exec::cuda::Use(device_);
  if (next_ == 0) Begin(randomness, io);
  const size_t at = next_++;
  const DeviceStep& step = plan_.programs[at];
  const bool before = role_ != Role::kDealer && s_.steps(int(role_))[at].tick < 0;
  in_->clock.Restart();
  frames_.Await(step, io);
  if (step.begin == step.end) frames_.Receive(step, io);
  for (size_t b = step.begin; b < step.end; ++b) {
    if (prepared_ <= b) Prepare(b, io);
    Submit(step, b, randomness, io);
    Move(step, b, before, io);
    in_->streams.work.Wait();
    keys_.Release(io);
    times_.Report(step, b, in_->clock.Lap(), io);
    if (b + 1 == step.end && role_ != Role::kDealer && b + 1 < plan_.batches.size()) Prepare(b + 1, io);
  }
  for (int i : plan.unread[at]) io.Release(i);
}

std::vector<uint64_t> CudaExecutor::Result(int i) {
  exec::cuda::Use(device_);
  const exec::cuda::DeviceStream& stream = in_->streams.work;
  const Node& node = s_.trace().node(i);
  const uint64_t n = uint64_t(Size(node.shape));
  std::vector<uint64_t> out(n);
  const MemoryArray x = in_->memory.Value(s_, i);
  const Word mask = ring::Mask(node.ring.bits);
  if (x.indirect || x.splat) {  // an input or a constant that is a result
    const DeviceMemory words(8 * n);
    Words(x, n, mask, reinterpret_cast<Word*>(words.data()), stream.stream());
    Download(out.data(), words.data(), 8 * n, stream.stream());
    stream.Wait();
    return out;
  }
  WipedVector<uint8_t> bytes(n * x.bytes);
  Download(bytes.data(), x.data, bytes.size(), stream.stream());
  stream.Wait();
  for (uint64_t k = 0; k < n; ++k) out[k] = WordOf(&bytes[k * size_t(x.bytes)], int(x.bytes), false) & mask;
  return out;
}

}  // namespace suf::gpu::cuda
