// The session between P1 (data owner) and P0 (model owner): hello, which variants both allow, W_hat once, their link
// where there is a choice, then per inference announce a job, agree on a bundle, claim it on both sides, announce what
// follows, run, BYE. The bundle of what follows is fetched while the run goes on. An audit takes the place of an
// inference. Knows no gate and no TLS beyond the exporter value.
// docs/security.md#result-hidden, #macs, docs/design/sessions.md#next-bundle.
#pragma once
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "suf/proto/audit.hpp"
#include "suf/proto/link.hpp"

namespace suf::proto {

class Bond;

// What the hook that runs one gets. Order of events: offline frames, OfflineEnd, online frames; P1 then
// calls OnlineEnd when the last frame has come or gone and *before* it computes anything from one that came. What P1
// does or throws afterwards changes nothing that P0 sees.
class Inference {
 public:
  net::Channel& channel() { return ch_; }
  const store::BundleHeader& header() const { return bundle_.header; }
  Secret& key() { return bundle_.key; }  // K_p; who expands it takes it
  store::KeySource& keys() { return *bundle_.keys; }
  // fetch_ms: from asking the dealer to having a bundle to claim; 0 when it was in the store.
  double fetch_ms() const { return fetch_ms_; }
  void OfflineEnd();
  void OnlineEnd();

 private:
  friend class DataSession;
  friend class ModelSession;
  Inference(net::Channel& ch, store::Bundle bundle, Bond& bond) : ch_(ch), bundle_(std::move(bundle)), bond_(bond) {}
  net::Channel& ch_;
  store::Bundle bundle_;
  Bond& bond_;
  double fetch_ms_ = 0;
  bool offline_ended_ = false, online_ended_ = false;
};
using RunHook = std::function<void(Inference&)>;

// How a party takes its keys.
struct Keys {
  uint32_t ahead = 0;           // so many bundles at once, which lie on disk but for the first; 0: one, in memory
  bool witness_always = false;  // the dealer hears of bundles in memory, too
  // window: bytes that lie in memory ahead of a run, or as many more as a plan needs; P1 may ask for bundles that are
  // whole before anybody can tell what they are for, as audits need (docs/security.md#audits)
  uint64_t window = store::kKeyWindow;
  bool whole = false;
  // setup: how many bytes of the masked weights came, where P1's store has none; of the session that fetches them
  std::function<void(uint64_t came, uint64_t all)> setup = {};
};

// Bundles that a party holds whole at once, where audits are asked for: the one in use, and the next one.
inline constexpr uint64_t kWholeAtOnce = 2;
// Bytes of whole bundles that P0 holds for audits, unless it says otherwise.
inline constexpr uint64_t kAuditMemory = uint64_t{1024} << 20;

// kNoMemory: P0's choice for a text that it has no memory for while another runs: that one ends well, this one by P0's
// refusal, and nothing is fetched or spent on it.
inline constexpr uint64_t kNoMemory = ~uint64_t{0};

// An inference or audit that was announced: its bundle is in both stores, or on its way to both.
struct Agreed {
  store::Job job;
  Task task;
  uint64_t serial = 0;                           // 0: on its way
  bool whole = false;                            // comes whole before it is claimed
  std::shared_ptr<Delivery> delivery;            // the bundle's, or the dealer's witness of one in the stores
  std::exception_ptr lack = nullptr;             // at P0: of memory for it, found while the one before it runs
  net::Refusal refusal = net::Refusal::kMemory;  // what P1 hears of the lack
};

// P1's side. Every member ends the session when it throws.
class DataSession {
 public:
  // Says hello and learns the weights id and SHA-256 of W_hat; fetches W_hat when the store has none of both. What came
  // stays out of the store until P0's first MAC, which covers that hash, is verified.
  // variants: those that we allow, as bits; P0 has its own, and the session ends where none is common. Where several
  // are, the link is measured.
  DataSession(net::Channel& p0, const BundlePlan& plan, store::Store& store, DialDealer dealer, Keys keys = {},
              uint32_t variants = ~0u);
  ~DataSession();
  const Hash& weights() const { return weights_; }
  // So many tokens in the variant of this session that takes least; every job is to be one of these.
  store::Job JobOf(uint32_t tokens) const { return JobFor(plan_, common_, tokens); }
  // link: what both agreed on; none where only one variant is common.
  const std::optional<Link>& link() const { return common_.link; }
  // brought: of how many tokens (Unit) P0 brings data of its own, so that every job has as many; 0: P1 decides.
  uint32_t brought() const { return brought_; }
  // W_hat, plan.setup_bytes bytes; handed over once.
  Bytes Setup() {
    SUF_CHECK(setup_.size() == plan_.setup_bytes);
    return std::move(setup_);
  }
  // notices: what a person should know of the masked weights that were in the store.
  const std::vector<std::string>& notices() const { return notices_; }
  // One inference. A failure of `run` after OnlineEnd is kept and thrown by End. next: the job of the
  // inference or audit that will follow, whose bundle is then fetched meanwhile; of 0 tokens: none, or not known yet. A
  // fetch that fails is told by the call that needs it.
  // Returns the dealer's own work on the bundle in milliseconds; 0 where it was in the store.
  double Infer(const store::Job& job, const RunHook& run, const store::Job& next = {});
  // A bundle for this job, announced as for Infer, is opened to P0 instead of used: until then nobody can tell
  // which of both it is for. Throws Cause::kRefused when P0 finds that it was dealt wrongly; then all bundles are
  // burnt, the one under way for `next` among them.
  void Audit(const store::Job& job, const store::Job& next = {});
  void End();
  // Ends the session early. A job that was announced and not begun is dropped: P0 reads that we gave up, and nothing is
  // spent on it.
  void Leave();
  // dealer_traffic: with the dealer, of this session.
  const net::Traffic& dealer_traffic() const { return dealer_traffic_; }

 private:
  // W_hat that came, until P0's first MAC.
  struct Unverified {
    store::Store& store;
    store::ChunkFile file;
    ~Unverified() { store.DropSetup(); }
  };
  bool LoadSetup();
  void FetchSetup();
  void KeepSetup();
  Agreed Announce(const store::Job& job);
  void AnnounceNext(const store::Job& next);
  Agreed Due(const store::Job& job, const store::Job& next);
  void CheckChoice(const Agreed& what);
  double RunOne(Agreed what, const RunHook& run, const store::Job& next);
  net::Channel& ch_;
  const BundlePlan& plan_;
  store::Store& store_;
  DialDealer dealer_;
  Keys keys_;
  Hash weights_{}, setup_hash_{};
  uint32_t brought_ = 0;
  Common common_;
  Bytes setup_;  // W_hat, until it is handed over
  std::optional<Unverified> unverified_;
  std::vector<std::string> notices_;
  net::Traffic dealer_traffic_;
  std::exception_ptr pending_;
  std::shared_ptr<Delivery> last_;  // of the bundle that was claimed last: the next one's begins behind it
  std::optional<Agreed> next_;
};

// What P0 brings to its sessions.
struct ModelHost {
  const BundlePlan& plan;
  store::Store& store;
  Hash weights{};                           // weights id
  Hash setup{};                             // SHA-256 of W_hat
  SharedSecret b_seed;                      // long-lived seed of B
  std::function<void(store::Sink&)> w_hat;  // writes plan.setup_bytes bytes
  DialDealer dealer;
  RunHook run;
  Auditor auditor;
  uint32_t brings = 0;  // DataSession::brought; a job of another number is refused
  // finished: after a run whose serial is done with and of which P1 hears nothing more: what P0 does with its result
  // must not show
  std::function<void()> finished = {};
  net::Traffic* dealer_traffic = nullptr;  // if set, the traffic with the dealer is added to it
  Keys keys = {};
  uint32_t variants = ~0u;  // those that it allows, as bits
  // The most bytes of whole bundles. P1 decides whether bundles come whole, so its audits are refused above this.
  uint64_t audit_memory = kAuditMemory;
};

// P0's side of one session, until P1 ends it. ServeGreeted: from when P1's hello was received; who is
// silent before that holds up nobody.
void ServeSession(net::Channel& p1, const ModelHost& host);
void ServeGreeted(net::Channel& p1, const ModelHost& host);

// One session at a time.
class Turnstile {
 public:
  // Runs `session`, or refuses the client (busy) when another one is still running after a moment.
  void Pass(net::Channel& ch, const std::function<void()>& session);

 private:
  std::timed_mutex m_;
};

}  // namespace suf::proto
