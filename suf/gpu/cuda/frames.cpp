#include "suf/gpu/cuda/frames.hpp"

#include <algorithm>

#include "suf/gpu/cuda/instance.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using exec::cuda::Download;
using exec::cuda::DownloadNow;
using exec::cuda::Upload;
using exec::cuda::UploadNow;

namespace {

// Bytes of a frame that are copied at once, while later ones arrive or earlier ones are sent.
constexpr size_t kChunk = size_t{1} << 17;

}  // namespace

FrameMover::FrameMover(const Schedule& s, Instance& instance)
    : s_(s), memory_(instance.memory), streams_(instance.streams), clock_(instance.clock) {}

void FrameMover::Await(const DeviceStep& step, Io& io) const {
  if (step.receives < 0) return;
  const pfss::Frame& f = s_.frames()[size_t(step.receives)];
  if (const View all = io.Received(); int64_t(all.size()) == f.bytes)
    return clock_.timed() || all.size() <= kChunk ? io.Await(all.size()) : void();
  for (const pfss::FrameField& p : f.parts) (void)io.In(p.node);
}

void FrameMover::Receive(const DeviceStep& step, Io& io) const {
  if (step.receives < 0) return;
  const pfss::Frame& f = s_.frames()[size_t(step.receives)];
  uint8_t* const to = memory_.At(step.received) + kEdge;
  if (const View all = io.Received(); int64_t(all.size()) == f.bytes) {
    for (size_t at = 0; at < all.size(); at += kChunk) {
      const View chunk = all.subspan(at, std::min(kChunk, all.size() - at));
      clock_.TimeIo([&] { io.Await(at + chunk.size()); });
      UploadNow(to + at, chunk.data(), chunk.size(), streams_.work.stream());
    }
    return;
  }
  for (const pfss::FrameField& p : f.parts) {
    const View v = io.In(p.node);
    Upload(to + p.at, v.data(), v.size(), streams_.work.stream());
  }
}

void FrameMover::Send(const DeviceStep& step, Io& io) const {
  if (step.sends < 0) return;
  const pfss::Frame& f = s_.frames()[size_t(step.sends)];
  const uint8_t* const from = memory_.At(step.sent) + kEdge;
  if (const std::span<uint8_t> all = io.Sending(); int64_t(all.size()) == f.bytes) return SendChunks(from, all, io);
  SendFields(from, f, io);
}

// Sends a frame in chunks from the host's buffer `to`. Up to eight copies are under way.
void FrameMover::SendChunks(const uint8_t* from, std::span<uint8_t> to, Io& io) const {
  const bool several = to.size() > kChunk;
  const size_t ahead = kChunk * streams_.copied.size();
  const auto event = [&](size_t at) -> const exec::cuda::Event& {
    return streams_.copied[at / kChunk % streams_.copied.size()];
  };
  const auto copy = [&](size_t at) {
    DownloadNow(&to[at], from + at, std::min(kChunk, to.size() - at), streams_.work.stream());
    if (several) event(at).Record(streams_.work.stream());
  };
  clock_.TimeDownloads(streams_.work, [&] {
    for (size_t at = 0; at < std::min(ahead, to.size()); at += kChunk) copy(at);
    for (size_t at = 0; at < to.size(); at += kChunk) {
      several ? event(at).Wait() : streams_.work.Wait();
      if (at + ahead < to.size()) copy(at + ahead);
      clock_.TimeIo([&] { io.ReportWritten(std::min(at + kChunk, to.size())); });
    }
    clock_.TimeIo([&] { io.SendNow(); });
  });
}

// Sends a frame from the host's buffers for its fields.
void FrameMover::SendFields(const uint8_t* from, const pfss::Frame& frame, Io& io) const {
  clock_.TimeDownloads(streams_.work, [&] {
    for (const pfss::FrameField& p : frame.parts) {
      const std::span<uint8_t> to = io.Out(p.node);
      Download(to.data(), from + p.at, to.size(), streams_.work.stream());
    }
  });
  io.SendNow();
}

}  // namespace suf::gpu::cuda
