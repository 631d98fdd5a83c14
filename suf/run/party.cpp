#include "suf/run/party.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "suf/base/cores.hpp"
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
      if (!live[size_t(part.node)]) Release(part.node);
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
    SendNow();
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
      inference_.Wait(Clock::now());
      const View v = job_.keys.Section(size_t(i));
      inference_.Resume();
      if (const double waited = job_.keys.waited() - before; waited > 0) Book(0, waited);
      return v;
    }
    const pfss::FrameField& part = *part_[size_t(node)];
    Await(size_t(part.at + part.bytes));
    return View(incoming_).subspan(size_t(part.at), size_t(part.bytes));
  }
  bool Ready(int node) override {
    const int i = section_[size_t(node)];
    return i >= 0 && (job_.early || begun) && job_.keys.IsReady(size_t(i));
  }
  void Release(int node) override {
    if (const int i = std::exchange(section_[size_t(node)], -1); i >= 0) job_.keys.Release(size_t(i));
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
  void ReportWritten(size_t bytes) override {
    for (size_t was = written_; was < bytes && !written_.compare_exchange_weak(was, bytes);) {
    }
    if (!job_.parts || outgoing_.size() <= kLongFrame || s_.frames()[size_t(send_)].tick < 0) return;
    std::unique_lock l(link_, std::try_to_lock);
    if (l && written_ >= left_ + kLongFrame) SendUpTo(written_);
  }
  void SendNow() override {
    std::lock_guard l(link_);
    if (send_ >= 0 && left_ < outgoing_.size()) SendUpTo(outgoing_.size());
  }
  Data Input(int node) override {
    const pfss::Node& n = t_.node(node);
    return job_.inputs.Get(t_.name(n.label), size_t(pfss::Size(n.shape)));
  }
  void ReportTime(uint16_t scope, const TimeUse& s) override {
    std::lock_guard l(meter_);
    meter.Add(scope, s);
  }
  bool NeedsScopeTimes() const override { return job_.timed; }

  Meter meter;
  bool running = false;  // whether the executor runs
  bool begun = false;    // whether the inference has begun

 private:
  // Returns the buffer of a frame: its own before the inference, otherwise the next slot of its direction.
  std::span<uint8_t> Room(int frame, exec::HostBuffer* own, Slots* slots, size_t* next) {
    const pfss::Frame& f = s_.frames()[size_t(frame)];
    if (f.tick < 0) {
      *own = exec::HostBuffer(size_t(f.bytes));
      return own->span();
    }
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
    inference_.Wait(begin);
    job_.link.Receive(receive_, bytes);
    inference_.Resume();
    came_.store(bytes, std::memory_order_release);
    const double waited = job_.link.waited() - before;
    Book(Meter::Since(begin) - waited, waited);
  }
  void SendUpTo(size_t bytes) {
    const auto begin = Clock::now();
    job_.link.Send(send_, outgoing_, bytes);
    left_ = bytes;
    Book(Meter::Since(begin), 0);
  }

  RunningInference inference_;
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

// The parts of a run: before the inference and online.
class RunPhases {
 public:
  RunPhases(const PartyJob& job, PartyIo& io) : job_(job), io_(io) {}
  // Begins the online part when the frames that were sent before the inference are here. Later calls do nothing.
  void Start() {
    if (std::exchange(online_, true)) return;
    if (job_.online) job_.online();
    begin_ = Clock::now();
    before_.end = after_.begin = Stamp();
    io_.begun = true;
    io_.meter.Reset();
    io_.Post();
  }
  // Reports once that the last frame has arrived or left.
  void Finish() {
    Start();
    if (!std::exchange(through_, true) && job_.through) job_.through();
  }
  // Stores the times of the run that has ended.
  void Report(Times* times) {
    if (const auto came = job_.keys.arrival()) times->keys = {Seconds(came->first), Seconds(came->second)};
    after_.end = Stamp();
    times->ahead = before_;
    times->online = after_;
    times->peak = job_.backend.Peak();
    io_.meter.Report(Meter::Since(begin_), times);
  }

 private:
  const PartyJob& job_;
  PartyIo& io_;
  Clock::time_point begin_ = Clock::now();
  Span before_{Stamp()}, after_;
  bool online_ = false, through_ = false;
};

// Returns the index of the last step with a frame; 0 if there is none.
size_t LastWithFrame(const std::vector<pfss::Step>& steps) {
  size_t last = 0;
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].receive >= 0 || steps[i].send >= 0) last = i;
  return last;
}

// Throws unless the keys are those of the schedule.
void CheckKeys(const PartyJob& job) {
  const store::BodyLayout& layout = job.keys.layout();
  const int64_t bytes = job.schedule.key_bytes(job.party);
  const size_t sections = job.schedule.key(job.party).size();
  if (int64_t(layout.bytes()) != bytes || layout.sections().size() != sections)
    Fail(Cause::kRefused, "the key body has ", layout.bytes(), " bytes in ", layout.sections().size(),
         " sections; this plan and token count take ", bytes, " in ", sections, "; deal a new bundle");
}

}  // namespace

uint64_t RoomsOf(const pfss::Schedule& s, int party) {
  uint64_t all = 0;
  for (bool sent : {false, true})
    for (size_t bytes : Largest(s, InOrder(s, party, sent))) all += bytes;
  return all;
}

std::vector<uint64_t> RunParty(const PartyJob& job) {
  CheckKeys(job);
  const pfss::Schedule& s = job.schedule;
  PartyIo io(job);
  auto executor = job.backend.Start(s, Role(job.party));
  auto programs = pfss::Programs(s, Role(job.party));
  const auto& steps = s.steps(job.party);
  const size_t last = LastWithFrame(steps);
  RunPhases phases(job, io);
  for (size_t i = 0; i < steps.size(); ++i) {
    const pfss::Step& step = steps[i];
    const bool before = step.receive >= 0 && s.frames()[size_t(step.receive)].tick < 0;
    if (step.tick >= 0 && !before) phases.Start();
    const bool ends = i == last && step.send < 0;
    io.Begin(step.receive, step.send, ends);
    if (ends) phases.Finish();
    if (step.tick >= 0) phases.Start();
    io.running = true;
    executor->Run(programs[i], job.randomness, io);
    executor->Finish();
    io.running = false;
    io.End();
    if (before || step.tick < 0) io.Forget();
    if (step.send >= 0 && i == last) phases.Finish();
    if (job.progress) job.progress(int(i) + 1, int(steps.size()), io.meter.scope());
  }
  phases.Finish();  // for a trace without frames
  if (job.times) phases.Report(job.times);
  std::vector<uint64_t> out;
  for (const pfss::Trace::Result& r : s.trace().results(job.party)) {
    std::vector<uint64_t> words = executor->Result(r.node);
    out.insert(out.end(), words.begin(), words.end());
  }
  return out;
}

}  // namespace suf::run
