// The frames of a run's steps: the places of messages in them, and the written length of a long one.
#pragma once
#include <vector>

#include "suf/pfss/backend.hpp"

namespace suf::cpu {

// The progress of a role's messages. It knows each message's place in its frame, the step that runs, and the nodes that
// are done. It knows no value.
class FrameProgress {
 public:
  FrameProgress(const pfss::Schedule& s, Role role);
  // Begins a step: the role's program with this index.
  void Begin(size_t program) { step_ = program; }
  // Records that nodes are computed and, if they are messages, written.
  void Done(std::span<const int> nodes);
  // Returns whether the node is a message of the other party.
  bool Receives(int i) const;
  // Returns the place of a message in its frame.
  const pfss::FrameField& FieldOf(int i) const { return *fields_[size_t(i)]; }
  // Returns the first unwritten message of the frame that the step sends. Returns null if there is none or the frame is
  // short.
  const pfss::FrameField* NextToWrite(pfss::Io& io) const;
  // Reports to the host how much of a long frame is written.
  void Report(pfss::Io& io) const;

 private:
  const pfss::Schedule& s_;
  Role role_;
  size_t step_ = 0;
  std::vector<const pfss::FrameField*> fields_;  // by node
  std::vector<char> done_;                       // by node
};

}  // namespace suf::cpu
