// Sessions between P1 (data owner) and P0 (model owner). Both exchange hellos and agree on variants. P0 sends W_hat
// once, and both measure their link if there is a choice. Each inference announces a job, agrees on a bundle and claims
// it. It then announces the next job, runs, and ends with BYE. The next job's bundle is fetched during the run. An
// audit takes the place of an inference. The session knows no gate, and of TLS only the exporter value.
// docs/security.md#result-hidden, #macs, docs/design/sessions.md#next-bundle.
#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "suf/proto/audit.hpp"
#include "suf/proto/catalogue.hpp"
#include "suf/proto/indexes.hpp"
#include "suf/proto/link.hpp"
#include "suf/proto/owner_policy.hpp"
#include "suf/proto/receipt.hpp"
#include "suf/proto/session_table.hpp"

namespace suf::proto {

class Bond;

// One inference, as its hook receives it. The order of events is: offline frames, EndOffline, online frames. P1 then
// calls EndOnline, after its last frame was sent or received. If that frame was received, P1 computes nothing from it
// before this call. P1's actions and errors after EndOnline change nothing that P0 sees.
class Inference {
 public:
  net::Channel& channel() { return ch_; }
  const store::BundleHeader& header() const { return bundle_.header; }
  Secret& key() { return bundle_.key; }  // K_p; the code that expands it takes it
  store::KeySource& keys() { return *bundle_.keys; }
  // Milliseconds from the request to the dealer until a bundle could be claimed; 0 if it was in the store.
  double fetch_ms() const { return fetch_ms_; }
  void EndOffline();
  void EndOnline();

 private:
  friend class DataSession;
  friend class ModelSession;
  Inference(net::Channel& ch, store::Bundle bundle, Bond& bond) : ch_(ch), bundle_(std::move(bundle)), bond_(bond) {}
  net::Channel& ch_;
  store::Bundle bundle_;
  Bond& bond_;
  ReceiptMaker* receipt_ = nullptr;  // null: none was requested
  double fetch_ms_ = 0;
  bool offline_ended_ = false, online_ended_ = false;
};
using RunHook = std::function<void(Inference&)>;
// P0's run of an inference. A returned function is called when the serial is done and P1 receives nothing more about
// it. P0's use of its result must not be visible to P1.
using ModelRun = std::function<std::function<void()>(Inference&)>;

// Options for a party's keys.
struct KeyPolicy {
  // Bundles per request; all but the first go to disk. 0: one, in memory.
  uint32_t ahead = 0;
  // Whether the dealer is also notified of bundles in memory.
  bool witness_always = false;
  // Bytes of keys in memory ahead of a run, or more if the plan needs more.
  uint64_t window = store::kKeyWindow;
  // Set at P1 to receive bundles whole before their purpose shows. Audits need this (docs/security.md#audits).
  bool whole = false;
  // Reports received bytes of the masked weights, if P1's store has none and the session fetches them.
  std::function<void(uint64_t came, uint64_t all)> setup = {};
  // Set at P1 to keep W_hat in memory for several sessions. Returns whether the W_hat of this weights id and hash is
  // there. If it is, the session does not read it from the store, and DataSession::Setup must not be called.
  std::function<bool(const Hash& weights, const Hash& setup)> has_setup = {};
  // The same for W - B of an index. If it is there, DataSession::TakePart must not be called for its parts.
  std::function<bool(const SessionIndex&)> has_index = {};
  // Set at P1 to receive the tables of indexes, which fetches need.
  bool tables = false;
  // Receives the bits per second of each bundle from the dealer, in the thread of its delivery.
  std::function<void(uint64_t rate)> delivered = {};
  // Set at P1: receives how long P0 lets this session wait for its turn, each time that P0 reports it.
  std::function<void(const Turns::Wait&)> waits = {};
  // Set at P1 to request receipts, which needs a channel with a signer. Receives the receipt of each inference, when P1
  // has said goodbye. Nothing that P0 sees may depend on how long it takes.
  std::function<void(const Receipt&)> receipts = {};
};

// Whole bundles that a party with audits holds at the same time: the one in use and the next one.
inline constexpr uint64_t kWholeAtOnce = 2;
// Bytes of whole bundles that P0 holds for the audits of all its sessions, by default.
inline constexpr uint64_t kAuditMemory = uint64_t{1024} << 20;

// P0's choice for a job while another job runs, if it is another lane's turn or if memory is lacking. Nothing is
// fetched or spent on the job. P1 announces it again after its run. P0 refuses it then if it can never run.
inline constexpr uint64_t kLater = ~uint64_t{0};

// An inference or audit that was announced. Its bundle is in both stores or on its way to both.
struct PendingJob {
  store::Job job;
  Task task;
  uint64_t serial = 0;  // 0: on its way
  bool whole = false;   // arrives whole before it is claimed
  // The lists of which its bundle may be (SessionIndex); null: it has no index.
  std::shared_ptr<const std::vector<Hash>> lists = nullptr;
  std::shared_ptr<Delivery> delivery;  // of the bundle, or of the dealer's witness for a stored one
  JobPass pass = {};                   // until the run ends
  std::unique_ptr<JobTicket> ticket;   // at P0 with an OwnerPolicy
};

// Ends P1's session if the store knows another key of P0 (Cause::kRefused). Remembers the first one.
void CheckPin(net::Channel& p0, store::Home& home);

// P1's side of a session. If a member function throws, the session has ended.
class DataSession {
 public:
  // Exchanges hellos, and receives the weights id and the SHA-256 of W_hat. Names the lane, which this session alone
  // has open, and the lane's dealer if it is bound to one. Fetches W_hat if the store does not have that one. A fetched
  // W_hat stays out of the store until P0's first MAC, which covers the hash, is verified. `variants` are those that P1
  // allows, as bits. The session ends if P0 allows none of them. If both allow several, the link is measured, or taken
  // from `info`. `memory` admits the jobs of all sessions of this process, which it outlives. Null: this session is
  // alone, without a limit.
  DataSession(net::Channel& p0, const BundlePlan& plan, std::shared_ptr<store::Lane> lane, DealerContact dealer,
              KeyPolicy keys = {}, uint32_t variants = ~0u, const PairInfo& info = {}, Admission* memory = nullptr);
  ~DataSession();
  const Hash& weights() const { return weights_; }
  // The SHA-256 of W_hat.
  const Hash& setup_hash() const { return setup_hash_; }
  // Returns a job of `texts` texts of `tokens` tokens in the fastest variant of this session. Every job must be one of
  // these.
  store::Job JobOf(uint32_t tokens, uint32_t texts = 1, uint32_t entry = 0) const {
    return JobFor(plan_, common_, tokens, texts, entry);
  }
  // Hashes of all index plans that P0 serves, in its order.
  const std::vector<Hash>& served() const { return served_; }
  // The indexes of this session, with the lists with which it began.
  const std::vector<SessionIndex>& indexes() const { return indexes_; }
  // Returns the parts of the indexes, and W - B of part i, once. With KeyPolicy::tables they include the tables.
  const std::vector<SetupPart>& parts() const { return parts_; }
  Bytes TakePart(size_t i) { return std::move(part_bytes_.at(i)); }
  // The link that both parties agreed on; none if only one variant is common.
  const std::optional<Network>& link() const { return common_.link; }
  // The facts that both parties know.
  const Common& common() const { return common_; }
  // The number of tokens (Unit) of every job, if P0 brings data of its own; 0 if P1 decides.
  uint32_t brought() const { return brought_; }
  // Returns W_hat, plan.setup_bytes bytes; can be called once.
  Bytes Setup() {
    SUF_CHECK(setup_.size() == plan_.setup_bytes);
    return std::move(setup_);
  }
  // Notices for the user about the masked weights that were in the store.
  const std::vector<std::string>& notices() const { return notices_; }
  // Waits until this process has memory for the next call of Infer or Audit, which is of this job. They do so
  // themselves otherwise. Nothing is announced, fetched or spent meanwhile, and P0 is notified that the session stays.
  // Polls `leave`, if set, while it waits. Returns false if that is true. Throws Cause::kResource if the job never
  // fits.
  bool Admit(const store::Job& job, const std::function<bool()>& leave = {});
  // Runs one inference, as soon as it is this lane's turn. If `run` throws after EndOnline, End throws that error.
  // `next` is the next job, an inference or an audit. Its bundle is fetched meanwhile, unless it is another lane's turn
  // or memory is lacking. It has 0 tokens if there is none or it is not known yet. If that fetch fails, the call that
  // needs the bundle throws. Returns the dealer's own work on this bundle in milliseconds; 0
  // if it was in the store.
  double Infer(const store::Job& job, const RunHook& run, const store::Job& next = {});
  // Reveals a bundle for this job to P0 instead of using it. It is announced as in Infer, so its purpose does not show
  // before. Throws Cause::kRefused if P0 finds that it was dealt wrongly. All bundles are then burnt, including the one
  // on its way for `next`.
  void Audit(const store::Job& job, const store::Job& next = {});
  void End();
  // Notifies P0 that no job follows for now. P0 keeps the session for a while (ModelHost::idle), and then ends it. The
  // next call finds that out.
  void Stay();
  // Ends the session early. Drops a job that was announced but not begun. P0 is notified that P1 gave up, and nothing
  // is spent on the job.
  void GiveUp();
  // Takes the error of a run that failed after EndOnline. End does not throw it then.
  std::exception_ptr TakeError() { return std::exchange(pending_, nullptr); }
  // Whether P0 was notified that the session stays, and has not accepted a job since. It may have ended the session
  // then, and nothing was spent on the next job.
  bool stays() const { return stays_; }
  // Whether an audit of this session failed. Other sessions with this P0 must end as well.
  bool audit_failed() const { return audit_failed_; }
  // Whether nothing was spent on the last job, so that it may run in another session. False if the session ended
  // because the dealer could not be reached.
  bool unspent() const { return unspent_; }
  // Traffic with the dealer in this session.
  const net::Traffic& dealer_traffic() const { return dealer_traffic_; }

 private:
  // A received W_hat, before P0's first MAC is verified.
  struct UnverifiedWeights {
    UnverifiedWeights(store::Lane& lane, size_t number_, const store::SetupName& name_)
        : home(lane.home()), by(lane.id()), number(number_), file(home.NewSetup(by, number)), name(name_) {}
    ~UnverifiedWeights() { home.DropSetup(by, number); }
    store::Home& home;
    const store::LaneId by;
    const size_t number;
    store::ChunkFile file;
    const store::SetupName name;
  };
  // Returns W - B of a part from the store; nothing if it has none, or another one.
  std::optional<Bytes> LoadPart(const SetupPart& part);
  Bytes FetchPart(const SetupPart& part, uint64_t before, uint64_t all);
  bool LoadSetup();
  std::vector<bool> LoadIndexes();
  void FetchSetup(bool have, const std::vector<bool>& wants);
  void KeepSetup();
  SetupPart WeightsPart() const { return {plan_.hash, weights_, plan_.setup_bytes, setup_hash_}; }
  void TakeOffers(std::vector<IndexOffer> offers);
  const SessionIndex* IndexFor(const store::Job& job) const;
  Admission::Applicant ApplicantOf(const store::Job& job) const;
  PendingJob Announce(const store::Job& job, JobPass pass, bool runs);
  void AdmitNext(const store::Job& next, const PendingJob& current);
  void AnnounceNext(const store::Job& next);
  PendingJob BeginJob(const store::Job& job, const store::Job& next);
  void CheckChoice(const PendingJob& what);
  double RunOne(PendingJob what, const RunHook& run, const store::Job& next);
  net::Channel& ch_;
  const BundlePlan& plan_;
  const std::shared_ptr<store::Lane> lane_;
  DealerContact dealer_;
  KeyPolicy keys_;
  Admission alone_;  // of this session, if it shares none
  Admission& memory_;
  Hash weights_{}, setup_hash_{};
  uint32_t brought_ = 0;
  Common common_;
  std::optional<net::RoleCertificate> certificate_;  // of P0, if receipts are requested
  Bytes setup_;                                      // W_hat, until Setup hands it over
  std::vector<Hash> served_;
  std::vector<SessionIndex> indexes_;
  std::vector<SetupPart> parts_;
  std::vector<Bytes> part_bytes_;  // until TakePart hands them over
  Hash digest_{};                  // SetupDigest
  std::deque<UnverifiedWeights> unverified_;
  bool kept_ = false;  // whether P0's MAC was verified and that was stored
  std::vector<std::string> notices_;
  net::Traffic dealer_traffic_;
  std::exception_ptr pending_;
  std::shared_ptr<Delivery> last_;  // of the bundle claimed last; the next one begins after it
  std::optional<PendingJob> next_;
  bool audit_failed_ = false;
  bool stays_ = false;
  bool unspent_ = true;
  // The pass of the job that Admit named, until it is announced.
  std::optional<std::pair<store::Job, JobPass>> admitted_;
  // The pass of the job after the one that is due, until it is announced. Nothing if memory is lacking for now.
  std::optional<JobPass> next_pass_;
};

// The window of P0's sink for W_hat. That delivery has no turn, so it takes little memory.
inline constexpr uint64_t kSetupWindow = 4 * store::kChunkBytes;

// P0's data and callbacks for its sessions. Several sessions may share one, and then call it from several threads.
struct ModelHost {
  const BundlePlan& plan;
  store::Home& home;
  Hash weights{};                           // weights id
  Hash setup{};                             // SHA-256 of W_hat
  SharedSecret b_seed;                      // long-lived seed of B
  std::function<void(store::Sink&)> w_hat;  // writes plan.setup_bytes bytes
  Dealers dealers;
  ModelRun run;
  Auditor auditor;
  // See DataSession::brought; jobs of another number are refused.
  uint32_t brings = 0;
  net::Traffic* dealer_traffic = nullptr;  // if set, the traffic with the dealer is added to it
  KeyPolicy keys = {};
  uint32_t variants = ~0u;  // those that P0 allows, as bits
  PairInfo report = {};     // about P0's place
  // The sessions of this process, with the limits of their turns. P1 decides whether bundles arrive whole, so one limit
  // is for audits. Null: this session is alone, and has kAuditMemory for them.
  SessionTable* sessions = nullptr;
  // The time after which a session that stays without a job is ended.
  net::Millis idle{600'000};
  // If set, receives the link of each session that has measured or received one.
  std::function<void(const Network&)> linked = {};
  // The rules about data owners; they outlive all sessions. Null: every certified data owner is served.
  OwnerPolicy* policy = nullptr;
  // The files that data owners may pull; they outlive all sessions. Null: none.
  const PublicFiles* files = nullptr;
  // The indexes that P1 named in its hello, in its order.
  std::vector<SessionIndex> indexes = {};
  // The seed of B of each of those indexes.
  std::vector<SharedSecret> index_seeds = {};
  // Writes W - B of a part of an index.
  std::function<void(const SetupPart&, store::Sink&)> part = {};
  // Returns whether a session with this list may go on: the index was not compacted since it began.
  std::function<bool(const SessionIndex&)> has_list = {};
};

// Serves one session until P1 ends it, or a pull.
void ServeSession(net::Channel& p1, const ModelHost& host);
// Receives P1's first frame. ServeGreeted goes on after the hello of a session. A pull is served to its end. A client
// that is silent before its first frame delays no other.
// Returns the index plans that P1 uses, or nothing after a pull. ModelHost::indexes and what belongs to them are not
// read.
std::optional<std::vector<Hash>> BeginSession(net::Channel& p1, const ModelHost& host);
// Serves the rest of a session after P1's hello was received.
void ServeGreeted(net::Channel& p1, const ModelHost& host);

}  // namespace suf::proto
