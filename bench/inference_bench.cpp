// One inference in one process, without TLS and disks: what dealing and the two parties' steps cost in themselves.
//   inference_bench MODEL PLAN TOKENS [RUNS] [BACKEND]
// Warms up, checks every output word against the simulator, then prints one JSON line: medians in ms, and ms by
// operator and role.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "apps/exit.hpp"
#include "apps/role.hpp"
#include "suf/backends/all.hpp"
#include "suf/nn/simulate.hpp"
#include "suf/ring/words.hpp"
#include "suf/roles/internal/parts.hpp"
#include "suf/roles/model.hpp"
#include "suf/run/pair.hpp"

namespace {

using namespace suf;  // NOLINT
using Clock = std::chrono::steady_clock;

double Ms(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }
double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

int Main(int argc, char** argv) {
  if (argc < 4) Fail(Cause::kInput, "usage: inference_bench MODEL PLAN TOKENS [RUNS] [BACKEND]");
  int n = std::stoi(argv[3]), runs = argc > 4 ? std::stoi(argv[4]) : 9;
  exec::Pool pools[2]{exec::Pool(exec::Cores()), exec::Pool(exec::Cores())};  // as in processes of their own
  const std::string name = argc > 5 ? argv[5] : "packed";
  const std::unique_ptr<pfss::Backend> backend[2] = {backends::Find(name, true).make(pools[0]),
                                                     backends::Find(name, true).make(pools[1])};
  roles::ModelEngine engine(roles::LoadPlan(argv[2]), *backend[0]);
  nn::Quantised quantised = apps::ReadModel(argv[1], argv[2], "", engine.plan()).Quantise(engine.plan());
  Hash seed = RandomHash(), id = RandomHash();
  roles::Masks masks(engine, seed, id);
  run::Inputs inputs[3];
  roles::ModelInputs(engine.plan(), quantised, inputs[0]);
  roles::LengthInputs(engine.plan(), quantised, n, inputs[0]);
  Bytes setup;
  roles::WriteSetup(engine, quantised, masks, [&](View v) { Append(&setup, v); });
  roles::ReadSetup(engine, setup, inputs[1]);
  masks.Fill(inputs[2]);
  auto work = engine.At(n);
  const pfss::Schedule& s = *work->schedule;
  nn::Simulator simulator(engine.plan(), quantised);
  apps::KeepPages();
  std::mt19937_64 rng(1);
  std::vector<double> deal, online;
  nlohmann::ordered_json by;
  pfss::Spent all[2];
  for (int run = -1; run < runs; ++run) {
    std::vector<int32_t> ids;
    for (int i = 0; i < n; ++i) ids.push_back(int32_t(1 + rng() % uint64_t(roles::VocabularySize(engine.plan()) - 1)));
    inputs[1].Set("tokens", ids);
    pfss::Material m{{Secret::Random(), Secret::Random()}, RandomHash()};
    auto both = engine.backend().Expand({{Secret(m.key[0]->view()), Secret(m.key[1]->view())}, m.rho});
    auto t = Clock::now();
    const std::array<Bytes, 2> key = run::DealBodies(s, engine.backend(), *both, inputs[2]);
    double dealt = Ms(t);
    auto links = run::MakeLinks();
    std::vector<uint64_t> words;
    run::Times times[2];
    auto party = [&](int p) {
      pfss::Material own{{}, m.rho};
      own.key[p].emplace(m.key[p]->view());
      auto mine = backend[p]->Expand(std::move(own));
      store::KeySource keys(work->task.body[p], store::KeySource::kWhole);
      keys.FeedFrom(key[size_t(p)]);
      keys.Whole();
      auto out = run::RunParty({s, *backend[p], p, *mine, inputs[p], keys, *links[p], {}, {}, {}, &times[p]});
      if (p == 1) words = out;
    };
    t = Clock::now();
    std::thread other([&] { party(0); });
    party(1);
    other.join();
    if (run >= 0) deal.push_back(dealt), online.push_back(times[1].total * 1e3);
    for (int p : {0, 1})
      for (auto& [scope, spent] : times[p].by) {
        std::string op = scope.substr(scope.find('/') == std::string::npos ? 0 : scope.find('/') + 1);
        double& slot = by[p ? "p1" : "p0"][op].is_null() ? (by[p ? "p1" : "p0"][op] = 0.0).get_ref<double&>()
                                                         : by[p ? "p1" : "p0"][op].get_ref<double&>();
        if (run >= 0) slot += (spent.compute + spent.key) * 1e3 / runs;
        if (run >= 0) all[p] += spent;
      }
    int bits = work->trace.node(work->trace.result(1)).ring.bits;
    std::vector<int64_t> y;
    for (uint64_t w : words) y.push_back(ring::Signed(w, bits));
    if (y != simulator.Run(ids).y) Fail(Cause::kRefused, "the result differs from the simulator's");
  }
  nlohmann::ordered_json out{{"bench", "inference"},
                             {"tokens", n},
                             {"backend", engine.backend().name()},
                             {"threads", pools[0].threads()},
                             {"runs", runs}};
  out["deal_ms"] = Median(deal), out["online_ms"] = Median(online), out["compute_ms"] = by;
  for (int p : {0, 1}) {
    const auto ms = [&](double seconds) { return std::round(seconds * 1e5 / runs) / 1e2; };
    out["spent_ms"][p ? "p1" : "p0"] = {{"compute", ms(all[p].compute)}, {"key", ms(all[p].key)},
                                        {"upload", ms(all[p].upload)},   {"wire", ms(all[p].wire)},
                                        {"wait", ms(all[p].wait)}};
  }
  out["device_or_value_bytes"] = {backend[0]->ValueBytes(s, Role(0)), backend[1]->ValueBytes(s, Role(1))};
  out["flights"] = s.flights(), out["key_bytes"] = {s.key_bytes(0), s.key_bytes(1)},
  out["payload"] = {s.sent(0, true), s.sent(1, true)};
  std::cout << out.dump() << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const ::suf::Error& e) {
    std::cerr << "suf: " << e.what() << "\n";
    return apps::ExitCode(e.cause());
  }
}
