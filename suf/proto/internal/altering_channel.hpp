// A channel for tests of dishonest parties.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "suf/net/channel.hpp"

namespace suf::proto {

// A frame between the parties, as its receiver finds it.
struct PassedFrame {
  Role from;
  uint16_t kind;
  size_t bytes;
  bool operator==(const PassedFrame&) const = default;
};

// One end of a session. It logs frames, and may replace those that its party sends.
class AlteringChannel final : public net::Channel {
 public:
  using Alter = std::function<std::vector<Bytes>(uint16_t kind, Bytes payload)>;
  AlteringChannel(net::Channel& ch, Alter alter, std::vector<PassedFrame>& passed)
      : Channel(ch.self(), ch.peer(), ch.exporter(), ch.timeout()),
        wrapped_{ch},
        alter_(std::move(alter)),
        passed_(passed) {}
  bool PeerGone(size_t due) override { return wrapped_.ch.PeerGone(due); }
  void HangUp() noexcept override { wrapped_.ch.HangUp(); }

 protected:
  void Put(View header, View payload) override {
    Reader r(header.subspan(4), "a header");
    const auto kind = r.Get<uint16_t>(), sequence = r.Get<uint16_t>();
    std::vector<Bytes> out{Bytes(payload.begin(), payload.end())};
    if (alter_) out = alter_(kind, std::move(out[0]));
    for (size_t i = 0; i < out.size(); ++i) {
      passed_.push_back({self().role, kind, out[i].size()});
      wrapped_.Put(EncodeHeader(out[i].size(), kind, uint16_t(sequence + i)), out[i]);
    }
  }
  ReceivedFrame Take(size_t limit) override {
    ReceivedFrame f = wrapped_.Take(limit);
    passed_.push_back({peer().role, f.kind, f.payload.size()});
    return f;
  }
  void Linger() noexcept override { wrapped_.Linger(); }

 private:
  WrappedChannel wrapped_;
  Alter alter_;
  std::vector<PassedFrame>& passed_;
};

}  // namespace suf::proto
