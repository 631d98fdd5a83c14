#include "suf/run/party.hpp"

#include <utility>

namespace suf::run {
namespace {

using Clock = Meter::Clock;

class PartyIo : public pfss::Io {
 public:
  PartyIo(const PartyJob& job) : meter(job.schedule.trace()), job_(job), t_(job.schedule.trace()) {
    for (auto& part : job.schedule.key(job.party))
      at_[part.node] = job.key.subspan(size_t(part.at), size_t(part.bytes));
  }

  // Arrive: the parts of a received frame.
  void Arrive(const pfss::Frame& frame, Bytes payload) {
    job_.link.Recycle(std::exchange(incoming_, std::move(payload)));
    for (auto& part : frame.parts) at_[part.node] = View(incoming_).subspan(size_t(part.at), size_t(part.bytes));
  }
  // Leave: room for the frame that this step sends.
  void Leave(const pfss::Frame* frame) {
    out_.clear();
    if (!frame) return;
    bytes_ = size_t(frame->bytes);
    if (outgoing_.size() < bytes_) outgoing_.resize(bytes_);
    for (auto& part : frame->parts) out_[part.node] = std::span(outgoing_).subspan(size_t(part.at), size_t(part.bytes));
  }
  View outgoing() const { return View(outgoing_).first(bytes_); }

  View In(int node) override { return at_.at(node); }
  std::span<uint8_t> Out(int node) override { return out_.at(node); }
  Data Input(int node, int element_bytes) override {
    const pfss::Node& n = t_.node(node);
    return job_.inputs.Get(t_.name(n.label), element_bytes, size_t(pfss::Size(n.shape)));
  }
  void Done(int node) override { meter.Done(node); }
  void Keys(double part) override { meter.Keys(part); }

  Meter meter;

 private:
  const PartyJob& job_;
  const pfss::Trace& t_;
  std::map<int, View> at_;
  std::map<int, std::span<uint8_t>> out_;
  Bytes incoming_, outgoing_;  // outgoing_ grows only: every byte of a frame is written by its backend
  size_t bytes_ = 0;
};

struct Sum {
  size_t frames = 0, bytes = 0;
  void Add(const pfss::Frame& f) { ++frames, bytes += size_t(f.bytes); }
};

// SentBefore: by frame of `party`: what the other one may have sent when it does not have that frame yet.
std::vector<Sum> SentBefore(const pfss::Schedule& s, int party) {
  std::vector<Sum> before(s.frames().size());
  Sum sent;
  for (const pfss::Step& step : s.steps(1 - party)) {
    if (step.receive >= 0) before[size_t(step.receive)] = sent;
    if (step.send >= 0) sent.Add(s.frames()[size_t(step.send)]);
  }
  return before;
}

}  // namespace

std::vector<uint64_t> RunParty(const PartyJob& job) {
  const pfss::Schedule& s = job.schedule;
  if (int64_t(job.key.size()) != s.key_bytes(job.party))
    Fail(Cause::kRefused, "the key body is ", job.key.size(), " bytes long; this plan and token count take ",
         s.key_bytes(job.party), "; deal a new bundle");
  PartyIo io(job);
  auto executor = job.backend.Start(s, Role(job.party));
  auto programs = pfss::Programs(s, Role(job.party));
  const auto& steps = s.steps(job.party);
  const std::vector<Sum> sent_before = SentBefore(s, job.party);
  Sum arrived;
  size_t last = 0;  // the last step with a frame
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].receive >= 0 || steps[i].send >= 0) last = i;
  auto begin = Clock::now();
  bool online = false, through = false;
  // the online part begins when the frames sent before the inference are here
  auto start = [&] {
    if (std::exchange(online, true)) return;
    begin = Clock::now();
    io.meter.Reset();
    if (job.online) job.online();
  };
  auto finish = [&] {
    start();
    if (!std::exchange(through, true) && job.through) job.through();
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const pfss::Step& step = steps[i];
    const pfss::Frame* due = step.receive >= 0 ? &s.frames()[size_t(step.receive)] : nullptr;
    if (step.tick >= 0 && (!due || due->tick >= 0)) start();
    if (due) {
      auto t = Clock::now();
      double waited = job.link.waited();
      Bytes payload = job.link.Receive(step.receive, size_t(due->bytes));
      SUF_CHECK(int64_t(payload.size()) == due->bytes);
      if (i == last && step.send < 0) finish();
      io.Arrive(*due, std::move(payload));
      arrived.Add(*due);
      waited = job.link.waited() - waited;
      if (due->tick >= 0) io.meter.Wire(Meter::Since(t) - waited, waited);
    }
    if (step.tick >= 0) start();
    io.Leave(step.send >= 0 ? &s.frames()[size_t(step.send)] : nullptr);
    io.meter.Mark();
    executor->Run(programs[i], job.randomness, io);
    if (step.send >= 0) {
      auto t = Clock::now();
      const Sum& before = sent_before[size_t(step.send)];
      SUF_CHECK(before.frames >= arrived.frames && before.bytes >= arrived.bytes);
      job.link.Expect(before.frames - arrived.frames, before.bytes - arrived.bytes);
      job.link.Send(step.send, io.outgoing());
      job.link.Expect(0, 0);
      io.meter.Wire(Meter::Since(t), 0);
      if (i == last) finish();
    }
    if (job.progress) job.progress(int(i) + 1, int(steps.size()), io.meter.scope());
  }
  finish();  // of a trace without frames
  if (job.times) io.meter.Report(Meter::Since(begin), job.times);
  std::vector<uint64_t> out;
  for (const pfss::Trace::Result& r : s.trace().results(job.party)) {
    std::vector<uint64_t> words = executor->Result(r.node);
    out.insert(out.end(), words.begin(), words.end());
  }
  return out;
}

}  // namespace suf::run
