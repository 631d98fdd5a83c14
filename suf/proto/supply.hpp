// How bundles come into being: the dealer's service, and a party's side of it. One link per fetch; both parties must
// ask for the same thing, naming each other's key. A bundle that is used at once is read as it comes, and dealt no
// faster than both parties take it. A delivery that breaks is never repeated: its serials are burnt. The dealer also
// witnesses that a bundle from a party's disk was not used before. docs/mathematics.md#prg,
// docs/security.md#witness, #as-they-come, docs/design/bundles.md#witness, docs/design/bundles.md#key-source.
#pragma once
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "suf/proto/bundle_plan.hpp"
#include "suf/store/dealer_state.hpp"
#include "suf/store/store.hpp"

namespace suf::proto {

// What the generator of one bundle pair gets. It sees no weight, no input and no online message.
struct DealJob {
  store::Job job;
  uint64_t serial = 0;
  Hash rho{}, weights{};
  Secret key[2];        // K_0, K_1
  SharedSecret b_seed;  // of B, registered by the model owner
};
// Names two parties, one and the key of its partner, to a dealer's state and to their ledgers.
store::PairId PairOf(const net::Identity& one, const Hash& partner);

// Writes exactly Task::body_bytes[p] bytes into the sink of each party, in schedule order. The keys are its
// own.
using Generate = std::function<void(DealJob, store::Sink& to_p0, store::Sink& to_p1)>;

class Dealer {
 public:
  struct Options {
    store::Job ahead;                  // of this job both parties get as many bundles as they ask for,
    uint32_t ahead_count = 1;          // up to so many
    net::Millis partner_wait{20'000};  // how long one party waits for the other; below the parties' time-outs
    std::function<void(const store::Job&, uint64_t serial)> dealt;      // for a log line
    std::function<void(uint32_t model, uint32_t data)> not_taken = {};  // what they asked for, where we offered more
    uint64_t window = store::kKeyWindow;  // bytes of keys that wait here for the slower party
  };
  Dealer(BundlePlan plan, store::DealerState& state, Options options, Generate generate)
      : plan_(std::move(plan)), state_(state), options_(std::move(options)), generate_(std::move(generate)) {}

  // One party's link from hello to end, in the thread of that link. While a link of a role waits for bundles or
  // gets them, another one of that role is refused (busy); witnessing goes on beside it.
  void Handle(net::Channel& ch);

 private:
  struct Request {
    store::Job job;
    uint32_t count = 0;
    Hash trace{}, weights{}, partner{};
    Secret seed;
    SharedSecret b_seed;
  };
  enum class Progress { kWaiting, kTaken, kDone, kFailed };
  struct Seat {
    net::Channel* channel = nullptr;
    Request request;
    Progress progress = Progress::kWaiting;
    const Seat* ready = nullptr;        // the other one, since whose coming our client was seen to be there
    uint64_t work_us = 0;               // the generator's time, without sending
    std::unique_ptr<store::Sink> sink;  // of the last bundle, which is made, and may still be on its way
  };
  Request ReadRequest(net::Channel& ch, Bytes request);
  void Witness(net::Channel& ch, int party, View told);
  std::optional<uint64_t> Supply(net::Channel& ch, int party, Request request);
  bool Meet(int party, Seat& mine);
  bool Await(int party, Seat& mine);
  void Deal(Seat& model, Seat& data);
  void Emit(Seat* seat[2], const Task& task, uint64_t serial);

  BundlePlan plan_;
  store::DealerState& state_;
  Options options_;
  Generate generate_;
  std::mutex m_;
  std::condition_variable changed_;
  bool taken_[2] = {};
  Seat* waiting_[2] = {};
};

// What a party asks for.
struct FetchArgs {
  store::Job job;
  uint32_t count = 1;  // at most; the dealer and the other party may want fewer
  Hash weights{};
  Hash partner{};                         // fingerprint of the other party
  SharedSecret b_seed = Share(Secret());  // P0 only
  // window: bytes that may come before the run asks for them; kWhole: all, and nobody hears of a bundle before it is
  // whole
  uint64_t window = store::KeySource::kWhole;
};

// Fetch: draws a session seed, asks, and receives bundles into the store: the first in memory, the others on disk.
// Bundles that were complete before a failure stay. here, if set: hears the serial of the first one when its header is
// here: it may be claimed while its keys still come.
struct Fetched {
  std::vector<uint64_t> serials;  // in order
  uint64_t dealt_us = 0;          // the dealer's own work on them, without sending
};
Fetched Fetch(net::Channel& dealer, const BundlePlan& plan, store::Store& store, const FetchArgs& args,
              const std::function<void(uint64_t serial)>& here = {}, std::stop_token stop = {});

// Tells the dealer that this bundle is about to be used, and hears up to which serial it knew that. Throws
// what Store::Answer throws. One flight each way after the hello; 64 bytes there, 16 back.
void Witness(net::Channel& dealer, const BundlePlan& plan, store::Store& store, uint64_t serial, const Hash& partner);

// A new connection to the dealer, which hangs up when it is told to stop.
using DialDealer = std::function<std::unique_ptr<net::Channel>(std::stop_token)>;

// What a party needs of the dealer before it may claim a bundle, in a thread of its own, so that it may go on
// while an inference runs: a Fetch, where `serial` is 0, and a Witness of what comes from disk, or of all (`always`). A
// bundle with a window may be claimed when its header is here, and comes on while it is read. What it refers to must
// outlive it; its end hangs up and waits for the thread.
class Delivery {
 public:
  // before: a delivery that must be over first, as the dealer has one seat for each party; null: none.
  Delivery(const DialDealer& dial, const BundlePlan& plan, store::Store& store, const FetchArgs& args, uint64_t serial,
           bool always, std::shared_ptr<Delivery> before);
  ~Delivery();
  // Whether a bundle may be claimed, or it failed; waited for that long.
  bool Ready(net::Millis wait) const { return ready_.wait_for(wait) == std::future_status::ready; }
  // The bundle to be claimed; throws what the fetch or the witness threw. Once.
  uint64_t Serial() { return ready_.get(); }
  // Whether nothing more comes, waited for that long.
  bool Over(net::Millis wait) const { return end_.wait_for(wait) == std::future_status::ready; }
  // fetch_ms: after Serial: from asking to having a bundle to claim, 0 without a fetch. After Over: dealt_ms: the
  // dealer's own work; traffic.
  double fetch_ms() const { return fetch_ms_; }
  double dealt_ms() const { return dealt_ms_; }
  const net::Traffic& traffic() const { return traffic_; }

 private:
  net::Traffic traffic_;
  double fetch_ms_ = 0, dealt_ms_ = 0;
  std::promise<uint64_t> serial_;
  std::promise<void> over_;
  std::future<uint64_t> ready_ = serial_.get_future();
  std::shared_future<void> end_ = over_.get_future().share();
  std::jthread thread_;  // last: it ends before what it writes
};

}  // namespace suf::proto
