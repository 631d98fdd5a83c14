// A party's reading of a trace: step by step, it waits only for the frame that the schedule names, runs the step's
// program, and sends its own frame. A long frame is read while it comes and leaves while it is written, as far as the
// backend does both. Which gate a step belongs to, it does not know.
#pragma once
#include <functional>

#include "suf/net/channel.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"
#include "suf/store/key_source.hpp"

namespace suf::run {

// The frames of one inference, by index of Schedule::frames. One call at a time.
class Link {
 public:
  virtual ~Link() = default;
  // Bytes [0, bytes) of a frame are final and may leave; it is sent when all are. The payload stays where it is
  // until Release.
  virtual void Send(int index, View payload, size_t bytes) = 0;
  // Room for a frame that is due, in the order in which they are: its bytes may go there from now on.
  virtual void Post(int index, std::span<uint8_t> into) = 0;
  // Returns when so many bytes of the oldest posted frame are there; with all of them it is received. Throws
  // Cause::kPeer when the peer is silent, gone, or sent another one.
  virtual void Receive(int index, size_t bytes) = 0;
  // Returns when nothing reads this memory any more.
  virtual void Release(View) {}
  // Forgets what is posted, as its rooms go: the run has failed.
  virtual void Unpost() {}
  // waited: seconds that Receive was blocked, since the link was made.
  virtual double waited() const = 0;
};

// Frame `index` over a session's channel, as kind kFirstRun + index.
class ChannelLink : public Link {
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
  store::KeySource& keys;  // of the party's bundle; its layout is LayoutOf
  Link& link;
  std::function<void(int step, int steps, const std::string& scope)> progress = {};
  std::function<void()> online = {};  // called once every frame sent before the inference has arrived or gone out
  // through: called when the last frame has come or gone, before anything is read of one that came
  std::function<void()> through = {};
  Times* times = nullptr;
  // parts: whether long frames move while they are read and written. Not where both parties share a pool of threads:
  // one would wait within it for the other, who needs it.
  bool parts = false;
  bool timed = false;  // the executor measures each scope (pfss::Io::Timed)
  // early: whether keys that are here may go to a device before the inference; else they go there while it runs
  bool early = true;
};

// Bytes of a party's rooms for frames in flight, of both directions; they are there for all of the inference.
uint64_t RoomsOf(const pfss::Schedule& schedule, int party);

// The words that the party learns or keeps, reduced to their rings, result after result; none for a party
// without a result.
std::vector<uint64_t> RunParty(const PartyJob& job);

}  // namespace suf::run
