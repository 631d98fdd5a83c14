// The server role (P0): answers clients with its own data.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "suf/base/cores.hpp"
#include "suf/nn/read/weights.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"
#include "suf/store/secrets.hpp"

namespace suf::roles {

// The peer of a session, as hooks receive it.
struct PeerName {
  Hash key{};            // SHA-256 of its public key (net::Identity)
  uint64_t session = 0;  // number of the session in its server, from 1
};

// Rows of an index, from `first` to before `end`.
struct RowsFrom {
  int64_t first = 0, end = 0;
};
// Returns the rows of an index, by number from 1, that a data owner may find; nothing: all. Rows have the numbers of
// the list that begins with this segment, which a compaction replaces. Called in the thread of a session, for each
// search.
using SeenRows =
    std::function<std::optional<std::vector<RowsFrom>>(const Hash& owner, uint32_t index, const Hash& first_segment)>;

class ServedIndex;

// P0's own data, and the callback for its results.
struct ServerData {
  nn::QuantisedWeights weights = {};  // the weights of Engine::masked
  uint32_t brings = 0;                // see DataSession::brought
  // Sets P0's own inputs that are the same for every job.
  std::function<void(const nn::QuantisedWeights& weights, run::Inputs&)> inputs = {};
  // Sets P0's own inputs for a job of n tokens, values or rows. They are kept for later jobs of n.
  std::function<void(const nn::QuantisedWeights& weights, uint32_t n, run::Inputs&)> inputs_of = {};
  // Receives the words that P0 learned or keeps, after the job, when the client receives nothing more of it. Called in
  // the thread of the session, so possibly by several threads at once.
  std::function<void(uint32_t n, std::vector<uint64_t> words)> learned = {};
  // The indexes of a model, in the order of its engine (ServeIndexes).
  std::vector<std::shared_ptr<ServedIndex>> indexes = {};
};

// Opens the folders of the engine's indexes, one for each, in order. `seen`, if set, has the rows of each data owner.
// Throws the errors of IndexFolder, and Cause::kRefused if a folder has another index than the engine.
std::vector<std::shared_ptr<ServedIndex>> ServeIndexes(const ModelEngine& engine,
                                                       const std::vector<std::string>& folders, SeenRows seen = {});

// The options of a server. Callbacks run in the thread of their session, so several threads may call them at once.
// Their actions must not depend on how a job went.
struct ServerOptions {
  proto::KeyPolicy keys = {};
  // Variants of the plan that the server allows, as bits (Engine::Allowed).
  uint32_t variants = ~0u;
  // The secrets that several processes of this model owner share. Null: the store has its own.
  std::shared_ptr<const store::OwnerSecrets> secrets = nullptr;
  // The most bytes of whole bundles for the audits of all sessions. It replaces turns.whole.
  uint64_t audit_memory = proto::kAuditMemory;
  // Limits for the jobs of all sessions that run side by side.
  proto::Turns::Limits turns = {.at_once = Cores()};
  // The time after which a session that stays without a job is ended.
  net::Millis idle{600'000};
  // Called when a job begins. Its serial is claimed.
  std::function<void(const PeerName&, const store::Job&, uint64_t serial)> runs = {};
  // Called when a job has run.
  std::function<void(const PeerName&, const store::Job&, uint64_t serial, const run::Times&)> ran = {};
  // Reports how many bytes of the masked weights were sent to a client that had none.
  std::function<void(const PeerName&, uint64_t sent, uint64_t all)> setup = {};
  // Called after each audit in which both bundles are right.
  std::function<void(const store::Job&, uint64_t serial)> audited = {};
  // Receives the link that a session measured, if both sides allow several variants.
  std::function<void(const proto::Network&)> linked = {};
  // The files that data owners may pull. Null: none.
  std::shared_ptr<const proto::PublicFiles> files = nullptr;
  // Called when a data owner, by the hash of its key, has pulled them.
  std::function<void(const Hash& owner)> pulled = {};
  // The rules about data owners; they outlive the server. Null: every certified data owner is served.
  proto::OwnerPolicy* policy = nullptr;
  // Called when an admitted session has ended, with the error that Serve throws next, or with null.
  std::function<void(const PeerName&, const Error*)> over = {};
};

// P0 for any plan. Its data never leaves it except under masks. It sees nothing of a client's inputs, and only those
// results that the plan gives to P0. ModelOwner is a server with weights; ServerDataOf (function.hpp,
// composition.hpp) makes the data of a function or a composition.
class Server {
 public:
  using Options = ServerOptions;
  // `home` has P0's long-lived secrets, bundles and ledgers. `dealers` connects to the dealer, or to each of a list
  // (DealersAt). The engine and the home must outlive the server. Throws Cause::kResource if the store's disk cannot
  // keep preprocessed keys.
  Server(Engine& engine, ServerData data, store::Home& home, proto::Dealers dealers, Options options = {});
  ~Server();
  // Serves one client's session from hello to end, or its pull, in the thread of its connection. Pass it to
  // Listener::Run. Sessions run side by side, and their jobs in turns (docs/design/lanes.md#turns). An error ends only
  // this session.
  void Serve(net::Channel& client);
  // Returns the id of the weights, which data owners see and receipts name.
  const Hash& weights() const;
  // Ends idle sessions that the policy allows no more. The others end at their next job. Call it after a change of the
  // rules. Thread-safe.
  void CheckOwners();
  // Refuses sessions that wait for their turn, now and later. Those whose jobs run go on. Thread-safe.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::roles
