// How bundles are dealt: the dealer's service, and a party's side of it. Each fetch has its own link. Both parties must
// request the same job and name each other's key. A bundle for immediate use is read as it arrives, and dealt no faster
// than both parties receive it. A broken delivery is never repeated; its serials are burnt. The dealer also witnesses
// that a bundle from a party's disk was not used before. docs/mathematics.md#prg, docs/security.md#witness,
// #as-they-come, docs/design/bundles.md#witness, docs/design/bundles.md#key-source.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "suf/base/cores.hpp"
#include "suf/proto/admission.hpp"
#include "suf/proto/dealers.hpp"
#include "suf/proto/indexes.hpp"
#include "suf/store/dealer_state.hpp"
#include "suf/store/home.hpp"

namespace suf::proto {

// The input of the generator for one bundle pair. It sees no weight, no text and no online message.
struct DealJob {
  store::Job job;
  uint64_t serial = 0;
  Hash rho{}, weights{};
  Secret key[2];         // K_0, K_1
  SharedSecret b_seed;   // seed of B, registered by the model owner
  IndexMask index = {};  // of a job with an index
};
// Returns the id of a pair of parties: `one`, and the partner with this key. A dealer's state uses it.
store::PairId PairOf(const net::Identity& one, const Hash& partner);
// Returns the id of a lane between these parties. The dealer's records and the ledgers' records of its answers use it.
store::PairId LaneOf(const net::Identity& one, const Hash& partner, const store::LaneId& id);

// A generator of bundle pairs. It takes ownership of the keys. It fills each party's sink exactly as Task::body says,
// with sections in schedule order.
using Generate = std::function<void(DealJob, store::Sink& to_p0, store::Sink& to_p1)>;

// A bundle pair, as a dealer's log and metrics know it.
struct DealtPair {
  store::Job job;
  uint64_t serial = 0;
  store::LaneId lane{};
  Hash weights{};
  Hash owner[2]{};               // keys of P0 and P1
  double waited_ms = 0, ms = 0;  // for its turn; the dealer's own work
};

class BundleDealer {
 public:
  struct Options {
    store::Job ahead;                  // several bundles of this job are dealt per request, also in searches,
    uint32_t ahead_count = 1;          // at most this many, and no more than both parties request
    net::Millis partner_wait{20'000};  // how long one party waits for the other; below the parties' time-outs
    std::function<void(const DealtPair&)> dealt = {};                   // called when a pair is dealt,
    std::function<void(const DealtPair&)> broken = {};                  // or when that failed; its serial is spent
    std::function<void(uint32_t model, uint32_t data)> not_taken = {};  // their requests, if we offered more
    uint64_t window = store::kKeyWindow;           // bytes of keys that wait here for the slower party
    Turns::Limits turns = {.at_once = Cores()};    // of bundle pairs that are dealt side by side
    net::Millis wait_report = Turns::kWaitReport;  // the longest time after which a party that waits receives kWait
  };
  BundleDealer(BundlePlan plan, store::DealerState& state, Options options, Generate generate)
      : plan_(std::move(plan)),
        state_(state),
        options_(std::move(options)),
        generate_(std::move(generate)),
        admission_(options_.turns) {}

  // Serves one party's link from hello to end, in the thread of that link. While a link of a lane and role waits for
  // bundles or receives them, another one is refused (busy). Witnessing goes on meanwhile. A pair of requests waits for
  // a turn before each bundle; half a pair holds no turn. Handle sends kWait meanwhile. The turn of the last bundle
  // ends when it is dealt. Its keys count as memory until the client has taken them, or its time-out has ended the
  // link.
  void Handle(net::Channel& ch);
  // Refuses deliveries that wait for their turn, now and later. Those that have begun go on. Thread-safe.
  void Stop() { admission_.turns().Close(); }

 private:
  struct Request {
    store::Job job;
    uint32_t count = 0;
    store::LaneId lane{};
    Hash trace{}, weights{}, partner{}, list{};
    Secret seed;
    SharedSecret b_seed;
    IndexMask index = {};
  };
  enum class DeliveryState { kWaiting, kTaken, kDone, kFailed };
  struct DeliverySeat {
    net::Channel* channel = nullptr;
    Request request;
    DeliveryState progress = DeliveryState::kWaiting;
    const DeliverySeat* ready = nullptr;  // the partner's seat, once our client was still there after it came
    uint64_t work_us = 0;                 // microseconds of the generator, without sending
    // The bytes of keys that wait for our client after the turn. They count as long as the sink has them.
    std::optional<Turns::Permit> waiting = {};
    std::unique_ptr<store::Sink> sink;  // of the last bundle, which is dealt but may still be on its way
  };
  // The seats of a lane, one for each party. Only they know its id. A party that names another partner is refused when
  // both are there.
  struct LaneSeats {
    int links = 0;  // of this lane, with a seat or not
    bool taken[2] = {};
    DeliverySeat* waiting[2] = {};
  };
  class SeatHold;
  Request ReadRequest(net::Channel& ch, Bytes request);
  void ReadSegments(net::Channel& ch, uint32_t segments, Request* q);
  void AnswerWitness(net::Channel& ch, int party, View request);
  std::optional<uint64_t> Supply(net::Channel& ch, int party, Request request);
  bool IsAhead(const store::Job& job) const;
  bool DealWithPartner(LaneSeats& seats, int party, DeliverySeat& mine);
  bool AwaitPartner(LaneSeats& seats, int party, DeliverySeat& mine);
  void DealPairs(DeliverySeat& model, DeliverySeat& data, JobPass* pass);
  Admission::Applicant ApplicantOf(DeliverySeat* seat[2], std::function<uint64_t()> prepare = {}) const;
  JobPass AwaitTurn(DeliverySeat* seat[2], const Admission::Applicant& who);
  net::Millis ReportFor(const net::Channel& ch) const { return std::min(options_.wait_report, WaitReportFor(ch)); }
  net::Millis ReportFor(DeliverySeat* seat[2]) const;
  void AwaitSent(DeliverySeat* seat[2]);
  void NextTurn(DeliverySeat* seat[2], JobPass* pass);
  void DealPair(DeliverySeat* seat[2], const Task& task, uint64_t serial, double waited_ms);

  BundlePlan plan_;
  store::DealerState& state_;
  Options options_;
  Generate generate_;
  Admission admission_;
  std::mutex m_;
  std::condition_variable changed_;
  std::map<store::LaneId, LaneSeats> lanes_;  // that have links
};

// A party's request for bundles.
struct FetchArgs {
  store::Job job;
  uint32_t count = 1;  // at most; the dealer and the other party may want fewer
  Hash weights{};
  Hash partner{};                         // fingerprint of the other party
  bool listed = false;                    // whether the dealer is one of a list, so that the store pins none
  std::vector<Hash> indexes = {};         // index plans of P0, for the greeting
  Hash list{};                            // of an index's segments; zeros: the job has no index
  SharedSecret b_seed = Share(Secret());  // P0 only.
  IndexMask index = {};                   // P0 only, with the segments of that list.
  // Bytes that may arrive before the run requests them. kWhole: all, and bundles are announced only when complete.
  uint64_t window = store::KeySource::kWhole;
  // If set, receives the bits per second of each bundle, from its header to its last chunk.
  std::function<void(uint64_t rate)> delivered = {};
};

// The result of a Fetch.
struct FetchResult {
  std::vector<uint64_t> serials;  // in order
  uint64_t dealt_us = 0;          // microseconds of the dealer's own work on them, without sending
};
// Draws a session seed, sends the request, and receives bundles into the lane. The first is in memory, others on disk.
// Bundles that were complete before a failure stay. `here`, if set, receives the serial of the first bundle when its
// header has arrived. That bundle may then be claimed while its keys still arrive.
FetchResult Fetch(net::Channel& dealer, const BundlePlan& plan, store::Lane& lane, const FetchArgs& args,
                  const std::function<void(uint64_t serial)>& here = {}, std::stop_token stop = {});

// Notifies the dealer that this bundle is about to be used. Receives the serial up to which the dealer knew this
// party's bundles as used. Of `args`, it uses the partner and whether the dealer is listed. Throws what
// Lane::EndWitness throws. One flight each way after the hello: 84 bytes there, 16 back.
void Witness(net::Channel& dealer, const BundlePlan& plan, store::Lane& lane, uint64_t serial, const FetchArgs& args);

// A thread that gets from the dealer everything that a claim needs, while an inference may run. If `serial` is 0 it
// fetches a bundle. It has the dealer witness a bundle from disk, or every bundle (`always`). A bundle with a window
// may be claimed when its header has arrived; the rest arrives while it is read. The arguments that it refers to must
// outlive it. The destructor closes the connection and waits for the thread.
class Delivery {
 public:
  // `before` is a delivery that must be over first, because the dealer has one seat for a lane and party. It may be
  // null.
  Delivery(const DealerContact& dealer, const BundlePlan& plan, store::Lane& lane, const FetchArgs& args,
           uint64_t serial, bool always, std::shared_ptr<Delivery> before);
  ~Delivery();
  // Waits up to `wait`. Returns whether a bundle may be claimed or the delivery failed.
  bool ReadyWithin(net::Millis wait) const { return ready_.wait_for(wait) == std::future_status::ready; }
  // Returns the serial to claim; throws the error of the fetch or of the witness. Can be called once.
  uint64_t Serial() { return ready_.get(); }
  // Waits up to `wait`. Returns whether nothing more arrives.
  bool OverWithin(net::Millis wait) const { return end_.wait_for(wait) == std::future_status::ready; }
  // Whether no connection to the dealer came about.
  bool unreachable() const { return unreachable_; }
  // Milliseconds from the request until a bundle could be claimed, 0 without a fetch; valid after Serial.
  double fetch_ms() const { return fetch_ms_; }
  // Milliseconds of the dealer's own work; valid after OverWithin.
  double dealt_ms() const { return dealt_ms_; }
  // Traffic with the dealer; valid after OverWithin.
  const net::Traffic& traffic() const { return traffic_; }

 private:
  net::Traffic traffic_;
  double fetch_ms_ = 0, dealt_ms_ = 0;
  std::atomic<bool> unreachable_{false};
  std::promise<uint64_t> serial_;
  std::promise<void> over_;
  std::future<uint64_t> ready_ = serial_.get_future();
  std::shared_future<void> end_ = over_.get_future().share();
  std::jthread thread_;  // last, so that it ends before the members that it writes
};

}  // namespace suf::proto
