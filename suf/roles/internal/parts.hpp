// The parts of roles: masks and masked weights, P0's inputs, the dealer's generator, and one party's inference. For
// this module, and for tests that combine them otherwise.
#pragma once
#include "suf/fss/prg.hpp"
#include "suf/nn/read/weights.hpp"
#include "suf/proto/audit.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/roles/internal/index_inputs.hpp"
#include "suf/roles/internal/shared_inputs.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

// The mask B, expanded from its long-lived seed. Each tensor has a stream, bound to the weights id and the plan.
class Masks {
 public:
  Masks(const Engine& engine, View seed, const Hash& weights);
  // Returns words of a tensor modulo 2^bits, in the low bits.
  template <class T>
  WipedVector<T> Of(size_t tensor, size_t first, size_t count) const;
  // Sets the input "B.<name>" of every tensor.
  void Fill(run::Inputs& inputs) const;

 private:
  const Engine& engine_;
  fss::Prg prg_;
};

// Returns HMAC(P0's own key; the quantised integers | the plan | H(seed of B)). The id names B and the W_hat file, and
// does not help to test guesses of weights.
Hash WeightsId(View key, const nn::QuantisedWeights& weights, const Hash& plan, View b_seed);

// Sets the input "W.<name>" of every tensor that does not depend on the length.
void ModelInputs(const nn::Plan& plan, const nn::QuantisedWeights& weights, run::Inputs& inputs);
// Sets the input of every tensor that does.
void LengthInputs(const nn::Plan& plan, const nn::QuantisedWeights& weights, int n, run::Inputs& inputs);

// Words of W_hat that are made at the same time: a slow reader of it holds no more. A multiple of 8, so that pieces of
// any width have whole bytes.
inline constexpr size_t kSetupWords = size_t{1} << 18;
// Writes W_hat of every tensor, packed, in pieces of at most `words_at_once` words.
void WriteSetup(const Engine& engine, const nn::QuantisedWeights& weights, const Masks& masks,
                const std::function<void(View)>& out, size_t words_at_once = kSetupWords);
// Sets the input "Wh.<name>" of every tensor from the bytes that WriteSetup writes.
void ReadSetup(const Engine& engine, View setup, run::Inputs& inputs);
// Returns the SHA-256 of the bytes that WriteSetup writes.
Hash SetupHash(const Engine& engine, const nn::QuantisedWeights& weights, const Masks& masks);

// The dealer's generator of bundle pairs. It keeps B of the last two pairs of weights id and seed, and those in use. Of
// an index it keeps the seed. Thread-safe: threads deal side by side.
class Generator {
 public:
  explicit Generator(Engine& engine) : engine_(engine) {}
  void operator()(proto::DealJob job, store::Sink& to_p0, store::Sink& to_p1);
  // Receives the times of a bundle pair, in the thread that dealt it.
  std::function<void(uint64_t serial, const run::Times&)> dealt = {};

 private:
  static constexpr size_t kMasks = 2;  // B kept for later deals
  // Returns B of the rows that a search or a fetch reads.
  std::shared_ptr<const run::Inputs> IndexMasksOf(const store::Job& job, const proto::IndexMask& index);
  template <class T>
  void FillMasks(std::map<Hash, RowBlocks<T>>& blocks, const RowShape& shape, bool table, const proto::IndexMask& index,
                 run::Inputs& inputs);
  Engine& engine_;
  SharedInputs<Hash> masks_{kMasks};                       // B by the hash of weights id and seed
  SharedInputs<Hash> searches_{kMasks}, fetches_{kMasks};  // by the hash of seed and list
  std::mutex m_;                                           // guards the maps below
  std::map<Hash, RowBlocks<RowWord>> rows_;                // by index plan
  std::map<Hash, RowBlocks<TableWord>> tables_;
};

// Returns the callbacks with which the model owner audits bundles.
proto::Auditor AuditOf(Engine& engine);

// The result of RunInference.
struct Outcome {
  std::vector<uint64_t> words;
  run::Times times;
};
// Runs one party's inference in a session. Returns the words that the party learns or keeps.
Outcome RunInference(Engine& engine, proto::Inference& inference, run::Inputs& inputs,
                     const std::function<void(int, int, const std::string&)>& progress = {});

}  // namespace suf::roles
