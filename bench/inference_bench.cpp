// Times whole inferences without TLS, sessions and disks: only dealing and the steps of both parties.
//
//    inference_bench MODEL PLAN TOKENS [RUNS] [BACKEND] [KEY=VALUE ..]
//      link=queue       a queue in memory between both parties; or tcp: plain TCP on the loopback
//      parties=threads  of this process, which is the dealer's; or processes: their own (the default of tcp)
//      streams=1        TCP connections between the parties
//      keys=resident    each party has all its keys in advance, on its device if it has one; uploaded: they go to the
//                       device during the run; sent: they are dealt in advance and arrive during the run; streamed:
//                       they are dealt during the run. Several, separated by commas, run one after another
//      devices=0,0      of P0 and P1, for the backend cuda; the dealer shares P0's
//
// Warms up and compares every output word of every run with the simulator's. Prints one JSON line for each of `keys`:
// median times in ms, and mean times by role. Further runs measure each operator. Each run has fresh keys.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "apps/role.hpp"
#include "apps/times.hpp"
#include "bench/parties.hpp"
#include "bench/run_main.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/deal.hpp"

namespace suf::bench {
namespace {

using nlohmann::ordered_json;

double Rounded(double ms) { return std::round(ms * 1e3) / 1e3; }
double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

constexpr const char* kUsage =
    "usage: inference_bench MODEL PLAN TOKENS [RUNS] [BACKEND] [link=queue|tcp] [parties=threads|processes] "
    "[streams=N] [keys=resident,uploaded,sent,streamed] [devices=N,N]";

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
    } else if (name == "parties" && (value == "threads" || value == "processes")) {
      o.parties = value;
    } else if (name == "keys") {
      o.keys.clear();
      std::istringstream list(value);
      for (std::string keys; std::getline(list, keys, ',');) {
        if (keys != "streamed" && keys != "sent" && !Whole(keys)) Fail(Cause::kInput, kUsage, "; got ", arg);
        o.keys.push_back(keys);
      }
    } else if (name == "streams") {
      o.streams = std::stoi(value);
    } else if (name == "devices") {
      o.device = {std::stoi(value), std::stoi(value.substr(value.find(',') + 1))};
    } else {
      Fail(Cause::kInput, kUsage, "; got ", arg);
    }
  }
  if (o.parties.empty()) o.parties = o.link == "tcp" ? "processes" : "threads";
  if (o.link == "queue" && o.processes()) Fail(Cause::kInput, "a queue is between threads; got ", kUsage);
  if (place < 3 || o.keys.empty() || o.runs < 1 || o.streams < 1 || o.streams > 64) Fail(Cause::kInput, kUsage);
  return o;
} catch (const std::logic_error&) {  // from std::stoi
  Fail(Cause::kInput, kUsage);
}

// Both bodies in memory that a device can access, and the time of dealing. They are chunks, each with space for a tag
// before it.
struct Dealt {
  std::array<std::vector<exec::HostBuffer>, 2> chunks;
  double ms = 0;
};

struct Dealer {
  Dealer(Seat& s, const pfss::Schedule& of) : seat(s), schedule(of) {}
  Seat& seat;
  const pfss::Schedule& schedule;
  run::Inputs inputs;
  // Sends the chunks to both parties, on one thread each; returns milliseconds.
  double Deal(const pfss::BundleSecrets& m, Pair& to, run::Times* times) {
    const uint64_t window = std::max(store::kKeyWindow, run::WindowOf(schedule));
    return DealInto(m, times, [&](int p, store::SharedLayout layout) {
      return std::make_unique<store::Sink>(
          Hash{}, std::move(layout), [&to, p](View chunk) { to.Key(p, chunk); },
          [&to, p](View chunk) { to.Release(p, chunk); }, window);
    });
  }
  Dealt DealWhole(const pfss::BundleSecrets& m, run::Times* times) {
    Dealt d;
    d.ms = DealInto(m, times, [&](int p, store::SharedLayout layout) {
      return std::make_unique<store::Sink>(
          Hash{}, std::move(layout),
          [&to = d.chunks[size_t(p)]](exec::HostBuffer chunk) { to.push_back(std::move(chunk)); });
    });
    return d;
  }

 private:
  template <class MakeSink>
  double DealInto(const pfss::BundleSecrets& m, run::Times* times, const MakeSink& sink) {
    const auto both = seat.backend->Expand({{Secret(m.key[0]->view()), Secret(m.key[1]->view())}, m.rho});
    const auto layout = [&](int p) { return std::make_shared<const store::BodyLayout>(run::LayoutOf(schedule, p)); };
    const auto begin = Clock::now();
    const auto p0 = sink(0, layout(0)), p1 = sink(1, layout(1));
    run::Deal(schedule, *seat.backend, *both, inputs, *p0, *p1, times, times != nullptr);
    p0->Finish();
    p1->Finish();
    return Ms(begin);
  }
};

bool InBlock(const std::string& scope) { return !scope.empty() && scope[0] >= '0' && scope[0] <= '9'; }
std::string Operator(const std::string& scope) { return scope.substr(scope.find('/') + 1); }

ordered_json MsOf(const pfss::TimeUse& s, int runs) {
  const auto ms = [&](double seconds) { return Rounded(seconds * 1e3 / runs); };
  return {{"compute", ms(s.compute)}, {"key", ms(s.key)},   {"upload", ms(s.upload)},       {"host", ms(s.host)},
          {"wire", ms(s.wire)},       {"wait", ms(s.wait)}, {"launches", s.launches / runs}};
}

// The results of all runs of a call.
struct Results {
  std::vector<double> deal, transport, online, blocks;
  pfss::TimeUse all[2], dealing;               // dealing: in runs that measure each operator
  std::map<std::string, pfss::TimeUse> by[2];  // in runs that measure each operator
  std::vector<double> measured;                // P1's online ms in these runs
  pfss::Peak peak[2];
  size_t words = 0;  // compared with the simulator's
};

constexpr int kWarm = 2;      // runs before the timed ones: memory and kernels of a device, then its graphs
constexpr size_t kTexts = 3;  // used in turn
constexpr int kMeasured = 3;  // runs that measure each operator

// Runs a model between both parties on three texts in turn.
class Bench {
 public:
  explicit Bench(const Options& o) : o_(o), pair_(MakePair(o)), seat_(o, o.device[0]) {
    roles::ModelEngine& engine = seat_.engine;
    const nn::QuantisedWeights quantised = ReadWeights(o, engine.plan());
    roles::Masks masks(engine, seed_, id_);
    Bytes setup;
    roles::WriteSetup(engine, quantised, masks, [&](View v) { Append(&setup, v); });
    pair_->Setup(quantised, setup);
    work_ = engine.Compile(o.tokens);
    dealer_.emplace(seat_, *work_->schedule);
    masks.Fill(dealer_->inputs);
    const nn::PlanSimulator simulator(engine.plan(), quantised);
    apps::KeepPages();
    std::mt19937_64 rng(1);
    for (size_t k = 0; k < kTexts; ++k) {
      for (int i = 0; i < o.tokens; ++i)
        texts_[k].push_back(int32_t(1 + rng() % uint64_t(roles::VocabularySize(engine.plan()) - 1)));
      means_[k] = simulator.Run(texts_[k]).y;
    }
  }
  // Runs all inferences with keys that arrive this way; returns the JSON line.
  ordered_json Measure(const std::string& keys) {
    Results r;
    for (int run = -kWarm; run < o_.runs + kMeasured; ++run)
      Run(keys, size_t(run + kWarm), run < 0, run >= o_.runs, &r);
    return Line(keys, r);
  }

 private:
  void Run(const std::string& keys, size_t number, bool warms, bool timed, Results* r) {
    const size_t text = number % kTexts;
    const pfss::BundleSecrets m{{Secret::Random(), Secret::Random()}, RandomHash()};
    const auto job = [&](size_t p) { return Job{m.rho, Secret(m.key[p]->view()), texts_[text], keys, timed}; };
    double deal = 0, transport = 0;
    std::optional<Dealt> dealt;
    run::Times dealing;
    if (keys != "streamed") {
      dealt = dealer_->DealWhole(m, timed ? &dealing : nullptr);
      deal = dealt->ms;
    }
    pair_->Begin({job(0), job(1)});
    if (dealt) {
      const auto begin = Clock::now();
      const auto give = [&](int p) {
        for (auto& c : dealt->chunks[size_t(p)]) pair_->Key(p, c.view());
        for (auto& c : dealt->chunks[size_t(p)]) pair_->Release(p, c.view());
      };
      std::thread other([&] { give(0); });
      give(1);
      other.join();
      transport = Ms(begin);
      if (Whole(keys)) transport += pair_->Go();
    } else {
      deal = dealer_->Deal(m, *pair_, timed ? &dealing : nullptr);
    }
    const auto out = pair_->End();
    const auto& t = work_->trace;
    std::vector<int64_t> y;
    for (uint64_t w : out[1].words) y.push_back(ring::Signed(w, t.node(t.result(1)).ring.bits));
    if (y != means_[text]) Fail(Cause::kRefused, "the result differs from the simulator's");
    if (warms) return;
    r->words += y.size();
    for (auto& [scope, spent] : dealing.by) r->dealing += spent;
    double blocks = 0;
    for (int p : {0, 1}) {
      r->peak[p] = out[size_t(p)].times.peak;
      for (auto& [scope, spent] : out[size_t(p)].times.by) {
        timed ? r->by[p][scope] += spent : r->all[p] += spent;
        blocks += p && InBlock(scope) ? spent.all() * 1e3 : 0;
      }
    }
    const double online = out[1].times.total * 1e3;
    if (timed) return r->measured.push_back(online);
    r->deal.push_back(deal);
    r->transport.push_back(transport);
    r->online.push_back(online);
    r->blocks.push_back(blocks);
  }

  ordered_json Line(const std::string& keys, Results& r) {
    const pfss::Schedule& s = *work_->schedule;
    ordered_json out{{"bench", "inference"},
                     {"tokens", o_.tokens},
                     {"backend", seat_.engine.backend().name()},
                     {"link", o_.link},
                     {"parties", o_.parties},
                     {"streams", o_.streams},
                     {"keys", keys},
                     {"devices", o_.device},
                     {"threads", seat_.pool.threads()},
                     {"runs", o_.runs},
                     {"deal_ms", Rounded(Median(r.deal))}};
    if (Whole(keys) && o_.processes()) out["transport_ms"] = Rounded(Median(r.transport));
    out["online_ms"] = Rounded(Median(r.online));
    out["online_all_ms"] = ordered_json::array();
    for (double ms : r.online) out["online_all_ms"].push_back(Rounded(ms));
    out["blocks_ms"] = Rounded(Median(r.blocks));
    out["measured_ms"] = Rounded(Median(r.measured));
    out["dealing_ms"] = MsOf(r.dealing, kMeasured);
    for (int p : {0, 1}) {
      const char* const name = p ? "p1" : "p0";
      out["spent_ms"][name] = MsOf(r.all[p], o_.runs);
      std::map<std::string, pfss::TimeUse> by;
      for (auto& [scope, spent] : r.by[p]) {
        by[Operator(scope)] += spent;
        by[InBlock(scope) ? "all blocks" : "all else"] += spent;
      }
      for (auto& [op, spent] : by) out["by_operator_ms"][name][op] = MsOf(spent, kMeasured);
      out["device_bytes"].push_back(r.peak[p].device);
      out["pinned_bytes"].push_back(r.peak[p].pinned);
    }
    if (!o_.processes()) {
      out["device_bytes"] = r.peak[0].device;
      out["pinned_bytes"] = r.peak[0].pinned;
    }  // one process
    out["value_bytes"] = {seat_.backend->ValueBytes(s, Role(0)), seat_.backend->ValueBytes(s, Role(1))};
    out["flights"] = s.flights();
    out["key_bytes"] = {s.key_bytes(0), s.key_bytes(1)};
    out["payload"] = {s.sent(0, true), s.sent(1, true)};
    out["p1_ahead"] = s.sent(1, false);
    out["words_compared"] = r.words;
    return out;
  }

  const Options o_;
  const std::unique_ptr<Pair> pair_;
  Seat seat_;
  const Hash seed_ = RandomHash(), id_ = RandomHash();
  std::shared_ptr<const roles::CompiledJob> work_;
  std::optional<Dealer> dealer_;
  std::array<std::vector<int32_t>, kTexts> texts_;
  std::array<std::vector<int64_t>, kTexts> means_;
};

int Main(int argc, char** argv) {
  const Options o = Parse(argc, argv);
  Bench bench(o);
  for (const std::string& keys : o.keys) std::cout << bench.Measure(keys).dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace suf::bench

int main(int argc, char** argv) { return suf::bench::RunMain(suf::bench::Main, argc, argv); }
