// A channel over another one that sees every frame and makes one fault at one of them. It also watches the product: no
// frame that depends on a bundle is sent before the claim is on disk. No frame of a serial is sent twice.
#pragma once
#include <signal.h>

#include <functional>
#include <optional>
#include <vector>

#include "suf/net/channel.hpp"
#include "tests/faults/board.hpp"

namespace suf::faults {

using namespace net;

// A frame as its sender gave it to the channel.
struct Sent {
  Role from{}, to{};
  uint16_t kind = 0;
  Bytes payload;
};

// Whether frames of this kind depend on a claimed bundle.
inline bool Dependent(uint16_t kind) {
  return kind == kClaim || kind == kAck || kind == kGo || kind == kOfflineEnd || kind == kOnlineEnd || kind == kBye ||
         kind >= kFirstRun;
}

class Faulty final : public Channel {
 public:
  struct Plan {
    Board& board;
    Fault fault;
    const std::vector<Sent>& reference;     // the frames of another run
    std::function<void(const Sent&)> sent;  // called before each frame is sent
  };
  Faulty(std::unique_ptr<Channel> below, Plan plan) : Faulty(*below, std::move(plan)) { own_ = std::move(below); }
  Faulty(Channel& below, Plan plan)
      : Channel(below.self(), below.peer(), below.exporter(), below.timeout()), below_(below), plan_(std::move(plan)) {}
  bool PeerGone(size_t due) override { return below_.PeerGone(due); }
  void Advance(PeerState s) noexcept override {
    Channel::Advance(s);
    below_.Advance(s);
  }
  void HangUp() noexcept override { below_.HangUp(); }

 private:
  // Seconds of patience: ample before the fault happens, however slow the machine is, and short afterwards.
  static constexpr double kAmple = 60, kSoon = 1.5, kLater = 4;
  Fault& fault() { return plan_.fault; }
  void Put(View header, View payload) override {
    Reader r(header.subspan(4), "a header");
    uint16_t kind = r.Get<uint16_t>();
    if (kind == kRefuse) return Pass(header, payload);
    plan_.sent({self().role, peer().role, kind, Bytes(payload.begin(), payload.end())});
    bool here = fault().what != What::kNone && fault().what != What::kReceiverDies && fault().from == self().role &&
                fault().to == peer().role && sent_ == fault().index && plan_.board.armed.exchange(false);
    ++sent_;
    if (!here) return Pass(header, payload);
    plan_.board.fired = Now();
    Act(Bytes(header.begin(), header.end()), Bytes(payload.begin(), payload.end()), kind);
  }
  // Sends the frame, then the one that was held back.
  void Pass(View header, View payload) {
    below_.set_timeout(Millis{1500});
    WrappedChannel{below_}.Put(header, payload);
    if (!held_) return;
    auto held = *std::exchange(held_, std::nullopt);
    WrappedChannel{below_}.Put(held.first, held.second);
  }
  void Signal(int s) { kill(plan_.board.pid[int(fault().victim)], s); }
  static Bytes Length(Bytes header, size_t n) {
    uint32_t length = uint32_t(n);
    std::memcpy(header.data(), &length, sizeof length);
    return header;
  }
  void Act(Bytes header, Bytes payload, uint16_t kind) {
    below_.set_timeout(Millis{1500});
    WrappedChannel wrapped{below_};
    size_t bit = fault().bit;
    switch (fault().what) {
      case What::kDies:
      case What::kStops:
        Signal(fault().what == What::kDies ? SIGKILL : SIGSTOP);
        return wrapped.Put(header, payload);
      case What::kDiesAfter:
        wrapped.Put(header, payload);
        return Signal(SIGKILL);
      case What::kDiesHalfway:
        wrapped.Put(View(header).first(payload.empty() ? 4 : 8), View(payload).first(payload.size() / 2));
        return Signal(SIGKILL);
      case What::kLost:
        return;
      case What::kSwapped:
        held_.emplace(std::move(header), std::move(payload));
        return;
      case What::kTwice:
        wrapped.Put(header, payload);
        return wrapped.Put(header, payload);
      case What::kShort:
        payload.pop_back();
        return wrapped.Put(Length(header, payload.size()), payload);
      case What::kLong:
        payload.push_back(0);
        return wrapped.Put(Length(header, payload.size()), payload);
      case What::kFlip:
        payload[bit / 8] ^= uint8_t(1 << bit % 8);
        return wrapped.Put(header, payload);
      case What::kHead:
        header[bit / 8] ^= uint8_t(1 << bit % 8);
        return wrapped.Put(header, payload);
      case What::kReplay:
        return wrapped.Put(header, Other(0).payload);
      case What::kForeign:
        kind = Other(1).kind;
        std::memcpy(header.data() + 4, &kind, sizeof kind);
        return wrapped.Put(header, payload);
      default:
        SUF_CHECK(false);
    }
  }
  // The frame of the reference at this position, or `after` it in the same direction. The default is the last one.
  const Sent& Other(int after) const {
    const Sent* found = nullptr;
    int k = 0;
    for (const Sent& s : plan_.reference)
      if (s.from == self().role && s.to == peer().role && k++ <= plan_.fault.index + after) found = &s;
    return *found;
  }

  ReceivedFrame Take(size_t limit) override {
    ReceivedFrame f = Await(limit);
    if (f.kind != kRefuse && fault().what == What::kReceiverDies && fault().from == peer().role &&
        fault().to == self().role && received_++ == fault().index && plan_.board.armed.exchange(false)) {
      plan_.board.fired = Now();
      Signal(SIGKILL);
    }
    return f;
  }
  // Takes a frame. The fault may shorten the wait.
  ReceivedFrame Await(size_t limit) {
    for (double begun = Now();;) {
      double slice = Now();
      below_.set_timeout(Millis{100});
      try {
        return WrappedChannel{below_}.Take(limit);
      } catch (const Error& e) {
        double fired = plan_.board.fired, soon = Silences(fault()) ? kSoon : kLater;
        bool over = fired > 0 && !plan_.board.calm ? Now() > std::max(begun, fired) + soon : Now() > begun + kAmple;
        if (over || Now() - slice < 0.1 || !std::strstr(e.what(), "was silent")) throw;
      }
    }
  }
  void Linger() noexcept override { WrappedChannel{below_}.Linger(); }

  std::unique_ptr<Channel> own_;
  Channel& below_;
  Plan plan_;
  int sent_ = 0, received_ = 0;
  std::optional<std::pair<Bytes, Bytes>> held_;
};

}  // namespace suf::faults
