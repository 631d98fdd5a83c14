#include "bench/parties.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <csignal>
#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "apps/exit.hpp"
#include "apps/role.hpp"
#include "bench/tcp.hpp"
#include "suf/backends/all.hpp"
#include "suf/base/cores.hpp"
#include "suf/nn/ops/lookup.hpp"
#include "suf/run/pair.hpp"
#include "suf/store/lane.hpp"

namespace suf::bench {
namespace {

using nlohmann::ordered_json;

constexpr size_t kTag = net::ChunkTags::kBytes;

// P0 or P1.
class Party {
 public:
  Party(const Options& o, int p) : o_(o), p_(p), seat_(o, o.device[size_t(p)]), work_(seat_.engine.Compile(o.tokens)) {}
  Seat& seat() { return seat_; }
  void Weights(const nn::QuantisedWeights& q) {
    const auto& plan = seat_.engine.plan();
    roles::ModelInputs(plan, q, inputs_);
    roles::LengthInputs(plan, q, o_.tokens, inputs_);
  }
  void Setup(View setup) { roles::ReadSetup(seat_.engine, setup, inputs_); }
  // An empty key source for the next inference.
  std::unique_ptr<store::KeySource> Keys(const std::string& keys) const {
    return std::make_unique<store::KeySource>(
        work_->task.body[p_], Whole(keys) ? store::KeySource::kWhole : std::max(store::kKeyWindow, work_->task.window));
  }
  // Runs one inference; calls `online` as its online part begins.
  Outcome Run(Job job, store::KeySource& keys, run::FrameLink& link, const std::function<void()>& online = {}) {
    pfss::BundleSecrets own{{}, job.rho};
    own.key[size_t(p_)] = std::move(job.key);
    const auto mine = seat_.backend->Expand(std::move(own));
    if (p_) inputs_.Set(nn::kTokensInput, job.ids);
    Outcome out;
    out.words = run::RunParty({.schedule = *work_->schedule,
                               .backend = *seat_.backend,
                               .party = p_,
                               .randomness = *mine,
                               .inputs = inputs_,
                               .keys = keys,
                               .link = link,
                               .online = online,
                               .times = &out.times,
                               .parts = true,  // each party has a pool of its own
                               .timed = job.timed,
                               .early = job.keys != "uploaded"});
    return out;
  }

 private:
  const Options o_;
  const int p_;
  Seat seat_;
  const std::shared_ptr<const roles::CompiledJob> work_;
  run::Inputs inputs_;
};

// Both parties as threads of this process.
class Threads : public Pair {
 public:
  explicit Threads(const Options& o) : o_(o) {}
  void Setup(const nn::QuantisedWeights& weights, View setup) override {
    for (int p : {0, 1}) party_.emplace_back(o_, p);
    party_[0].Weights(weights);
    party_[1].Setup(setup);
    if (o_.link != "tcp") return;
    auto between = Connected(o_.streams);
    for (size_t p : {0, 1}) links_[p] = std::make_unique<TcpLink>(between[p]);
  }
  void Begin(std::array<Job, 2> jobs) override {
    if (o_.link != "tcp") links_ = run::MakeLinks();
    jobs_ = std::move(jobs);
    for (int p : {0, 1}) keys_[size_t(p)] = party_[size_t(p)].Keys(jobs_[size_t(p)].keys);
    if (!Whole(jobs_[0].keys)) Start();
  }
  void Key(int p, View chunk) override {
    store::KeySource& keys = *keys_[size_t(p)];
    const auto room = keys.NextBuffer();  // empty if the party has failed
    if (room.empty()) return;
    exec::Copy(chunk, room.data());
    keys.MarkFilled();
  }
  double Go() override {
    for (auto& k : keys_) k->AwaitAll();
    Start();
    return 0;
  }
  std::array<Outcome, 2> End() override {
    for (auto& t : thread_) t.join();
    for (auto& e : error_)
      if (e) std::rethrow_exception(e);
    return std::move(out_);
  }

 private:
  // Starts both inferences together, so that one party's preparation is not in the other's time.
  void Start() {
    both_.emplace(2);
    for (int p : {0, 1})
      thread_[size_t(p)] = std::thread([this, p] {
        bool there = false;
        try {
          out_[size_t(p)] =
              party_[size_t(p)].Run(std::move(jobs_[size_t(p)]), *keys_[size_t(p)], *links_[size_t(p)], [&] {
                there = true;
                both_->arrive_and_wait();
              });
        } catch (...) {
          if (!there) both_->arrive_and_drop();
          error_[size_t(p)] = std::current_exception();
          links_[size_t(p)].reset();
        }
      });
  }
  const Options o_;
  std::deque<Party> party_;
  std::array<Job, 2> jobs_;
  std::array<std::unique_ptr<run::FrameLink>, 2> links_;
  std::array<std::unique_ptr<store::KeySource>, 2> keys_;
  std::optional<std::barrier<>> both_;
  std::array<std::thread, 2> thread_;
  std::array<std::exception_ptr, 2> error_;
  std::array<Outcome, 2> out_;
};

// Sends a message to another process: its length, then its bytes.
void PutMessage(int socket, View bytes) {
  const uint64_t size = bytes.size();
  Put(socket, View(reinterpret_cast<const uint8_t*>(&size), sizeof size));
  Put(socket, bytes);
}
Bytes GetMessage(int socket) {
  uint64_t size = 0;
  Get(socket, {reinterpret_cast<uint8_t*>(&size), sizeof size});
  Bytes out(size);
  Get(socket, out);
  return out;
}
void PutJson(int socket, const ordered_json& j) { PutMessage(socket, AsView(j.dump())); }
ordered_json GetJson(int socket) {
  const Bytes b = GetMessage(socket);
  return ordered_json::parse(b.begin(), b.end());
}

ordered_json Written(const Outcome& o) {
  ordered_json by = ordered_json::object();
  for (auto& [scope, s] : o.times.by)
    by[scope] = {s.compute, s.key, s.upload, s.host, s.wire, s.wait, double(s.launches)};
  return {
      {"by", by}, {"total", o.times.total}, {"peak", {o.times.peak.device, o.times.peak.pinned}}, {"words", o.words}};
}
Outcome Read(const ordered_json& j) {
  Outcome o;
  for (auto& [scope, v] : j["by"].items())
    o.times.by[scope] = {v[0], v[1], v[2], v[3], v[4], v[5], int64_t(v[6].get<double>())};
  o.times.total = j["total"];
  o.times.peak = {j["peak"][0], j["peak"][1]};
  o.words = j["words"].get<std::vector<uint64_t>>();
  return o;
}

// The main function of a party's process.
void Serve(const Options& o, int p, int control, const std::vector<int>& key_sockets, const std::vector<int>& sockets) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Party party(o, p);
  if (p)
    party.Setup(GetMessage(control));
  else
    party.Weights(ReadWeights(o, party.seat().engine.plan()));
  apps::KeepPages();
  TcpLink link(sockets);
  const auto dealer = TcpChannel(key_sockets);
  PutJson(control, "ready");
  for (;;) {
    const ordered_json j = GetJson(control);
    if (j.is_null()) return;
    const auto hex = [&](const char* name) { return FromHex(j[name].get<std::string>(), sizeof(Hash), name); };
    const Bytes rho = hex("rho"), key = hex("key");
    Job job{{}, Secret(View(key)), j["ids"], j["keys"], j["timed"]};
    std::copy(rho.begin(), rho.end(), job.rho.begin());
    const auto keys = party.Keys(job.keys);
    keys->Feed([&dealer](store::KeySource& k) {
      const size_t most = store::Lane::IncomingBundle::kAhead;
      size_t posted = 0;
      for (auto rooms = k.NextBuffers(most); !rooms.empty(); rooms = k.NextBuffers(most)) {
        for (; posted < rooms.size(); ++posted) dealer->Post(net::kChunk, rooms[posted].subspan(kTag));
        dealer->RecvUpTo(rooms[0].size() - kTag);
        k.MarkFilled();
        --posted;
      }
    });
    if (Whole(job.keys)) {
      keys->AwaitAll();
      PutJson(control, "keys");
      (void)GetJson(control);
    }
    PutJson(control, Written(party.Run(std::move(job), *keys, link)));
  }
}

// Both parties as processes of their own.
class Processes : public Pair {
 public:
  explicit Processes(const Options& o) : o_(o) {
    auto between = Connected(o.streams);
    std::array<std::vector<int>, 2> own;  // ends of the sockets that carry keys
    for (int p : {0, 1}) {
      auto keys = Connected(o.streams);
      int control[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
        Fail(Cause::kResource, "cannot make a pair of sockets");
      pid_[size_t(p)] = fork();
      if (pid_[size_t(p)] < 0) Fail(Cause::kResource, "cannot make a process; free memory or processes");
      if (!pid_[size_t(p)]) {
        int status = 0;
        close(control[0]);
        for (auto* sockets : {&control_, &own[0], &keys[0], &between[size_t(1 - p)]})
          for (int s : *sockets) close(s);
        try {
          Serve(o, p, control[1], keys[1], between[size_t(p)]);
        } catch (const Error& e) {
          std::cerr << "suf: P" << p << ": " << e.what() << "\n";
          status = apps::ExitCode(e.cause());
        }
        _exit(status);
      }
      close(control[1]);
      for (int s : keys[1]) close(s);
      control_.push_back(control[0]);
      own[size_t(p)] = keys[0];
    }
    for (auto& ends : between)
      for (int s : ends) close(s);
    for (size_t p : {0, 1}) keys_[p] = TcpChannel(own[p]);  // the channel's threads must start after the fork
  }
  ~Processes() override {
    for (pid_t p : pid_) {
      kill(p, SIGKILL);
      waitpid(p, nullptr, 0);
    }
    for (int s : control_) close(s);
  }
  void Setup(const nn::QuantisedWeights&, View setup) override {  // P0 reads its weights itself
    PutMessage(control_[1], setup);
    for (int s : control_) (void)GetJson(s);
  }
  void Begin(std::array<Job, 2> jobs) override {
    for (size_t p : {0, 1})
      PutJson(control_[p], {{"rho", Hex(jobs[p].rho)},
                            {"key", Hex(jobs[p].key.view())},
                            {"ids", jobs[p].ids},
                            {"keys", jobs[p].keys},
                            {"timed", jobs[p].timed}});
  }
  void Key(int p, View chunk) override {
    const View data = chunk.subspan(kTag);
    keys_[size_t(p)]->SendUpTo(net::kChunk, data, data.size());
  }
  void Release(int p, View chunk) override { keys_[size_t(p)]->Release(chunk); }
  double Go() override {
    const auto begin = Clock::now();
    for (int s : control_) (void)GetJson(s);
    const double came = Ms(begin);
    for (int s : control_) PutJson(s, "go");
    return came;
  }
  std::array<Outcome, 2> End() override {
    std::array<Outcome, 2> out;
    for (size_t p : {0, 1}) out[p] = Read(GetJson(control_[p]));
    return out;
  }

 private:
  const Options o_;
  std::array<pid_t, 2> pid_{};
  std::vector<int> control_;
  std::array<std::unique_ptr<net::Channel>, 2> keys_;
};

}  // namespace

Seat::Seat(const Options& o, int device)
    : pool(Cores()),
      backend(backends::Find(o.backend, true, device).make(pool)),
      engine(roles::LoadPlan(o.plan), *backend) {}

nn::QuantisedWeights ReadWeights(const Options& o, const nn::Plan& plan) {
  return apps::ReadModel(o.model, o.plan, "", plan).Quantise(plan);
}

std::unique_ptr<Pair> MakePair(const Options& o) {
  if (o.processes()) return std::make_unique<Processes>(o);
  return std::make_unique<Threads>(o);
}

}  // namespace suf::bench
