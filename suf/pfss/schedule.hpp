// Readings of a closed trace that need no data. They decide which role computes a node, at which tick, and how many of
// its bits are stored. They put messages into frames and key sections into bundles, and add up bits and work. The
// counters of a channel must equal these numbers (docs/mathematics.md#flights).
#pragma once
#include <array>
#include <map>

#include "suf/base/role.hpp"
#include "suf/pfss/trace.hpp"

namespace suf::pfss {

// Returns a role's knower bit.
constexpr unsigned KnowerOf(Role r) { return r == Role::kDealer ? unsigned(kDealer) : Party(int(r)); }

// Returns the bytes of a packed tensor: its bits, rounded up once.
int64_t PackedBytes(const Node& n);

// Returns the nodes that a role must compute, in emission order: everything that its messages and results depend on.
// Messages that no result uses are left out.
std::vector<int> Live(const Trace& t, Role role);

// One tensor in a frame or a bundle.
struct FrameField {
  int node;
  int64_t at, bytes;
};

// The messages that one party sends at one tick. Tick -1 is before the inference.
struct Frame {
  int tick, sender;
  std::vector<FrameField> parts;
  int64_t bytes = 0, bits = 0;
};

// The work of a party at one tick. It waits for the peer's frame, computes `nodes` and sends its own frame. It reads
// keys and PRG words in the step that needs them. Frames are indices or -1.
struct Step {
  int tick, receive, send;
  std::vector<int> nodes;
};

class Schedule {
 public:
  // Reads a closed trace, which must outlive the schedule.
  explicit Schedule(const Trace& trace);

  const Trace& trace() const { return *t_; }
  // Returns the first tick at which party p can know a node; -1: before the inference.
  int at(int node, int p) const { return at_[node][p]; }
  // Returns the number of messages on the longest chain of dependent ones.
  int flights() const { return flights_; }
  const std::vector<Frame>& frames() const { return frames_; }
  // Returns the sections of party p's bundle in schedule order.
  const std::vector<FrameField>& key(int p) const { return key_[p]; }
  int64_t key_bytes(int p) const { return key_bytes_[p]; }
  int64_t key_bits(int p) const { return key_bits_[p]; }
  // Returns the nodes that a role computes, in emission order (Live).
  const std::vector<int>& live(Role r) const { return live_[size_t(r)]; }
  // Returns the steps of a party, by tick.
  const std::vector<Step>& steps(int p) const { return steps_[p]; }
  // Returns the dealer's nodes in an order that produces key sections in schedule order.
  const std::vector<int>& dealing() const { return dealing_; }
  // Returns how many low bits of node i are ever read, and so must be stored.
  int width(int i) const { return width_[i]; }
  // Returns the bytes that party p sends during the inference (online) or before it: payloads, without frame headers.
  int64_t sent(int p, bool online) const;
  // Returns the number of frames that party p sends during the inference (online) or before it.
  int frame_count(int p, bool online) const;

 private:
  void SetTicks();
  void SetWidths();
  std::vector<int> PlaceNodes(int p) const;
  void BuildFrames();
  void BuildKeys();

  const Trace* t_;
  std::array<std::vector<int>, 3> live_;
  std::vector<std::array<int, 2>> at_;
  std::vector<int> width_;
  std::vector<Frame> frames_;
  std::array<std::vector<FrameField>, 2> key_;
  std::array<std::vector<Step>, 2> steps_;
  std::vector<int> dealing_;
  std::array<int64_t, 2> key_bytes_{}, key_bits_{};
  int flights_ = 0;
};

// Returns the messages and key sections of the trace that no result needs. They are neither computed nor sent.
std::vector<int> UnusedMessages(const Schedule& s);

// Key bits, sent bits and work of a schedule, in total and by scope. Exact: all numbers follow from the trace.
struct Cost {
  struct Row {
    std::string scope;
    std::array<int64_t, 2> key{}, online{};  // bits, by party
    int64_t offline = 0;                     // bits sent before the inference
    std::array<int, 2> ticks{1 << 30, -1};   // first and last online message
    std::array<int64_t, 3> aes{}, words{};   // AesBlocks and Words, by Role
  };
  std::vector<Row> rows;  // scopes with keys or messages first
  Row total;
};
Cost CostOf(const Schedule& s);
// Returns the AES blocks that a role needs to compute node i once. PRG words take whole blocks for each section; keys
// and reads of trees take what fss does. A backend may draw PRG words again if that costs less than keeping them.
int64_t AesBlocks(const Trace& t, int i);
// Returns the work of a role that computes node i once, without its AES blocks. The unit is one element of a strip. A
// node has a fixed part and its elements, some of which count several times (tables, digits, tree paths).
int64_t Words(const Trace& t, int i);

// Returns the trace as text, with a line for each node: operands, [attributes], {values}, "name", knowers, ring and
// shape. Of a constant it shows the first 8 values. Rings are Z (integers) or X (bit strings).
std::string Print(const Trace& t);
// Returns the schedule as text. It shows frames by tick with their tensors, the sections of each bundle, and the nodes
// of each step.
std::string Print(const Schedule& s);

}  // namespace suf::pfss
