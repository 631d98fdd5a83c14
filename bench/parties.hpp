// Runs both parties of one inference after another, for benches of whole inferences. The parties are threads of this
// process or processes of their own. A queue in memory or plain TCP connects them.
#pragma once
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "suf/nn/read/simulate.hpp"
#include "suf/roles/internal/parts.hpp"
#include "suf/roles/model.hpp"
#include "suf/run/party.hpp"

namespace suf::bench {

using Clock = std::chrono::steady_clock;
// Milliseconds since t.
inline double Ms(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }

struct Options {
  std::string model, plan, backend = "packed", link = "queue", parties;
  std::vector<std::string> keys{"resident"};  // run one after another
  int tokens = 0, runs = 9, streams = 1;
  std::array<int, 2> device{0, 0};
  bool processes() const { return parties == "processes"; }
};

// Whether each party has all its keys before it begins.
inline bool Whole(const std::string& keys) { return keys == "resident" || keys == "uploaded"; }

// A role's pool, backend and engine.
struct Seat {
  Seat(const Options& o, int device);
  exec::Pool pool;
  const std::unique_ptr<pfss::Backend> backend;
  roles::ModelEngine engine;
};

// One inference of a party.
struct Job {
  Hash rho;
  Secret key;
  std::vector<int32_t> ids;  // only for P1
  std::string keys;
  bool timed = false;
};
// The words that P1 learns, and a party's times.
struct Outcome {
  run::Times times;
  std::vector<uint64_t> words;
};

// The weights of P0.
nn::QuantisedWeights ReadWeights(const Options& o, const nn::Plan& plan);

// Both parties of an inference.
class Pair {
 public:
  virtual ~Pair() = default;
  // Prepares the first inference: P0's weights, and the bytes that P1 receives once.
  virtual void Setup(const nn::QuantisedWeights& weights, View setup) = 0;
  // Begins the next inference of both. With streamed keys both run at once. Otherwise they run at Go.
  virtual void Begin(std::array<Job, 2> jobs) = 0;
  // Sends the next chunk of a party's keys; called on one thread for each party.
  virtual void Key(int p, View chunk) = 0;
  // Returns when the party no longer reads this chunk.
  virtual void Release(int /*p*/, View /*chunk*/) {}
  // Returns when all keys have arrived and both parties run.
  virtual double Go() = 0;  // milliseconds until all keys had arrived
  virtual std::array<Outcome, 2> End() = 0;
};

// Must be called before the process has a thread or uses a device, because it may fork.
std::unique_ptr<Pair> MakePair(const Options& o);

}  // namespace suf::bench
