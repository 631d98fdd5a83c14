// A party's reading of a trace. At each step it waits only for the scheduled frame, runs the step's program, and sends
// its own frame. A long frame is read while it arrives and leaves while it is written, if the backend does both. This
// code does not know which gate a step belongs to.
#pragma once
#include <functional>

#include "suf/net/channel.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"
#include "suf/store/key_source.hpp"

namespace suf::run {

// The link for the frames of one inference, which are named by index of Schedule::frames. One call at a time.
class FrameLink {
 public:
  virtual ~FrameLink() = default;
  // Sends bytes [0, bytes) of a frame, which are final. The frame is sent when all bytes are. The payload stays where
  // it is until Release.
  virtual void Send(int index, View payload, size_t bytes) = 0;
  // Gives the buffer for a frame that is due; its bytes may go there from now on. Frames are posted in the order in
  // which they are due.
  virtual void Post(int index, std::span<uint8_t> into) = 0;
  // Returns when `bytes` bytes of the oldest posted frame are there; with all of them it is received. Throws
  // Cause::kPeer if the peer is silent, gone, or sent another frame.
  virtual void Receive(int index, size_t bytes) = 0;
  // Returns when nothing reads this memory any more.
  virtual void Release(View) {}
  // Forgets the posted buffers, which are about to be freed: the run has failed.
  virtual void Unpost() {}
  // Returns the seconds that Receive has been blocked since the link was made.
  virtual double waited() const = 0;
};

// A link over a session's channel. Frame `index` has the kind kFirstRun + index.
class ChannelLink : public FrameLink {
 public:
  explicit ChannelLink(net::Channel& ch) : ch_(ch) {}
  void Send(int index, View payload, size_t bytes) override { ch_.SendUpTo(Kind(index), payload, bytes); }
  void Post(int index, std::span<uint8_t> into) override { ch_.Post(Kind(index), into); }
  void Receive(int, size_t bytes) override { ch_.RecvUpTo(bytes); }
  void Release(View memory) override { ch_.Release(memory); }
  void Unpost() override { ch_.Unpost(); }
  double waited() const override { return ch_.waited(); }

 private:
  static uint16_t Kind(int index) { return uint16_t(net::kFirstRun + index); }
  net::Channel& ch_;
};

struct PartyJob {
  const pfss::Schedule& schedule;
  pfss::Backend& backend;
  int party;
  const pfss::Randomness& randomness;
  Inputs& inputs;
  store::KeySource& keys;  // of the party's bundle, laid out by LayoutOf
  FrameLink& link;
  std::function<void(int step, int steps, const std::string& scope)> progress = {};
  // Called when all frames before the inference have arrived or left.
  std::function<void()> online = {};
  // Called when the last frame has arrived or left, before anything is read of a received one.
  std::function<void()> through = {};
  Times* times = nullptr;
  // Whether long frames move while they are read and written. Must be false if both parties lease one pool of threads
  // (exec::Pools). One would wait in the pool for the other one, which needs it.
  bool parts = false;
  // Whether the executor measures each scope (pfss::Io::NeedsScopeTimes).
  bool timed = false;
  // Whether keys that are here may go to a device before the inference; otherwise they go there while it runs.
  bool early = true;
};

// Returns the bytes of a party's buffers for frames in flight, in both directions. They exist during all of the
// inference.
uint64_t RoomsOf(const pfss::Schedule& schedule, int party);

// Runs a party's steps, counted as a RunningInference. Returns the words that it learns or keeps, reduced to their
// rings, result after result. A party without a result gets none.
std::vector<uint64_t> RunParty(const PartyJob& job);

}  // namespace suf::run
