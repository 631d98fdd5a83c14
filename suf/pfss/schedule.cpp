#include "suf/pfss/schedule.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace suf::pfss {

int64_t PackedBytes(const Node& n) { return (Size(n.shape) * n.ring.bits + 7) / 8; }

std::vector<int> Live(const Trace& t, Role role) {
  const auto& nodes = t.nodes();
  // marks all nodes that `start` depends on; operands precede their readers, so one pass is enough
  auto back = [&](const std::vector<int>& start, auto stop) {
    std::vector<char> seen(nodes.size());
    for (int i : start) seen[i] = 1;
    for (int i = int(nodes.size()) - 1; i >= 0; --i)
      if (seen[i] && !stop(i))
        for (int a : nodes[i].args) seen[a] = 1;
    return seen;
  };
  auto message = [&](int i) { return nodes[i].op == Op::kSend || nodes[i].op == Op::kTell; };
  // whether the role itself sends a message
  auto mine = [&](int i) { return nodes[i].op == Op::kSend ? nodes[i].attrs[0] == int(role) : role == Role::kDealer; };
  std::vector<int> results;
  for (int p : {0, 1})
    for (const Trace::Result& r : t.results(p)) results.push_back(r.node);
  std::vector<char> all = back(results, [](int) { return false; });
  std::vector<int> start;
  for (int i = 0; i < int(nodes.size()); ++i)
    if (all[i] && message(i) && mine(i)) start.push_back(i);
  if (role != Role::kDealer)
    for (const Trace::Result& r : t.results(int(role))) start.push_back(r.node);
  std::vector<char> seen = back(start, [&](int i) { return message(i) && !mine(i); });
  std::vector<int> live;
  for (int i = 0; i < int(nodes.size()); ++i)
    if (seen[i]) {
      SUF_CHECK(nodes[i].know & KnowerOf(role) || nodes[i].op == Op::kSend);
      live.push_back(i);
    }
  return live;
}

Schedule::Schedule(const Trace& trace) : t_(&trace) {
  SUF_CHECK(trace.closed());
  for (int r = 0; r < 3; ++r) live_[r] = Live(trace, Role(r));
  SetTicks();
  SetWidths();
  BuildFrames();
  BuildKeys();
}

namespace {

// Returns, by node and party, the first tick at which it can be known. Ticks of waits count if `waits`.
std::vector<std::array<int, 2>> TicksOf(const Trace& t, bool waits) {
  const auto& nodes = t.nodes();
  std::vector<std::array<int, 2>> at(nodes.size(), {-1, -1});
  for (int i = 0; i < int(nodes.size()); ++i) {
    const Node& n = nodes[i];
    if (n.op == Op::kInput) {
      at[i] = {int(n.attrs[0]), int(n.attrs[0])};
    } else if (n.op == Op::kSend) {
      int p = int(n.attrs[0]);
      at[i][p] = at[n.args[0]][p];
      at[i][1 - p] = at[i][p] + 1;
    } else if (n.op != Op::kTell) {  // a party that does not know the node never reads its entry
      for (int a : n.args)
        for (int p : {0, 1}) at[i][p] = std::max(at[i][p], at[a][p]);
      for (int p : {0, 1})
        if (waits && n.op == Op::kWait && at[i][p] >= 0) at[i][p] += int(n.attrs[0]);
    }
  }
  return at;
}

}  // namespace

void Schedule::SetTicks() { at_ = TicksOf(*t_, true); }

// Returns how many low bits of operand j are read for w low bits of the node.
static int Needed(WidthRule rule, const Node& n, size_t j, int w, Ring operand) {
  if (operand.kind == Ring::kXor) return operand.bits;
  switch (rule) {
    case WidthRule::kSame:
      return w;
    case WidthRule::kShl:
      return std::max<int>(1, w - int(n.attrs[0]));
    case WidthRule::kShr:
      return w + int(n.attrs[0]);
    case WidthRule::kFirst:
      return j == 0 ? w : operand.bits;
    case WidthRule::kRest:
      return j > 0 ? w : operand.bits;
    case WidthRule::kRing:
      return n.ring.bits;
    case WidthRule::kWhole:
      return operand.bits;
  }
  SUF_CHECK(false);
  return 0;
}

// Finds how many low bits of each value are read. Ring operations read as many bits of their operands as are read of
// their results. Other operations read the whole representative.
void Schedule::SetWidths() {
  const auto& nodes = t_->nodes();
  width_.assign(nodes.size(), 0);
  auto need = [&](int i, int bits) { width_[i] = std::max(width_[i], std::min(bits, nodes[i].ring.bits)); };
  for (int p : {0, 1})
    for (const Trace::Result& r : t_->results(p)) need(r.node, 64);
  for (int i = int(nodes.size()) - 1; i >= 0; --i) {
    const Node& n = nodes[i];
    if (n.ring.kind == Ring::kXor) width_[i] = n.ring.bits;
    if (n.op == Op::kSend || n.op == Op::kTell || n.op == Op::kRand) width_[i] = n.ring.bits;
    int w = width_[i];
    if (w == 0) continue;  // dead
    const WidthRule rule = Info(n.op).width;
    for (size_t j = 0; j < n.args.size(); ++j) need(n.args[j], Needed(rule, n, j, w, nodes[size_t(n.args[j])].ring));
  }
}

// Returns the tick at which party p computes each node: the first possible one. Nodes that need no message are
// computed with their first reader: keys, PRG words and cheap functions of them. A reader may be a frame before the
// inference.
std::vector<int> Schedule::PlaceNodes(int p) const {
  constexpr int kNever = 1 << 30;
  const auto& nodes = t_->nodes();
  std::vector<int> place(nodes.size(), kNever);
  std::vector<char> ends(nodes.size());
  for (const Trace::Result& r : t_->results(p)) ends[size_t(r.node)] = 1;
  for (size_t k = live_[p].size(); k-- > 0;) {
    int i = live_[p][k];
    const Node& n = nodes[size_t(i)];
    bool heavy = n.op == Op::kMatmul || n.op == Op::kSum || n.op == Op::kSuffix;
    bool own = ends[size_t(i)] || (n.op == Op::kSend && n.attrs[0] == p);
    if (at_[i][p] >= 0 || heavy || own || place[size_t(i)] == kNever) place[size_t(i)] = at_[i][p];
    if (n.op == Op::kTell || (n.op == Op::kSend && n.attrs[0] != p)) continue;  // its operands are another role's
    for (int a : n.args) place[size_t(a)] = std::min(place[size_t(a)], place[size_t(i)]);
  }
  return place;
}

void Schedule::BuildFrames() {
  const auto& nodes = t_->nodes();
  std::map<std::pair<int, int>, int> index;
  for (int i : live_[0])  // a send is live for both parties or for neither
    if (nodes[i].op == Op::kSend) index[{at_[i][nodes[i].attrs[0]], int(nodes[i].attrs[0])}] = 0;
  for (int i : live_[1])
    if (nodes[i].op == Op::kSend) index[{at_[i][nodes[i].attrs[0]], int(nodes[i].attrs[0])}] = 0;
  for (auto& [key, at] : index) {
    at = int(frames_.size());
    frames_.push_back({key.first, key.second, {}});
  }
  for (int p : {0, 1})
    for (int i : live_[p]) {
      const Node& n = nodes[i];
      if (n.op != Op::kSend || n.attrs[0] != p) continue;
      Frame& f = frames_[index[{at_[i][p], p}]];
      f.parts.push_back({i, f.bytes, PackedBytes(n)});
      f.bytes += PackedBytes(n);
      f.bits += Size(n.shape) * n.ring.bits;
    }
  // waits order the turns of the parties, but no message depends on another one by them
  const std::vector<std::array<int, 2>> early = TicksOf(*t_, false);
  flights_ = 0;
  for (auto& f : frames_)
    for (auto& part : f.parts) flights_ = std::max(flights_, early[size_t(part.node)][size_t(f.sender)] + 1);
  for (int p : {0, 1}) {
    std::map<int, Step> steps;
    auto step = [&](int tick) -> Step& { return steps.try_emplace(tick, Step{tick, -1, -1, {}}).first->second; };
    for (int f = 0; f < int(frames_.size()); ++f) {
      if (frames_[f].sender == p)
        step(frames_[f].tick).send = f;
      else
        step(frames_[f].tick + 1).receive = f;
    }
    std::vector<int> place = PlaceNodes(p);
    for (int i : live_[p]) step(place[size_t(i)]).nodes.push_back(i);
    for (auto& [tick, s] : steps) steps_[p].push_back(std::move(s));
    for (const Trace::Result& r : t_->results(p)) flights_ = std::max(flights_, early[size_t(r.node)][size_t(p)]);
  }
}

void Schedule::BuildKeys() {
  const auto& nodes = t_->nodes();
  std::vector<int> first(nodes.size(), 1 << 30);  // tick of the first step in which a party reads a key section
  for (int p : {0, 1})
    for (const Step& step : steps_[p])
      for (int i : step.nodes) first[size_t(i)] = std::min(first[size_t(i)], step.tick);
  std::vector<int> tells;
  for (int i : live_[2])
    if (nodes[i].op == Op::kTell) tells.push_back(i);
  std::stable_sort(tells.begin(), tells.end(), [&](int a, int b) { return first[a] < first[b]; });
  std::vector<char> done(nodes.size());
  for (int i : tells) {
    std::vector<int> todo{i}, mine;
    while (!todo.empty()) {
      int j = todo.back();
      todo.pop_back();
      if (std::exchange(done[j], 1)) continue;
      mine.push_back(j);
      todo.insert(todo.end(), nodes[j].args.begin(), nodes[j].args.end());
    }
    std::sort(mine.begin(), mine.end());  // emission order is a topological order.
    // A section that the dealer needs to make this one (P0's table, for the sign) precedes it.
    for (int j : mine)
      for (int p : {0, 1})
        if (nodes[j].op == Op::kTell && nodes[j].attrs[0] & int64_t(Party(p))) {
          key_[p].push_back({j, key_bytes_[p], PackedBytes(nodes[j])});
          key_bytes_[p] += PackedBytes(nodes[j]);
          key_bits_[p] += Size(nodes[j].shape) * nodes[j].ring.bits;
        }
    dealing_.insert(dealing_.end(), mine.begin(), mine.end());
  }
}

int64_t Schedule::sent(int p, bool online) const {
  int64_t n = 0;
  for (auto& f : frames_)
    if (f.sender == p && (f.tick >= 0) == online) n += f.bytes;
  return n;
}

int Schedule::frame_count(int p, bool online) const {
  return int(
      std::count_if(frames_.begin(), frames_.end(), [&](auto& f) { return f.sender == p && (f.tick >= 0) == online; }));
}

std::vector<int> UnusedMessages(const Schedule& s) {
  const auto& nodes = s.trace().nodes();
  std::vector<char> read(nodes.size());
  for (auto& f : s.frames())
    for (auto& part : f.parts) read[size_t(part.node)] = 1;
  for (int p : {0, 1})
    for (auto& part : s.key(p)) read[size_t(part.node)] = 1;
  std::vector<int> out;
  for (int i = 0; i < int(nodes.size()); ++i)
    if (Info(nodes[size_t(i)].op).cls == OpClass::kMessage && !read[size_t(i)]) out.push_back(i);
  return out;
}

std::string Print(const Trace& t) {
  static const char* kKnow[] = {"nobody", "own0", "own1", "pub", "sec", "rnd0", "rnd1", "const"};
  std::ostringstream out;
  int scope = -1;
  for (int i = 0; i < int(t.nodes().size()); ++i) {
    const Node& n = t.node(i);
    if (n.scope != scope) out << "# " << t.name(uint16_t(scope = n.scope)) << "\n";
    out << "%" << i << " = " << Name(n.op);
    for (int a : n.args) out << " %" << a;
    if (!n.attrs.empty()) {
      out << " [";
      for (size_t k = 0; k < n.attrs.size(); ++k) out << (k ? " " : "") << n.attrs[k];
      out << "]";
    }
    if (n.data) {
      constexpr size_t kShown = 8;
      out << " {";
      for (size_t k = 0; k < std::min(kShown, n.data->size()); ++k) out << (k ? " " : "") << int64_t((*n.data)[k]);
      out << (n.data->size() > kShown ? " ..}" : "}");
    }
    if (n.label) out << " \"" << t.name(n.label) << "\"";
    out << " : " << kKnow[n.know] << " " << (n.ring.kind == Ring::kAdd ? "Z" : "X") << n.ring.bits << " (";
    for (size_t k = 0; k < n.shape.size(); ++k) out << (k ? "," : "") << n.shape[k];
    out << ")\n";
  }
  return out.str();
}

std::string Print(const Schedule& s) {
  const Trace& t = s.trace();
  std::ostringstream out;
  auto parts = [&](const std::vector<FrameField>& list) {
    for (const FrameField& part : list) {
      const Node& n = t.node(part.node);
      out << "  %" << part.node;
      if (n.label) out << " \"" << t.name(n.label) << "\"";
      out << ": " << Size(n.shape) << " x " << n.ring.bits << " bits at " << part.at << "\n";
    }
  };
  out << "flights " << s.flights() << "\n";
  for (const Frame& f : s.frames()) {
    out << "frame P" << f.sender << " to P" << 1 - f.sender << ", tick " << f.tick << ", " << f.bytes << " bytes\n";
    parts(f.parts);
  }
  for (int p : {0, 1}) {
    out << "key P" << p << ", " << s.key_bytes(p) << " bytes\n";
    parts(s.key(p));
  }
  for (int p : {0, 1})
    for (const Step& step : s.steps(p)) {
      out << "step P" << p << ", tick " << step.tick;
      if (step.receive >= 0) out << ", receives frame " << step.receive;
      if (step.send >= 0) out << ", sends frame " << step.send;
      out << ":";
      for (int i : step.nodes) out << " %" << i;
      out << "\n";
    }
  return out.str();
}

}  // namespace suf::pfss
