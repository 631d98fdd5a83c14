// Readings of a closed trace that need no data: who computes what (liveness), when (two clocks), in which frame, for
// how many bits; and the widths that values really need. The channel's counters must equal these numbers.
// (docs/mathematics.md#flights.)
#pragma once
#include <array>
#include <map>

#include "suf/base/role.hpp"
#include "suf/pfss/trace.hpp"

namespace suf::pfss {

// A reader of the trace.
constexpr unsigned Know(Role r) { return r == Role::kDealer ? unsigned(kDealer) : Party(int(r)); }

// PackedBytes of a tensor: exact bits, rounded up to a byte a tensor.
int64_t PackedBytes(const Node& n);

// The nodes that a role computes, in emission order: all that its messages and its result need, as far as any
// result needs them.
std::vector<int> Live(const Trace& t, Role role);

// One tensor in a frame or a bundle.
struct Part {
  int node;
  int64_t at, bytes;
};

// What one party sends at one tick; tick -1 is before the inference.
struct Frame {
  int tick, sender;
  std::vector<Part> parts;
  int64_t bytes = 0, bits = 0;
};

// What a role does at one tick: wait for the peer's frame, compute `nodes`, send its own. Keys and PRG words are
// read in the step that needs them. Frames are indices or -1.
struct Step {
  int tick, receive, send;
  std::vector<int> nodes;
};

class Schedule {
 public:
  // Reads a closed trace, which must outlive the schedule.
  explicit Schedule(const Trace& trace);

  const Trace& trace() const { return *t_; }
  // at: first tick at which party p can know node i; -1 before the inference.
  int at(int node, int p) const { return at_[node][p]; }
  // flights: one-way messages on the longest dependent chain.
  int flights() const { return flights_; }
  const std::vector<Frame>& frames() const { return frames_; }
  // key: sections of party p's bundle in schedule order.
  const std::vector<Part>& key(int p) const { return key_[p]; }
  int64_t key_bytes(int p) const { return key_bytes_[p]; }
  int64_t key_bits(int p) const { return key_bits_[p]; }
  // live: what a role computes, in emission order.
  const std::vector<int>& live(Role r) const { return live_[size_t(r)]; }
  // steps: of a party, by tick.
  const std::vector<Step>& steps(int p) const { return steps_[p]; }
  // dealing: the dealer's nodes, ordered so that key sections come out in schedule order.
  const std::vector<int>& dealing() const { return dealing_; }
  // width: low bits of node i that anybody reads; what a backend must store.
  int width(int i) const { return width_[i]; }
  // online / offline bytes that party p sends: payloads, without frame headers.
  int64_t sent(int p, bool online) const;
  int frame_count(int p, bool online) const;

 private:
  void Clocks();
  void Widths();
  std::vector<int> Places(int p) const;
  void Frames();
  void Keys();

  const Trace* t_;
  std::array<std::vector<int>, 3> live_;
  std::vector<std::array<int, 2>> at_;
  std::vector<int> width_;
  std::vector<Frame> frames_;
  std::array<std::vector<Part>, 2> key_;
  std::array<std::vector<Step>, 2> steps_;
  std::vector<int> dealing_;
  std::array<int64_t, 2> key_bytes_{}, key_bits_{};
  int flights_ = 0;
};

// Messages and key sections of the trace that no result needs, and that therefore nobody makes or sends.
std::vector<int> Unread(const Schedule& s);

// Key bits, sent bits and work by scope, exactly as the trace says. (cost.cpp)
struct Cost {
  struct Row {
    std::string scope;
    std::array<int64_t, 2> key{}, online{};  // bits, by party
    int64_t offline = 0;                     // P1's
    std::array<int, 2> ticks{1 << 30, -1};   // first and last online message
    std::array<int64_t, 3> aes{}, words{};   // blocks; Words; by Role: P0, P1, dealer
  };
  std::vector<Row> rows;  // with messages first, then those that only compute
  Row total;
};
Cost CostOf(const Schedule& s);
// Of a role that computes node i once: PRG words, each section from a whole block on; keys and reads of
// trees. (A backend may draw words again where that costs less than keeping them.)
int64_t AesBlocks(const Trace& t, int i);
// The work of a role that computes node i once, beside its AES blocks, in elements of a strip: what a node takes
// whatever its size, and its elements, some of which count more than once (reads of tables, digits, paths of trees).
int64_t Words(const Trace& t, int i);

// The trace as text, one node a line: operands, [attributes], {values} of a constant (the first 8), "name",
// knowers, ring (Z integers, X bit strings) and shape.
std::string Print(const Trace& t);
// The schedule as text: frames in order of their ticks with what they hold, each bundle's sections, and what
// each party computes at each tick.
std::string Print(const Schedule& s);

}  // namespace suf::pfss
