// What a device adds to a role's plan, without data and without a device: batches, which run as one graph each, where
// everything lies in one slab of memory, and the registers of groups. Addresses are offsets into the slab; what lives
// from batch to batch never overlaps, and within a batch no memory is used twice, so that its instructions need no
// order but that of their values.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "suf/grouping/plan.hpp"

namespace suf::gpu::cuda {

// A row is a thread, so groups may be long and read through any map; planes are packed from whole bytes on.
inline constexpr grouping::Limits kLimits{.members = 256,
                                       .bytes = int64_t{16} << 20,
                                       .planes = 64,
                                       .plane_rows = 8,
                                       .tail = 64,
                                       .head = 16,
                                       .table = 480,
                                       .drawn = 0,
                                       .run = 0};

// Bytes of the slab.
struct Room {
  size_t at = 0, bytes = 0;
};
// A room and the batches, first and last, for which it is somebody's; for tests.
struct Lease {
  Room room;
  int first, last;
  int node;
};

// kRoomAlign: of rooms. kEdge: bytes before and behind a packed string that kernels may read.
inline constexpr size_t kRoomAlign = 256, kEdge = 256;

// Instructions of one program that run as one graph, after what it needs is on the device.
struct Batch {
  size_t begin = 0, end = 0;  // instructions
  size_t chapter = 0;
  std::map<int, Room> told;  // packed key sections that the dealer makes, by node; they leave while the next batch runs
  std::map<int, Room> spare;  // by instruction
  std::vector<int> made;      // told ones, in order
  std::vector<int> read;      // key sections that a party's batch reads
};

// Batches [begin, end) whose PRG words are expanded at once, one chapter ahead: two of them have room.
struct Chapter {
  size_t begin = 0, end = 0;
  std::map<int, Room> drawn;  // by node: planes x rows elements of ElementBytes
  size_t bytes = 0;
};

// The batches [begin, end) of one program, and the frames of that step, -1 for none.
struct Part {
  size_t begin = 0, end = 0;
  int receives = -1, sends = -1;
  Room received, sent;
};

// Registers of a group, in words: of each member, and of its operands that are loaded or reduced.
struct Frame {
  std::vector<int> members;
  std::vector<std::vector<int>> operands;  // -1: none of its own
  int words = 0;
};

struct DevicePlan {
  grouping::Plan plan;
  std::vector<Batch> batches;
  std::vector<Chapter> chapters;
  std::vector<Part> programs;
  std::map<int, Room> keys;    // packed key sections that a party reads, by node; they stay
  std::map<int, Room> values;  // by node: what lies in memory; of aliases that of their root
  std::map<int, int> root;     // aliases
  // direct: words and sections that are read where they were drawn or received, and bytes of their elements; no
  // instruction copies them
  std::map<int, std::pair<Room, int>> direct;
  std::vector<Frame> frames;  // by instruction; empty for operations
  std::vector<Lease> leases;
  size_t slab = 0;
  // Whether an instruction asks nothing of the device.
  bool Idle(const pfss::Trace& t, size_t k) const;
  // The node whose memory node i has.
  int Root(int i) const {
    const auto it = root.find(i);
    return it == root.end() ? i : it->second;
  }
};

// Bytes that an instruction needs beside its operands and its result.
using Spare = std::function<size_t(const pfss::Schedule&, const grouping::Instruction&, const Frame&)>;

// Whether operand j of a member, which its group makes, is of a wider ring than the member's node names.
bool Reduces(const pfss::Schedule& s, const grouping::Instruction& ins, const grouping::Member& m, size_t j);

// `most`: bytes of words and sections after which a batch, and a chapter, ends.
DevicePlan PlanOf(const pfss::Schedule& s, Role role, const Spare& spare, size_t most = size_t{64} << 20);

}  // namespace suf::gpu::cuda
