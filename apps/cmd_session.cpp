// Commands: certs, deal, serve.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <thread>

#include "apps/commands.hpp"
#include "apps/engine.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/times.hpp"
#include "suf/base/log.hpp"
#include "suf/net/certs.hpp"

namespace suf::apps {

namespace fs = std::filesystem;

namespace {

// Stopping: SIGINT and SIGTERM end the listener after the running sessions. They are blocked in every thread (made
// before there is another one) and awaited in one, so that no handler runs in the middle of anything.
class Stopping {
 public:
  Stopping() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT), sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // Run: the listener, until a signal or Stop.
  void Run(net::Listener& listener, const char* role, const std::function<void(net::Channel&)>& session) {
    KeepPages();
    std::atomic<bool> over{false};
    std::thread waiter([&] {
      timespec look{0, 200'000'000};
      while (!over.load())
        if (sigtimedwait(&set_, nullptr, &look) > 0) return listener.Stop();
    });
    log::Info(Str(role, ": listening on port ", listener.port(), ", pid ", getpid()));
    listener.Run(session, [&](const Error& e) { log::Warn(Str(role, ": a session ended: ", e.what())); });
    over = true;
    waiter.join();
  }

 private:
  sigset_t set_;
};

}  // namespace

int RunCerts(const CertsArgs& a) {
  if (!a.show) net::MakeCerts(a.dir);
  std::vector<fs::path> folders;
  if (fs::exists(fs::path(a.dir) / "cert.pem")) folders = {a.dir};
  for (auto r : {Role::kDealer, Role::kModel, Role::kData})
    if (fs::path sub = fs::path(a.dir) / Name(r); fs::exists(sub / "cert.pem")) folders.push_back(sub);
  if (folders.empty()) Fail(Cause::kInput, "there are no certificates in ", a.dir, "; make some with: suf certs DIR");
  for (auto& f : folders) std::cout << net::Fingerprint(net::Credentials(f.string()).identity()) << "\n";
  if (!a.show)
    std::cerr << "certificates for dealer, model and data in " << a.dir
              << "; give each role its own folder and nothing else\n";
  return 0;
}

int RunDeal(const DealArgs& a) {
  Harden();
  UseVariant("deal", a.variant);
  Stopping stopping;
  auto own = Own("deal", a.certs, Role::kDealer, a.pins);
  Engine engine(LoadPlan(a.plan));
  if (a.tokens) (void)engine.At(a.tokens);
  fs::path state = a.state.empty() ? fs::path(a.certs) / "state" : fs::path(a.state);
  store::DealerState serials(state.string());
  Generator generate(engine);
  TimesFile times(a.times);
  generate.dealt = [&](const proto::DealJob& j, const run::Times& t) { times.Add(j.serial, t); };
  proto::Dealer::Options options;
  options.ahead_tokens = uint32_t(a.tokens), options.ahead_count = uint32_t(std::max(a.count, 1));
  auto timeout = Timeout(a.timeout);
  options.partner_wait = timeout / 3;  // the parties, who wait as long as we do, are to hear of it
  options.dealt = [](uint32_t n, uint64_t serial) { log::Info(Str("deal: serial ", serial, ", ", n, " tokens")); };
  std::atomic<bool> said{false};
  options.not_taken = [&](uint32_t model, uint32_t data) {
    if (!said.exchange(true))
      log::Info(Str("deal: --count offers ", a.count, " bundles of ", a.tokens, " tokens; the model owner asked for ",
                    model, ", the data owner for ", data, " (--ahead), and both got the least of these"));
  };
  proto::Dealer dealer(engine.ForProto(), serials, options,
                       [&](proto::DealJob j, store::Sink& p0, store::Sink& p1) { generate(std::move(j), p0, p1); });
  net::Listener listener(own, net::Address::Parse(a.listen), {Role::kModel, Role::kData}, timeout);
  stopping.Run(listener, "deal", [&](net::Channel& ch) { dealer.Handle(ch); });
  return 0;
}

int RunServe(const ServeArgs& a) {
  Harden();
  UseVariant("serve", a.variant);
  Stopping stopping;
  auto own = Own("serve", a.certs, Role::kModel, a.pins);
  Engine engine(LoadPlan(a.plan));
  Stages stages("serve");
  nn::Quantised weights =
      LoadWeights(a.model, engine.plan(), [&](double done, const std::string& what) { stages.At(0.7 * done, what); });
  stages.Clear();
  store::Store store(a.store);
  for (auto& n : store.notices()) log::Warn(Str("serve: ", n));
  Secret key = store.LongLived("weights.key");
  SharedSecret seed = Share(store.LongLived("b.seed"));
  stages.At(0.7, "masking the weights for a data owner's set-up");
  Hash id = WeightsId(key.view(), weights, engine.hash(), seed->view());
  Masks masks(engine, seed->view(), id);
  run::Inputs inputs;
  ModelInputs(weights, inputs);
  TimesFile times(a.times);
  std::unique_ptr<net::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<net::Recorder>(a.record);
  proto::BundlePlan plan = engine.ForProto();
  auto timeout = Timeout(a.timeout);
  const Hash setup = SetupHash(engine, weights, masks);
  stages.Clear();
  auto dial = CallDealer(own, a.dealer, timeout);
  proto::ModelHost host{
      plan,
      store,
      id,
      setup,
      seed,
      [&](store::Sink& out) { WriteSetup(engine, weights, masks, [&](View v) { out.Write(v); }); },
      dial,
      [&](proto::Inference& inference) {
        LengthInputs(weights, engine.plan(), int(inference.header().n), inputs);
        times.Add(inference.header().serial, RunInference(engine, inference, inputs).times);
        // the same words whatever the result was
        log::Info(Str("serve: serial ", inference.header().serial, ", ", inference.header().n, " tokens"));
      },
      AuditOf(engine)};
  host.keys = KeysOf(a.keys, store);
  host.auditor.passed = [](uint32_t n, uint64_t serial) {
    log::Info(Str("serve: serial ", serial, ", ", n, " tokens, audited: both bundles are as they should be"));
  };
  net::Listener listener(own, net::Address::Parse(a.listen), {Role::kData}, timeout);
  proto::Turnstile turnstile;
  std::optional<Error> failed;
  stopping.Run(listener, "serve", [&](net::Channel& ch) {
    ch.set_recorder(recorder.get());
    net::Guarded(ch, [&] { proto::RecvHello(ch, plan); });
    turnstile.Pass(ch, [&] {  // one session at a time, its failure included
      try {
        proto::ServeGreeted(ch, host);
      } catch (const Error& e) {
        if (a.once) failed = e, listener.Stop();
        throw;
      }
      if (a.once) listener.Stop();
    });
  });
  if (failed) throw *failed;
  return 0;
}

}  // namespace suf::apps
