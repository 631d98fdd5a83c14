// The commands `suf certs`, `suf deal` and `suf serve`.
#include <atomic>
#include <filesystem>
#include <iostream>

#include "apps/commands.hpp"
#include "apps/log.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/times.hpp"
#include "suf/base/plural.hpp"
#include "suf/net/certs.hpp"
#include "suf/roles/dealer.hpp"
#include "suf/roles/load_engine.hpp"
#include "suf/roles/model.hpp"
#include "suf/roles/model_owner.hpp"

namespace suf::apps {

namespace fs = std::filesystem;

int RunCerts(const CertsArgs& a) {
  if (!a.show) net::MakeCerts(a.dir, a.owners);
  const std::vector<std::string> folders = net::CertFolders(a.dir);
  if (folders.empty()) Fail(Cause::kInput, "there are no certificates in ", a.dir, "; make some with: suf certs DIR");
  using Validity = net::Credentials::Validity;
  for (const std::string& f : folders) {
    std::cout << net::Fingerprint(net::Credentials(f, Validity::kIgnored).identity());
    // the role names the other folders
    if (const std::string name = fs::path(f).filename().string();
        f != a.dir && name.starts_with(net::OwnerFolder("")) && name != net::OwnerFolder(""))
      std::cout << "  " << name;
    std::cout << "\n";
  }
  if (!a.show)
    std::cerr << "certificates for dealer, model and "
              << (a.owners.empty() ? "data" : Plural(a.owners.size(), "data owner")) << " in " << a.dir
              << "; give each role its own folder and nothing else\n";
  return 0;
}

int RunDeal(const DealArgs& a) {
  const RoleProcess process = StartRole("deal", Role::kDealer, a);
  const auto engine = roles::LoadEngine(a.plan, *process.backend);
  engine->KeepTraces(uint64_t(a.traces) << 20);
  if (!a.times.empty()) engine->MeasureScopes();
  const proto::JobUnit unit = engine->unit();
  const int variant = engine->VariantNamed(a.variant);
  const store::Job ahead = store::JobOf(uint32_t(a.tokens), uint32_t(variant), uint32_t(a.texts));
  if (a.tokens) proto::CheckJob(engine->ForProto(Role::kDealer), ahead);
  if (a.tokens) (void)engine->Compile(ahead);
  fs::path state = a.state.empty() ? fs::path(a.certs) / "state" : fs::path(a.state);
  TimesFile times(a.times);
  auto timeout = Timeout(a.timeout);
  std::atomic<bool> said{false};
  roles::Dealer::Options options;
  options.timed = [&](uint64_t serial, const run::Times& t) { times.Add(serial, t); };
  options.service.ahead = ahead;
  options.service.ahead_count = uint32_t(std::max(a.count, 1));
  options.service.window = uint64_t(a.window) << 20;
  options.service.turns = LimitsOf(a.turns);
  const int sessions = net::SessionsFor(options.service.turns.at_once);
  options.service.partner_wait = timeout / 3;  // a party waits three times as long, so it receives the refusal
  const bool several = engine->variants().size() > 1;
  options.service.dealt = [unit, several, &engine](const store::Job& job, uint64_t serial) {
    log::Info(Str("deal: serial ", serial, ", ", JobText(job, unit),
                  several ? ", variant " + engine->variants()[job.variant].name : ""));
  };
  options.service.not_taken = [&](uint32_t model, uint32_t data) {
    if (!said.exchange(true))
      log::Info(Str("deal: --count offers ", a.count, " bundles of ", JobText(ahead, unit),
                    "; the model owner requested ", model, ", the data owner ", data,
                    " (--ahead), and both received the least of these"));
  };
  roles::Dealer dealer(*engine, state.string(), std::move(options));
  AllowSessions("deal", sessions, a.streams);
  UsesFolder("deal", "state", state);
  net::Listener listener(process.own, net::Address::ParseListening(a.listen), {Role::kModel, Role::kData}, timeout,
                         a.streams, sessions);
  RunUntilSignal(
      listener, "deal", [&](net::Channel& ch) { dealer.Handle(ch); }, [&] { dealer.Stop(); },
      [](const std::vector<std::string>& peers) {
        return Str(Plural(peers.size(), "delivery", "deliveries"), " in flight, to ", Listed(peers),
                   peers.size() == 1 ? ", ends" : ", end");
      });
  return 0;
}

namespace {

// Reads the model and quantises it for the plan; frees the floats before it returns.
nn::QuantisedWeights Weights(const ServeArgs& a, const nn::Plan& plan, Bar* stages) {
  stages->At(0, Str("reading the model in ", a.model));
  const roles::Model model = ReadModel(a.model, a.plan, a.shifts, plan);
  return model.Quantise(plan, [&](double done, const std::string& what) { stages->At(0.1 + 0.6 * done, what); });
}

}  // namespace

int RunServe(const ServeArgs& a) {
  const RoleProcess process = StartRole("serve", Role::kModel, a);
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *process.backend);
  engine.MoveParts();
  engine.KeepTraces(uint64_t(a.traces) << 20);
  if (!a.times.empty()) engine.MeasureScopes();
  const uint32_t allowed = engine.Allowed(a.variants);
  Bar stages("serve");
  nn::QuantisedWeights weights = Weights(a, engine.plan(), &stages);
  stages.Clear();
  Answer("serve", a, process.own, engine.unit(),
         [&](store::Home& home, proto::DialDealer dial, roles::Server::Options options) {
           options.variants = allowed;
           stages.At(0.7, "masking the weights for a data owner's set-up");
           auto owner = std::make_unique<roles::ModelOwner>(engine, std::move(weights), home, std::move(dial),
                                                            std::move(options));
           stages.Clear();
           return owner;
         });
  return 0;
}

}  // namespace suf::apps
