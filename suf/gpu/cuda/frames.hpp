// Frames of a run.
#pragma once
#include <span>

#include "suf/gpu/cuda/device_plan.hpp"

namespace suf::gpu::cuda {

class BatchClock;
struct Instance;
class RunMemory;
struct RunStreams;

// Moves the frames of a party's steps between the host and the device. It knows the places of both. A long frame is
// moved in chunks: each is copied while later ones arrive, or while earlier ones are sent.
class FrameMover {
 public:
  FrameMover(const pfss::Schedule& s, Instance& instance);
  // Waits for the frame that a step receives, so that the wait does not count as copying. A long frame is copied as it
  // arrives, unless the copy is measured.
  void Await(const DeviceStep& step, pfss::Io& io) const;
  // Copies the frame that a step receives to the device.
  void Receive(const DeviceStep& step, pfss::Io& io) const;
  // Copies the frame that a step sends to the host, and sends it.
  void Send(const DeviceStep& step, pfss::Io& io) const;

 private:
  void SendChunks(const uint8_t* from, std::span<uint8_t> to, pfss::Io& io) const;
  void SendFields(const uint8_t* from, const pfss::Frame& frame, pfss::Io& io) const;

  const pfss::Schedule& s_;
  const RunMemory& memory_;
  const RunStreams& streams_;
  BatchClock& clock_;
};

}  // namespace suf::gpu::cuda
