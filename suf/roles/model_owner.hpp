// ModelOwner (P0): answers data owners with its weights, which never leave it but under masks. It sees no text and no
// result, only each text's number of tokens.
#pragma once
#include <memory>

#include "suf/nn/weights.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

// Hooks run in the thread of the session; what they do must not depend on how an inference went.
struct ModelOwnerOptions {
  proto::Keys keys = {};
  std::function<void(uint32_t n, uint64_t serial, const run::Times&)> ran = {};
  std::function<void(uint32_t n, uint64_t serial)> audited = {};  // a bundle pair, and both were as they should be
  // over: a session that was let in has ended; with an error, which Serve throws afterwards, or null
  std::function<void(const Error*)> over = {};
};

class ModelOwner {
 public:
  using Options = ModelOwnerOptions;
  // weights: Model::Quantise of the engine's plan. store: its long-lived secrets, bundles and ledger; it outlives the
  // model owner, as the engine does. dealer: how the dealer is reached (ToDealer). Throws Cause::kResource where the
  // store's disk cannot keep keys ahead.
  ModelOwner(Engine& engine, nn::Quantised weights, store::Store& store, proto::DialDealer dealer,
             Options options = {});
  ~ModelOwner();
  // Serve: one data owner's session from hello to end, in the thread of its connection: give it to Listener::Run. One
  // session at a time: another client waits a moment and is refused (busy). What it throws ends this session alone.
  void Serve(net::Channel& data_owner);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace suf::roles
