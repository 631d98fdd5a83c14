// Whole inferences without TLS, sessions and disks: what dealing and the two parties' steps cost in themselves.
//   inference_bench MODEL PLAN TOKENS [RUNS] [BACKEND] [KEY=VALUE ..]
//     link=queue       both parties as threads of this process, a queue between them; or tcp: as processes of their
//     own,
//                      with plain TCP between them and to the dealer, this process
//     streams=1        TCP connections between the parties
//     keys=resident    each party has all its keys before it begins; sent: they were dealt and come while it runs;
//                      streamed: they are dealt while it runs
//     devices=0,0      of P0 and P1, for the backend cuda; the dealer has P0's
// Warms up, compares every output word of every run with the simulator's, then prints one JSON line: medians in ms;
// where the time went, means by role and, from further runs that measure each operator, by operator. Each run has fresh
// keys.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "apps/exit.hpp"
#include "apps/role.hpp"
#include "apps/times.hpp"
#include "bench/tcp.hpp"
#include "suf/backends/all.hpp"
#include "suf/nn/simulate.hpp"
#include "suf/ring/words.hpp"
#include "suf/roles/internal/parts.hpp"
#include "suf/roles/model.hpp"
#include "suf/run/pair.hpp"

namespace suf::bench {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double Ms(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }
double Rounded(double ms) { return std::round(ms * 1e3) / 1e3; }
double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

struct Options {
  std::string model, plan, backend = "packed", link = "queue", keys = "resident";
  int tokens = 0, runs = 9, streams = 1;
  std::array<int, 2> device{0, 0};
  bool resident() const { return keys == "resident"; }
};

constexpr const char* kUsage =
    "usage: inference_bench MODEL PLAN TOKENS [RUNS] [BACKEND] [link=queue|tcp] [streams=N] "
    "[keys=resident|sent|streamed] [devices=N,N]";

Options Parse(int argc, char** argv) try {
  Options o;
  int place = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const size_t is = arg.find('=');
    const std::string name = arg.substr(0, is), value = is == arg.npos ? "" : arg.substr(is + 1);
    if (is == arg.npos && place < 5) {
      if (++place == 1) o.model = arg;
      if (place == 2) o.plan = arg;
      if (place == 3) o.tokens = std::stoi(arg);
      if (place == 4) o.runs = std::stoi(arg);
      if (place == 5) o.backend = arg;
    } else if (name == "link" && (value == "queue" || value == "tcp")) {
      o.link = value;
    } else if (name == "keys" && (value == "resident" || value == "sent" || value == "streamed")) {
      o.keys = value;
    } else if (name == "streams") {
      o.streams = std::stoi(value);
    } else if (name == "devices") {
      o.device = {std::stoi(value), std::stoi(value.substr(value.find(',') + 1))};
    } else {
      Fail(Cause::kInput, kUsage, "; got ", arg);
    }
  }
  if (place < 3 || o.runs < 1 || o.streams < 1 || o.streams > 64) Fail(Cause::kInput, kUsage);
  return o;
} catch (const std::logic_error&) {  // of a number
  Fail(Cause::kInput, kUsage);
}

// Seat: what a role computes with.
struct Seat {
  Seat(const Options& o, int device)
      : pool(exec::Cores()),
        backend(backends::Find(o.backend, true, device).make(pool)),
        engine(roles::LoadPlan(o.plan), *backend) {}
  exec::Pool pool;
  const std::unique_ptr<pfss::Backend> backend;
  roles::ModelEngine engine;
};

// Job: one inference of a party.
struct Job {
  Hash rho;
  Secret key;
  std::vector<int32_t> ids;  // P1's
  bool timed = false;
};
struct Outcome {
  run::Times times;
  std::vector<uint64_t> words;
};

nn::Quantised ReadWeights(const Options& o, const nn::Plan& plan) {
  return apps::ReadModel(o.model, o.plan, "", plan).Quantise(plan);
}

// Party: P0 or P1.
class Party {
 public:
  Party(const Options& o, int p) : o_(o), p_(p), seat_(o, o.device[size_t(p)]), work_(seat_.engine.At(o.tokens)) {}
  Seat& seat() { return seat_; }
  void Weights(const nn::Quantised& q) {
    const auto& plan = seat_.engine.plan();
    roles::ModelInputs(plan, q, inputs_), roles::LengthInputs(plan, q, o_.tokens, inputs_);
  }
  void Setup(View setup) { roles::ReadSetup(seat_.engine, setup, inputs_); }
  // Keys: empty, for the next inference.
  std::unique_ptr<store::KeySource> Keys() const {
    return std::make_unique<store::KeySource>(
        work_->task.body[p_],
        o_.resident() ? store::KeySource::kWhole : std::max(store::kKeyWindow, work_->task.window));
  }
  Outcome Run(Job job, store::KeySource& keys, run::Link& link) {
    pfss::Material own{{}, job.rho};
    own.key[size_t(p_)] = std::move(job.key);
    const auto mine = seat_.backend->Expand(std::move(own));
    if (p_) inputs_.Set("tokens", job.ids);
    Outcome out;
    run::PartyJob party{*work_->schedule, *seat_.backend, p_, *mine, inputs_, keys, link, {}, {}, {}, &out.times};
    party.parts = true, party.timed = job.timed;  // each party has a pool of its own
    out.words = run::RunParty(party);
    return out;
  }

 private:
  const Options o_;
  const int p_;
  Seat seat_;
  const std::shared_ptr<const roles::Work> work_;
  run::Inputs inputs_;
};

// Pair: both parties, wherever they are.
class Pair {
 public:
  virtual ~Pair() = default;
  // Begin: the next inference of both. Streamed ones run at once, others at Go, which returns when all keys are there
  // and both run.
  virtual void Begin(std::array<Job, 2> jobs) = 0;
  // Key: the next chunk of a party's keys; from one thread a party.
  virtual void Key(int p, View chunk) = 0;
  virtual double Go() = 0;  // milliseconds until all keys were there
  virtual std::array<Outcome, 2> End() = 0;
};

// Threads: of this process.
class Threads : public Pair {
 public:
  Threads(const Options& o, const nn::Quantised& weights, View setup) : o_(o), party_{Party(o, 0), Party(o, 1)} {
    party_[0].Weights(weights), party_[1].Setup(setup);
  }
  void Begin(std::array<Job, 2> jobs) override {
    links_ = run::MakeLinks(), jobs_ = std::move(jobs);
    for (int p : {0, 1}) keys_[size_t(p)] = party_[p].Keys();
    if (!o_.resident()) Start();
  }
  void Key(int p, View chunk) override {
    store::KeySource& keys = *keys_[size_t(p)];
    const auto room = keys.Room();  // none: the party has failed
    if (room.empty()) return;
    exec::Copy(chunk, room.data());
    keys.Came();
  }
  double Go() override {
    for (auto& k : keys_) k->Whole();
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
  void Start() {
    for (int p : {0, 1})
      thread_[size_t(p)] = std::thread([this, p] {
        try {
          out_[size_t(p)] = party_[p].Run(std::move(jobs_[size_t(p)]), *keys_[size_t(p)], *links_[size_t(p)]);
        } catch (...) {
          error_[size_t(p)] = std::current_exception();
          links_[size_t(p)].reset();
        }
      });
  }
  const Options o_;
  Party party_[2];
  std::array<Job, 2> jobs_;
  std::array<std::unique_ptr<run::Link>, 2> links_;
  std::array<std::unique_ptr<store::KeySource>, 2> keys_;
  std::array<std::thread, 2> thread_;
  std::array<std::exception_ptr, 2> error_;
  std::array<Outcome, 2> out_;
};

// A message between processes: its bytes and, before them, how many.
void PutMessage(int socket, View bytes) {
  const uint64_t size = bytes.size();
  Put(socket, View(reinterpret_cast<const uint8_t*>(&size), sizeof size)), Put(socket, bytes);
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
  o.times.total = j["total"], o.times.peak = {j["peak"][0], j["peak"][1]};
  o.words = j["words"].get<std::vector<uint64_t>>();
  return o;
}

// Serve: a party's process.
void Serve(const Options& o, int p, int control, int key_socket, std::vector<int> sockets) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Party party(o, p);
  if (p)
    party.Setup(GetMessage(control));
  else
    party.Weights(ReadWeights(o, party.seat().engine.plan()));
  apps::KeepPages();
  TcpLink link(std::move(sockets));
  PutJson(control, "ready");
  for (;;) {
    const ordered_json j = GetJson(control);
    if (j.is_null()) return;
    const auto hex = [&](const char* name) { return FromHex(j[name].get<std::string>(), sizeof(Hash), name); };
    const Bytes rho = hex("rho"), key = hex("key");
    Job job{{}, Secret(View(key)), j["ids"], j["timed"]};
    std::copy(rho.begin(), rho.end(), job.rho.begin());
    const auto keys = party.Keys();
    keys->Feed([key_socket](store::KeySource& k) {
      for (auto room = k.Room(); !room.empty(); room = k.Room())
        Get(key_socket, room.subspan(net::ChunkTags::kBytes)), k.Came();
    });
    if (o.resident()) keys->Whole(), PutJson(control, "keys"), (void)GetJson(control);
    PutJson(control, Written(party.Run(std::move(job), *keys, link)));
  }
}

// Processes: of their own.
class Processes : public Pair {
 public:
  // Before anything has made a thread or used a device: processes are forked.
  explicit Processes(const Options& o) : o_(o) {
    auto between = Connected(o.streams);
    for (int p : {0, 1}) {
      auto keys = Connected(1);
      int control[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
        Fail(Cause::kResource, "cannot make a pair of sockets");
      pid_[size_t(p)] = fork();
      if (pid_[size_t(p)] < 0) Fail(Cause::kResource, "cannot make a process; free memory or processes");
      if (!pid_[size_t(p)]) {
        int status = 0;
        close(control[0]), close(keys[0][0]);
        for (int s : control_) close(s);
        for (int s : keys_) close(s);
        for (int s : between[size_t(1 - p)]) close(s);
        try {
          Serve(o, p, control[1], keys[1][0], between[size_t(p)]);
        } catch (const Error& e) {
          std::cerr << "suf: P" << p << ": " << e.what() << "\n";
          status = apps::ExitCode(e.cause());
        }
        _exit(status);
      }
      close(control[1]), close(keys[1][0]);
      control_.push_back(control[0]), keys_.push_back(keys[0][0]);
    }
    for (auto& ends : between)
      for (int s : ends) close(s);
  }
  ~Processes() override {
    for (pid_t p : pid_) kill(p, SIGKILL), waitpid(p, nullptr, 0);
    for (auto* sockets : {&control_, &keys_})
      for (int s : *sockets) close(s);
  }
  void Setup(View setup) {
    PutMessage(control_[1], setup);
    for (int s : control_) (void)GetJson(s);
  }
  void Begin(std::array<Job, 2> jobs) override {
    for (size_t p : {0, 1})
      PutJson(control_[p], {{"rho", Hex(jobs[p].rho)},
                            {"key", Hex(jobs[p].key.view())},
                            {"ids", jobs[p].ids},
                            {"timed", jobs[p].timed}});
  }
  void Key(int p, View chunk) override { Put(keys_[size_t(p)], chunk.subspan(net::ChunkTags::kBytes)); }
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
  std::vector<int> control_, keys_;
};

// Dealt: both bodies in memory that a device reaches, chunk after chunk with room for a tag before each, and how long
// it took.
struct Dealt {
  std::array<std::vector<exec::HostBuffer>, 2> chunks;
  double ms = 0;
};

struct Dealer {
  Seat& seat;
  const pfss::Schedule& schedule;
  run::Inputs inputs;
  // Deal: chunks go where `out` puts them, from a thread a party.
  double Deal(const pfss::Material& m, const std::function<void(int, View)>& out) {
    const auto both = seat.backend->Expand({{Secret(m.key[0]->view()), Secret(m.key[1]->view())}, m.rho});
    const uint64_t window = std::max(store::kKeyWindow, run::WindowOf(schedule));
    const auto begin = Clock::now();
    {
      const auto sink = [&](int p) {
        return std::make_unique<store::Sink>(
            Hash{}, std::make_shared<const store::Layout>(run::LayoutOf(schedule, p)),
            [&out, p](View chunk) { out(p, chunk); }, window);
      };
      const auto p0 = sink(0), p1 = sink(1);
      run::Deal(schedule, *seat.backend, *both, inputs, *p0, *p1);
      p0->Finish(), p1->Finish();
    }
    return Ms(begin);
  }
  Dealt DealWhole(const pfss::Material& m) {
    Dealt d;
    std::array<size_t, 2> next{};
    for (size_t p : {0, 1}) {
      const store::Layout layout = run::LayoutOf(schedule, int(p));
      for (const auto& c : layout.chunks()) d.chunks[p].emplace_back(net::ChunkTags::kBytes + c.bytes);
    }
    d.ms = Deal(m, [&](int p, View chunk) { exec::Copy(chunk, d.chunks[size_t(p)][next[size_t(p)]++].span().data()); });
    return d;
  }
};

bool InBlock(const std::string& scope) { return !scope.empty() && scope[0] >= '0' && scope[0] <= '9'; }
std::string Operator(const std::string& scope) { return scope.substr(scope.find('/') + 1); }

ordered_json MsOf(const pfss::Spent& s, int runs) {
  const auto ms = [&](double seconds) { return Rounded(seconds * 1e3 / runs); };
  return {{"compute", ms(s.compute)}, {"key", ms(s.key)},   {"upload", ms(s.upload)},       {"host", ms(s.host)},
          {"wire", ms(s.wire)},       {"wait", ms(s.wait)}, {"launches", s.launches / runs}};
}

// Results: of all runs of a call.
struct Results {
  std::vector<double> deal, transport, online, blocks;
  pfss::Spent all[2];
  std::map<std::string, pfss::Spent> by[2];  // of runs that measure each operator
  std::vector<double> measured;              // their times
  pfss::Peak peak[2];
  size_t words = 0;  // compared
};

constexpr int kWarm = 2;      // runs before those: memory and kernels of a device, then its graphs
constexpr size_t kTexts = 3;  // in turns
constexpr int kMeasured = 3;  // runs that measure each operator

int Main(int argc, char** argv) {
  const Options o = Parse(argc, argv);
  std::unique_ptr<Processes> processes;
  if (o.link == "tcp") processes = std::make_unique<Processes>(o);
  Seat seat(o, o.device[0]);
  roles::ModelEngine& engine = seat.engine;
  const nn::Quantised quantised = ReadWeights(o, engine.plan());
  const Hash seed = RandomHash(), id = RandomHash();
  roles::Masks masks(engine, seed, id);
  Bytes setup;
  roles::WriteSetup(engine, quantised, masks, [&](View v) { Append(&setup, v); });
  std::unique_ptr<Pair> threads;
  if (processes)
    processes->Setup(setup);
  else
    threads = std::make_unique<Threads>(o, quantised, setup);
  Pair& pair = processes ? *processes : *threads;
  const auto work = engine.At(o.tokens);
  const pfss::Schedule& s = *work->schedule;
  Dealer dealer{seat, s, {}};
  masks.Fill(dealer.inputs);
  const nn::Simulator simulator(engine.plan(), quantised);
  apps::KeepPages();
  std::mt19937_64 rng(1);
  std::array<std::vector<int32_t>, kTexts> texts;
  std::array<std::vector<int64_t>, kTexts> means;
  for (size_t k = 0; k < kTexts; ++k) {
    for (int i = 0; i < o.tokens; ++i)
      texts[k].push_back(int32_t(1 + rng() % uint64_t(roles::VocabularySize(engine.plan()) - 1)));
    means[k] = simulator.Run(texts[k]).y;
  }
  Results r;
  const int bits = work->trace.node(work->trace.result(1)).ring.bits;
  for (int run = -kWarm; run < o.runs + kMeasured; ++run) {
    const bool timed = run >= o.runs;
    const std::vector<int32_t>& ids = texts[size_t(run + kWarm) % kTexts];
    const pfss::Material m{{Secret::Random(), Secret::Random()}, RandomHash()};
    const auto job = [&](size_t p) { return Job{m.rho, Secret(m.key[p]->view()), ids, timed}; };
    double deal = 0, transport = 0;
    std::optional<Dealt> dealt;
    if (o.keys != "streamed") dealt = dealer.DealWhole(m), deal = dealt->ms;
    pair.Begin({job(0), job(1)});
    if (dealt) {
      const auto begin = Clock::now();
      std::thread other([&] {
        for (auto& c : dealt->chunks[0]) pair.Key(0, c.view());
      });
      for (auto& c : dealt->chunks[1]) pair.Key(1, c.view());
      other.join();
      transport = Ms(begin);
      if (o.resident()) transport += pair.Go();
    } else {
      deal = dealer.Deal(m, [&](int p, View chunk) { pair.Key(p, chunk); });
    }
    const auto out = pair.End();
    std::vector<int64_t> y;
    for (uint64_t w : out[1].words) y.push_back(ring::Signed(w, bits));
    if (y != means[size_t(run + kWarm) % kTexts]) Fail(Cause::kRefused, "the result differs from the simulator's");
    if (run < 0) continue;
    r.words += y.size();
    for (int p : {0, 1}) {
      r.peak[p] = out[size_t(p)].times.peak;
      for (auto& [scope, spent] : out[size_t(p)].times.by) {
        if (timed) r.by[p][scope] += spent;
        if (!timed) r.all[p] += spent;
      }
    }
    if (timed) {
      r.measured.push_back(out[1].times.total * 1e3);
      continue;
    }
    r.deal.push_back(deal), r.transport.push_back(transport), r.online.push_back(out[1].times.total * 1e3);
    double blocks = 0;
    for (auto& [scope, spent] : out[1].times.by) blocks += InBlock(scope) ? spent.all() * 1e3 : 0;
    r.blocks.push_back(blocks);
  }
  ordered_json out{{"bench", "inference"},
                   {"tokens", o.tokens},
                   {"backend", engine.backend().name()},
                   {"link", o.link},
                   {"streams", o.streams},
                   {"keys", o.keys},
                   {"devices", o.device},
                   {"threads", seat.pool.threads()},
                   {"runs", o.runs},
                   {"deal_ms", Rounded(Median(r.deal))}};
  if (o.resident() && processes) out["transport_ms"] = Rounded(Median(r.transport));
  out["online_ms"] = Rounded(Median(r.online)), out["online_all_ms"] = ordered_json::array();
  for (double ms : r.online) out["online_all_ms"].push_back(Rounded(ms));
  out["blocks_ms"] = Rounded(Median(r.blocks));
  out["measured_ms"] = Rounded(Median(r.measured));
  for (int p : {0, 1}) {
    const char* const name = p ? "p1" : "p0";
    out["spent_ms"][name] = MsOf(r.all[p], o.runs);
    std::map<std::string, pfss::Spent> by;
    for (auto& [scope, spent] : r.by[p])
      by[Operator(scope)] += spent, by[InBlock(scope) ? "all blocks" : "all else"] += spent;
    for (auto& [op, spent] : by) out["by_operator_ms"][name][op] = MsOf(spent, kMeasured);
    out["device_bytes"].push_back(r.peak[p].device), out["pinned_bytes"].push_back(r.peak[p].pinned);
  }
  if (!processes) out["device_bytes"] = r.peak[0].device, out["pinned_bytes"] = r.peak[0].pinned;  // one process
  out["value_bytes"] = {seat.backend->ValueBytes(s, Role(0)), seat.backend->ValueBytes(s, Role(1))};
  out["flights"] = s.flights(), out["key_bytes"] = {s.key_bytes(0), s.key_bytes(1)},
  out["payload"] = {s.sent(0, true), s.sent(1, true)}, out["p1_ahead"] = s.sent(1, false);
  out["words_compared"] = r.words;
  std::cout << out.dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace suf::bench

int main(int argc, char** argv) {
  try {
    return suf::bench::Main(argc, argv);
  } catch (const ::suf::Error& e) {
    std::cerr << "suf: " << e.what() << "\n";
    return suf::apps::ExitCode(e.cause());
  }
}
