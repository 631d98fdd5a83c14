// Members of groups that make or read bit strings: one-hot tables, thresholds, the borrow polynomial.
#include <algorithm>

#include "suf/cpu/members.hpp"
#include "suf/fss/table.hpp"
#include "suf/pfss/poly.hpp"
#include "suf/ring/modular.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

int Log2(int bits) {
  int w = 0;
  while ((1 << w) < bits) ++w;
  return w;
}

}  // namespace

const uint16_t* MemberKernels::Index(const Strip& s, size_t k, int spare) const {
  uint8_t* const out = s.spare(spare);
  loops_.shift[1][1](Operand(s, k, 2, spare), 0, ring::Mask(arg(node(s), k).ring.bits), s.n, out);
  return As<uint16_t>(out);
}

MemberKernels::TableRead MemberKernels::Table(const Strip& s) const {
  const Node& x = node(s);
  const uint16_t* at = Index(s, 1, 1);
  return {Log2(arg(x, 0).ring.bits), Operand(s, 0, element(x.args[0]), 0), at};
}

template <class F>
void MemberKernels::Strings(const Strip& s, F f) const {
  const int e = element(s.member().node);
  uint8_t* const out = s.reg();
  if (e >= 8) return f(As<uint64_t>(out));
  f(As<uint64_t>(s.spare(2)));
  loops_.move[3][Code(e)](s.spare(2), s.n, out);
}

void MemberKernels::BitString(const Strip& s) const {
  const Node& x = node(s);
  const MemberResources& r = s.resource();
  switch (x.op) {
    case Op::kHot:
      return fss::Hot(Log2(x.ring.bits), Index(s, 0, 0), s.n, s.reg(), variant_);
    case Op::kPoint: {
      const TableRead t = Table(s);
      return fss::Point(t.width, t.table, t.at, s.n, s.reg(), variant_);
    }
    case Op::kRotate:
      return Strings(s, [&, t = Table(s)](uint64_t* to) {
        fss::Rotate(t.width, t.table, t.at, int(x.attrs[0]), s.n, to, variant_);
      });
    case Op::kAbove:
      return Strings(
          s, [&, t = Table(s)](uint64_t* to) { fss::Above(t.width, t.table, t.at, r.table16, s.n, to, variant_); });
    case Op::kDense:
      return Strings(s, [&, t = Table(s)](uint64_t* to) {
        fss::Dense(t.width, t.table, t.at, r.table64.data(), x.ring.bits, s.n, to, variant_);
      });
    case Op::kSelect:
    case Op::kSelectX:
      return element(s.member().node) <= 4 ? Select<uint32_t>(s, r.table32) : Select<uint64_t>(s, r.table64);
    case Op::kLess:
      return Strings(s, [&](uint64_t* to) { Less(s, to); });
    case Op::kMix:
      return Strings(s, [&](uint64_t* to) { Mix(s, to); });
    case Op::kUnbits:
      return Unbits(s);
    case Op::kDot:
      return Dot(s);
    default:
      SUF_CHECK(false);
  }
}

template <class T>
void MemberKernels::Select(const Strip& s, const std::vector<T>& table) const {
  const grouping::Member& m = s.member();
  const bool exclusive_or = node(s).op == Op::kSelectX, cut = element(m.node) != int(sizeof(T));
  const TableRead t = Table(s);
  const size_t size = table.size() / size_t(m.planes);
  uint8_t* const sums = cut ? s.spare(2) : s.reg();
  for (int c = 0; c < m.planes; c += 2) {  // two columns at a time
    const size_t now = size_t(std::min(2, m.planes - c));
    const T* column[2];
    T* out[2];
    for (size_t j = 0; j < now; ++j) {
      column[j] = table.data() + (size_t(c) + j) * size;
      out[j] = As<T>(sums) + (size_t(c) + j) * s.n;
    }
    const std::span<const T* const> columns(column, now);
    if (exclusive_or)
      fss::SelectX<T>(t.width, t.table, t.at, columns, s.n, out, variant_);
    else
      fss::Select<T>(t.width, t.table, t.at, columns, s.n, out, variant_);
  }
  if (cut) loops_.move[Code(sizeof(T))][Code(element(m.node))](sums, size_t(m.planes) * s.n, s.reg());
}

void MemberKernels::Less(const Strip& s, uint64_t* to) const {
  const Node& x = node(s);
  uint8_t* const words = s.spare(1);
  loops_.shift[3][1](Operand(s, 0, 8, 0), 0, ring::Mask(arg(x, 0).ring.bits), s.n, words);
  loops_.less(As<uint64_t>(words), s.resource().table64.data(), x.attrs.size(), s.n, to);
}

void MemberKernels::Mix(const Strip& s, uint64_t* to) const {
  const Node& x = node(s);
  const MemberResources& r = s.resource();
  const int bytes = std::max(8, element(x.args[0]));
  const uint32_t* first = r.table32.data();
  loops_.mix(As<uint64_t>(Operand(s, 0, bytes, 0)), size_t(bytes) / 8, first, first + x.ring.bits + 1, r.table64.data(),
             size_t(x.ring.bits), s.n, to);
}

void MemberKernels::Unbits(const Strip& s) const {
  const grouping::Member& m = s.member();
  const int stride = element(node(s).args[0]);
  SUF_CHECK(element(m.node) == 1);
  loops_.unbits(Operand(s, 0, stride, 0), size_t(stride), size_t(m.planes), s.n, s.n, s.reg());
}

void MemberKernels::Dot(const Strip& s) const {
  const Node& x = node(s);
  const int e = element(s.member().node), bytes = std::max(8, element(x.args[0]));
  const std::vector<uint64_t>& table = *arg(x, 1).data;
  uint8_t* const to = e == 8 ? s.reg() : s.spare(2);
  fss::Dot<uint64_t>(As<uint64_t>(Operand(s, 0, bytes, 0)), size_t(bytes) / 8, int(x.attrs[0]), int(table.size()),
                     table.data(), s.n, As<uint64_t>(to), variant_);
  if (e != 8) loops_.move[3][Code(e)](to, s.n, s.reg());
}

void MemberKernels::Borrow(const Strip& s) const {
  const Node& x = node(s);
  const int e = element(s.member().node), degree = int(x.attrs[0]);
  switch (x.op) {
    case Op::kDigits:
      return Digits(s);
    case Op::kMono:
      return loops_.mono(WordsOf<uint32_t>(s, 0, 0), degree, e, s.n, s.n, s.reg());
    case Op::kMonoX:
      SUF_CHECK(size_t(e) <= fss::ElementBytes(GroupBits(kMostDigitsX - 1)));  // the capacity of the kernels
      return loops_.monox(WordsOf<uint32_t>(s, 0, 0), degree, size_t(e), s.n, s.reg());
    case Op::kBorrowA:
      return BorrowA(s);
    case Op::kBorrowX:
      return BorrowX(s);
    case Op::kBorrowAt0:
      return BorrowAt0(s);
    default:
      SUF_CHECK(false);
  }
}

void MemberKernels::Digits(const Strip& s) const {
  const Node& x = node(s);
  int from = element(x.args[0]), shift = 0;
  const uint8_t* z = Operand(s, 0, from, 0);
  const auto file = loops_.file[Code(element(s.member().node))];
  uint16_t digit[kStrip];
  uint8_t cmp[kStrip];
  for (size_t j = 0; j < x.attrs.size(); ++j) {
    int w = int(x.attrs[j]);
    loops_.digit[Code(from)](z, shift, w, s.n, digit);
    fss::Cmp(w, Operand(s, j + 1, element(x.args[j + 1]), 2), digit, s.n, cmp, variant_);
    file(cmp, int(j), s.n, s.reg());
    shift += w;
  }
}

void MemberKernels::BorrowA(const Strip& s) const {
  const grouping::Member& m = s.member();
  const Node& x = node(s);
  const int e = element(m.node);
  const uint32_t* h = WordsOf<uint32_t>(s, 0, 0);
  std::vector<void*> planes;
  uint8_t* buffer = s.spare(1);  // and spare 2 if necessary: the fold overwrites its operands
  for (size_t j = 1; j < x.args.size(); ++j) {
    int many = m.operands[j].planes;
    size_t bytes = size_t(many) * s.n * size_t(e);
    const uint8_t* words = Operand(s, j, e, 2);
    auto* own = const_cast<uint8_t*>(words);
    if (!(s.own().owns_operands && m.operands[j].from == grouping::Operand::kMember)) {
      std::memcpy(buffer, words, bytes);
      own = buffer;
      buffer += bytes;
    }
    for (int g = 0; g < many; ++g) planes.push_back(own + size_t(g) * s.n * size_t(e));
  }
  loops_.borrow[Code(e)](h, planes.data(), int(x.attrs[0]), s.n, s.reg());
}

void MemberKernels::BorrowX(const Strip& s) const {
  const Node& x = node(s);
  const uint32_t *h = WordsOf<uint32_t>(s, 0, 0), *rho = WordsOf<uint32_t>(s, 1, 1);
  const uint8_t* groups[16];
  size_t stride[16];
  uint8_t* buffer = s.spare(2);
  for (size_t j = 2; j < x.args.size(); ++j) {
    stride[j - 2] = size_t(element(x.args[j]));
    groups[j - 2] = Operand(s, j, element(x.args[j]), buffer);
    buffer += s.n * stride[j - 2];
  }
  loops_.borrowx(h, rho, groups, stride, int(x.attrs[0]), s.n, s.reg());
}

void MemberKernels::BorrowAt0(const Strip& s) const {
  const int e = element(s.member().node);
  uint8_t* const to = e == 4 ? s.reg() : s.spare(1);
  loops_.borrow0(WordsOf<uint32_t>(s, 0, 0), int(node(s).attrs[0]), s.n, As<uint32_t>(to));
  if (e != 4) loops_.move[2][Code(e)](to, s.n, s.reg());
}

}  // namespace suf::cpu
