// Client (P1): runs a plan's trace with a server, job after job, and learns what the plan gives to P1. The server and
// the dealer learn each job's number of tokens or values; nobody else learns anything of what P1 brings. DataOwner is
// a client with texts; a function's is made by Values (function.hpp).
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/run/inputs.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

// One job: so many tokens or values, and P1's own data under the name that the trace reads; no name where P1
// brings nothing.
struct Ask {
  uint32_t count = 0;
  std::string name;
  run::Inputs::Any data;
};

// A job as P1 saw it. Whatever its words are, all of it is made the same way; only its reader may look.
struct Ran {
  std::shared_ptr<const Work> work;
  uint32_t count = 0;           // tokens or values
  uint32_t variant = 0;         // of the plan: its number
  uint64_t serial = 0;          // of its bundle
  std::vector<uint64_t> words;  // as the protocol reveals them, or P1's share; none where the plan gives P1 nothing
  run::Times times;             // of the online part
  struct {
    uint64_t p0, p1, p1_offline, setup;
  } bytes = {};  // payload and frame headers: what came and went online, what went before, masked weights (once)
  // fetch_ms: until a bundle could be claimed, 0 with keys ahead. ahead_ms: claim, and the frame before the inference.
  // Both and times.total are one after another. deal_ms: the dealer's own work, beside all of them; keys_ms:
  // of the online part, waiting for keys.
  double fetch_ms = 0, ahead_ms = 0, deal_ms = 0, keys_ms = 0;
  double at_s = 0;  // when it was done, since Run began
};

struct ClientOptions {
  proto::Keys keys = {};
  uint32_t variants = ~0u;  // those of the plan that we allow, as bits (Engine::Allowed)
  // one_by_one: the keys of a job are asked for when it is due, not while the one before runs. A job is done sooner,
  // all of them later.
  bool one_by_one = false;
  // audits: so many bundles more than the jobs of a Run need are opened by the server, who checks them; at random
  // places, so that the dealer cannot know which are used. Not with one_by_one, whose pauses would tell it.
  int audits = 0;
  // semi_honest: the server is trusted to follow the protocol, so a job may have a steering (Work).
  bool semi_honest = false;
  std::function<void(size_t job, double done, const std::string& what)> progress = {};
  std::function<void()> audited = {};  // a bundle pair, and both were as they should be
  // Polled before each bundle is used: true if no further result is wanted. The server sees when a session stops, so
  // the answer must not depend on a result.
  std::function<bool()> stop = {};
};

class Client {
 public:
  using Options = ClientOptions;
  // store: its bundles, ledger and masked weights; it outlives the client, as the engine does. dealer: how the dealer
  // is reached (ToDealer). Throws Cause::kResource where the store's disk cannot keep keys ahead, Cause::kInput for
  // audits with one_by_one.
  Client(Engine& engine, store::Store& store, proto::DialDealer dealer, Options options = {});
  Engine& engine() { return engine_; }

  // With one server, over one connection. After an error it is over.
  class Session {
   public:
    // Greets the server and fetches its masked weights, once for a store and model (Estimate::setup bytes).
    Session(Client& client, net::Channel& server);
    ~Session();
    // notices: what a person should know of the masked weights that were in the store.
    const std::vector<std::string>& notices() const;
    // brought: of how many values the server brings data of its own, so that each job has as many; 0: we decide.
    uint32_t brought() const;
    // link: what both parties measured, where they allow several variants in common; jobs take the cheapest for it.
    const std::optional<proto::Link>& link() const;
    // The jobs one after another; `done` gets each as soon as it is there, and must not make the next one wait for
    // what it finds in it. Flights and bytes: Estimate. Throws Cause::kRefused when an audit finds a bundle that was
    // dealt wrongly and, before anything is spent, for a job with a steering (ClientOptions::semi_honest); and the
    // errors of proto::DataSession. Returns how many jobs are done: fewer than there are if
    // ClientOptions::stop ended the session.
    size_t Run(std::vector<Ask> jobs, const std::function<void(size_t job, Ran)>& done);
    // Tells the server that no job follows.
    void End();

   private:
    struct State;
    std::unique_ptr<State> s_;
  };

 private:
  friend class Session;
  Engine& engine_;
  store::Store& store_;
  proto::DialDealer dealer_;
  Options options_;
  const proto::BundlePlan plan_;
};

}  // namespace suf::roles
