// Both parties and the dealer in one process, for tests, the estimate and the benchmark: two threads that meet only in
// two queues of bytes, and bundles that exist only as bytes.
#pragma once
#include <memory>

#include "suf/run/deal.hpp"
#include "suf/run/party.hpp"

namespace suf::run {

// Two ends; what one sends the other receives, in order. A wait of more than `seconds` throws Cause::kPeer.
std::array<std::unique_ptr<Link>, 2> MakeLinks(double seconds = 60);

// What a whole run in one process showed.
struct PairRun {
  std::array<std::vector<uint64_t>, 2> result;
  std::array<int64_t, 2> online{}, offline{};  // payload bytes sent
  std::array<int, 2> frames{};                 // online
  int flights = 0;                             // the longest chain: each left when its sender had the one before
  std::array<Bytes, 2> key;
  std::vector<Bytes> frame;  // by index of Schedule::frames
};

struct PairJob {
  const pfss::Schedule& schedule;
  std::array<pfss::Backend*, 3> backend;  // P0, P1, dealer
  std::array<Inputs*, 3> inputs;
  const pfss::Material& material;  // both keys
  // Tests may put their own randomness in: role -> streams.
  std::function<std::unique_ptr<pfss::Randomness>(Role, std::unique_ptr<pfss::Randomness>)> wrap = {};
  uint64_t window = store::kKeyWindow;  // of both parties' keys
};

// Deals, then runs both parties. The first error is rethrown.
PairRun RunPair(const PairJob& job);

}  // namespace suf::run
