// What the roles are made of: masks and masked weights, P0's inputs, the dealer's generator, one party's inference. For
// this room, and for tests that put them together otherwise.
#pragma once
#include "suf/fss/prg.hpp"
#include "suf/nn/weights.hpp"
#include "suf/proto/audit.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

// B, from its long-lived seed; one stream a tensor, bound to the weights id and the plan.
class Masks {
 public:
  Masks(const Engine& engine, View seed, const Hash& weights);
  // Of: the tensor's words modulo 2^bits (in the low bits).
  template <class T>
  Wiped<T> Of(size_t tensor) const;
  // Sets "B.<name>" of every tensor.
  void Fill(run::Inputs& inputs) const;

 private:
  const Engine& engine_;
  fss::Prg prg_;
};

// HMAC(P0's own key; the quantised integers | the plan | H(seed of B)): names B and the W_hat file without
// letting anyone test guesses.
Hash WeightsId(View key, const nn::Quantised& weights, const Hash& plan, View b_seed);

// "W.<name>" of every tensor that does not depend on the length.
void ModelInputs(const nn::Plan& plan, const nn::Quantised& weights, run::Inputs& inputs);
// Those that do.
void LengthInputs(const nn::Plan& plan, const nn::Quantised& weights, int n, run::Inputs& inputs);

// W_hat of every tensor, packed. ReadSetup: sets "Wh.<name>".
void WriteSetup(const Engine& engine, const nn::Quantised& weights, const Masks& masks,
                const std::function<void(View)>& out);
void ReadSetup(const Engine& engine, View setup, run::Inputs& inputs);
// SHA-256 of what WriteSetup writes.
Hash SetupHash(const Engine& engine, const nn::Quantised& weights, const Masks& masks);

// The dealer's hook. Keeps B of the last weights id and seed.
class Generator {
 public:
  explicit Generator(Engine& engine) : engine_(engine) {}
  void operator()(proto::DealJob job, store::Sink& to_p0, store::Sink& to_p1);
  std::function<void(uint64_t serial, const run::Times&)> dealt = {};  // where the time went

 private:
  Engine& engine_;
  std::mutex m_;
  Hash b_of_{};  // hash of both
  run::Inputs inputs_;
};

// What the model owner audits bundles with.
proto::Auditor AuditOf(Engine& engine);

// RunInference: one party's inference inside a session; the revealed words for P1.
struct Outcome {
  std::vector<uint64_t> words;
  run::Times times;
};
Outcome RunInference(Engine& engine, proto::Inference& inference, run::Inputs& inputs,
                     const std::function<void(int, int, const std::string&)>& progress = {});

}  // namespace suf::roles
