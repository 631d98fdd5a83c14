#include "suf/cpu/frame_progress.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

FrameProgress::FrameProgress(const Schedule& s, Role role)
    : s_(s), role_(role), fields_(s.trace().nodes().size()), done_(fields_.size()) {
  for (const pfss::Frame& f : s_.frames())
    for (const FrameField& field : f.parts) fields_[size_t(field.node)] = &field;
}

void FrameProgress::Done(std::span<const int> nodes) {
  for (int i : nodes) done_[size_t(i)] = 1;
}

bool FrameProgress::Receives(int i) const {
  const Node& n = s_.trace().node(i);
  return n.op == Op::kSend && n.attrs[0] != int(role_);
}

const FrameField* FrameProgress::NextToWrite(Io& io) const {
  if (io.Sending().size() <= kLongFrame) return nullptr;
  for (const FrameField& field : s_.frames()[size_t(s_.steps(int(role_))[step_].send)].parts)
    if (!done_[size_t(field.node)]) return &field;
  return nullptr;
}

void FrameProgress::Report(Io& io) const {
  const size_t all = io.Sending().size();
  if (all <= kLongFrame) return;
  const FrameField* next = NextToWrite(io);
  io.ReportWritten(next ? size_t(next->at) : all);
}

}  // namespace suf::cpu
