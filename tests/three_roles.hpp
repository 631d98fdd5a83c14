// The three roles of the program in one process, with the real engine, on a tiny encoder. There are a thread and an
// in-process channel for each conversation, and stores in a scratch folder. For tests that are impossible with real
// processes.
#pragma once
#include <optional>
#include <thread>

#include "suf/base/scratch_test.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/proto/session.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/internal/parts.hpp"
#include "suf/store/witnessed_test.hpp"

namespace suf::roles {

// A plan and its weights, made once.
struct Tiny {
  nn::Plan plan;
  nn::QuantisedWeights weights;
};
inline const Tiny& TheTiny() {
  static const Tiny tiny = [] {
    const model::LoadedModel m =
        model::SmallModel(1, {.d = 8, .heads = 2, .ff = 8, .vocab = 6, .layers = 1, .positions = 8});
    nn::Plan plan = model::SmallPlan(m, 8);
    nn::QuantisedWeights q = nn::Quantise(m.weights, plan);
    return Tiny{std::move(plan), std::move(q)};
  }();
  return tiny;
}

inline const std::vector<int32_t> kText{1, 2, 3};

// The backend that the program runs.
inline pfss::Backend& TheBackend() {
  static const auto backend = cpu::MakePacked(exec::DefaultPools());
  return *backend;
}

class ThreeRoles {
 public:
  // The array `emit` is for P0, P1 and dealer, in the order of Role; empty: the real one. `ahead` is the number of
  // bundles per fetch, for kText's length.
  explicit ThreeRoles(uint32_t ahead = 1, std::array<Emit, kRoles> emit = {}) : keys_{.ahead = ahead, .whole = true} {
    for (int r = 0; r < kRoles; ++r) {
      engine[r].emplace(TheTiny().plan, TheBackend(), emit[size_t(r)] ? emit[size_t(r)] : EmitTexts);
      plan[r] = engine[r]->ForProto(Role(r));
    }
    generate = AuditOf(*engine[2]).generate;
    state_.emplace(dir / "dealer");
    Open();
    dealer_.emplace(plan[2], *state_,
                    proto::BundleDealer::Options{store::JobOf(uint32_t(kText.size())), ahead, net::Millis{2000}, {}},
                    [this](proto::DealJob j, store::Sink& a, store::Sink& b) {
                      ++dealt;
                      generate(std::move(j), a, b);
                    });
    masks_.emplace(*engine[0], seed_->view(), id_);
    ModelInputs(TheTiny().plan, TheTiny().weights, inputs_[0]);
  }
  ~ThreeRoles() { Join(); }
  // Starts the stores, or restarts them.
  void Open() {
    for (int p : {0, 1}) {
      lane[p].reset();
      home[p].reset();
      home[p].emplace(dir / std::to_string(p));
      // P0's sessions open its lane; the tests only inspect it
      const std::shared_ptr<store::Lane> open = home[p]->Open(p ? Hash{} : kId[1].key, store::kLane);
      lane[p] = p ? open : std::const_pointer_cast<store::Lane>(home[0]->Find(kId[1].key, store::kLane));
    }
  }
  // Runs P0 on a thread and `p1` here. Their exceptions are in error[party].
  void Session(const std::function<void(proto::DataSession&)>& p1, net::Recorder* recorder = nullptr) {
    auto [near, far] = net::InProcessPair(kId[1], kId[0]);
    near->set_recorder(recorder);
    error[0] = error[1] = nullptr;
    proto::ModelHost host = Host();
    std::thread model([&, ch = std::move(far)]() mutable {
      Keep(0, [&] { proto::ServeSession(*ch, host); });
      ch.reset();
    });
    Keep(1, [&] {
      proto::DataSession s(
          *near, plan[1], lane[1], [this](std::stop_token stop) { return Link(Role::kData, std::move(stop)); }, keys_);
      ReadSetup(*engine[1], s.Setup(), inputs_[1]);
      p1(s);
      s.End();
    });
    near.reset();
    model.join();
    Join();
  }
  // Runs one inference of kText; returns whether its result is the simulator's.
  bool Embed(proto::DataSession& s) {
    inputs_[1].Set(nn::kTokensInput, kText);
    Outcome out;
    s.Infer(store::JobOf(uint32_t(kText.size())),
            [&](proto::Inference& i) { out = RunInference(*engine[1], i, inputs_[1]); });
    static const std::vector<int64_t> want = nn::PlanSimulator(TheTiny().plan, TheTiny().weights).Run(kText).y;
    pfss::Ring ring = [&] {
      auto work = engine[1]->Compile(int(kText.size()));
      return work->trace.node(work->trace.result(1)).ring;
    }();
    std::vector<int64_t> y;
    for (uint64_t w : out.words) y.push_back(ring::Signed(w, ring.bits));
    return y == want;
  }
  // An error's cause and message; "" if there is none.
  static std::string Says(std::exception_ptr e) {
    try {
      if (e) std::rethrow_exception(e);
    } catch (const Error& x) {
      return Str(Name(x.cause()), ": ", x.what());
    }
    return "";
  }
  std::map<uint64_t, store::RecordKind> LastRecords(int p) const { return lane[p]->ledger().LastRecords(); }

  Scratch dir;
  std::optional<ModelEngine> engine[kRoles];
  proto::BundlePlan plan[kRoles];
  proto::Generate generate;  // the dealer's function; tests may make it cheat
  std::optional<store::Home> home[2];
  std::shared_ptr<store::Lane> lane[2];
  std::exception_ptr error[2], dealer_error;
  int dealt = 0;

 private:
  proto::KeyPolicy keys_;
  static constexpr net::Identity kId[] = {{Role::kModel, {12}}, {Role::kData, {13}}, {Role::kDealer, {11}}};
  void Keep(int p, const std::function<void()>& f) {
    try {
      f();
    } catch (const Error&) {
      error[p] = std::current_exception();
    }
  }
  proto::ModelHost Host() {
    return {.plan = plan[0],
            .home = *home[0],
            .weights = id_,
            .setup = SetupHash(*engine[0], TheTiny().weights, *masks_),
            .b_seed = seed_,
            .w_hat =
                [this](store::Sink& out) {
                  WriteSetup(*engine[0], TheTiny().weights, *masks_, [&](View v) { out.Write(v); });
                },
            .dealers = [this](std::stop_token stop) { return Link(Role::kModel, std::move(stop)); },
            .run =
                [this](proto::Inference& i) {
                  LengthInputs(TheTiny().plan, TheTiny().weights, int(i.header().job.tokens), inputs_[0]);
                  (void)RunInference(*engine[0], i, inputs_[0]);
                  return std::function<void()>();
                },
            .auditor = AuditOf(*engine[0]),
            .keys = keys_};
  }
  std::unique_ptr<net::Channel> Link(Role r, std::stop_token stop) {
    auto [near, far] = net::InProcessPair(kId[int(r)], kId[2], net::kTimeout, std::move(stop));
    std::lock_guard lock(m_);
    links_.emplace_back([this, ch = std::move(far)]() mutable {
      try {
        dealer_->Handle(*ch);
      } catch (const Error& e) {
        std::lock_guard l(m_);
        if (!dealer_error || e.cause() == Cause::kRefused) dealer_error = std::current_exception();
      }
      ch.reset();
    });
    return std::move(near);
  }
  void Join() {
    for (auto& t : links_) t.join();
    links_.clear();
  }

  const Hash id_{77};
  const SharedSecret seed_ = Share(Secret(Hash{5}));
  std::optional<Masks> masks_;
  run::Inputs inputs_[2];
  std::optional<store::DealerState> state_;
  std::optional<proto::BundleDealer> dealer_;
  std::mutex m_;
  std::vector<std::thread> links_;
};

}  // namespace suf::roles
