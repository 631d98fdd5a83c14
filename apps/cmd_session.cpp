// Commands: certs, deal, serve.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>

#include "apps/commands.hpp"
#include "apps/log.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/times.hpp"
#include "suf/net/certs.hpp"
#include "suf/roles/dealer.hpp"
#include "suf/roles/model.hpp"
#include "suf/roles/model_owner.hpp"

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
  Host host(a.plan);
  if (a.tokens) (void)host.engine().At(a.tokens);
  fs::path state = a.state.empty() ? fs::path(a.certs) / "state" : fs::path(a.state);
  TimesFile times(a.times);
  auto timeout = Timeout(a.timeout);
  std::atomic<bool> said{false};
  roles::Dealer::Options options;
  options.timed = [&](uint64_t serial, const run::Times& t) { times.Add(serial, t); };
  options.service.ahead = store::JobOf(uint32_t(a.tokens)),
  options.service.ahead_count = uint32_t(std::max(a.count, 1));
  options.service.partner_wait = timeout / 3;  // the parties, who wait as long as we do, are to hear of it
  options.service.dealt = [](const store::Job& job, uint64_t serial) {
    log::Info(Str("deal: serial ", serial, ", ", job.tokens, " tokens"));
  };
  options.service.not_taken = [&](uint32_t model, uint32_t data) {
    if (!said.exchange(true))
      log::Info(Str("deal: --count offers ", a.count, " bundles of ", a.tokens, " tokens; the model owner asked for ",
                    model, ", the data owner for ", data, " (--ahead), and both got the least of these"));
  };
  roles::Dealer dealer(host.engine(), state.string(), std::move(options));
  net::Listener listener(own, net::Address::Parse(a.listen), {Role::kModel, Role::kData}, timeout);
  stopping.Run(listener, "deal", [&](net::Channel& ch) { dealer.Handle(ch); });
  return 0;
}

namespace {

// Weights: the model, quantised for the plan; the floats are gone when it returns.
nn::Quantised Weights(const std::string& folder, const nn::Plan& plan, Stages* stages) {
  stages->At(0, Str("reading the model in ", folder));
  const roles::Model model(folder);
  return model.Quantise(plan, [&](double done, const std::string& what) { stages->At(0.1 + 0.6 * done, what); });
}

}  // namespace

int RunServe(const ServeArgs& a) {
  Harden();
  UseVariant("serve", a.variant);
  Stopping stopping;
  auto own = Own("serve", a.certs, Role::kModel, a.pins);
  Host host(a.plan);
  Stages stages("serve");
  nn::Quantised weights = Weights(a.model, host.engine().plan(), &stages);
  stages.Clear();
  store::Store store(a.store);
  for (auto& n : store.notices()) log::Warn(Str("serve: ", n));
  TimesFile times(a.times);
  std::unique_ptr<net::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<net::Recorder>(a.record);
  auto timeout = Timeout(a.timeout);
  auto dial = CallDealer(own, a.dealer, timeout);
  std::optional<Error> failed;
  std::optional<net::Listener> listener;
  roles::ModelOwner::Options options;
  options.keys = KeysOf(a.keys, store);
  options.ran = [&](uint32_t n, uint64_t serial, const run::Times& t) {
    times.Add(serial, t);
    log::Info(Str("serve: serial ", serial, ", ", n, " tokens"));  // the same words whatever the result was
  };
  options.audited = [](uint32_t n, uint64_t serial) {
    log::Info(Str("serve: serial ", serial, ", ", n, " tokens, audited: both bundles are as they should be"));
  };
  if (a.once)
    options.over = [&](const Error* e) {
      if (e) failed = *e;
      listener->Stop();
    };
  stages.At(0.7, "masking the weights for a data owner's set-up");
  roles::ModelOwner owner(host.engine(), std::move(weights), store, dial, std::move(options));
  stages.Clear();
  listener.emplace(own, net::Address::Parse(a.listen), std::vector{Role::kData}, timeout);
  stopping.Run(*listener, "serve", [&](net::Channel& ch) {
    ch.set_recorder(recorder.get());
    owner.Serve(ch);
  });
  if (failed) throw *failed;
  return 0;
}

}  // namespace suf::apps
