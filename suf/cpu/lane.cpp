// Members of groups other than arithmetic: the PRG, packed messages and key sections, tables, borrows.
#include "suf/cpu/lane.hpp"

#include <algorithm>

#include "suf/cpu/bulk.hpp"
#include "suf/fss/table.hpp"
#include "suf/pfss/poly.hpp"
#include "suf/ring/modular.hpp"
#include "suf/ring/pack.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

// Packs n bit strings of k bits, each in whole words, one after another. `waiting` holds the bits that are not yet
// written.
void PackLong(const uint64_t* x, size_t n, int k, uint8_t* out) {
  if (k % 64 == 0) return void(std::memcpy(out, x, n * size_t(k) / 8));
  const size_t words = size_t(k + 63) / 64;
  uint64_t waiting = 0;
  int many = 0;
  for (size_t i = 0, w = 0; i < n * words; ++i) {
    const int take = ++w == words ? (k - 1) % 64 + 1 : 64;
    waiting |= x[i] << many;
    if (many + take >= 64) {
      std::memcpy(out, &waiting, 8);
      out += 8;
      waiting = many ? x[i] >> (64 - many) : 0;
      many -= 64;
    }
    many += take;
    if (w == words) w = 0;
  }
  std::memcpy(out, &waiting, size_t(many + 7) / 8);
}

// Unpacks n bit strings of k bits into whole words each. `waiting` holds the bits that are not yet used.
void UnpackLong(const uint8_t* in, size_t n, int k, uint64_t* x) {
  if (k % 64 == 0) return void(std::memcpy(x, in, n * size_t(k) / 8));
  const size_t words = size_t(k + 63) / 64;
  size_t left = (n * size_t(k) + 7) / 8;
  uint64_t waiting = 0;
  int many = 0;
  for (size_t i = 0, w = 0; i < n * words; ++i) {
    const int take = ++w == words ? (k - 1) % 64 + 1 : 64;
    if (w == words) w = 0;
    x[i] = waiting;
    if (many < take) {
      const size_t now = std::min<size_t>(8, left);
      uint64_t next = 0;
      std::memcpy(&next, in, now);
      in += now;
      left -= now;
      x[i] |= next << many;
      waiting = take - many < 64 ? next >> (take - many) : 0;
      many += 64;
    } else {
      waiting >>= take;
    }
    many -= take;
    x[i] &= ring::Mask(take);
  }
}

// Returns the values of a constant.
template <class T>
std::vector<T> Values(const Node& n) {
  if (n.data->size() == 1) return std::vector<T>(size_t(Size(n.shape)), T((*n.data)[0]));
  return {n.data->begin(), n.data->end()};
}

// Makes the terms of Strips::mix. `terms` are the nonzero words of the masks. `places` are the l + 1 beginnings of the
// masks in `terms`, then each term's word.
void Terms(const Node& masks, std::vector<uint32_t>* places, std::vector<uint64_t>* terms) {
  const std::vector<uint64_t> all = Values<uint64_t>(masks);
  const size_t words = size_t(masks.shape[1]);
  std::vector<uint32_t> at;
  for (size_t k = 0; k < all.size(); ++k) {
    if (k % words == 0) places->push_back(uint32_t(at.size()));
    if (all[k]) {
      at.push_back(uint32_t(k % words));
      terms->push_back(all[k]);
    }
  }
  places->push_back(uint32_t(at.size()));
  places->insert(places->end(), at.begin(), at.end());
}

}  // namespace

void PackedExecutor::Open(const Member& m, Host& host, Handle* h) {
  int i = m.node;
  const Node& n = node(i);
  if (m.kept) {
    h->kept = Make(i).get();
    h->element = size_t(element(i));
  }
  switch (n.op) {
    case Op::kRand:
      h->key = true;
      h->section = sections_[size_t(i)].get();
      break;
    case Op::kTell:
    case Op::kSend:
      h->key = n.op == Op::kTell;
      if (m.emits) {
        h->out = host.io.Out(i);
        SUF_CHECK(int64_t(h->out.size()) == PackedBytes(n));
      } else {
        // Strips wait for their rows of a long frame.
        const bool long_frame = Receives(i) && host.io.Received().size() > kLongFrame;
        h->in = long_frame ? host.io.Received().subspan(size_t(part_[size_t(i)]->at), size_t(part_[size_t(i)]->bytes))
                           : host.io.In(i);
        SUF_CHECK(int64_t(h->in.size()) == PackedBytes(n));
      }
      break;
    case Op::kSelect:
    case Op::kSelectX:
      if (element(i) <= 4)
        h->table32 = Values<uint32_t>(arg(n, 2));
      else
        h->table64 = Values<uint64_t>(arg(n, 2));
      break;
    case Op::kDense:
      h->table64 = Values<uint64_t>(arg(n, 2));
      break;
    case Op::kLess:
      h->table64.assign(n.attrs.begin(), n.attrs.end());
      break;
    case Op::kAbove:
      h->table16.assign(n.attrs.begin(), n.attrs.end());
      break;
    case Op::kMix:
      Terms(arg(n, 1), &h->table32, &h->table64);
      break;
    default:
      break;
  }
}

void PackedExecutor::Random(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  size_t e = size_t(element(m.node));
  for (int q = 0; q < m.planes; ++q) {
    // The PRG fills from whole blocks on; planes may begin within one.
    size_t from = (size_t(q) * l.ins.rows + l.lo) * e, skew = from % 16;
    uint8_t* out = l.reg() + size_t(q) * l.n * e;
    if (skew == 0) {
      l.handle().section->Fill(from, {out, l.n * e});
    } else {
      l.handle().section->Fill(from - skew, {l.spare(0), l.n * e + skew});
      std::memcpy(out, l.spare(0) + skew, l.n * e);
    }
    if (x.ring.kind == Ring::kAdd || size_t(x.ring.bits) == 8 * e) continue;
    // Bit strings are kept reduced, because parities read whole words.
    if (e <= 8) {
      strips_.shift[Code(int(e))][1](out, 0, ring::Mask(x.ring.bits), l.n, out);
    } else {
      for (size_t k = 0; k < l.n; ++k) As<uint64_t>(out)[(k + 1) * e / 8 - 1] &= ring::Mask((x.ring.bits - 1) % 64 + 1);
    }
  }
}

void PackedExecutor::Receive(const Lane& l) const {
  const Member& m = l.member();
  int bits = node(m.node).ring.bits, w = element(m.node);
  const uint8_t* in = l.handle().in.data();
  if (bits > 64) return UnpackLong(in + l.lo / 8 * size_t(bits), l.n, bits, As<uint64_t>(l.reg()));
  By(w, [&](auto zero) {
    using T = decltype(zero);
    for (int q = 0; q < m.planes; ++q) {
      size_t from = size_t(q) * l.ins.rows + l.lo, skew = from % 8;
      T* out = As<T>(l.reg()) + size_t(q) * l.n;
      T* to = skew ? As<T>(l.spare(0)) : out;
      ring::Unpack<T>(in + from / 8 * size_t(bits), l.n + skew, bits, to, variant_);
      if (skew) std::copy_n(to + skew, l.n, out);
    }
  });
}

void PackedExecutor::Emit(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  int bits = x.ring.bits, w = element(m.node);
  if (!l.own().alias) std::memcpy(l.reg(), Operand(l, 0, w, 0), size_t(m.planes) * l.n * size_t(w));
  if (x.op == Op::kSend) l.host.io.Sent(m.node, {l.reg(), size_t(m.planes) * l.n * size_t(w)});
  uint8_t* out = l.handle().out.data();
  if (bits > 64) return PackLong(As<uint64_t>(l.reg()), l.n, bits, out + l.lo / 8 * size_t(bits));
  By(w, [&](auto zero) {
    using T = decltype(zero);
    for (int q = 0; q < m.planes; ++q)  // whole bytes: packed planes have a multiple of 8 rows
      ring::Pack<T>(As<T>(l.reg()) + size_t(q) * l.n, l.n, bits,
                    out + (size_t(q) * l.ins.rows + l.lo) / 8 * size_t(bits), variant_);
  });
}

void PackedExecutor::Unit(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  const size_t cols = size_t(x.attrs[0]), e = size_t(element(m.node));
  for (size_t k = 0, run; k < l.n; k += run) {
    const grouping::Run from = grouping::RunAt(m.operands[0].map, int64_t(l.lo + k));
    const size_t v = (l.lo + k) % cols;
    run = std::min(l.n - k, cols - v);
    uint64_t word = 0;
    const PackedTensor& in = values_[size_t(from.node)];
    std::memcpy(&word, in.at(size_t(from.at)), size_t(in.element));
    strips_.unit[Code(int(e))](uint32_t(v), uint32_t(word & ring::Mask(arg(x, 0).ring.bits)), run, l.reg() + k * e);
  }
}

// Returns operand k as public indices below 2^16, reduced to their ring.
const uint16_t* PackedExecutor::Index(const Lane& l, size_t k, int spare) const {
  uint8_t* out = l.spare(spare);
  strips_.shift[1][1](Operand(l, k, 2, spare), 0, ring::Mask(arg(node(l.member().node), k).ring.bits), l.n, out);
  return As<uint16_t>(out);
}

void PackedExecutor::Digits(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  int from = element(x.args[0]), shift = 0;
  const uint8_t* z = Operand(l, 0, from, 0);
  const auto file = strips_.file[Code(element(m.node))];
  uint16_t digit[kStrip];
  uint8_t cmp[kStrip];
  for (size_t j = 0; j < x.attrs.size(); ++j) {
    int w = int(x.attrs[j]);
    strips_.digit[Code(from)](z, shift, w, l.n, digit);
    fss::Cmp(w, Operand(l, j + 1, element(x.args[j + 1]), 2), digit, l.n, cmp, variant_);
    file(cmp, int(j), l.n, l.reg());
    shift += w;
  }
}

void PackedExecutor::BorrowA(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  int e = element(m.node);
  auto* h = As<uint32_t>(Operand(l, 0, 4, 0));
  std::vector<void*> planes;
  uint8_t* room = l.spare(1);  // and spare 2 if necessary: the fold overwrites its operands
  for (size_t j = 1; j < x.args.size(); ++j) {
    int many = m.operands[j].planes;
    size_t bytes = size_t(many) * l.n * size_t(e);
    const uint8_t* words = Operand(l, j, e, 2);
    auto* own = const_cast<uint8_t*>(words);
    if (!(l.own().last && m.operands[j].from == grouping::Operand::kMember)) {
      std::memcpy(room, words, bytes);
      own = room;
      room += bytes;
    }
    for (int g = 0; g < many; ++g) planes.push_back(own + size_t(g) * l.n * size_t(e));
  }
  strips_.borrow[Code(e)](h, planes.data(), int(x.attrs[0]), l.n, l.reg());
}

void PackedExecutor::BorrowX(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  auto* h = As<uint32_t>(Operand(l, 0, 4, 0));
  auto* rho = As<uint32_t>(Operand(l, 1, 4, 1));
  const uint8_t* groups[16];
  size_t stride[16];
  uint8_t* room = l.spare(2);
  for (size_t j = 2; j < x.args.size(); ++j) {
    stride[j - 2] = size_t(element(x.args[j]));
    groups[j - 2] = Operand(l, j, element(x.args[j]), room);
    room += l.n * stride[j - 2];
  }
  strips_.borrowx(h, rho, groups, stride, int(x.attrs[0]), l.n, l.reg());
}

void PackedExecutor::Row(const Lane& l) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  uint8_t* out = l.reg();
  int e = element(m.node);
  switch (x.op) {
    case Op::kRand:
      return Random(l);
    case Op::kTell:
    case Op::kSend:
      return l.handle().in.data() ? Receive(l) : Emit(l);
    case Op::kUnit:
      return Unit(l);
    case Op::kSum: {
      const size_t bytes = l.n * size_t(e);
      const uint8_t* plane = Operand(l, 0, e, 0);
      std::memcpy(out, plane, bytes);
      for (int q = 1; q < m.operands[0].planes; ++q)
        strips_.binary[Code(e)][kPlus](out, plane + size_t(q) * bytes, l.n, out);
      return;
    }
    case Op::kHot:
      return fss::Hot(Log2(x.ring.bits), Index(l, 0, 0), l.n, out, variant_);
    case Op::kDigits:
      return Digits(l);
    case Op::kMono:
      return strips_.mono(As<uint32_t>(Operand(l, 0, 4, 0)), int(x.attrs[0]), e, l.n, l.n, out);
    case Op::kMonoX:
      SUF_CHECK(size_t(e) <= fss::ElementBytes(GroupBits(kMostDigitsX - 1)));  // the capacity of the kernels
      return strips_.monox(As<uint32_t>(Operand(l, 0, 4, 0)), int(x.attrs[0]), size_t(e), l.n, out);
    case Op::kBorrowA:
      return BorrowA(l);
    case Op::kBorrowX:
      return BorrowX(l);
    case Op::kBorrowAt0: {
      auto* to = e == 4 ? out : l.spare(1);
      strips_.borrow0(As<uint32_t>(Operand(l, 0, 4, 0)), int(x.attrs[0]), l.n, As<uint32_t>(to));
      if (to != out) strips_.move[2][Code(e)](to, l.n, out);
      return;
    }
    case Op::kPoint: {
      const uint16_t* at = Index(l, 1, 1);
      return fss::Point(Log2(arg(x, 0).ring.bits), Operand(l, 0, element(x.args[0]), 0), at, l.n, out, variant_);
    }
    case Op::kRotate:
      return Strings(l, [&](uint64_t* to) {
        const uint16_t* at = Index(l, 1, 1);
        fss::Rotate(Log2(arg(x, 0).ring.bits), Operand(l, 0, element(x.args[0]), 0), at, int(x.attrs[0]), l.n, to,
                    variant_);
      });
    case Op::kAbove:
      return Strings(l, [&](uint64_t* to) {
        const uint16_t* at = Index(l, 1, 1);
        fss::Above(Log2(arg(x, 0).ring.bits), Operand(l, 0, element(x.args[0]), 0), at, l.handle().table16, l.n, to,
                   variant_);
      });
    case Op::kDense:
      return Strings(l, [&](uint64_t* to) {
        const uint16_t* at = Index(l, 1, 1);
        fss::Dense(Log2(arg(x, 0).ring.bits), Operand(l, 0, element(x.args[0]), 0), at, l.handle().table64.data(),
                   x.ring.bits, l.n, to, variant_);
      });
    case Op::kLess:
      return Strings(l, [&](uint64_t* to) {
        uint8_t* words = l.spare(1);
        strips_.shift[3][1](Operand(l, 0, 8, 0), 0, ring::Mask(arg(x, 0).ring.bits), l.n, words);
        strips_.less(As<uint64_t>(words), l.handle().table64.data(), x.attrs.size(), l.n, to);
      });
    case Op::kMix:
      return Strings(l, [&](uint64_t* to) {
        const int bytes = std::max(8, element(x.args[0]));
        const uint32_t* first = l.handle().table32.data();
        strips_.mix(As<uint64_t>(Operand(l, 0, bytes, 0)), size_t(bytes) / 8, first, first + x.ring.bits + 1,
                    l.handle().table64.data(), size_t(x.ring.bits), l.n, to);
      });
    case Op::kUnbits:
      return Unbits(l);
    case Op::kDot: {
      int bits = std::max(8, element(x.args[0]));
      const std::vector<uint64_t>& table = *arg(x, 1).data;
      auto* to = As<uint64_t>(e == 8 ? out : l.spare(2));
      fss::Dot<uint64_t>(As<uint64_t>(Operand(l, 0, bits, 0)), size_t(bits) / 8, int(x.attrs[0]), int(table.size()),
                         table.data(), l.n, to, variant_);
      if (e != 8) strips_.move[3][Code(e)](to, l.n, out);
      return;
    }
    case Op::kSelect:
    case Op::kSelectX:
      return e <= 4 ? Select<uint32_t>(l, l.handle().table32) : Select<uint64_t>(l, l.handle().table64);
    default:
      return Arithmetical(l);
  }
}

template <class F>
void PackedExecutor::Strings(const Lane& l, F f) const {
  const int e = element(l.member().node);
  uint8_t* out = l.reg();
  if (e >= 8) return f(As<uint64_t>(out));
  f(As<uint64_t>(l.spare(2)));
  strips_.move[3][Code(e)](l.spare(2), l.n, out);
}

void PackedExecutor::Unbits(const Lane& l) const {
  const Member& m = l.member();
  const int stride = element(node(m.node).args[0]);
  SUF_CHECK(element(m.node) == 1);
  strips_.unbits(Operand(l, 0, stride, 0), size_t(stride), size_t(m.planes), l.n, l.n, l.reg());
}

template <class T>
void PackedExecutor::Select(const Lane& l, const std::vector<T>& table) const {
  const Member& m = l.member();
  const Node& x = node(m.node);
  const uint16_t* at = Index(l, 1, 1);
  const uint8_t* t = Operand(l, 0, element(x.args[0]), 0);
  size_t size = table.size() / size_t(m.planes);
  bool cut = element(m.node) != int(sizeof(T));
  uint8_t* room = cut ? l.spare(2) : l.reg();
  for (int c = 0; c < m.planes; c += 2) {  // two columns at a time
    size_t now = size_t(std::min(2, m.planes - c));
    const T* column[2];
    T* out[2];
    for (size_t j = 0; j < now; ++j) {
      column[j] = table.data() + (size_t(c) + j) * size;
      out[j] = As<T>(room) + (size_t(c) + j) * l.n;
    }
    const std::span<const T* const> columns(column, now);
    if (x.op == Op::kSelect)
      fss::Select<T>(Log2(arg(x, 0).ring.bits), t, at, columns, l.n, out, variant_);
    else
      fss::SelectX<T>(Log2(arg(x, 0).ring.bits), t, at, columns, l.n, out, variant_);
  }
  if (cut) strips_.move[Code(sizeof(T))][Code(element(m.node))](room, size_t(m.planes) * l.n, l.reg());
}

}  // namespace suf::cpu
