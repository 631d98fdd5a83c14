#include "suf/roles/server.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "suf/roles/internal/parts.hpp"
#include "suf/roles/internal/served_index.hpp"
#include "suf/roles/internal/shared_inputs.hpp"

namespace suf::roles {

namespace {

// Lengths whose inputs P0 keeps. Those of a long text take some hundred KB.
constexpr size_t kLengths = 16;

proto::Turns::Limits LimitsOf(const ServerOptions& o) {
  proto::Turns::Limits limits = o.turns;
  limits.whole = o.audit_memory;
  return limits;
}

// Returns the secrets of a store that shares none.
store::OwnerSecrets SecretsOf(store::Home& home) {
  return {Share(home.LongLivedSecret("weights.key")), Share(home.LongLivedSecret("b.seed"))};
}

}  // namespace

struct Server::State {
  State(Engine& e, ServerData d, store::Home& home, proto::Dealers dealers, Options o)
      : engine(e),
        data(std::move(d)),
        options(std::move(o)),
        secrets(options.secrets ? *options.secrets : SecretsOf(home)),
        seed(secrets.b_seed),
        id(WeightsId(secrets.weights_key->view(), data.weights, engine.hash(), seed->view())),
        masks(engine, seed->view(), id),
        plan(engine.ForProto(Role::kModel)),
        sessions(LimitsOf(options)),
        common{plan, home,           id, SetupHash(engine, data.weights, masks), seed, {}, std::move(dealers),
               {},   AuditOf(engine)} {
    if (options.keys.ahead > 1) home.CheckCanKeepBundles();
    SUF_CHECK(data.indexes.size() == plan.indexes.size());
    if (data.inputs) data.inputs(data.weights, inputs);
    common.keys = options.keys;
    common.keys.delivered = [this](uint64_t rate) { dealer_rate = rate; };
    common.variants = options.variants;
    common.brings = data.brings;
    common.sessions = &sessions;
    common.idle = options.idle;
    common.policy = options.policy;
    common.files = options.files.get();
    common.linked = options.linked;
    common.auditor.passed = options.audited;
  }

  // Returns the index of a number.
  ServedIndex& IndexOf(uint32_t number) { return *data.indexes.at(number - 1); }

  // Returns the host of one session, whose client uses these index plans.
  proto::ModelHost HostFor(const PeerName& peer, const net::Channel& client, const std::vector<Hash>& used) {
    proto::ModelHost host = common;
    auto begun = std::make_shared<std::map<uint32_t, proto::SessionIndex>>();
    for (const Hash& hash : used) {
      const auto at = std::find(plan.indexes.begin(), plan.indexes.end(), hash);
      const auto number = uint32_t(at - plan.indexes.begin()) + 1;
      ServedIndex& index = IndexOf(number);
      host.indexes.push_back(begun->emplace(number, index.Begin()).first->second);
      host.index_seeds.push_back(index.seed());
    }
    host.part = [this](const proto::SetupPart& part, store::Sink& out) { IndexOf(part.index).WritePart(part, out); };
    host.has_list = [this](const proto::SessionIndex& s) { return IndexOf(s.offer.number).Has(*s.lists); };
    host.report = proto::ReportOf(client, options.keys.ahead > 1, dealer_rate);
    host.w_hat = [this, peer](store::Sink& out) { SendSetup(peer, out); };
    host.run = [this, peer, begun](proto::Inference& inference) { return Run(peer, inference, *begun); };
    return host;
  }

  void SendSetup(const PeerName& peer, store::Sink& out) const {
    uint64_t sent = 0;
    WriteSetup(engine, data.weights, masks, [&](View v) {
      if (options.setup) options.setup(peer, sent, plan.setup_bytes);
      out.Write(v);
      sent += v.size();
    });
    if (options.setup) options.setup(peer, sent, plan.setup_bytes);
  }

  // Returns P0's inputs for a job of n tokens, values or rows.
  run::Inputs InputsOf(uint32_t n) {
    if (!data.inputs_of) return inputs;
    return *by_length.Get(n, [&](run::Inputs& all) {
      all = inputs;
      data.inputs_of(data.weights, n, all);
    });
  }

  // Returns P0's inputs for a job of a session, with the indexes as that began.
  run::Inputs InputsOf(const PeerName& peer, const store::BundleHeader& h,
                       const std::map<uint32_t, proto::SessionIndex>& begun) {
    run::Inputs all = store::IsFetch(h.job) ? run::Inputs() : InputsOf(h.job.tokens);
    if (const uint32_t number = store::IndexOf(h.job))
      all.Add(IndexOf(number).InputsFor(h.job, begun.at(number), h.list, peer.key));
    return all;
  }

  std::function<void()> Run(const PeerName& peer, proto::Inference& inference,
                            const std::map<uint32_t, proto::SessionIndex>& begun) {
    const store::Job job = inference.header().job;
    const uint64_t serial = inference.header().serial;
    if (options.runs) options.runs(peer, job, serial);
    run::Inputs own = InputsOf(peer, inference.header(), begun);
    Outcome out = RunInference(engine, inference, own);
    if (options.ran) options.ran(peer, job, serial, out.times);
    if (!data.learned) return {};
    return [this, n = job.tokens, words = std::move(out.words)]() mutable { data.learned(n, std::move(words)); };
  }

  Engine& engine;
  const ServerData data;
  const Options options;
  const store::OwnerSecrets secrets;
  const SharedSecret seed;
  const Hash id;
  const Masks masks;
  const proto::BundlePlan plan;
  run::Inputs inputs;  // that are the same for every job
  SharedInputs<uint32_t> by_length{kLengths};
  proto::SessionTable sessions;
  proto::ModelHost common;               // of all sessions, without the members of HostFor
  std::atomic<uint64_t> count{0};        // of sessions
  std::atomic<uint64_t> dealer_rate{0};  // of the last delivery
};

Server::Server(Engine& engine, ServerData data, store::Home& home, proto::Dealers dealers, Options options)
    : s_(new State(engine, std::move(data), home, std::move(dealers), std::move(options))) {}
Server::~Server() = default;

void Server::Serve(net::Channel& p1) {
  const auto used = proto::BeginSession(p1, s_->common);
  if (!used) {
    if (s_->options.pulled) s_->options.pulled(p1.peer().key);
    return;
  }
  const PeerName peer{p1.peer().key, ++s_->count};
  try {
    const proto::ModelHost host = net::Guarded(p1, [&] { return s_->HostFor(peer, p1, *used); });
    proto::ServeGreeted(p1, host);
  } catch (const Error& e) {
    if (s_->options.over) s_->options.over(peer, &e);
    throw;
  }
  if (s_->options.over) s_->options.over(peer, nullptr);
}

const Hash& Server::weights() const { return s_->id; }

std::vector<std::shared_ptr<ServedIndex>> ServeIndexes(const ModelEngine& engine,
                                                       const std::vector<std::string>& folders, SeenRows seen) {
  SUF_CHECK(folders.size() == engine.indexes().size());
  std::vector<std::shared_ptr<ServedIndex>> all;
  for (size_t i = 0; i < folders.size(); ++i)
    all.push_back(std::make_shared<ServedIndex>(engine.indexes()[i], uint32_t(i) + 1, folders[i], seen));
  return all;
}

void Server::CheckOwners() {
  proto::OwnerPolicy* const policy = s_->options.policy;
  if (!policy) return;
  s_->sessions.HangUpIdleOf([&](const Hash& owner) {
    try {
      policy->Check(owner);
      return false;
    } catch (const proto::DenialError&) {
      return true;
    }
  });
}

void Server::Stop() { s_->sessions.admission().turns().Close(); }

}  // namespace suf::roles
