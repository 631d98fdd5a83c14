// What a role of a session has in hand: the plan, the backend, the trace of n tokens with its schedule, and its own
// inputs. The one place where model, trace, backend and protocol meet.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "suf/backends/packed.hpp"
#include "suf/fss/prg.hpp"
#include "suf/nn/build.hpp"
#include "suf/nn/masked.hpp"
#include "suf/nn/plan.hpp"
#include "suf/nn/quantise.hpp"
#include "suf/proto/session.hpp"
#include "suf/run/party.hpp"

namespace suf::apps {

// Work: the inference of exactly n tokens; comes from Engine::At alone.
struct Work {
  pfss::Trace trace;
  std::unique_ptr<pfss::Schedule> schedule;

 private:
  friend class Engine;
  Work() = default;
};

// Emit: writes the trace of n tokens and closes it.
using Emit = std::function<void(pfss::Trace&, const nn::Plan&, int n)>;

// Engine: shared by all roles; thread-safe.
class Engine {
 public:
  // Tests may put in an emission with a fault.
  explicit Engine(nn::Plan plan, Emit emit = nn::Build);
  const nn::Plan& plan() const { return plan_; }
  const Hash& hash() const { return hash_; }
  pfss::Backend& backend() { return *backend_; }
  // At: the one way to a trace, so that nobody deals, fetches or runs one that has not passed the lint (pfss::Lint),
  // once. Throws Cause::kInput when the plan does not cover n tokens, Cause::kRefused when the lint finds a fault. Kept
  // for the next call.
  std::shared_ptr<const Work> At(int n);
  // Section: words for the section of party p's bundle that holds this byte.
  std::string Section(int n, int p, uint64_t byte);
  // ForProto: the plan as the sessions know it.
  proto::BundlePlan ForProto();
  const std::vector<nn::MaskedWeight>& masked() const { return masked_; }

 private:
  nn::Plan plan_;
  Emit emit_;
  Hash hash_;
  std::vector<nn::MaskedWeight> masked_;
  std::unique_ptr<pfss::Backend> backend_;
  std::mutex m_;
  std::map<int, std::shared_ptr<const Work>> works_;
};

// KeepPages: from here on frames, chunks and bundles come and go by the megabyte: their pages are kept instead of
// fetched afresh each time. What loading left behind is given back first.
void KeepPages();

// LoadPlan: reads and checks a plan file. Throws Cause::kInput (no file) or Cause::kRefused.
nn::Plan LoadPlan(const std::string& path);

// LoadWeights: the model in `folder`, quantised for the plan. Throws Cause::kRefused when the plan was made for another
// shape, or for weights so much smaller that a hard certificate does not hold for these. floats: gets the model itself.
// It takes seconds: `progress` hears how far it is, 0 to 1, and what it does.
using Progress = std::function<void(double done, const std::string& what)>;
nn::Quantised LoadWeights(const std::string& folder, const nn::Plan& plan, const Progress& progress,
                          nn::Weights* floats = nullptr);

// Masks: B, from its long-lived seed; one stream a tensor, bound to the weights id and the plan.
class Masks {
 public:
  Masks(const Engine& engine, View seed, const Hash& weights);
  // Of: the tensor's words modulo 2^bits (in the low bits).
  template <class T>
  Wiped<T> Of(size_t tensor) const;
  // Fill: sets "B.<name>" of every tensor.
  void Fill(run::Inputs& inputs) const;

 private:
  const Engine& engine_;
  fss::Prg prg_;
};

// WeightsId: HMAC(P0's own key; the quantised integers | the plan | H(seed of B)): names B and the W_hat file without
// letting anyone test guesses.
Hash WeightsId(View key, const nn::Quantised& weights, const Hash& plan, View b_seed);

// ModelInputs: "W.<name>" of every tensor that does not depend on the length.
void ModelInputs(const nn::Quantised& weights, run::Inputs& inputs);
// LengthInputs: those that do: the first n positions, n times the pooled bias.
void LengthInputs(const nn::Quantised& weights, const nn::Plan& plan, int n, run::Inputs& inputs);

// WriteSetup: W_hat of every tensor, packed. ReadSetup: sets "Wh.<name>".
void WriteSetup(const Engine& engine, const nn::Quantised& weights, const Masks& masks,
                const std::function<void(View)>& out);
void ReadSetup(const Engine& engine, View setup, run::Inputs& inputs);
// SetupHash: SHA-256 of what WriteSetup writes.
Hash SetupHash(const Engine& engine, const nn::Quantised& weights, const Masks& masks);

// Generator: the dealer's hook. Keeps B of the last weights id and seed.
class Generator {
 public:
  explicit Generator(Engine& engine) : engine_(engine) {}
  void operator()(proto::DealJob job, store::Sink& to_p0, store::Sink& to_p1);
  std::function<void(const proto::DealJob&, const run::Times&)> dealt = {};  // where the time went

 private:
  Engine& engine_;
  std::mutex m_;
  Hash b_of_{};  // hash of both
  run::Inputs inputs_;
};

// AuditOf: what the model owner audits bundles with.
proto::Auditor AuditOf(Engine& engine);

// Run: one party's inference inside a session; the revealed words for P1.
struct Outcome {
  std::vector<uint64_t> words;
  run::Times times;
};
Outcome RunInference(Engine& engine, proto::Inference& inference, run::Inputs& inputs,
                     const std::function<void(int, int, const std::string&)>& progress = {});

}  // namespace suf::apps
