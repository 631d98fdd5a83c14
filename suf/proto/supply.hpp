// How bundles come into being: the dealer's service, and a party's side of it. One link per fetch; both parties must
// ask for the same thing, naming each other's key. A delivery that breaks is never repeated: its serials are burnt.
// DESIGN 4 and 11.
#pragma once
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "suf/proto/plan.hpp"
#include "suf/proto/store.hpp"

namespace suf::proto {

// DealJob: what the generator of one bundle pair gets. It sees no weight, no input and no online message.
struct DealJob {
  uint32_t n = 0;
  uint64_t serial = 0;
  Hash rho{}, weights{};
  Secret key[2];        // K_0, K_1
  SharedSecret b_seed;  // of B, registered by the model owner
};
// Generate: writes exactly Task::body_bytes[p] bytes into the sink of each party, in schedule order. The keys are its
// own.
using Generate = std::function<void(DealJob, Sink& to_p0, Sink& to_p1)>;

class Dealer {
 public:
  struct Options {
    uint32_t ahead_tokens = 0;    // --tokens N: a request for N tokens is answered with ahead_count bundles
    uint32_t ahead_count = 1;     // --count M
    Millis partner_wait{20'000};  // how long one party waits for the other; below the parties' time-outs
    std::function<void(uint32_t n, uint64_t serial)> dealt;  // for a log line
  };
  Dealer(Plan plan, DealerState& state, Options options, Generate generate)
      : plan_(std::move(plan)), state_(state), options_(std::move(options)), generate_(std::move(generate)) {}

  // Handle: one party's link from hello to end, in the thread of that link. Another link of the same role is refused
  // (busy).
  void Handle(Channel& ch);

 private:
  struct Request {
    uint32_t n = 0, count = 0;
    Hash trace{}, weights{}, partner{};
    Secret seed;
    SharedSecret b_seed;
  };
  enum class Progress { kWaiting, kTaken, kDone, kFailed };
  struct Seat {
    Channel* channel = nullptr;
    Request request;
    Progress progress = Progress::kWaiting;
    uint64_t work_us = 0;  // the generator's time, without sending
  };
  Request RecvRequest(Channel& ch);
  void Meet(int party, Seat& mine);
  void Deal(Seat& model, Seat& data);
  void Emit(Seat* seat[2], const Task& task, uint64_t serial);

  Plan plan_;
  DealerState& state_;
  Options options_;
  Generate generate_;
  std::mutex m_;
  std::condition_variable changed_;
  bool taken_[2] = {};
  Seat* waiting_[2] = {};
};

// FetchArgs: what a party asks for.
struct FetchArgs {
  uint32_t n = 0;
  uint32_t count = 1 << 16;  // at most; the dealer decides (1 unless it deals ahead)
  Hash weights{};
  Hash partner{};                         // fingerprint of the other party
  SharedSecret b_seed = Share(Secret());  // P0 only
};

// Fetch: draws a session seed, asks, and receives bundles into the store: in memory when it is one, on disk when they
// are more. Bundles that were complete before a failure stay.
struct Fetched {
  std::vector<uint64_t> serials;  // in order
  uint64_t dealt_us = 0;          // the dealer's own work on them, without sending
};
Fetched Fetch(Channel& dealer, const Plan& plan, Store& store, const FetchArgs& args);

// DialDealer: a new connection to the dealer, which hangs up when it is told to stop.
using DialDealer = std::function<std::unique_ptr<Channel>(std::stop_token)>;

// Delivery: a Fetch over a link and in a thread of its own, so that it may go on while an inference runs. What it
// refers to must outlive it; its end hangs up and waits for the thread.
class Delivery {
 public:
  Delivery(const DialDealer& dial, const Plan& plan, Store& store, const FetchArgs& args);
  // Over: whether it came to its end, waited for that long.
  bool Over(Millis wait) const { return end_.wait_for(wait) == std::future_status::ready; }
  // Serial: the first bundle that came, once all are here; throws what the fetch threw. Once.
  uint64_t Serial() { return end_.get(); }
  // After Serial. fetch_ms: from asking to holding; dealt_ms: the dealer's own work therein.
  double fetch_ms() const { return fetch_ms_; }
  double dealt_ms() const { return dealt_ms_; }
  const Traffic& traffic() const { return traffic_; }

 private:
  Traffic traffic_;
  double fetch_ms_ = 0, dealt_ms_ = 0;
  std::promise<uint64_t> serial_;
  std::future<uint64_t> end_ = serial_.get_future();
  std::jthread thread_;  // last: it ends before what it writes
};

}  // namespace suf::proto
