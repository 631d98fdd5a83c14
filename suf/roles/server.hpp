// Server (P0): answers clients with what it brings, which never leaves it but under masks. It sees nothing of what a
// client brings, and of results only what the plan gives to P0. ModelOwner is a server with weights; a function's is
// made by PartOf (function.hpp).
#pragma once
#include <memory>

#include "suf/nn/weights.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

// What P0 brings, and what it does with what it learns.
struct ServerPart {
  nn::Quantised weights = {};  // behind Engine::masked
  uint32_t brings = 0;         // DataSession::brought
  // inputs: sets P0's own data that is the same for every job; inputs_of: that of a job of n.
  std::function<void(const nn::Quantised& weights, run::Inputs&)> inputs = {};
  std::function<void(const nn::Quantised& weights, uint32_t n, run::Inputs&)> inputs_of = {};
  // learned: what P0 learned or keeps, after the job, when the client hears no more of it.
  std::function<void(uint32_t n, std::vector<uint64_t> words)> learned = {};
};

// Hooks run in the thread of the session; what they do must not depend on how a job went.
struct ServerOptions {
  proto::Keys keys = {};
  uint32_t variants = ~0u;                      // those of the plan that it allows, as bits (Engine::Allowed)
  uint64_t audit_memory = proto::kAuditMemory;  // bytes of whole bundles that a client's audits may take
  std::function<void(uint32_t n, uint64_t serial)> runs = {};  // a job begins; its serial is claimed
  std::function<void(uint32_t n, uint64_t serial, const run::Times&)> ran = {};
  // setup: how much of the masked weights went to a client that had none; bytes
  std::function<void(uint64_t sent, uint64_t all)> setup = {};
  std::function<void(uint32_t n, uint64_t serial)> audited = {};  // a bundle pair, and both were as they should be
  // over: a session that was let in has ended; with an error, which Serve throws afterwards, or null
  std::function<void(const Error*)> over = {};
};

class Server {
 public:
  using Options = ServerOptions;
  // store: its long-lived secrets, bundles and ledger; it outlives the server, as the engine does. dealer: how the
  // dealer is reached (ToDealer). Throws Cause::kResource where the store's disk cannot keep keys ahead.
  Server(Engine& engine, ServerPart part, store::Store& store, proto::DialDealer dealer, Options options = {});
  ~Server();
  // One client's session from hello to end, in the thread of its connection: give it to Listener::Run. One
  // session at a time: another client waits a moment and is refused (busy). What it throws ends this session alone.
  void Serve(net::Channel& client);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::roles
