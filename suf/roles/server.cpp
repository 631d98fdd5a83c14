#include "suf/roles/server.hpp"

#include <utility>

#include "suf/net/refusal.hpp"
#include "suf/roles/internal/parts.hpp"

namespace suf::roles {

struct Server::State {
  State(Engine& e, ServerData d, store::Home& home, proto::DialDealer dealer, Options o)
      : engine(e),
        data(std::move(d)),
        options(std::move(o)),
        key(home.LongLivedSecret("weights.key")),
        seed(Share(home.LongLivedSecret("b.seed"))),
        id(WeightsId(key.view(), data.weights, engine.hash(), seed->view())),
        masks(engine, seed->view(), id),
        plan(engine.ForProto(Role::kModel)),
        host{plan,
             home,
             id,
             SetupHash(engine, data.weights, masks),
             seed,
             [this](store::Sink& out) {
               uint64_t sent = 0;
               WriteSetup(engine, data.weights, masks, [&](View v) {
                 if (options.setup) options.setup(sent, plan.setup_bytes);
                 out.Write(v);
                 sent += v.size();
               });
               if (options.setup) options.setup(sent, plan.setup_bytes);
             },
             std::move(dealer),
             [this](proto::Inference& inference) { Run(inference); },
             AuditOf(engine)} {
    if (options.keys.ahead > 1) home.CheckCanKeepBundles();
    if (data.inputs) data.inputs(data.weights, inputs);
    host.keys = options.keys;
    host.variants = options.variants;
    host.brings = data.brings;
    host.audit_memory = options.audit_memory;
    if (options.audited)
      host.auditor.passed = [this](const store::Job& job, uint64_t serial) { options.audited(job.tokens, serial); };
    if (data.learned) host.finished = [this] { data.learned(ran.first, std::move(ran.second)); };
  }

  void Run(proto::Inference& inference) {
    const uint32_t n = inference.header().job.tokens;
    if (options.runs) options.runs(n, inference.header().serial);
    if (data.inputs_of) data.inputs_of(data.weights, n, inputs);
    Outcome out = RunInference(engine, inference, inputs);
    if (options.ran) options.ran(n, inference.header().serial, out.times);
    ran = {n, std::move(out.words)};
  }

  Engine& engine;
  const ServerData data;
  const Options options;
  const Secret key;
  const SharedSecret seed;
  const Hash id;
  const Masks masks;
  const proto::BundlePlan plan;
  run::Inputs inputs;                              // of one session at a time
  std::pair<uint32_t, std::vector<uint64_t>> ran;  // the last job's count, and the words that P0 learned
  proto::ModelHost host;
  proto::Turnstile turnstile;
};

Server::Server(Engine& engine, ServerData data, store::Home& home, proto::DialDealer dealer, Options options)
    : s_(new State(engine, std::move(data), home, std::move(dealer), std::move(options))) {}
Server::~Server() = default;

void Server::Serve(net::Channel& p1) {
  net::Guarded(p1, [&] { proto::RecvHello(p1, s_->plan); });
  s_->turnstile.Pass(p1, [&] {  // one session at a time, its failure included
    try {
      proto::ServeGreeted(p1, s_->host);
    } catch (const Error& e) {
      if (s_->options.over) s_->options.over(&e);
      throw;
    }
    if (s_->options.over) s_->options.over(nullptr);
  });
}

}  // namespace suf::roles
