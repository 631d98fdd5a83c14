#include "suf/reference/rows.hpp"

#include <chrono>

#include "suf/fss/prg.hpp"
#include "suf/fss/sizes.hpp"
#include "suf/grouping/group_plan.hpp"
#include "suf/grouping/randomness.hpp"
#include "suf/grouping/rows_core.hpp"
#include "suf/reference/clear_executor.hpp"
#include "suf/reference/fss_kernels.hpp"
#include "suf/ring/modular.hpp"

namespace suf::reference {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

using grouping::row::Word;

// Part of a PRG section of `end` bytes. Rows that share a block or follow one another draw it once.
class SectionWindow {
 public:
  void operator()(const Randomness::SectionReader& section, uint64_t end, uint64_t block, uint8_t* to) {
    if (bytes_.empty() || block / kBlocks != at_) {
      bytes_.resize(16 * kBlocks);
      at_ = block / kBlocks;
      const uint64_t from = at_ * bytes_.size();
      section.Fill(from, std::span(bytes_).first(std::min<uint64_t>(bytes_.size(), end - from)));
    }
    std::memcpy(to, &bytes_[block % kBlocks * 16], 16);
  }

 private:
  static constexpr uint64_t kBlocks = 64;
  uint64_t at_ = 0;
  Bytes bytes_;
};

// Registers of a row are short for every group. Bits of a string of any length are planes, and a plane may begin within
// a byte.
constexpr grouping::GroupLimits kLimits{.members = 1024,
                                        .bytes = int64_t{4} << 20,
                                        .planes = 1 << 16,
                                        .plane_rows = 1,
                                        .table = int64_t{1} << 40,
                                        .drawn = int64_t{1} << 40,
                                        .run = 0};

// An operand in memory, or one of a wider ring than its use has (a copy or a view). Its elements of the row go to a
// register, reduced.
struct OperandCopy {
  const grouping::Operand* from;
  const Word* made;  // its register, if it is in the group
  size_t words;      // per element
  Word mask;
  Word* to;
};

// A member in a run of its group.
struct MemberState {
  const grouping::Member* member;
  const Node* node;
  size_t words;  // per element
  Word mask;     // of numbers of the node's ring
  Word* out;     // its register: the elements of its planes
  std::vector<const Word*> in;
  std::vector<OperandCopy> copies;
  std::vector<WordVector> tables;
  std::unique_ptr<Randomness::SectionReader> section;
  std::vector<SectionWindow> windows;  // one per plane
  View received;
  std::span<uint8_t> emitted;
};

class RowsExecutor : public ClearExecutor {
 public:
  RowsExecutor(const Schedule& s, Role role, const Kernels& kernels)
      : ClearExecutor(s, role, kernels), plan_(grouping::PlanOf(s, role, Programs(s, role), kLimits)) {}

  void Run(const Program& program, const Randomness& randomness, Io& io) override {
    SUF_CHECK(next_ < plan_.programs.size() && program.role == role_ && program.nodes == plan_.programs[next_].nodes);
    randomness_ = &randomness;
    const size_t at = next_++;
    for (const grouping::Instruction& ins : plan_.of(at)) {
      const auto begin = std::chrono::steady_clock::now();
      const std::vector<int> nodes = ins.computed();
      if (ins.group)
        Group(ins, io);
      else
        Bulk(ins, io);
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      io.ReportTime(t_.node(nodes[0]).scope, {.compute = took});
      for (int i : ins.read) io.Release(i);
      io.ReportDone(nodes);
      for (int i : ins.dead) values_[size_t(i)] = {};
    }
    for (int i : plan_.unread[at]) io.Release(i);
  }

 private:
  void Bulk(const grouping::Instruction& ins, Io& io) {
    const Node& n = t_.node(ins.node);
    WordVector& v = values_[size_t(ins.node)];
    if (!ins.members.empty()) {  // this backend draws such an operand as a whole
      grouping::Instruction drawn = ins;
      drawn.members.back().kept = true;
      Group(drawn, io);
    }
    v = ins.same >= 0 ? values_[size_t(ins.same)] : n.op == Op::kTurn ? Turn(n) : Compute(ins.node, io);
    if (!ins.members.empty()) values_[size_t(ins.members.back().node)] = {};
    for (Word& w : v) w &= MaskOf(n.ring);
  }
  static Word MaskOf(Ring r) { return r.kind == Ring::kAdd ? ring::Mask(r.bits) : ~Word{0}; }

  // Rotates each table by its secret r. Masks choose a stage for each bit of r, so no address depends on r.
  WordVector Turn(const Node& n) const {
    const size_t size = size_t(n.shape.back());
    WordVector out(size_t(Size(n.shape))), moved(size);
    for (size_t i = 0; i < out.size() / size; ++i) {
      Word* const table = &out[i * size];
      std::copy_n(In(n, 1).begin(), size, table);
      for (size_t bit = 0; size_t{1} << bit < size; ++bit) {
        const Word take = grouping::row::Mask(In(n, 0)[i] >> bit);  // so that no load depends on it
        for (size_t u = 0; u < size; ++u)
          moved[u] = (table[(u - (size_t{1} << bit)) & (size - 1)] & take) | (table[u] & ~take);
        std::copy(moved.begin(), moved.end(), table);
      }
    }
    return out;
  }

  void Group(const grouping::Instruction& ins, Io& io) {
    WordVector frame(FrameWords(ins));
    Word* free = frame.data();
    auto allot = [&](size_t words) { return std::exchange(free, free + words); };
    std::vector<MemberState> steps;
    steps.reserve(ins.members.size());
    for (const grouping::Member& m : ins.members) {
      const Node& n = t_.node(m.node);
      MemberState& s = steps.emplace_back(MemberState{&m, &n, size_t(WordsOf(n.ring)), MaskOf(n.ring)});
      s.out = allot(size_t(m.planes) * s.words);
      s.in.resize(m.operands.size());
      s.tables.reserve(m.operands.size());
      for (size_t k = 0; k < m.operands.size(); ++k) {
        const grouping::Operand& o = m.operands[k];
        if (o.from == grouping::Operand::kTable) s.in[k] = s.tables.emplace_back(Constant(Arg(n, k))).data();
        if (o.from != grouping::Operand::kMember && o.from != grouping::Operand::kMemory) continue;
        const size_t words = size_t(WordsOf(Arg(n, k).ring));
        const Word mask = MaskOf(Arg(n, k).ring);
        const MemberState* const made = o.from == grouping::Operand::kMember ? &steps[size_t(o.member)] : nullptr;
        if (made) s.in[k] = made->out + size_t(o.plane) * words;
        if (made && (made->mask & mask) == made->mask) continue;
        s.copies.push_back({&o, s.in[k], words, mask, allot(size_t(o.planes) * words)});
        s.in[k] = s.copies.back().to;
      }
      if (m.kept) values_[size_t(m.node)] = WordVector(size_t(Size(n.shape)) * s.words);
      Open(&s, io);
    }
    for (size_t at = 0; at < ins.rows; ++at)
      for (MemberState& s : steps) {
        for (const OperandCopy& l : s.copies) Fetch(l, ins.rows, at);
        Row(s, ins.rows, at, io);
        if (s.member->kept) Keep(s, ins.rows, at);
      }
  }

  // Returns the words of all registers of a row.
  size_t FrameWords(const grouping::Instruction& ins) const {
    size_t words = 0;
    for (const grouping::Member& m : ins.members) {
      const Node& n = t_.node(m.node);
      words += size_t(m.planes * WordsOf(n.ring));
      for (size_t k = 0; k < m.operands.size(); ++k)
        if (const grouping::Operand& o = m.operands[k]; o.from != grouping::Operand::kNone)
          words += size_t(o.planes * WordsOf(Arg(n, k).ring));
    }
    return words;
  }

  void Open(MemberState* s, Io& io) const {
    const Node& n = *s->node;
    const int i = s->member->node;
    if (n.op == Op::kRand) {
      s->section = randomness_->SectionAt(int(n.attrs[0]), int(n.attrs[1]));
      s->windows.resize(size_t(s->member->planes));
    } else if (s->member->emits) {
      s->emitted = io.Out(i);
      SUF_CHECK(int64_t(s->emitted.size()) == PackedBytes(n));
    } else if (grouping::Receives(n, role_)) {
      s->received = io.In(i);
      SUF_CHECK(int64_t(s->received.size()) == PackedBytes(n));
    }
  }

  void Fetch(const OperandCopy& l, size_t rows, size_t at) const {
    for (size_t q = 0; q < size_t(l.from->planes); ++q) {
      const Word* from = l.made;
      size_t i = q;
      if (!from) {
        const grouping::ElementRun run = grouping::RunAt(l.from->map, int64_t(q * rows + at));
        from = values_[size_t(run.node)].data();
        i = size_t(run.at);
      }
      grouping::row::Reduce(from + i * l.words, l.words, l.mask, l.to + q * l.words);
    }
  }

  void Keep(const MemberState& s, size_t rows, size_t at) {
    Word* const to = values_[size_t(s.member->node)].data();
    for (size_t q = 0; q < size_t(s.member->planes); ++q)
      std::copy_n(s.out + q * s.words, s.words, to + (q * rows + at) * s.words);
  }

  void Row(MemberState& s, size_t rows, size_t at, Io& io) const;
  // Computes a row of one-hot tables, other bit strings or the borrow polynomial.
  void BitStrings(MemberState& s, size_t at) const;
  void Message(MemberState& s, size_t rows, size_t at, Io& io) const;

  const grouping::GroupPlan plan_;
  size_t next_ = 0;  // program
};

// Draws, receives or emits, plane by plane.
void RowsExecutor::Message(MemberState& s, size_t rows, size_t at, Io& io) const {
  const Node& n = *s.node;
  const int k = n.ring.bits;
  const size_t planes = size_t(s.member->planes), bytes = fss::ElementBytes(k);
  for (size_t q = 0; q < planes; ++q) {
    const uint64_t i = q * rows + at;
    Word* const out = s.out + q * s.words;
    if (n.op == Op::kRand) {
      grouping::row::Random(
          [&](uint64_t block, uint8_t* to) { s.windows[q](*s.section, planes * rows * bytes, block, to); }, i * bytes,
          k, out);
    } else if (!s.member->emits) {
      grouping::row::Receive(s.received.data(), i * uint64_t(k), k, out);
    } else {
      grouping::row::Reduce(s.in[0] + q * s.words, s.words, s.mask, out);
      grouping::row::Emit(out, i * uint64_t(k), k, planes * rows * uint64_t(k), s.emitted.data());
    }
  }
  if (n.op == Op::kSend && s.member->emits)
    io.ReportSent(s.member->node, {reinterpret_cast<const uint8_t*>(s.out), 8 * planes * s.words});
}

void RowsExecutor::Row(MemberState& s, size_t rows, size_t at, Io& io) const {
  const Node& n = *s.node;
  const auto in = [&](size_t k) { return s.in[k]; };
  const size_t many = size_t(s.member->planes) * s.words;
  if (s.member->copies >= 0) return grouping::row::Reduce(in(size_t(s.member->copies)), many, s.mask, s.out);
  switch (n.op) {
    case Op::kRand:
    case Op::kTell:
    case Op::kSend:
      return Message(s, rows, at, io);
    case Op::kAdd:
    case Op::kSub:
      if (n.ring.kind == Ring::kXor) return grouping::row::ExclusiveOr(in(0), in(1), many, s.out);
      return n.op == Op::kAdd ? grouping::row::Plus(in(0), in(1), many, s.mask, s.out)
                              : grouping::row::Minus(in(0), in(1), many, s.mask, s.out);
    case Op::kMul:
      return grouping::row::Times(in(0), in(1), many, s.mask, s.out);
    case Op::kShl:
      return grouping::row::ShiftLeft(in(0), int(n.attrs[0]), many, s.mask, s.out);
    case Op::kShr:
      return grouping::row::ShiftRight(in(0), int(n.attrs[0]), many, s.mask, s.out);
    case Op::kLow:
    case Op::kLift:
    case Op::kBroadcast:
      return grouping::row::Reduce(in(0), many, s.mask, s.out);
    case Op::kBits:
      return grouping::row::Reduce(in(0), many, ring::Mask(n.ring.bits), s.out);
    default:
      BitStrings(s, at);
  }
}

void RowsExecutor::BitStrings(MemberState& s, size_t at) const {
  const Node& n = *s.node;
  const std::vector<int64_t>& attrs = n.attrs;
  Word* const out = s.out;
  const auto in = [&](size_t k) { return s.in[k]; };
  const size_t many = size_t(s.member->planes) * s.words;
  // Bits of the strings that are read, or of those that are made.
  const size_t table = size_t(Arg(n, 0).ring.bits), bits = size_t(n.ring.bits);
  switch (n.op) {
    case Op::kUnit:
      return void(*out = grouping::row::Unit(*in(0), Word(at % size_t(attrs[0]))));
    case Op::kHot:
      return grouping::row::Hot(*in(0), bits, out);
    case Op::kPoint:
      return void(*out = grouping::row::Point(in(0), table, *in(1)));
    case Op::kRotate:
      return grouping::row::Rotate(in(0), table, *in(1), size_t(attrs[0]), out);
    case Op::kAbove:
      return grouping::row::Above(in(0), table, *in(1), attrs.data(), attrs.size(), out);
    case Op::kDense:
      return void(*out = grouping::row::Dense(in(0), table, *in(1), in(2)) & ring::Mask(n.ring.bits));
    case Op::kSelect:
      return grouping::row::Select(in(0), table, *in(1), in(2), many, s.mask, out);
    case Op::kSelectX:
      return grouping::row::SelectX(in(0), table, *in(1), in(2), many, s.mask, out);
    case Op::kDot:
      return void(*out = grouping::row::Dot(in(0), size_t(attrs[0]), in(1), size_t(Arg(n, 1).shape[0])) & s.mask);
    case Op::kLess:
      return grouping::row::Less(*in(0), attrs.data(), attrs.size(), out);
    case Op::kUnbits:
      return grouping::row::Unbits(in(0), many, out);
    case Op::kMix:
      return grouping::row::Mix(in(0), (table + 63) / 64, in(1), bits, out);
    case Op::kDigits:
      return void(*out = grouping::row::Digits(*in(0), &s.in[1], attrs.data(), attrs.size()));
    case Op::kMono:
      return grouping::row::Mono(*in(0), int(attrs[0]), out);
    case Op::kMonoX:
      return grouping::row::MonoX(*in(0), int(attrs[0]), out);
    case Op::kBorrowA:
      return void(*out = grouping::row::BorrowA(*in(0), &s.in[1], int(attrs[0])) & s.mask);
    case Op::kBorrowX:
      return void(*out = grouping::row::BorrowX(*in(0), *in(1), s.in.data() + 2, int(attrs[0])));
    case Op::kBorrowAt0:
      return void(*out = grouping::row::BorrowAt0(*in(0), int(attrs[0])) & s.mask);
    default:
      SUF_CHECK(false);
  }
}

}  // namespace

namespace {

class RowsBackend : public Backend {
 public:
  std::string name() const override { return can_.name; }
  const Capabilities& capabilities() const override { return can_; }
  uint32_t prg() const override { return fss::kPrgId; }
  std::unique_ptr<Randomness> Expand(BundleSecrets m) override { return grouping::MakeRandomness(std::move(m)); }
  std::unique_ptr<Executor> Start(const Schedule& s, Role role) override {
    RefuseLacking(can_, s.trace());
    return std::make_unique<RowsExecutor>(s, role, kernels_);
  }

 private:
  const Capabilities can_{"rows", "row by row, by the functions that devices call; slow, for comparison"};
  const FssKernels kernels_;
};

}  // namespace

std::unique_ptr<Backend> MakeRows() { return std::make_unique<RowsBackend>(); }

}  // namespace suf::reference
