// A party's reading of a trace: step by step, it waits only for the frame that the schedule names, runs the step's
// program, and sends its own frame. Which gate a step belongs to, it does not know.
#pragma once
#include <functional>
#include <map>

#include "suf/net/channel.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"

namespace suf::run {

// Link: the frames of one inference. Receive waits and throws Cause::kPeer when the peer is silent or gone.
class Link {
 public:
  virtual ~Link() = default;
  // Send: frame `index` of Schedule::frames.
  virtual void Send(int index, View payload) = 0;
  // Receive: frame `index`, exactly `bytes` long, or the session ends.
  virtual Bytes Receive(int index, size_t bytes) = 0;
  // Expect: what the peer may send while our next frame goes out (Channel::Expect).
  virtual void Expect(size_t /*frames*/, size_t /*bytes*/) {}
  // Recycle: a payload that nobody reads any more.
  virtual void Recycle(Bytes) {}
  // waited: seconds that Receive was blocked, since the link was made.
  virtual double waited() const = 0;
};

// ChannelLink: frame `index` over a session's channel, as kind kFirstRun + index.
class ChannelLink : public Link {
 public:
  explicit ChannelLink(net::Channel& ch) : ch_(ch) {}
  void Send(int index, View payload) override { ch_.Send(uint16_t(net::kFirstRun + index), payload); }
  Bytes Receive(int index, size_t bytes) override { return ch_.RecvExact(uint16_t(net::kFirstRun + index), bytes); }
  void Expect(size_t frames, size_t bytes) override { ch_.Expect(frames, bytes); }
  void Recycle(Bytes b) override { ch_.Recycle(std::move(b)); }
  double waited() const override { return ch_.waited(); }

 private:
  net::Channel& ch_;
};

struct PartyJob {
  const pfss::Schedule& schedule;
  pfss::Backend& backend;
  int party;
  const pfss::Randomness& randomness;
  Inputs& inputs;
  View key;  // the body of the party's bundle, Schedule::key_bytes(party) long
  Link& link;
  std::function<void(int step, int steps, const std::string& scope)> progress = {};
  std::function<void()> online = {};  // called once every frame sent before the inference has arrived or gone out
  // through: called when the last frame has come or gone, before anything is read of one that came
  std::function<void()> through = {};
  Times* times = nullptr;
};

// RunParty: the words that the party learns or keeps, reduced to their rings, result after result; none for a party
// without a result.
std::vector<uint64_t> RunParty(const PartyJob& job);

}  // namespace suf::run
