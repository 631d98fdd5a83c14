// The commands `suf certs`, `suf deal` and `suf serve`.
#include <atomic>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "apps/cmd_index.hpp"
#include "apps/commands.hpp"
#include "apps/log.hpp"
#include "apps/records.hpp"
#include "apps/role.hpp"
#include "apps/row_desk.hpp"
#include "apps/show.hpp"
#include "apps/times.hpp"
#include "suf/base/plural.hpp"
#include "suf/net/certs.hpp"
#include "suf/roles/dealer.hpp"
#include "suf/roles/index_folder.hpp"
#include "suf/roles/load_engine.hpp"
#include "suf/roles/model.hpp"
#include "suf/roles/model_owner.hpp"
#include "suf/service/desk.hpp"
#include "suf/service/postgres_counts.hpp"
#include "suf/service/sqlite_counts.hpp"
#include "suf/store/secrets.hpp"

namespace suf::apps {

namespace fs = std::filesystem;

int RunCerts(const CertsArgs& a) {
  if (!a.show) net::MakeCerts(a.dir, {a.dealers, a.owners});
  const std::vector<std::string> folders = net::CertFolders(a.dir);
  if (folders.empty()) Fail(Cause::kInput, "there are no certificates in ", a.dir, "; make some with: suf certs DIR");
  using Validity = net::Credentials::Validity;
  for (const std::string& f : folders) {
    const net::Identity who = net::Credentials(f, Validity::kIgnored).identity();
    std::cout << net::Fingerprint(who);
    // the role names the other folders
    if (const std::string name = fs::path(f).filename().string(); f != a.dir && name != net::CertFolder(who.role))
      std::cout << "  " << name;
    std::cout << "\n";
  }
  if (!a.show) {
    const auto several = [](Role r, const std::vector<std::string>& names) {
      return names.empty() ? std::string(Name(r)) : Plural(names.size(), net::HolderOf(r));
    };
    std::cerr << "certificates for " << several(Role::kDealer, a.dealers) << ", model and "
              << several(Role::kData, a.owners) << " in " << a.dir
              << "; give each role its own folder and nothing else\n";
  }
  return 0;
}

int RunSecrets(const SecretsArgs& a) {
  const net::Credentials own = CredentialsOf("secrets", a.certs, Role::kModel);
  store::MakeSecrets(a.dir, own.identity());
  std::cerr << "secrets of " << net::Fingerprint(own.identity()) << " in " << a.dir
            << "; give all its serve processes this folder, and keep a copy: without it every data owner fetches the "
               "masked weights again\n";
  return 0;
}

namespace {

std::vector<nn::IndexPlan> ReadIndexPlans(const std::vector<std::string>& files) {
  std::vector<nn::IndexPlan> plans;
  for (const std::string& file : files) plans.push_back(roles::LoadIndexPlan(file));
  return plans;
}

}  // namespace

int RunDeal(const DealArgs& a) {
  const RoleProcess process = StartRole("deal", Role::kDealer, a);
  const auto engine = roles::LoadEngine(a.plan, *process.backend, ReadIndexPlans(a.index_plans));
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
  RoleRecords records("deal", Role::kDealer, a.records);
  const auto record = [&](const proto::DealtPair& pair, service::JobOutcome outcome) {
    if (!records.log()) return;
    records.log()->Add({.role = Role::kDealer,
                        .data_owner = pair.owner[1],
                        .model_owner = pair.owner[0],
                        .job = pair.job,
                        .lane = pair.lane,
                        .serial = pair.serial,
                        .plan = engine->hash(),
                        .weights = pair.weights,
                        .outcome = outcome});
  };
  options.service.broken = [&](const proto::DealtPair& pair) {
    record(pair, service::JobOutcome::kBroken);
    if (records.metrics()) records.metrics()->CountBundles(service::BundleFate::kBurnt);
  };
  options.service.dealt = [&, unit, several](const proto::DealtPair& pair) {
    record(pair, service::JobOutcome::kDone);
    if (records.metrics()) records.metrics()->Dealt(pair.waited_ms / 1e3, pair.ms / 1e3);
    log::Info(Str("deal: serial ", pair.serial, ", ", JobText(pair.job, unit),
                  several ? ", variant " + engine->variants()[pair.job.variant].name : ""));
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
      listener, "deal", [&](net::Channel& ch) { SessionCount(records.metrics(), ch).Run([&] { dealer.Handle(ch); }); },
      [&] { dealer.Stop(); },
      [](const std::vector<std::string>& peers) {
        return Str(Plural(peers.size(), "delivery", "deliveries"), " in flight, to ", Listed(peers),
                   peers.size() == 1 ? ", ends" : ", end");
      },
      records.log() ? [&] { records.Reopen(); } : std::function<void()>());
  return 0;
}

namespace {

// Returns the files that data owners may pull; null if they are too large. Warns about a file that cannot be pulled.
std::shared_ptr<const proto::PublicFiles> FilesOf(const roles::Model& model, const roles::ModelEngine& engine) {
  const nn::Plan& plan = engine.plan();
  proto::PublicFiles files{.plan = nn::Serialize(plan),
                           .tokenizer = model.vocabulary_file().empty() ? "" : model.vocabulary_text()};
  for (const auto& index : engine.indexes()) files.indexes.push_back(nn::Serialize(index->index, 2));
  if (HashOf({AsView(files.tokenizer)}) != plan.tokenizer) {
    log::Warn(Str("serve: data owners cannot pull the tokenizer, because ", model.folder().string(),
                  " lacks the one that the plan names; send them the file with SHA-256 ", Hex(plan.tokenizer)));
    files.tokenizer.clear();
  }
  if (const size_t bytes = files.bytes(); bytes > proto::kMostPulled) {
    log::Warn(Str("serve: data owners cannot pull plan and tokenizer, which have ", bytes, " bytes, and the limit is ",
                  proto::kMostPulled, "; send them the files"));
    return nullptr;
  }
  return std::make_shared<const proto::PublicFiles>(std::move(files));
}

// The parts of a model's directory that a service needs.
struct ServedModel {
  nn::QuantisedWeights weights;
  std::shared_ptr<const proto::PublicFiles> files;
};
// Reads the model and quantises it for the plan; frees the floats before it returns.
ServedModel LoadServed(const ServeArgs& a, const roles::ModelEngine& engine, Bar* stages) {
  const nn::Plan& plan = engine.plan();
  stages->At(0, Str("reading the model in ", a.model));
  const roles::Model model = ReadModel(a.model, a.plan, a.shifts, plan);
  for (const std::string& folder : a.indexes)
    CheckModelOfIndex(roles::IndexFolder(folder, roles::IndexAccess::kRead), plan, model);
  return {model.Quantise(plan, [&](double done, const std::string& what) { stages->At(0.1 + 0.6 * done, what); }),
          FilesOf(model, engine)};
}

std::vector<std::string> NamesOf(const service::OwnerList& owners) {
  std::vector<std::string> names;
  for (const service::Owner& o : owners.owners()) names.push_back(o.name);
  return names;
}

// Reads the owners' file, and logs it with its notices.
std::shared_ptr<const service::OwnerList> ReadOwners(const std::string& file) {
  auto owners = std::make_shared<const service::OwnerList>(service::OwnerList::Read(file));
  log::Info(Str("serve: ", Plural(owners->size(), "data owner"), " may use this service: ", file));
  Warn("serve", owners->notices());
  return owners;
}

// Replaces the list of a running process, and the rules of rows if there are some. A damaged file leaves the old ones
// in force.
void RereadOwners(const std::string& file, service::OwnerDesk& desk, RowDesk* rows, RoleRecords& records,
                  roles::Server& server) {
  std::shared_ptr<const service::OwnerList> owners;
  try {
    owners = ReadOwners(file);
    desk.SetOwners(owners);
    if (records.metrics()) records.metrics()->SetOwners(NamesOf(*owners));
    server.CheckOwners();
  } catch (const Error& e) {
    log::Warn(Str("serve: the list of data owners stays as it was: ", e.what()));
  }
  if (rows && owners) try {
      rows->Read(owners);
      log::Info("serve: the rows of data owners are read again");
    } catch (const Error& e) {
      log::Warn(Str("serve: the rows of data owners stay as they were: ", e.what()));
    }
}

// Reads the address of the database that counts, and connects once; nothing without an address.
std::optional<service::PostgresAddress> FindCounts(const std::string& url) {
  if (url.empty()) return std::nullopt;
  auto address = service::PostgresAddress::Parse(url);
  service::CheckPostgres(address);
  log::Info(Str("serve: quotas are counted in ", address.text(), ", for all processes that use it"));
  return address;
}

// Opens the counts of the owners, in the shared database if there is one.
std::unique_ptr<service::Counts> OpenCounts(const std::optional<service::PostgresAddress>& shared,
                                            const std::string& store) {
  std::unique_ptr<service::Counts> counts;
  if (shared)
    counts = std::make_unique<service::PostgresCounts>(*shared, store);
  else
    counts = std::make_unique<service::SqliteCounts>(store);
  Warn("serve", counts->TakeNotices());
  return counts;
}

// Opens the indexes, and logs what they hold.
std::vector<std::shared_ptr<roles::ServedIndex>> OpenIndexes(const ServeArgs& a, const roles::ModelEngine& engine,
                                                             RowDesk* rows, Bar* stages) {
  if (a.indexes.empty()) return {};
  stages->At(0.9, "masking the rows of the index");
  roles::SeenRows seen;
  if (rows)
    seen = [rows](const Hash& owner, uint32_t index, const Hash& first) { return rows->Of(owner, index, first); };
  auto served = roles::ServeIndexes(engine, a.indexes, std::move(seen));
  for (size_t i = 0; i < a.indexes.size(); ++i) {
    const roles::IndexFolder folder(a.indexes[i], roles::IndexAccess::kRead);
    log::Info(Str("serve: index ", i + 1, " has ", Plural(folder.live(), "document"), " in ",
                  Plural(folder.segments().size(), "segment"), ": ", a.indexes[i]));
  }
  return served;
}

}  // namespace

int RunServe(const ServeArgs& a) {
  // faults of this file and of the database are reported before weights and keys are loaded
  const auto owners = a.owners.empty() ? nullptr : ReadOwners(a.owners);
  const auto shared_counts = FindCounts(a.counts);
  std::optional<RowDesk> rows;
  if (!a.rows.empty()) rows.emplace(a.rows, a.indexes, owners);
  if (!owners)
    log::Warn(
        "serve: every data owner with a certificate of this CA may use this service without limits; --owners FILE "
        "lists and limits them");
  const RoleProcess process = StartRole("serve", Role::kModel, a);
  RoleRecords records("serve", Role::kModel, a.records);
  if (records.metrics() && owners) records.metrics()->SetOwners(NamesOf(*owners));
  const auto secrets =
      a.secrets.empty()
          ? nullptr
          : std::make_shared<const store::OwnerSecrets>(store::ReadSecrets(a.secrets, process.own.identity()));
  std::vector<nn::IndexPlan> indexes;
  for (const std::string& folder : a.indexes)
    indexes.push_back(roles::IndexFolder(folder, roles::IndexAccess::kRead).index());
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *process.backend, roles::EmitTexts, std::move(indexes));
  engine.MoveParts();
  engine.KeepTraces(uint64_t(a.traces) << 20);
  if (!a.times.empty()) engine.MeasureScopes();
  const uint32_t allowed = engine.Allowed(a.variants);
  Bar stages("serve");
  ServedModel model = LoadServed(a, engine, &stages);
  stages.Clear();
  std::unique_ptr<service::Counts> counts;
  std::optional<service::OwnerDesk> desk;
  AnswerHooks hooks{.metrics = records.metrics()};
  if (owners || records.log())
    hooks.hangup = [&](roles::Server& server) {
      records.Reopen();
      if (owners) RereadOwners(a.owners, *desk, rows ? &*rows : nullptr, records, server);
    };
  Answer(
      "serve", a, process.own, engine.unit(),
      [&](store::Home& home, proto::Dealers dealers, roles::Server::Options options) {
        options.variants = allowed;
        options.secrets = secrets;
        options.files = std::move(model.files);
        options.pulled = [](const Hash& owner) {
          log::Info(Str("serve: ", net::Fingerprint({Role::kData, owner}), " pulled the plan and the tokenizer"));
        };
        if (owners) counts = OpenCounts(shared_counts, home.folder());
        if (owners || records.log() || records.metrics()) {
          desk.emplace(service::OwnerDesk::Options{.owners = owners,
                                                   .counts = counts.get(),
                                                   .log = records.log(),
                                                   .metrics = records.metrics(),
                                                   .plan = engine.hash(),
                                                   .notice = [](const std::string& n) { Warn("serve", {n}); }});
          options.policy = &*desk;
        }
        if (service::Metrics* const metrics = records.metrics())
          options.linked = [metrics](const proto::Network& link) { metrics->SetRoundTrip(double(link.trip_us) / 1e6); };
        stages.At(0.7, "masking the weights for a data owner's set-up");
        auto owner = std::make_unique<roles::ModelOwner>(engine, std::move(model.weights), home, std::move(dealers),
                                                         std::move(options),
                                                         OpenIndexes(a, engine, rows ? &*rows : nullptr, &stages));
        if (desk) {
          desk->SetWeights(owner->weights());
          desk->AddBurnt(home.TakeBurntClaims());
        }
        stages.Clear();
        return owner;
      },
      {}, hooks);
  return 0;
}

}  // namespace suf::apps
