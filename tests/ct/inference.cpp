#include <random>

#include "suf/backends/all.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"
#include "tests/ct/secrets.hpp"

namespace suf::ct {
namespace {

// An Io that marks messages public. Each is padded by a PRG section that its reader does not know (pfss::Lint proves
// it).
class Host : public pfss::Io {
 public:
  Host(pfss::Io& io, const pfss::Trace& t) : io_(io), t_(t) {}
  View In(int node) override {
    View v = io_.In(node);
    if (t_.node(node).op == pfss::Op::kSend) Show(v);
    return v;
  }
  // Marks the whole tensor, not only the bits that are sent, because memcheck spreads undefined bits over vector lanes.
  void ReportSent(int node, View value) override {
    Show(value);
    io_.ReportSent(node, value);
  }
  std::span<uint8_t> Out(int node) override { return io_.Out(node); }
  void Release(int node) override { io_.Release(node); }
  Data Input(int node) override { return io_.Input(node); }
  void ReportDone(std::span<const int> nodes) override { io_.ReportDone(nodes); }
  void ReportTime(uint16_t scope, const pfss::TimeUse& s) override { io_.ReportTime(scope, s); }
  bool NeedsScopeTimes() const override { return io_.NeedsScopeTimes(); }

 private:
  pfss::Io& io_;
  const pfss::Trace& t_;
};

class Watched : public pfss::Backend {
 public:
  Watched(std::unique_ptr<pfss::Backend> real, bool blind) : real_(std::move(real)), blind_(blind) {}
  std::string name() const override { return real_->name(); }
  const pfss::Capabilities& capabilities() const override { return real_->capabilities(); }
  uint32_t prg() const override { return real_->prg(); }
  std::unique_ptr<pfss::Randomness> Expand(pfss::BundleSecrets m) override { return real_->Expand(std::move(m)); }
  std::unique_ptr<pfss::Executor> Start(const pfss::Schedule& s, Role role) override {
    return std::make_unique<Watcher>(real_->Start(s, role), s.trace(), blind_);
  }

 private:
  class Watcher : public pfss::Executor {
   public:
    Watcher(std::unique_ptr<pfss::Executor> real, const pfss::Trace& t, bool blind)
        : real_(std::move(real)), t_(t), blind_(blind) {}
    void Run(const pfss::Program& p, const pfss::Randomness& r, pfss::Io& io) override {
      Host host(io, t_);
      real_->Run(p, r, blind_ ? io : static_cast<pfss::Io&>(host));
    }
    std::vector<uint64_t> Result(int node) override { return real_->Result(node); }

   private:
    std::unique_ptr<pfss::Executor> real_;
    const pfss::Trace& t_;
    bool blind_;
  };
  std::unique_ptr<pfss::Backend> real_;
  bool blind_;
};

constexpr model::Small kSmall{.d = 8, .heads = 2, .ff = 8, .vocab = 6, .layers = 1, .positions = 8};

template <class T>
void SetSecret(run::Inputs& in, const std::string& name, std::vector<T> words) {
  Hide(words);
  in.Set(name, std::move(words));
}

}  // namespace

void Inference(const std::string& backend, bool far, bool blind) {
  model::LoadedModel model = model::SmallModel(1, kSmall);
  if (far) model = model::Shifted(std::move(model), true);
  const int longest = int(kSmall.positions);
  const nn::Plan plan = far ? model::FarPlan(model, longest) : model::SmallPlan(model, longest);
  const nn::QuantisedWeights q = nn::Quantise(model.weights, plan);
  const std::vector<int32_t> ids{1, 2, 3};
  pfss::Trace t;
  nn::Build(t, plan, int(ids.size()));
  const pfss::Schedule s(t);
  exec::Pool pool(1);
  const nn::Simulation want = nn::PlanSimulator(plan, q, pool).Run(ids);

  std::array<run::Inputs, 3> in;
  std::mt19937_64 rng(7);
  model::ForInputs(plan, q, ids, rng, [&](int party, const std::string& name, const std::vector<uint64_t>& words) {
    if (name.rfind("Wh.", 0) == 0)
      in[size_t(party)].Set(name, words);  // W_hat was a message
    else
      SetSecret(in[size_t(party)], name, words);
  });
  pfss::BundleSecrets secrets{{Secret(Hash{1}), Secret(Hash{2})}, Hash{3}};
  Hide(secrets.key[0]->view());
  Hide(secrets.key[1]->view());

  Watched watched(backends::Make(backend, pool), blind);
  run::PairRun run = run::RunPair({s, {&watched, &watched, &watched}, {&in[0], &in[1], &in[2]}, secrets});
  SUF_CHECK(Hidden(run.key[0]) > run.key[0].size() / 2 && Hidden(run.key[1]) > run.key[1].size() / 2);
  std::vector<uint64_t>& y = run.result[1];
  SUF_CHECK(run.result[0].empty() && y.size() == want.y.size() && Hidden(y) >= y.size());
  Show(y);
  const int bits = t.node(t.result(1)).ring.bits;
  for (size_t i = 0; i < y.size(); ++i) SUF_CHECK(y[i] == (uint64_t(want.y[i]) & ring::Mask(bits)));
}

void Strings(const std::string& backend) {
  using namespace pfss;  // NOLINT
  constexpr int64_t kRows = 45, kBits = 70;
  Trace t;
  auto x = t.give<1>(t.input<kP1>("x", {kRows}, 10, 0), 10, "x");
  const Sec r = x.r;
  std::mt19937_64 rng(9);
  std::vector<uint64_t> places(kBits), list(2048);
  for (uint64_t& b : places) b = rng() % 1024;
  for (uint64_t& w : list) w = rng();
  auto table = t.constant({list.begin(), list.begin() + 1024}, {1024});
  Sh bits = t.deal(Less(r, places));
  Sh hot = t.deal(Hot(r));
  auto index = t.open(Sh(t.deal(Bits(Lift(r), 10))), "index");
  Sh at = t.deal(Hot(Low(Lift(index.r), 10)));
  Sh turned = t.deal(Turn(Low(r, 5), t.constant({list.begin(), list.begin() + 32}, {32})), 20);
  auto parity = [](auto string) { return Sum(Unbits(string), 0); };
  Sh y = Low(Sum(turned), 1) + Map(bits, parity);
  y = y + Map(Map(bits, [&](auto s) { return Mix(s, t.constant({list.begin(), list.begin() + 6}, {3, 2})); }), parity);
  y = y + Map(Map(hot, [&](auto h) { return Above(h, x.hat, places); }), parity);
  y = y + Map(Map(hot, [&](auto h) { return Dense(h, x.hat, table, 7); }), parity);
  y = y + Map(at, [&](auto h) { return Low(Sum(SelectX(h, index.hat, t.constant(list, {2, 1024})), 0), 1); });
  t.reveal<1>(y);
  t.close();
  const Schedule s(t);
  std::array<run::Inputs, 3> in;
  std::vector<uint64_t> given(kRows);
  for (uint64_t& w : given) w = rng() % 1024;
  SetSecret(in[1], "x", given);
  BundleSecrets secrets{{Secret(Hash{4}), Secret(Hash{5})}, Hash{6}};
  Hide(secrets.key[0]->view());
  Hide(secrets.key[1]->view());
  exec::Pool pool(1);
  Watched watched(backends::Make(backend, pool), false);
  run::PairRun run = run::RunPair({s, {&watched, &watched, &watched}, {&in[0], &in[1], &in[2]}, secrets});
  SUF_CHECK(Hidden(run.key[0]) > run.key[0].size() / 2 && Hidden(run.key[1]) > run.key[1].size() / 2);
  SUF_CHECK(run.result[1].size() == kRows && Hidden(run.result[1]) >= kRows);
}

}  // namespace suf::ct
