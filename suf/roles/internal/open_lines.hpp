// The sessions of lanes: their places, their connections, and the dealers that texts drew. Both lanes.cpp and
// run_in_lanes.cpp use them.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include "suf/roles/lanes.hpp"
#include "suf/store/draws.hpp"

namespace suf::roles {

// Throws Cause::kInput if the options are outside their limits, or too few for this number of dealers.
void CheckLaneOptions(const Lanes::Options& o, size_t dealers);

// Returns the place of session `i`: every dealer has sessions, and those of one dealer are spread over the processes.
SessionPlace SessionPlaceOf(size_t i, size_t dealers, uint8_t servers);

// Returns the draws of a list of dealers; nothing if there is one dealer.
std::optional<store::Draws> DrawsFor(store::Home& home, const proto::Dealers& dealers);

// The dealers of texts, by number, and the tags of their draws.
struct DrawnTexts {
  std::vector<size_t> dealers;
  std::vector<Hash> tags;
};
// Draws a dealer for each text; the only one if there are no draws.
DrawnTexts DrawDealers(std::optional<store::Draws>& draws, const std::vector<model::Ids>& texts);

// A connection with its session, in the thread of one worker.
struct LaneLine {
  SessionPlace place;
  size_t server = 0;  // the process of the model owner that it is connected to, by number
  std::unique_ptr<net::Channel> channel = nullptr;
  std::optional<DataOwner::Session> session = {};
};

// The channels of sessions, which a stop hangs up, and the link that the first session measured.
class OpenLines {
 public:
  explicit OpenLines(const Lanes::Options& options) : options_(options) {}
  // Connects a line to its process, or to another one if that cannot be reached, and opens its session.
  void Open(DataOwner& owner, LaneLine& line);
  // Lets sessions open at other processes of the model owner for some time, because this one failed.
  void Avoid(size_t server, const Error& why);
  void Drop(LaneLine& line) noexcept;
  // Whether a session was open already, so that another one need not measure the link.
  bool opened() const { return opened_; }
  void Stop();
  bool stopped() const { return stop_.stop_requested(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr net::Millis kDown{10'000};  // for which a process that failed is tried last

  void OpenAt(DataOwner& owner, LaneLine& line);
  std::vector<size_t> OrderFor(const SessionPlace& place) const;

  const Lanes::Options& options_;
  std::stop_source stop_;
  mutable std::mutex m_;  // guards the members below
  std::set<net::Channel*> channels_;
  std::optional<proto::Network> link_;
  std::vector<Clock::time_point> down_ = std::vector<Clock::time_point>(options_.servers);  // until when, by process
  std::atomic<bool> opened_{false};
  std::mutex report_;  // held by Options::opened
};

}  // namespace suf::roles
