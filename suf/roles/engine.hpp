// Engine: a plan on a backend: for each number of tokens or values the trace, linted, with its schedule. What all roles
// of a process share, whatever the plan is for: ModelEngine is a model's, FunctionEngine (function.hpp) a function's.
// Which backend runs, the program says: this room knows none.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "suf/compiler/choose.hpp"
#include "suf/nn/build.hpp"
#include "suf/nn/plan.hpp"
#include "suf/nn/weights.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/proto/bundle_plan.hpp"

namespace suf::roles {

// Hears how much is done, 0 to 1, and what is being done; in the thread of the call that it was given to.
using Progress = std::function<void(double done, const std::string& what)>;

// The trace of exactly n tokens or values; comes from Engine::At alone.
struct Work {
  pfss::Trace trace;
  std::unique_ptr<pfss::Schedule> schedule;
  proto::Task task;
  // steering: what lets a P0 that alters its messages learn more of P1's input than the results that it is to learn
  // (pfss::Steering); empty: nothing.
  std::string steering;

 private:
  friend class Engine;
  Work() = default;
};

// Throws Cause::kRefused if the work has a steering: P1's check, before anything goes out.
void RefuseSteering(const Work& work);

// What an engine takes from a plan.
struct Subject {
  Hash hash{};
  uint32_t most = 0;  // tokens or values
  proto::Unit unit;
  pfss::Ending ending;  // who is to learn what
  // emit: writes a variant's trace of n and closes it; refuses an n that the plan does not cover
  std::function<void(pfss::Trace&, int n, int variant)> emit;
  std::vector<nn::MaskedWeight> masked;              // none of a function
  std::vector<nn::Variant> variants{nn::Variant{}};  // a function has one
};

// Thread-safe.
class Engine {
 public:
  // The backend outlives the engine.
  Engine(Subject subject, pfss::Backend& backend);
  virtual ~Engine() = default;
  const Hash& hash() const { return subject_.hash; }
  const proto::Unit& unit() const { return subject_.unit; }
  pfss::Backend& backend() { return backend_; }
  // Long frames move while they are read and written (run::PartyJob::parts): for a process of one party, as
  // two of them must not share a pool of threads then. Before anything runs.
  void MoveParts() { parts_ = true; }
  bool parts() const { return parts_; }
  // Executors measure the time of each scope (pfss::Io::Timed). Before anything runs.
  void MeasureScopes() { timed_ = true; }
  bool timed() const { return timed_; }
  // The one way to a trace, so that nobody deals, fetches or runs one that has not passed the lint (pfss::Lint) or
  // whose results go to others than the plan says, once. Throws Cause::kInput when the plan does not cover n,
  // Cause::kRefused when a fault is found. Kept for the next call.
  std::shared_ptr<const Work> At(int n, int variant = 0);
  // Words for the section of party p's bundle that holds this byte.
  std::string Section(const store::Job& job, int p, uint64_t byte);
  // Microseconds that a job takes over a link, keys ahead: of the cost model, with the machine of the profile
  // cpu. The same at both parties, whatever their machines.
  uint64_t Price(const store::Job& job, const proto::Link& link);
  // Of a word of a matrix that is an input, by its name, as a party keeps it; negative: signed.
  int InputBytes(const std::string& name) const;
  // Sees that the backend has memory for a job in a role, weights included; throws Cause::kResource with the
  // bytes that it needs, those that are free, and how many tokens or values would fit.
  void Reserve(const store::Job& job, Role role);
  // The plan as the sessions of a role know it. The engine outlives it.
  proto::BundlePlan ForProto(Role role);
  const std::vector<nn::MaskedWeight>& masked() const { return subject_.masked; }
  const std::vector<nn::Variant>& variants() const { return subject_.variants; }
  // Its number, of the first one where the name is empty; throws Cause::kInput, with the names there are.
  int VariantNamed(const std::string& name) const;
  // Of names with commas between, as bits; all where it is empty or "auto". Throws as VariantNamed.
  uint32_t Allowed(const std::string& names) const;

 private:
  const Subject subject_;
  pfss::Backend& backend_;
  bool parts_ = false, timed_ = false;
  std::mutex m_;
  std::map<std::pair<int, int>, std::shared_ptr<const Work>> works_;  // by variant and n
  std::map<std::pair<int, int>, compiler::Bill> bills_;
};

// Writes a variant's trace of n tokens and closes it.
using Emit = std::function<void(pfss::Trace&, const nn::Plan&, int n, int variant)>;

// Reads and checks a model's plan file. Throws Cause::kInput (no file) or what nn::Parse throws.
nn::Plan LoadPlan(const std::string& path);

// Of a model's plan: P1 alone learns one result.
class ModelEngine : public Engine {
 public:
  // Tests may put in an emission with a fault.
  ModelEngine(nn::Plan plan, pfss::Backend& backend, Emit emit = nn::Build)
      : ModelEngine(std::make_shared<const nn::Plan>(std::move(plan)), backend, std::move(emit)) {}
  const nn::Plan& plan() const { return *plan_; }

 private:
  ModelEngine(std::shared_ptr<const nn::Plan> plan, pfss::Backend& backend, Emit emit);
  std::shared_ptr<const nn::Plan> plan_;
};

}  // namespace suf::roles
