// Both parties of one inference after another, wherever they are: threads of this process or processes of their own,
// a queue in memory or plain TCP between them. What a bench of whole inferences measures.
#pragma once
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "suf/nn/simulate.hpp"
#include "suf/roles/internal/parts.hpp"
#include "suf/roles/model.hpp"
#include "suf/run/party.hpp"

namespace suf::bench {

using Clock = std::chrono::steady_clock;
// Milliseconds since then.
inline double Ms(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }

struct Options {
  std::string model, plan, backend = "packed", link = "queue", parties;
  std::vector<std::string> keys{"resident"};  // one after another
  int tokens = 0, runs = 9, streams = 1;
  std::array<int, 2> device{0, 0};
  bool processes() const { return parties == "processes"; }
};

// Whether each party has its keys before it begins.
inline bool Whole(const std::string& keys) { return keys == "resident" || keys == "uploaded"; }

// What a role computes with.
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
  std::vector<int32_t> ids;  // P1's
  std::string keys;
  bool timed = false;
};
// What P1 learns, and where a party's time went.
struct Outcome {
  run::Times times;
  std::vector<uint64_t> words;
};

// P0's.
nn::Quantised ReadWeights(const Options& o, const nn::Plan& plan);

// Both parties.
class Pair {
 public:
  virtual ~Pair() = default;
  // Before the first inference: P0's weights, and what P1 is sent once.
  virtual void Setup(const nn::Quantised& weights, View setup) = 0;
  // The next inference of both. Streamed ones run at once, others at Go, which returns when all keys are there
  // and both run.
  virtual void Begin(std::array<Job, 2> jobs) = 0;
  // The next chunk of a party's keys; from one thread a party. Gone: returns when one is read no more.
  virtual void Key(int p, View chunk) = 0;
  virtual void Gone(int /*p*/, View /*chunk*/) {}
  virtual double Go() = 0;  // milliseconds until all keys were there
  virtual std::array<Outcome, 2> End() = 0;
};

// Before anything has made a thread or used a device, as processes are forked.
std::unique_ptr<Pair> MakePair(const Options& o);

}  // namespace suf::bench
