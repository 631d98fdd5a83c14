#include "suf/gpu/cuda/groups/assemble.hpp"

#include <algorithm>
#include <cstring>

#include "suf/fss/sizes.hpp"
#include "suf/gpu/cuda/groups/interpreter_core.hpp"
#include "suf/grouping/element.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using grouping::Instruction;
using grouping::Member;
using grouping::Operand;

namespace {

Word MaskOf(Ring r) { return r.kind == Ring::kAdd ? row::LowBits(r.bits) : ~Word{0}; }

class Assembler {
 public:
  Assembler(const Schedule& s, Role role, const DevicePlan& plan, const Base& base)
      : s_(s), t_(s.trace()), role_(role), plan_(plan), base_(base) {
    for (const pfss::Frame& f : s_.frames())
      for (const pfss::FrameField& part : f.parts) part_[part.node] = &part;
    const auto sections = Sections(t_, plan_);
    for (size_t i = 0; i < sections.size(); ++i) key_[sections[i]] = i;
  }

  GroupCodes Run() {
    const std::vector<Instruction>& all = plan_.plan.instructions;
    out_.groups.resize(all.size());
    out_.tables.resize(all.size());
    for (const Chapter& c : plan_.chapters) Pieces(c);
    for (size_t p = 0; p < plan_.programs.size(); ++p)
      for (size_t b = plan_.programs[p].begin; b < plan_.programs[p].end; ++b) {
        const LaunchBatch& batch = plan_.batches[b];
        for (size_t k = batch.begin; k < batch.end; ++k) {
          const Instruction& ins = all[k];
          if (plan_.Idle(t_, k) && ins.group) continue;
          if (ins.group) {
            out_.groups[k] = Group(ins, plan_.frames[k], batch, plan_.programs[p]);
          } else if (ins.same < 0) {
            Operation(ins, k);
          }
        }
      }
    return std::move(out_);
  }

 private:
  const Node& node(int i) const { return t_.node(i); }

  // Copies objects into the piece of memory and returns their address on the device.
  template <class T>
  const T* Put(const T* from, size_t many) {
    out_.bytes.resize((out_.bytes.size() + 15) / 16 * 16);
    const size_t at = out_.bytes.size();
    out_.bytes.resize(at + many * sizeof(T));
    if (many) std::memcpy(&out_.bytes[at], from, many * sizeof(T));
    return reinterpret_cast<const T*>(base_.codes + at);
  }
  template <class T>
  const T* Put(const std::vector<T>& v) {
    return Put(v.data(), v.size());
  }

  uint8_t* In(const Slot& r) const { return base_.slab + r.at; }

  // Makes the pieces of a chapter's PRG words, short enough that all multiprocessors have some.
  void Pieces(const Chapter& chapter) {
    std::vector<fss::cuda::PrgSpan> pieces;
    for (const auto& [i, slot] : chapter.drawn) {
      const Node& n = node(i);
      const auto* keys = reinterpret_cast<const fss::Prg::SectionKeys*>(base_.keys) +
                         key_.at({uint32_t(n.attrs[0]), uint32_t(n.attrs[1])});
      const uint64_t blocks = (slot.bytes + 15) / 16;
      for (uint64_t first = 0; first < blocks; first += fss::cuda::kPieceBlocks)
        pieces.push_back({keys, In(slot) + 16 * first, uint32_t(first),
                          uint32_t(std::min<uint64_t>(fss::cuda::kPieceBlocks, blocks - first))});
    }
    out_.pieces.push_back(Put(pieces));
    out_.many.push_back(pieces.size());
  }

  const Word* Words(int i) {
    auto [it, fresh] = words_.try_emplace(i);
    if (!fresh) return it->second;
    const Node& n = node(i);
    std::vector<Word> w(n.data->begin(), n.data->end());
    if (w.size() == 1) w.assign(size_t(Size(n.shape)), w[0]);
    return it->second = Put(w);
  }

  void Operation(const Instruction& ins, size_t k) {
    const Node& n = node(ins.node);
    if (n.op == Op::kConst) {
      const std::vector<Word> w(n.data->begin(), n.data->end());
      out_.constants[ins.node] = {reinterpret_cast<const uint8_t*>(Put(w)), 8, w.size() == 1};
    } else if (n.op == Op::kDot) {
      out_.tables[k] = Words(n.args[1]);
    } else if (n.op == Op::kDpfParity) {
      out_.tables[k] = reinterpret_cast<const Word*>(Put(&n.attrs[3], n.attrs.size() - 3));
    } else if (n.op == Op::kDcfEval) {
      std::vector<Word> numbers(n.attrs.begin() + 5, n.attrs.end());
      if (Size(node(n.args[2]).shape) != Size(node(n.args[0]).shape)) {
        const std::vector<Word> halves = std::exchange(numbers, {});
        const int half = int(n.attrs[1]) / 2;
        for (size_t j = 0; j < halves.size(); j += 2) {
          const unsigned __int128 x = (static_cast<unsigned __int128>(halves[j]) << half) + halves[j + 1];
          numbers.push_back(uint64_t(x));
          if (2 * half > 64) numbers.push_back(uint64_t(x >> 64));
        }
      }
      out_.tables[k] = Put(numbers);
    }
  }

  MapCode Map(const grouping::IndexMap& m) {
    std::vector<PieceCode> pieces;
    for (const grouping::AxisPart& p : m.pieces) {
      std::vector<AxisCode> axes;
      for (const grouping::Axis& a : p.at.axes) axes.push_back({a.extent, a.stride});
      pieces.push_back({ArrayOf(s_, plan_, base_, out_, p.node), p.end, p.at.offset, Put(axes), int32_t(axes.size())});
    }
    const PieceCode* to = Put(pieces);
    return {to, int32_t(pieces.size()), m.inner, m.pieces.back().end};
  }

  // Codes operand j of member k.
  OperandCode OperandCodeOf(const Instruction& ins, const RegisterFrame& frame, size_t k, size_t j) {
    const Operand& o = ins.members[k].operands[j];
    const int arg = node(ins.members[k].node).args[j];
    const Ring ring = node(arg).ring;
    OperandCode c{OperandCode::kNone,      frame.operands[k][j], -1,      o.planes,
                  row::WordsOf(ring.bits), MaskOf(ring),         nullptr, {}};
    if (o.from == Operand::kTable) {
      c.from = OperandCode::kTable;
      c.table = Words(arg);
    } else if (o.from == Operand::kMember) {
      const int made = frame.members[size_t(o.member)] + o.plane * c.words;
      c.from = c.at < 0 ? OperandCode::kRegister : OperandCode::kCopied;
      (c.at < 0 ? c.at : c.made) = made;
    } else if (o.from == Operand::kMemory) {
      c.from = OperandCode::kLoaded;
      c.map = Map(o.map);
    }
    return c;
  }

  // Returns the place of a packed message or key section.
  uint8_t* PackedAt(const Member& m, const LaunchBatch& batch, const DeviceStep& step) const {
    if (node(m.node).op == Op::kTell) return In((m.emits ? batch.told : plan_.keys).at(m.node)) + kEdge;
    return In(m.emits ? step.sent : step.received) + kEdge + part_.at(m.node)->at;
  }

  // Codes member k, whose register and operands are in `frame`.
  MemberCode MemberCodeOf(const Instruction& ins, const RegisterFrame& frame, size_t k, const LaunchBatch& batch,
                          const DeviceStep& step) {
    const Member& m = ins.members[k];
    const Node& n = node(m.node);
    std::vector<OperandCode> operands;
    for (size_t j = 0; j < m.operands.size(); ++j) operands.push_back(OperandCodeOf(ins, frame, k, j));
    SUF_CHECK(int(operands.size()) <= kMostOperands);
    MemberCode c{};
    c.op = n.op;
    c.emits = m.emits;
    c.strings = n.ring.kind == Ring::kXor;
    c.copies = int8_t(m.copies);
    c.receives = grouping::Receives(n, role_);
    c.planes = m.planes;
    c.words = row::WordsOf(n.ring.bits);
    c.bits = n.ring.bits;
    c.table = n.args.empty() ? 0 : node(n.args[0]).ring.bits;
    c.at = frame.members[k];
    c.mask = MaskOf(n.ring);
    c.operands = int32_t(operands.size());
    c.operand = Put(operands);
    c.attrs = Put(n.attrs);
    c.many = int32_t(n.attrs.size());
    if (n.op == Op::kDot) c.length = int32_t(node(n.args[1]).shape[0]);
    if (n.op == Op::kRand)
      c.drawn = {In(plan_.chapters[batch.chapter].drawn.at(m.node)), uint32_t(fss::ElementBytes(n.ring.bits))};
    if (m.emits)
      c.out = PackedAt(m, batch, step);
    else if (c.receives)
      c.in = PackedAt(m, batch, step);
    if (m.kept) {
      c.kept = In(plan_.values.at(plan_.Root(m.node)));
      c.kept_bytes = grouping::Element(s_, plan_.Root(m.node));
    }
    return c;
  }

  const GroupCode* Group(const Instruction& ins, const RegisterFrame& frame, const LaunchBatch& batch,
                         const DeviceStep& step) {
    std::vector<MemberCode> members;
    for (size_t k = 0; k < ins.members.size(); ++k) members.push_back(MemberCodeOf(ins, frame, k, batch, step));
    const MemberCode* to = Put(members);
    const GroupCode g{ins.rows, int32_t(members.size()), frame.words, to};
    return Put(&g, 1);
  }

  const Schedule& s_;
  const Trace& t_;
  Role role_;
  const DevicePlan& plan_;
  const Base& base_;
  GroupCodes out_;
  std::map<int, const pfss::FrameField*> part_;  // of frames, by node
  std::map<std::array<uint32_t, 2>, size_t> key_;
  std::map<int, const Word*> words_;  // tables, by node
};

}  // namespace

std::vector<std::array<uint32_t, 2>> Sections(const Trace& t, const DevicePlan& plan) {
  std::vector<std::array<uint32_t, 2>> out;
  for (const Chapter& c : plan.chapters)
    for (const auto& [i, slot] : c.drawn) out.push_back({uint32_t(t.node(i).attrs[0]), uint32_t(t.node(i).attrs[1])});
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<int> Inputs(const Trace& t, const DevicePlan& plan) {
  std::vector<int> out;
  for (const Instruction& ins : plan.plan.instructions)
    if (!ins.group && ins.same < 0 && t.node(ins.node).op == Op::kInput) out.push_back(ins.node);
  return out;
}

MemoryArray ArrayOf(const Schedule& s, const DevicePlan& plan, const Base& base, const GroupCodes& codes, int node) {
  const int root = plan.Root(node);
  const Op op = s.trace().node(root).op;
  if (op == Op::kConst) return codes.constants.at(root);
  if (op == Op::kInput) {
    const auto it = base.forms.find(root);
    SUF_CHECK(it != base.forms.end());
    const auto slot = std::distance(base.forms.begin(), it);
    return {base.inputs + 8 * slot, uint32_t(it->second.bytes), false, it->second.is_signed, true};
  }
  if (const auto it = plan.direct.find(root); it != plan.direct.end())
    return {base.slab + it->second.first.at, uint32_t(it->second.second)};
  return {base.slab + plan.values.at(root).at, uint32_t(grouping::Element(s, root))};
}

GroupCodes Assemble(const Schedule& s, Role role, const DevicePlan& plan, const Base& base) {
  return Assembler(s, role, plan, base).Run();
}

}  // namespace suf::gpu::cuda
