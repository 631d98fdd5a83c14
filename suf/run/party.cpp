#include "suf/run/party.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "suf/run/deal.hpp"

namespace suf::run {
namespace {

using Clock = Meter::SteadyClock;

constexpr size_t kPosted = 4;  // frames that may arrive before they are due
// Slots of a direction. A frame may still be read for its tag while kPosted other ones are posted.
constexpr size_t kSlots = 2 * kPosted;
using pfss::kLongFrame;

// Returns the inference's own frames in one direction: those that the party sends or those that it receives.
std::vector<int> InOrder(const pfss::Schedule& s, int party, bool sent) {
  std::vector<int> order;
  for (int f = 0; f < int(s.frames().size()); ++f)
    if (const pfss::Frame& frame = s.frames()[size_t(f)]; frame.tick >= 0 && (frame.sender == party) == sent)
      order.push_back(f);
  return order;
}

// Returns for each slot the bytes of the largest frame in it.
std::array<size_t, kSlots> Largest(const pfss::Schedule& s, const std::vector<int>& order) {
  std::array<size_t, kSlots> most{};
  for (size_t k = 0; k < order.size(); ++k)
    most[k % kSlots] = std::max(most[k % kSlots], size_t(s.frames()[size_t(order[k])].bytes));
  return most;
}

// Slots for the frames of one direction, allocated once. Frame number k of the direction has slot k mod kSlots.
class Slots {
 public:
  Slots(const pfss::Schedule& s, int party, bool sent) : s_(s), order_(InOrder(s, party, sent)) {
    const auto most = Largest(s, order_);
    for (size_t i = 0; i < kSlots; ++i) room_[i] = exec::HostBuffer(most[i]);
  }
  size_t count() const { return order_.size(); }
  int frame(size_t k) const { return order_[k]; }
  std::span<uint8_t> room(size_t k) {
    return room_[k % kSlots].span().first(size_t(s_.frames()[size_t(order_[k])].bytes));
  }

 private:
  const pfss::Schedule& s_;
  const std::vector<int> order_;
  std::array<exec::HostBuffer, kSlots> room_;
};

class PartyIo : public pfss::Io {
 public:
  explicit PartyIo(const PartyJob& job)
      : meter(job.schedule.trace()),
        job_(job),
        s_(job.schedule),
        t_(job.schedule.trace()),
        section_(t_.nodes().size(), -1),
        part_(t_.nodes().size()),
        in_(s_, job.party, false),
        out_(s_, job.party, true) {
    for (size_t i = 0; i < s_.key(job.party).size(); ++i) section_[size_t(s_.key(job.party)[i].node)] = int(i);
    // gives back sections for both parties that only the other one reads
    std::vector<char> live(t_.nodes().size());
    for (int i : s_.live(Role(job.party))) live[size_t(i)] = 1;
    for (const pfss::FrameField& part : s_.key(job.party))
      if (!live[size_t(part.node)]) Read(part.node);
    for (const pfss::Frame& f : s_.frames())
      for (const pfss::FrameField& part : f.parts) part_[size_t(part.node)] = &part;
  }
  // frames that still move must not outlive their buffers
  ~PartyIo() override {
    job_.link.Unpost();
    Forget();
    for (size_t k = 0; k < kSlots; ++k) {
      if (k < in_.count()) job_.link.Release(in_.room(k));
      if (k < out_.count()) job_.link.Release(out_.room(k));
    }
  }

  // Posts the next frames of the inference, when earlier ones have left their slots.
  void Post() {
    for (; posted_ < in_.count() && posted_ < taken_ + kPosted; ++posted_) {
      job_.link.Release(in_.room(posted_));
      job_.link.Post(in_.frame(posted_), in_.room(posted_));
    }
  }
  // Begins a step with its frames. Waits for the part of the received one that cannot be read while it arrives.
  void Begin(int receive, int send, bool whole) {
    receive_ = receive;
    send_ = send;
    came_ = 0;
    written_ = 0;
    left_ = 0;
    incoming_ = receive < 0 ? std::span<uint8_t>() : Room(receive, &before_[0], &in_, &taken_);
    outgoing_ = send < 0 ? std::span<uint8_t>() : Room(send, &before_[1], &out_, &sent_);
    if (receive < 0) return;
    if (s_.frames()[size_t(receive)].tick < 0) {
      job_.link.Post(receive, incoming_);
      whole = true;
    }
    if (whole || !job_.parts || incoming_.size() <= kLongFrame) AwaitNow(incoming_.size());
  }
  // Ends a step: its received frame is here and was read, its sent frame is written.
  void End() {
    AwaitNow(incoming_.size());
    Leave();
    if (receive_ >= 0 && s_.frames()[size_t(receive_)].tick >= 0) Post();
  }
  void Forget() {  // frees the frames before the inference
    for (exec::HostBuffer& b : before_) {
      job_.link.Release(b.view());
      b = {};
    }
  }

  View In(int node) override {
    if (const int i = section_[size_t(node)]; i >= 0) {
      const double before = job_.keys.waited();
      const View v = job_.keys.Section(size_t(i));
      if (const double waited = job_.keys.waited() - before; waited > 0) Book(0, waited);
      return v;
    }
    const pfss::FrameField& part = *part_[size_t(node)];
    Await(size_t(part.at + part.bytes));
    return View(incoming_).subspan(size_t(part.at), size_t(part.bytes));
  }
  bool Ready(int node) override {
    const int i = section_[size_t(node)];
    return i >= 0 && (job_.early || begun) && job_.keys.Ready(size_t(i));
  }
  void Read(int node) override {
    if (const int i = std::exchange(section_[size_t(node)], -1); i >= 0) job_.keys.Give(size_t(i));
  }
  std::span<uint8_t> Out(int node) override {
    const pfss::FrameField& part = *part_[size_t(node)];
    return outgoing_.subspan(size_t(part.at), size_t(part.bytes));
  }
  View Received() override { return incoming_; }
  std::span<uint8_t> Sending() override { return outgoing_; }
  void Await(size_t bytes) override {
    if (came_.load(std::memory_order_acquire) >= bytes) return;
    std::lock_guard l(link_);
    AwaitNow(bytes);
  }
  // A thread that finds the link free sends everything that is written by then.
  void Written(size_t bytes) override {
    for (size_t was = written_; was < bytes && !written_.compare_exchange_weak(was, bytes);) {
    }
    if (!job_.parts || outgoing_.size() <= kLongFrame || s_.frames()[size_t(send_)].tick < 0) return;
    std::unique_lock l(link_, std::try_to_lock);
    if (l && written_ >= left_ + kLongFrame) SendNow(written_);
  }
  void Leave() override {
    std::lock_guard l(link_);
    if (send_ >= 0 && left_ < outgoing_.size()) SendNow(outgoing_.size());
  }
  Data Input(int node) override {
    const pfss::Node& n = t_.node(node);
    return job_.inputs.Get(t_.name(n.label), size_t(pfss::Size(n.shape)));
  }
  void Took(uint16_t scope, const Spent& s) override {
    std::lock_guard l(meter_);
    meter.Took(scope, s);
  }
  bool Timed() const override { return job_.timed; }

  Meter meter;
  bool running = false;  // whether the executor runs
  bool begun = false;    // whether the inference has begun

 private:
  // Returns the buffer of a frame: its own before the inference, otherwise the next slot of its direction.
  std::span<uint8_t> Room(int frame, exec::HostBuffer* own, Slots* slots, size_t* next) {
    const pfss::Frame& f = s_.frames()[size_t(frame)];
    if (f.tick < 0) return *own = exec::HostBuffer(size_t(f.bytes)), own->span();
    SUF_CHECK(slots->frame(*next) == frame);
    const std::span<uint8_t> room = slots->room((*next)++);
    if (slots == &out_) job_.link.Release(room);
    return room;
  }
  // Books waiting time. While the executor runs, its own time goes on.
  void Book(double wire, double wait) {
    std::lock_guard l(meter_);
    running ? meter.Within({.wire = wire, .wait = wait}) : meter.Beside({.wire = wire, .wait = wait});
  }
  void AwaitNow(size_t bytes) {
    if (receive_ < 0 || came_ >= bytes) return;
    const auto begin = Clock::now();
    const double before = job_.link.waited();
    job_.link.Receive(receive_, bytes);
    came_.store(bytes, std::memory_order_release);
    const double waited = job_.link.waited() - before;
    Book(Meter::Since(begin) - waited, waited);
  }
  void SendNow(size_t bytes) {
    const auto begin = Clock::now();
    job_.link.Send(send_, outgoing_, bytes);
    left_ = bytes;
    Book(Meter::Since(begin), 0);
  }

  const PartyJob& job_;
  const pfss::Schedule& s_;
  const pfss::Trace& t_;
  std::vector<int> section_;                   // section of the body by node; -1: none
  std::vector<const pfss::FrameField*> part_;  // part of a frame by node
  Slots in_, out_;
  std::array<exec::HostBuffer, 2> before_;  // frames before the inference, received and sent
  size_t posted_ = 0, taken_ = 0, sent_ = 0;
  int receive_ = -1, send_ = -1;  // frames of the step
  std::span<uint8_t> incoming_, outgoing_;
  std::mutex link_, meter_;
  std::atomic<size_t> came_{0}, written_{0};
  size_t left_ = 0;  // bytes of the outgoing frame that have left
};

}  // namespace

uint64_t RoomsOf(const pfss::Schedule& s, int party) {
  uint64_t all = 0;
  for (bool sent : {false, true})
    for (size_t bytes : Largest(s, InOrder(s, party, sent))) all += bytes;
  return all;
}

std::vector<uint64_t> RunParty(const PartyJob& job) {
  const pfss::Schedule& s = job.schedule;
  const size_t sections = job.keys.layout().sections().size();
  if (int64_t(job.keys.layout().bytes()) != s.key_bytes(job.party) || sections != s.key(job.party).size())
    Fail(Cause::kRefused, "the key body has ", job.keys.layout().bytes(), " bytes in ", sections,
         " sections; this plan and token count take ", s.key_bytes(job.party), " in ", s.key(job.party).size(),
         "; deal a new bundle");
  PartyIo io(job);
  auto executor = job.backend.Start(s, Role(job.party));
  auto programs = pfss::Programs(s, Role(job.party));
  const auto& steps = s.steps(job.party);
  size_t last = 0;  // the last step with a frame
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].receive >= 0 || steps[i].send >= 0) last = i;
  auto begin = Clock::now();
  Span before_it{Stamp()}, online_part;
  bool online = false, through = false;
  // the online part begins when the frames sent before the inference are here
  auto start = [&] {
    if (std::exchange(online, true)) return;
    if (job.online) job.online();
    begin = Clock::now();
    before_it.end = online_part.begin = Stamp();
    io.begun = true;
    io.meter.Reset();
    io.Post();
  };
  auto finish = [&] {
    start();
    if (!std::exchange(through, true) && job.through) job.through();
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const pfss::Step& step = steps[i];
    const bool before = step.receive >= 0 && s.frames()[size_t(step.receive)].tick < 0;
    if (step.tick >= 0 && !before) start();
    const bool ends = i == last && step.send < 0;
    io.Begin(step.receive, step.send, ends);
    if (ends) finish();
    if (step.tick >= 0) start();
    io.running = true;
    executor->Run(programs[i], job.randomness, io);
    executor->Finish();
    io.running = false;
    io.End();
    if (before || step.tick < 0) io.Forget();
    if (step.send >= 0 && i == last) finish();
    if (job.progress) job.progress(int(i) + 1, int(steps.size()), io.meter.scope());
  }
  finish();  // for a trace without frames
  if (job.times) {
    if (const auto came = job.keys.came()) job.times->keys = {Seconds(came->first), Seconds(came->second)};
    online_part.end = Stamp();
    job.times->ahead = before_it;
    job.times->online = online_part;
    job.times->peak = job.backend.Peak();
    io.meter.Report(Meter::Since(begin), job.times);
  }
  std::vector<uint64_t> out;
  for (const pfss::Trace::Result& r : s.trace().results(job.party)) {
    std::vector<uint64_t> words = executor->Result(r.node);
    out.insert(out.end(), words.begin(), words.end());
  }
  return out;
}

}  // namespace suf::run
