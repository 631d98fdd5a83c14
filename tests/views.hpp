// The view of a corrupt party on streams that can be moved and broken, and two checks of it. The view is its key bundle
// and the other party's messages. Each item is a value under a pad, a PRG section of the honest party. The lint proves
// the same from the trace alone (docs/mathematics.md#lint).
#pragma once
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "suf/fss/sizes.hpp"
#include "suf/pfss/backend.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::views {

using pfss::Op;
using pfss::Ring;

// ---- words of a PRG section or a packed tensor

// `count` elements of a ring in PRG storage, ElementBytes each.
struct Words {
  Ring ring;
  Bytes bytes;
  size_t element() const { return fss::ElementBytes(ring.bits); }
};

// Unpacks bit by bit. It shares no code with the engines, whose messages it reads.
inline Words Unpacked(View packed, int64_t count, Ring ring) {
  Words w{ring, Bytes(size_t(count) * fss::ElementBytes(ring.bits))};
  for (size_t i = 0; i < size_t(count); ++i)
    for (size_t b = 0; b < size_t(ring.bits); ++b) {
      size_t from = i * size_t(ring.bits) + b;
      w.bytes[i * w.element() + b / 8] |= uint8_t((packed[from / 8] >> from % 8 & 1) << b % 8);
    }
  return w;
}

// a += sign b in b's ring, elements of `element` bytes; exclusive or for bit strings.
inline void AddTo(std::span<uint8_t> a, std::span<const uint8_t> b, Ring::Kind kind, size_t element, int sign = 1) {
  if (kind == Ring::kXor) {
    for (size_t i = 0; i < a.size(); ++i) a[i] ^= b[i];
    return;
  }
  for (size_t i = 0; i + element <= a.size(); i += element) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, &a[i], element);
    std::memcpy(&y, &b[i], element);
    x = sign > 0 ? x + y : x - y;
    std::memcpy(&a[i], &x, element);
  }
}

// The same elements modulo 2^bits.
inline Words Reduced(Words w) {
  if (w.ring.kind == Ring::kAdd)
    for (size_t i = 0; i < w.bytes.size(); i += w.element()) {
      uint64_t x = 0;
      std::memcpy(&x, &w.bytes[i], w.element());
      x &= ring::Mask(w.ring.bits);
      std::memcpy(&w.bytes[i], &x, w.element());
    }
  return w;
}

inline Words Plus(Words a, const Words& b, int sign = 1) {
  AddTo(a.bytes, b.bytes, a.ring.kind, a.element(), sign);
  return Reduced(std::move(a));
}

// ---- streams that can be moved and broken

using Section = std::pair<int, int>;  // party, section
inline constexpr int kZeros = -1;

struct Streams {
  std::map<Section, Words> moved;  // added to the section
  std::map<Section, int> instead;  // planted: read instead, another section of the party or zeros
};

class Moved : public pfss::Randomness {
 public:
  Moved(std::unique_ptr<pfss::Randomness> real, const Streams& streams) : real_(std::move(real)), streams_(streams) {}
  std::unique_ptr<SectionReader> SectionAt(int party, int section) const override {
    auto instead = streams_.instead.find({party, section});
    bool zeros = instead != streams_.instead.end() && instead->second == kZeros;
    if (instead != streams_.instead.end() && !zeros) section = instead->second;
    auto by = streams_.moved.find({party, section});
    return std::make_unique<Shifted>(real_->SectionAt(party, section), zeros,
                                     by == streams_.moved.end() || zeros ? nullptr : &by->second);
  }
  std::array<uint8_t, 16> TreeKey() const override { return real_->TreeKey(); }

 private:
  class Shifted : public SectionReader {
   public:
    Shifted(std::unique_ptr<SectionReader> real, bool zeros, const Words* by)
        : real_(std::move(real)), zeros_(zeros), by_(by) {}
    void Fill(uint64_t offset, std::span<uint8_t> out) const override {
      if (zeros_) return void(std::memset(out.data(), 0, out.size()));
      real_->Fill(offset, out);
      if (!by_ || offset >= by_->bytes.size()) return;
      size_t n = std::min(out.size(), by_->bytes.size() - size_t(offset));
      AddTo(out.first(n), std::span(by_->bytes).subspan(size_t(offset), n), by_->ring.kind, by_->element());
    }

   private:
    std::unique_ptr<SectionReader> real_;
    bool zeros_;
    const Words* by_;
  };
  std::unique_ptr<pfss::Randomness> real_;
  const Streams& streams_;
};

// ---- the view

// One tensor that the corrupt party receives, and the honest party's section that pads it.
struct Item {
  int node, frame;  // frame: -1 for a key section
  int64_t at, bytes, size;
  Ring ring;
  int pad_bits;
  Section pad;
  int sign;  // item = value + sign pad
  std::string label;
};

struct Received {
  std::vector<Item> items;
  std::vector<std::string> faults;  // items without a pad of their own
  int trees = 0;                    // correction words, left out
  int result = -1;                  // the frame with the result message
  pfss::FrameField result_part{};
};

// Everything that party p receives, except the result.
inline Received ReceivedBy(const pfss::Schedule& s, int p) {
  const pfss::Trace& t = s.trace();
  Received v;
  std::map<Section, int> used;
  auto add = [&](int frame, const pfss::FrameField& part) {
    const pfss::Node& m = t.node(part.node);
    int payload = m.args[0];
    while (t.node(payload).op == Op::kLow) payload = t.node(payload).args[0];
    const pfss::Node& sum = t.node(payload);
    std::string label =
        Str(frame < 0 ? "key section " : "message ", part.node, " ", t.name(m.label), " of ", t.name(m.scope));
    if (sum.op == Op::kDpfGen || sum.op == Op::kDcfGen) return void(++v.trees);
    if ((sum.op != Op::kAdd && sum.op != Op::kSub) || t.node(sum.args[1]).op != Op::kRand)
      return v.faults.push_back(label + " has no pad");
    const pfss::Node& pad = t.node(sum.args[1]);
    Section section{int(pad.attrs[0]), int(pad.attrs[1])};
    if (section.first == p) return v.faults.push_back(label + " is padded by its reader");
    if (!used.emplace(section, part.node).second) return v.faults.push_back(label + " has a pad that is used twice");
    v.items.push_back({part.node, frame, part.at, part.bytes, pfss::Size(m.shape), m.ring, pad.ring.bits, section,
                       sum.op == Op::kAdd ? 1 : -1, label});
  };
  for (auto& part : s.key(p)) add(-1, part);
  for (size_t f = 0; f < s.frames().size(); ++f)
    for (auto& part : s.frames()[f].parts) {
      if (s.frames()[f].sender == p) continue;
      if (t.name(t.node(part.node).label) == "result") {
        v.result = int(f);
        v.result_part = part;
      } else
        add(int(f), part);
    }
  return v;
}

// An item's bytes in a run.
inline View Seen(const run::PairRun& run, int p, const Item& i) {
  const Bytes& from = i.frame < 0 ? run.key[size_t(p)] : run.frame[size_t(i.frame)];
  return View(from).subspan(size_t(i.at), size_t(i.bytes));
}
inline bool Same(View a, View b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// An item's elements as its pad's section stores them, so that they can be added to it.
inline Words InPadStorage(View packed, const Item& i) {
  Words w = Unpacked(packed, i.size, i.ring);
  if (fss::ElementBytes(i.pad_bits) == w.element()) return w;
  SUF_CHECK(i.ring.kind == Ring::kAdd);
  Words wide{Ring{Ring::kAdd, i.pad_bits}, Bytes(size_t(i.size) * fss::ElementBytes(i.pad_bits))};
  for (size_t e = 0; e < size_t(i.size); ++e)
    std::memcpy(&wide.bytes[e * wide.element()], &w.bytes[e * w.element()], w.element());
  return wide;
}

// ---- the two tests

using Run = std::function<run::PairRun(const Streams&)>;

struct OrderReport {
  int items = 0, stuck = 0, cycles = 0;  // stuck: items that did not move by exactly their pad's step
  std::vector<std::string> faults;
  bool ok() const { return items > 0 && !stuck && !cycles && faults.empty(); }
};

// The number of back edges of the graph.
inline int Cycles(const std::vector<std::vector<size_t>>& to) {
  std::vector<int> state(to.size());
  int cycles = 0;
  std::function<void(size_t)> visit = [&](size_t v) {
    state[v] = 1;
    for (size_t o : to[v])
      if (state[o] == 1)
        ++cycles;
      else if (!state[o])
        visit(o);
    state[v] = 2;
  };
  for (size_t v = 0; v < to.size(); ++v)
    if (!state[v]) visit(v);
  return cycles;
}

// Checks that each pad moves its own item by exactly its own step, and others only along an acyclic graph. So pads ->
// view is a bijection for every secret.
inline OrderReport Order(const pfss::Schedule& s, int p, const Run& run, Streams streams) {
  Received view = ReceivedBy(s, p);
  OrderReport report{int(view.items.size()), 0, 0, view.faults};
  run::PairRun before = run(streams);
  std::mt19937_64 rng(1);
  std::vector<std::vector<size_t>> moves(view.items.size());
  for (size_t k = 0; k < view.items.size(); ++k) {
    const Item& item = view.items[k];
    Bytes random(size_t(item.bytes));
    for (uint8_t& b : random) b = uint8_t(rng());
    streams.moved[item.pad] = InPadStorage(random, item);
    run::PairRun after = run(streams);
    streams.moved.clear();
    Words want =
        Plus(Unpacked(Seen(before, p, item), item.size, item.ring), Unpacked(random, item.size, item.ring), item.sign);
    report.stuck += Unpacked(Seen(after, p, item), item.size, item.ring).bytes != want.bytes;
    for (size_t o = 0; o < view.items.size(); ++o)
      if (o != k && !Same(Seen(before, p, view.items[o]), Seen(after, p, view.items[o]))) moves[k].push_back(o);
  }
  report.cycles = Cycles(moves);
  return report;
}

struct EquivReport {
  int items = 0, iterations = 0, left = 0;  // left: items that still differ
  bool differs = false, explained = false;  // of the results; and their difference is that of the result messages
  Streams streams;                          // the pads that were found
  bool ok() const { return items > 0 && !left && explained; }
};

// Finds pads under which other secrets give party p the same view, byte for byte. `a` and `b` run with different
// secrets of party 1 - p.
inline EquivReport Equiv(const pfss::Schedule& s, int p, const Run& a, const Run& b, Streams streams) {
  constexpr int kMost =
      200;  // a pad is settled once the pads before it are: at most one iteration a flight and dealt product
  Received view = ReceivedBy(s, p);
  EquivReport report{int(view.items.size())};
  run::PairRun want = a(streams), got;
  do {
    got = b(streams);
    report.left = 0;
    for (const Item& i : view.items) {
      View w = Seen(want, p, i), g = Seen(got, p, i);
      if (Same(w, g)) continue;
      ++report.left;
      Words step = InPadStorage(w, i);
      AddTo(step.bytes, InPadStorage(g, i).bytes, i.ring.kind, step.element(), -1);
      auto [it, fresh] = streams.moved.try_emplace(i.pad, Words{{i.ring.kind, i.pad_bits}, Bytes(step.bytes.size())});
      AddTo(it->second.bytes, step.bytes, i.ring.kind, step.element(), i.sign);
    }
  } while (++report.iterations < kMost && report.left);
  report.streams = streams;
  report.differs = want.result[1] != got.result[1];
  report.explained = true;
  if (view.result < 0) return report;
  auto message = [&](const run::PairRun& r) {
    const pfss::Node& m = s.trace().node(view.result_part.node);
    return Unpacked(
        View(r.frame[size_t(view.result)]).subspan(size_t(view.result_part.at), size_t(view.result_part.bytes)),
        pfss::Size(m.shape), m.ring);
  };
  Words m_want = message(want), m_got = message(got);
  for (size_t i = 0; i < want.result[1].size(); ++i) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, &m_want.bytes[i * m_want.element()], m_want.element());
    std::memcpy(&y, &m_got.bytes[i * m_got.element()], m_got.element());
    report.explained &= ((want.result[1][i] - got.result[1][i] - (x - y)) & ring::Mask(m_want.ring.bits)) == 0;
  }
  return report;
}

// Runs a schedule with these inputs, all roles on one backend; both must outlive the result. `bundle` names the keys.
inline Run RunOf(const pfss::Schedule& schedule, pfss::Backend& backend, std::shared_ptr<std::array<run::Inputs, 3>> in,
                 uint8_t bundle = 0) {
  return [&schedule, &backend, in, bundle](const Streams& streams) {
    pfss::BundleSecrets secrets{{Secret(Hash{1, bundle}), Secret(Hash{2, bundle})}, Hash{3, bundle}};
    auto wrap = [&](Role, std::unique_ptr<pfss::Randomness> real) {
      return std::make_unique<Moved>(std::move(real), streams);
    };
    return run::RunPair({schedule, {&backend, &backend, &backend}, {&(*in)[0], &(*in)[1], &(*in)[2]}, secrets, wrap});
  };
}

}  // namespace suf::views
