// Engine: a plan on a backend: for each number of tokens the trace, linted, with its schedule. What all roles of a
// process share. Which backend runs, the program says: this room knows none.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "suf/nn/build.hpp"
#include "suf/nn/plan.hpp"
#include "suf/nn/weights.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/proto/bundle_plan.hpp"

namespace suf::roles {

// Progress: hears how much is done, 0 to 1, and what is being done; in the thread of the call that it was given to.
using Progress = std::function<void(double done, const std::string& what)>;

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

// LoadPlan: reads and checks a plan file. Throws Cause::kInput (no file) or what nn::Parse throws.
nn::Plan LoadPlan(const std::string& path);

// Engine: thread-safe.
class Engine {
 public:
  // The backend outlives the engine. Tests may put in an emission with a fault.
  Engine(nn::Plan plan, pfss::Backend& backend, Emit emit = nn::Build);
  const nn::Plan& plan() const { return plan_; }
  const Hash& hash() const { return hash_; }
  pfss::Backend& backend() { return backend_; }
  // At: the one way to a trace, so that nobody deals, fetches or runs one that has not passed the lint (pfss::Lint),
  // once. Throws Cause::kInput when the plan does not cover n tokens, Cause::kRefused when the lint finds a fault.
  // Kept for the next call.
  std::shared_ptr<const Work> At(int n);
  // Section: words for the section of party p's bundle that holds this byte.
  std::string Section(int n, int p, uint64_t byte);
  // ForProto: the plan as the sessions know it. The engine outlives it.
  proto::BundlePlan ForProto();
  const std::vector<nn::MaskedWeight>& masked() const { return masked_; }

 private:
  nn::Plan plan_;
  Emit emit_;
  Hash hash_;
  std::vector<nn::MaskedWeight> masked_;
  pfss::Backend& backend_;
  std::mutex m_;
  std::map<int, std::shared_ptr<const Work>> works_;
};

}  // namespace suf::roles
