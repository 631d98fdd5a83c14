#include "suf/roles/model_owner.hpp"

#include "suf/net/refusal.hpp"
#include "suf/roles/internal/parts.hpp"

namespace suf::roles {

struct ModelOwner::State {
  State(Engine& e, nn::Quantised w, store::Store& store, proto::DialDealer dealer, Options o)
      : engine(e),
        weights(std::move(w)),
        options(std::move(o)),
        key(store.LongLived("weights.key")),
        seed(Share(store.LongLived("b.seed"))),
        id(WeightsId(key.view(), weights, engine.hash(), seed->view())),
        masks(engine, seed->view(), id),
        plan(engine.ForProto()),
        host{plan,
             store,
             id,
             SetupHash(engine, weights, masks),
             seed,
             [this](store::Sink& out) { WriteSetup(engine, weights, masks, [&](View v) { out.Write(v); }); },
             std::move(dealer),
             [this](proto::Inference& inference) { Run(inference); },
             AuditOf(engine)} {
    if (options.keys.ahead > 1) store.CheckAhead();
    ModelInputs(engine.plan(), weights, inputs);
    host.keys = options.keys;
    if (options.audited)
      host.auditor.passed = [this](const store::Job& job, uint64_t serial) { options.audited(job.tokens, serial); };
  }

  void Run(proto::Inference& inference) {
    const uint32_t n = inference.header().job.tokens;
    LengthInputs(engine.plan(), weights, int(n), inputs);
    const run::Times times = RunInference(engine, inference, inputs).times;
    if (options.ran) options.ran(n, inference.header().serial, times);
  }

  Engine& engine;
  const nn::Quantised weights;
  const Options options;
  const Secret key;
  const SharedSecret seed;
  const Hash id;
  const Masks masks;
  const proto::BundlePlan plan;
  run::Inputs inputs;  // of one session at a time
  proto::ModelHost host;
  proto::Turnstile turnstile;
};

ModelOwner::ModelOwner(Engine& engine, nn::Quantised weights, store::Store& store, proto::DialDealer dealer,
                       Options options)
    : s_(new State(engine, std::move(weights), store, std::move(dealer), std::move(options))) {}
ModelOwner::~ModelOwner() = default;

void ModelOwner::Serve(net::Channel& p1) {
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
