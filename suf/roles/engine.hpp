// Engines: a plan on a backend, as all roles of a process share it. The program chooses the backend; this module knows
// none.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "suf/base/lru_cache.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/nn/plan/index_plan.hpp"
#include "suf/nn/plan/plan.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/nn/read/weights.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/proto/bundle_plan.hpp"
#include "suf/roles/public_table.hpp"

namespace suf::roles {

// A callback for progress: how much is done, from 0 to 1, and the current step. It runs in the thread of the call that
// received it.
using Progress = std::function<void(double done, const std::string& what)>;

// The trace of exactly n tokens or values, with its schedule. Only Engine::Compile makes one.
struct CompiledJob {
  pfss::Trace trace;
  std::unique_ptr<pfss::Schedule> schedule;
  proto::Task task;
  // Names the way in which a P0 that alters its messages learns more of P1's input than its results (pfss::Steering).
  // Empty if there is none.
  std::string steering;

 private:
  friend class Engine;
  CompiledJob() = default;
};

// The traces of an engine. They take 8 to 15 MB each for MiniLM, and 25 to 60 ms to make.
using TraceCache = LruCache<store::Job, CompiledJob>;
// The most bytes of traces and their plans that an engine keeps unless KeepTraces sets others.
inline constexpr uint64_t kTraceBytes = uint64_t{512} << 20;
// Returns the bytes of a trace and its schedule in memory, to about a tenth.
uint64_t MemoryOf(const CompiledJob& work);

// Returns whether party p ends with results, or shares of them.
inline bool Learns(const pfss::Ending& e, int p) { return e.learned[size_t(p)] + e.kept[size_t(p)] > 0; }

// Throws Cause::kRefused if the work has a steering. P1 checks this before anything is sent.
void RefuseSteering(const CompiledJob& work);

// The part of a plan that an engine needs.
struct ProtocolSpec {
  Hash hash{};
  uint32_t most = 0;  // tokens, values or rows of the largest job
  proto::JobUnit unit;
  pfss::Ending ending;  // which results each party learns or keeps
  // Writes the trace of a job, and closes it. Refuses a job that the plan does not cover.
  std::function<void(pfss::Trace&, const store::Job&)> emit;
  std::vector<nn::MaskedWeight> masked;              // of a model
  std::vector<nn::Variant> variants{nn::Variant{}};  // one, except of a model
  uint32_t most_texts = 1;                           // of a job
  std::vector<Hash> indexes = {};                    // of the index plans
  // See proto::BundlePlan; null without indexes.
  std::function<std::optional<proto::JobLimits>(uint32_t entry)> entry = {};
  std::function<uint64_t(const Hash& index, uint32_t rows, bool table)> part_bytes = {};
  std::function<int64_t(const Hash& index)> capacity = {};
  // Returns the bytes of a word of W - B of an index's input; 0: it is none of an index.
  std::function<int(const std::string& name)> index_word = {};
};

struct EngineIndex;

// A plan on a backend. For each number of tokens or values it has the linted trace and its schedule. ModelEngine is for
// a model's plan, FunctionEngine (function.hpp) for a function's, CompositionEngine (composition.hpp) for a
// composition's. Thread-safe.
class Engine {
 public:
  // The backend must outlive the engine.
  Engine(ProtocolSpec spec, pfss::Backend& backend);
  virtual ~Engine() = default;
  const Hash& hash() const { return spec_.hash; }
  const proto::JobUnit& unit() const { return spec_.unit; }
  const pfss::Ending& ending() const { return spec_.ending; }
  pfss::Backend& backend() { return backend_; }
  // Lets long frames move while they are read and written (run::PartyJob::parts). Call it before anything runs. Two
  // parties of one process must then have pools of their own (exec::DefaultPools).
  void MoveParts() { parts_ = true; }
  bool parts() const { return parts_; }
  // Lets executors measure the time of each scope (pfss::Io::NeedsScopeTimes). Call it before anything runs.
  void MeasureScopes() { timed_ = true; }
  bool timed() const { return timed_; }
  // Returns the trace of a job, which is linted once (pfss::Lint). Exactly the plan's results go to
  // exactly the plan's parties. No other function returns a trace, so no role deals, fetches or runs one with a fault.
  // Traces are kept for later calls (KeepTraces). Threads that need another trace go on meanwhile. Throws Cause::kInput
  // if the plan does not cover the job, and Cause::kRefused if there is a fault.
  std::shared_ptr<const CompiledJob> Compile(const store::Job& job);
  // Returns the index of this number, from 1; null if there is none.
  virtual std::shared_ptr<const EngineIndex> IndexAt(uint32_t number) const;
  // Numbers the indexes of P1 as P0 does. `served` has hashes of all of P0's index plans. Throws Cause::kPeer if P0
  // serves others than before.
  virtual void Adopt(const std::vector<Hash>& served);
  // Returns the trace of one text of n tokens, or of n values or rows.
  std::shared_ptr<const CompiledJob> Compile(int n, int variant = 0);
  // Sets the most bytes of traces that are kept, with the backend's plans for them. The traces that were not used for
  // the longest time are dropped first. A trace in use stays in any case. The default is kTraceBytes.
  void KeepTraces(uint64_t bytes);
  // Names the section of party p's bundle that has this byte, for error messages.
  std::string Section(const store::Job& job, int p, uint64_t byte);
  // Returns the microseconds that a job takes. They come from the cost model, with the machine of the profile cpu. Both
  // parties get the same number, whatever their machines are. The keys of a text arrive while the text before runs, so
  // the longer of delivery and run counts. On one machine they share the cores, so the sum counts. Sessions side by
  // side divide the time of a run, down to that of its busiest wire or cores.
  uint64_t Price(const store::Job& job, const proto::JobTerms& terms);
  // Returns the bytes of a word of an input matrix, as a party keeps it; negative if words are signed.
  int InputBytes(const std::string& name) const;
  // Reserves the backend's memory for a job in a role, weights included, until the result is destroyed. Throws
  // Cause::kResource with the needed bytes, the free bytes, and how many tokens or values would fit.
  std::shared_ptr<pfss::Reservation> Reserve(const store::Job& job, Role role);
  // Returns the plan as the sessions of a role need it. The engine must outlive it.
  proto::BundlePlan ForProto(Role role);
  const std::vector<nn::MaskedWeight>& masked() const { return spec_.masked; }
  const std::vector<nn::Variant>& variants() const { return spec_.variants; }
  // Returns the number of the variant with this name; of the first one if the name is empty. Throws Cause::kInput, with
  // all names, if there is none.
  int VariantNamed(const std::string& name) const;
  // Returns the variants of a list of names with commas between, as bits. All of them if the list is empty or "auto".
  // Throws as VariantNamed does.
  uint32_t Allowed(const std::string& names) const;

 private:
  // Makes and checks the trace of a job.
  std::shared_ptr<const CompiledJob> MakeJob(const store::Job& job) const;
  // Returns the largest number of tokens for which `fits` is true; of a batch the largest number of texts. 0: none.
  int MostThatFits(const store::Job& job, const std::function<bool(const store::Job&)>& fits) const;

  const ProtocolSpec spec_;
  pfss::Backend& backend_;
  bool parts_ = false, timed_ = false;
  TraceCache traces_;
  LruCache<store::Job, compiler::Bill> bills_;
};

// A function that writes the trace of a job and closes it.
using Emit = std::function<void(pfss::Trace&, const nn::Plan&, const store::Job&)>;
// Emits the trace of a batch of texts.
inline void EmitTexts(pfss::Trace& t, const nn::Plan& plan, const store::Job& job) {
  nn::Build(t, plan, int(job.tokens), int(job.variant), int(job.texts));
}

// Reads and checks a model's plan file. Throws Cause::kInput if there is none, and the errors of nn::Parse.
nn::Plan LoadPlan(const std::string& path);

// An index behind a model's plan.
struct EngineIndex {
  // Throws the errors of nn::WithIndex, and Cause::kRefused if its scores have too many bits.
  EngineIndex(const nn::Plan& plan, nn::IndexPlan index_);
  const nn::IndexPlan index;
  const Hash hash;
  const nn::Plan whole;  // WithIndex
};
// The indexes of an engine, by number. P1 has some of P0's, and takes P0's numbers on.
class EngineIndexes;

// The engine of a model's plan: P1 alone learns one result.
class ModelEngine : public Engine {
 public:
  // Tests may pass an emission with a fault. Throws Cause::kInput for more than store::kMostIndexes indexes or one
  // twice, and the errors of EngineIndex.
  ModelEngine(nn::Plan plan, pfss::Backend& backend, Emit emit = EmitTexts, std::vector<nn::IndexPlan> indexes = {})
      : ModelEngine(std::make_shared<const nn::Plan>(std::move(plan)), backend, std::move(emit), std::move(indexes)) {}
  const nn::Plan& plan() const { return *plan_; }
  // Returns the indexes in the order of the constructor.
  const std::vector<std::shared_ptr<const EngineIndex>>& indexes() const;
  // Returns the number of an index, from 1.
  uint32_t NumberOf(const EngineIndex& index) const;
  std::shared_ptr<const EngineIndex> IndexAt(uint32_t number) const override;
  void Adopt(const std::vector<Hash>& served) override;
  // Sets the table of a plan with a public one, which P1 needs.
  void UseTable(PublicTable table) { table_ = std::make_shared<const PublicTable>(std::move(table)); }
  // Returns that table; null if there is none.
  const PublicTable* table() const { return table_.get(); }

 private:
  ModelEngine(std::shared_ptr<const nn::Plan> plan, pfss::Backend& backend, Emit emit,
              std::vector<nn::IndexPlan> indexes);
  ModelEngine(std::shared_ptr<const nn::Plan> plan, pfss::Backend& backend, Emit emit,
              std::shared_ptr<EngineIndexes> indexes);
  std::shared_ptr<const nn::Plan> plan_;
  std::shared_ptr<EngineIndexes> indexes_;
  std::shared_ptr<const PublicTable> table_;
};

}  // namespace suf::roles
