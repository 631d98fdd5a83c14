// The client role (P1): runs the jobs of a plan with a server, and learns P1's results.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/roles/inputs.hpp"
#include "suf/roles/sealed_documents.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

// The size of a job: `count` tokens, values or rows, of `texts` texts each.
// `entry` is the job's: the model alone, a search, or a fetch (store::Job).
struct JobSize {
  uint32_t count = 0, texts = 1, entry = 0;
};

// A request for one job, with P1's own inputs.
struct JobRequest : JobSize {
  std::vector<NamedArray> inputs;
};

// The result of a job at P1. It is made in the same way whatever its words are; only its reader may inspect them.
struct JobResult {
  std::shared_ptr<const CompiledJob> work;
  uint32_t count = 0;           // tokens, values or rows, of each text
  uint32_t texts = 1;           // of a batch; words, bytes and times are those of all
  uint32_t variant = 0;         // number of the plan's variant
  uint64_t serial = 0;          // serial of the bundle
  std::vector<uint64_t> words;  // the revealed words, or P1's share; empty if the plan gives P1 nothing
  run::Times times;             // of the online part
  // Bytes of payload and frame headers. P0 and P1 sent `p0` and `p1` online, and P1 sent `p1_offline` before. The
  // masked weights (`setup`) are counted with the first job that follows them.
  struct {
    uint64_t p0, p1, p1_offline, setup;
  } bytes = {};
  // Durations in milliseconds. `fetch_ms` is the time until a bundle could be claimed; 0 with preprocessed keys.
  // `ahead_ms` is the claim and the frame before the inference. Both and `times.total` follow each other. `deal_ms` is
  // the dealer's own work at the same time. `keys_ms` is the part of the online time in which P1 waited for keys.
  double fetch_ms = 0, ahead_ms = 0, deal_ms = 0, keys_ms = 0;
  double at_s = 0;  // seconds from the start of Run to the end of this job; of RunOne: from the client's first session
  std::shared_ptr<const proto::Receipt> receipt;  // if KeyPolicy::receipts requests it
};

// The place of a session among those of a client.
struct SessionPlace {
  size_t dealer = 0;                // number of its dealer in Dealers
  uint8_t server = 0, servers = 1;  // number of the server's process that it prefers, and how many there are
};

// The state of a job in its session. It waits for memory, its keys and its turn, and runs from its claim on.
enum class JobState { kWaiting, kRunning };

// The options of a client.
struct ClientOptions {
  proto::KeyPolicy keys = {};
  // Variants of the plan that the client allows, as bits (Engine::Allowed).
  uint32_t variants = ~0u;
  // Whether the keys of a job are requested only when it is due, not while the previous job runs. A single job then
  // ends sooner, but all jobs together end later.
  bool one_by_one = false;
  // The number of additional bundles that a Run reveals to the server, which checks them. They are at random places, so
  // the dealer cannot know which bundles are used. Not possible with one_by_one, because its pauses would show that.
  int audits = 0;
  // Bytes for the keys, frames and values of all jobs that run at the same time, without the masked weights. Sessions
  // wait for memory before they announce a job.
  uint64_t memory = ~uint64_t{0};
  // The index that texts are searched in, one of the engine's; null: they are embedded. With `fetch`, the documents of
  // the hits come with them (DataOwner).
  const EngineIndex* search = nullptr;
  bool fetch = false;
  // The sealed documents that fetched keys open. Needed for a fetch from an index with keys.
  const SealedDocuments* documents = nullptr;
  // Whether the server is trusted to follow the protocol. If it is, a job may have a steering (CompiledJob).
  bool semi_honest = false;
  // Receives each report of the server while a job waits for its turn. `place` is its place in the line, and `ms` the
  // estimated wait. Both are rounded up to powers of two.
  std::function<void(uint32_t place, uint32_t ms)> waits = {};
  // Receives the progress of a job, from 0 to 1, and the name of its current step.
  std::function<void(size_t job, double done, const std::string& what)> progress = {};
  // Called when a job enters a state. It leaves that state when the returned object goes, before its result is given to
  // the caller.
  std::function<std::shared_ptr<void>(JobState)> entered = {};
  // Called after each audit in which both bundles are right.
  std::function<void()> audited = {};
  // Polled before each bundle is used: true if no further result is wanted. The server sees when a session stops, so
  // the answer must not depend on a result.
  std::function<bool()> stop = {};
};

// P1 for any plan. The server and the dealer learn the number of tokens, values or rows of each job. Apart from results
// that the plan gives to P0, nothing else about P1's inputs is revealed. DataOwner is a client with texts; Values
// (function.hpp, composition.hpp) makes the jobs of a function or a composition.
class Client {
 public:
  using Options = ClientOptions;
  // `home` has P1's bundles, ledgers and masked weights. `dealers` connects to the dealer, or to each of a list
  // (DealersAt). The engine and the home must outlive the client. Throws Cause::kResource if the store's disk cannot
  // keep preprocessed keys, and Cause::kInput for audits with one_by_one.
  Client(Engine& engine, store::Home& home, proto::Dealers dealers, Options options = {});
  Engine& engine() { return engine_; }

  // Draws the places of ClientOptions::audits among so many jobs: how many audits come before and after each job. All
  // jobs have the same number, and random jobs share the rest. A job's own bundle has a random place among those of its
  // length. So the dealer cannot know which one is used.
  using AuditPlaces = std::vector<std::array<int, 2>>;
  AuditPlaces PlaceAudits(size_t jobs) const;

  // A session with one server, over one connection. After an error it has ended.
  class Session {
   public:
    // Greets the server in a free lane of the store. Fetches its masked weights, once per store and model
    // (Estimate::setup bytes). `lanes` is the number of sessions that the caller has with this server. A known `link`
    // to it is not measured again. The session has one of the client's dealers.
    Session(Client& client, net::Channel& server, uint32_t lanes = 1, const std::optional<proto::Network>& link = {},
            const SessionPlace& place = {});
    ~Session();
    // Returns notices for the user about the masked weights that were in the store.
    const std::vector<std::string>& notices() const;
    // Returns the number of values of every job, if the server brings data of its own; 0 if the client decides.
    uint32_t brought() const;
    // Returns the link that both parties measured if both allow several variants. Jobs take the fastest one for it.
    const std::optional<proto::Network>& link() const;
    // Returns the id of the server's weights.
    const Hash& weights() const;
    // Returns the hash of an index's list, by number, with which this session began.
    Hash ListOfIndex(uint32_t number) const;
    // Runs the jobs one after another. `done` receives each result as soon as it is there. It must not delay the next
    // job because of the result's contents. Estimate has the flights and bytes. Throws Cause::kRefused if an audit
    // finds a bundle that was dealt wrongly. Throws the same for a job with a steering (ClientOptions::semi_honest),
    // before anything is spent. Also throws the errors of proto::DataSession. Returns how many jobs ran: all, unless
    // ClientOptions::stop ended the session. A job that failed after the server's last frame ran without a result. End
    // throws its error.
    // `places`, if set, are those of the audits; otherwise they are drawn here.
    size_t Run(std::vector<JobRequest> jobs, const std::function<void(size_t job, JobResult)>& done,
               std::optional<AuditPlaces> places = {});
    // Waits for the memory of RunOne's job, as DataSession::Admit does. Returns false if `leave` says so.
    bool Admit(const JobSize& size, const std::function<bool()>& leave);
    // Runs one job, without audits. `number` is the job's for ClientOptions::progress. `next` is the size of the job
    // that follows; its keys are fetched meanwhile. Its count is 0 if none is known. Returns the result. If it failed
    // after the server's last frame, returns the error instead, and the session goes on. Throws as Run does.
    std::variant<JobResult, std::exception_ptr> RunOne(size_t number, JobRequest job, const JobSize& next = {});
    // Whether the last job failed and may run again in another session (DataSession::unspent).
    bool unspent() const;
    // Whether the server may have ended the session meanwhile (DataSession::stays).
    bool stays() const;
    // Whether an audit of this session failed. Other sessions with this server must end as well.
    bool audit_failed() const;
    // Notifies the server that no job follows for now (DataSession::Stay).
    void Stay();
    // Ends the session early, without the job that was announced as next.
    void GiveUp();
    // Ends the session: notifies the server that no job follows.
    void End();

   private:
    struct State;
    std::unique_ptr<State> s_;
  };

 private:
  friend class Session;
  struct SetupCache;
  struct IndexCache;
  Engine& engine_;
  store::Home& home_;
  const proto::Dealers dealers_;
  Options options_;
  const proto::BundlePlan plan_;
  proto::Admission memory_;             // of the jobs of all sessions
  std::shared_ptr<SetupCache> setups_;  // masked weights, which all sessions share
  // Masked rows and tables of indexes, by index plan, which all sessions share.
  std::map<Hash, std::shared_ptr<IndexCache>> indexes_;
  std::shared_ptr<std::atomic<uint64_t>> dealer_rate_ = std::make_shared<std::atomic<uint64_t>>();  // of any session
  std::once_flag begins_;
  std::chrono::steady_clock::time_point begun_;  // when the first session was open
};

}  // namespace suf::roles
