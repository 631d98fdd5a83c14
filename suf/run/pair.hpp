// Both parties and the dealer in one process, for tests, the estimate and the benchmark. The parties are two threads
// that meet only in two queues of bytes. Bundles exist only as bytes.
#pragma once
#include <memory>

#include "suf/run/deal.hpp"
#include "suf/run/party.hpp"

namespace suf::run {

// Returns two connected ends; each receives the frames of the other in order. A wait of more than `seconds` throws
// Cause::kPeer.
std::array<std::unique_ptr<FrameLink>, 2> MakeLinks(double seconds = 60);

// The observations of a whole run in one process.
struct PairRun {
  std::array<std::vector<uint64_t>, 2> result;
  std::array<int64_t, 2> online{}, offline{};  // payload bytes sent
  std::array<int, 2> frames{};                 // online
  int flights = 0;                             // the longest chain of frames, each sent after the one before arrived
  std::array<Bytes, 2> key;
  std::vector<Bytes> frame;  // by index of Schedule::frames
};

struct PairJob {
  const pfss::Schedule& schedule;
  std::array<pfss::Backend*, 3> backend;  // P0, P1, dealer
  std::array<Inputs*, 3> inputs;
  const pfss::BundleSecrets& secrets;  // both keys
  // Lets tests replace the randomness of a role.
  std::function<std::unique_ptr<pfss::Randomness>(Role, std::unique_ptr<pfss::Randomness>)> wrap = {};
  uint64_t window = store::kKeyWindow;  // of both parties' keys, in bytes
};

// Deals, then runs both parties. Rethrows the first error.
PairRun RunPair(const PairJob& job);

}  // namespace suf::run
