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
#include "suf/proto/certs.hpp"

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
  void Run(proto::Listener& listener, const char* role, const std::function<void(proto::Channel&)>& session) {
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
  if (!a.show) proto::MakeCerts(a.dir);
  std::vector<fs::path> folders;
  if (fs::exists(fs::path(a.dir) / "cert.pem")) folders = {a.dir};
  for (auto r : {proto::Role::kDealer, proto::Role::kModel, proto::Role::kData})
    if (fs::path sub = fs::path(a.dir) / proto::Name(r); fs::exists(sub / "cert.pem")) folders.push_back(sub);
  if (folders.empty()) Fail(Exit::kInput, "there are no certificates in ", a.dir, "; make some with: suf certs DIR");
  for (auto& f : folders) std::cout << proto::Fingerprint(proto::Credentials(f.string()).identity()) << "\n";
  if (!a.show)
    std::cerr << "certificates for dealer, model and data in " << a.dir
              << "; give each role its own folder and nothing else\n";
  return 0;
}

int RunDeal(const DealArgs& a) {
  Harden();
  UseVariant("deal", a.variant);
  Stopping stopping;
  auto own = Own("deal", a.certs, proto::Role::kDealer, a.pins);
  Engine engine(LoadPlan(a.plan));
  if (a.tokens) (void)engine.At(a.tokens);
  fs::path state = a.state.empty() ? fs::path(a.certs) / "state" : fs::path(a.state);
  proto::DealerState serials(state.string());
  Generator generate(engine);
  TimesFile times(a.times);
  generate.dealt = [&](const proto::DealJob& j, const proto::Times& t) { times.Add(j.serial, t); };
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
                       [&](proto::DealJob j, proto::Sink& p0, proto::Sink& p1) { generate(std::move(j), p0, p1); });
  proto::Listener listener(own, proto::Address::Parse(a.listen), {proto::Role::kModel, proto::Role::kData}, timeout);
  stopping.Run(listener, "deal", [&](proto::Channel& ch) { dealer.Handle(ch); });
  return 0;
}

int RunServe(const ServeArgs& a) {
  Harden();
  UseVariant("serve", a.variant);
  Stopping stopping;
  auto own = Own("serve", a.certs, proto::Role::kModel, a.pins);
  Engine engine(LoadPlan(a.plan));
  Stages stages("serve");
  nn::Quantised weights =
      LoadWeights(a.model, engine.plan(), [&](double done, const std::string& what) { stages.At(0.7 * done, what); });
  stages.Clear();
  proto::Store store(a.store);
  for (auto& n : store.notices()) log::Warn(Str("serve: ", n));
  Secret key = store.LongLived("weights.key");
  SharedSecret seed = Share(store.LongLived("b.seed"));
  stages.At(0.7, "masking the weights for a data owner's set-up");
  Hash id = WeightsId(key.view(), weights, engine.hash(), seed->view());
  Masks masks(engine, seed->view(), id);
  proto::Inputs inputs;
  ModelInputs(weights, inputs);
  TimesFile times(a.times);
  std::unique_ptr<proto::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<proto::Recorder>(a.record);
  proto::Plan plan = engine.ForProto();
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
      [&](proto::Sink& out) { WriteSetup(engine, weights, masks, [&](View v) { out.Write(v); }); },
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
  proto::Listener listener(own, proto::Address::Parse(a.listen), {proto::Role::kData}, timeout);
  proto::Turnstile turnstile;
  std::string failure;
  Exit code = Exit::kOk;
  stopping.Run(listener, "serve", [&](proto::Channel& ch) {
    ch.set_recorder(recorder.get());
    proto::Guarded(ch, [&] { proto::RecvHello(ch, plan); });
    turnstile.Pass(ch, [&] {  // one session at a time, its failure included
      try {
        proto::ServeGreeted(ch, host);
      } catch (const Error& e) {
        if (a.once) code = e.code(), failure = e.what(), listener.Stop();
        throw;
      }
      if (a.once) listener.Stop();
    });
  });
  if (code != Exit::kOk) throw Error(code, failure);
  return 0;
}

}  // namespace suf::apps
