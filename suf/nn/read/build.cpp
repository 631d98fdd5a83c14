// Two tiles of a text in antiphase: rows [0, n1) and [n1, n). Each goes through every operator on rows, a tick apart.
// Attention reads all rows. There the tile that is ahead waits for the other one and then falls a tick behind it:
//
//    tick        t     t+1    t+2    t+3
//    tile a     k,q     .    scores  ..       waits two ticks with its q
//    tile b      .     k,q   ..               with P0 at t+1, when P1 works on a
//            (scores of b leave at t+1, those of a at t+2)
//
// A tile of a batch is a half of its texts, all rows of them. No operator joins texts, so no tile waits behind its ids.
// A tile keeps its parity throughout. So each party works on one tile while the other party works on the other one. A
// node of which readers want one row of a text has no tiles, except in a batch.
// (docs/mathematics.md#antiphase)
#include "suf/nn/read/build.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "suf/nn/ops/lookup.hpp"
#include "suf/nn/read/weights.hpp"
#include "suf/pfss/ops.hpp"

namespace suf::nn {

namespace {

using Tiles = std::vector<AnyWire>;  // the wires of both tiles, or the one wire of a single row or tile

template <class T>
T JoinedAs(const AnyWire& a, const AnyWire& b, bool texts) {
  const T &x = std::get<T>(a), &y = std::get<T>(b);
  auto join = [&](auto u, auto v) { return Concat(std::vector{u, v}, texts ? 0 : int(u.shape().size()) - 2); };
  auto hat = join(x.hat, y.hat);
  auto r = join(x.r, y.r);
  if constexpr (requires { x.s; }) {
    auto first = join(x.s.a, y.s.a);
    auto second = join(x.s.b, y.s.b);
    return {{hat, r}, {first, second}};
  } else {
    return {hat, r};
  }
}
// Joins the rows of both tiles of a text, or with `texts` both tiles' texts.
AnyWire Joined(const Tiles& x, bool texts) {
  if (x.size() == 1) return x[0];
  if (std::get_if<SharedWire<kPub>>(&x[0])) return JoinedAs<SharedWire<kPub>>(x[0], x[1], texts);
  if (std::get_if<SharedWire<kP0>>(&x[0])) return JoinedAs<SharedWire<kP0>>(x[0], x[1], texts);
  if (std::get_if<Summands>(&x[0])) throw Bug("the result reads an unopened value, which has one tile");
  return JoinedAs<Wire<kPub>>(x[0], x[1], texts);
}

// Delays a wire at the parties by `ticks`. The masks wait for nothing.
AnyWire Later(const AnyWire& w, int ticks) {
  return std::visit(
      [&](auto x) -> AnyWire {
        if constexpr (requires { x.hat; }) {
          x.hat = Wait(x.hat, ticks);
          return x;
        } else {
          throw Bug("an unopened value waits for nothing");
        }
      },
      w);
}

// Whether a wire has this ring and shape, in a form that serves readers of `form`.
bool Lies(const AnyWire& w, OperandForm form, int ring, const Shape& shape) {
  if (const auto* s = std::get_if<Summands>(&w)) return s->ring == ring && s->shape == shape;
  const bool both = std::holds_alternative<SharedWire<kPub>>(w);
  const bool serves = form == OperandForm::kOpen  ? both || std::holds_alternative<Wire<kPub>>(w)
                      : form == OperandForm::kMap ? both || std::holds_alternative<SharedWire<kP0>>(w)
                                                  : both;
  return serves && RingBits(w) == ring && ShapeOf(w) == shape;
}

// Returns the nodes of wires that readers take, except masks.
std::vector<int> NodesOf(const Tiles& wires) {
  std::vector<int> out;
  auto add = [&](int node) {
    if (std::find(out.begin(), out.end(), node) == out.end()) out.push_back(node);
  };
  for (const AnyWire& w : wires)
    std::visit(
        [&](const auto& x) {
          if constexpr (requires { x.hat; }) {
            add(x.hat.id());
          } else if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Summands>) {
            for (const compiler::Factor& f : x.sum) {
              if (f.p) add(f.p->id());
              if (f.held) add(f.held->a.id());
              if (f.held) add(f.held->b.id());
            }
          }
        },
        w);
  return out;
}

// Returns the first or the last row of each text of n tokens, of a wire with more rows.
AnyWire RowOf(const Operator& op, const AnyWire& w, int64_t texts, int64_t n, WantedRows which) {
  return On(w, [&](auto v) {
    const Shape s = v.shape();
    if (op.ResultLayout() == RowLayout::kPacked && s.size() == 2) {  // the pairs of the last row come last
      SUF_CHECK(which == WantedRows::kLast);
      auto pairs = Between(v, 1, s[1] - n, s[1]);
      return Reshape(pairs, {s[0], 1, n});
    }
    const bool flat = op.ResultLayout() == RowLayout::kRows && !op.heads;
    const int64_t rows = flat ? s[0] / texts : s[1], at = RangeOf(which, int(rows)).from;
    return flat ? RowsOfTexts(v, texts, at, 1) : Between(v, 1, at, at + 1);
  });
}

class Builder {
 public:
  Builder(pfss::Trace& t, const Plan& plan, int n, int variant, int texts)
      : t_(t), plan_(plan), c_(plan.For(n, variant)), n_(n), texts_(texts) {
    if (texts > 1) WantBatch();
    const int count = texts > 1 ? texts : n;  // a tile has whole texts of a batch, or rows of one text
    const int first = TilesOf(c_, n, texts) == 2 ? (count + 1) / 2 : count;
    for (int from = 0; from < count; from += first) {
      const int some = std::min(first, count - from);
      parts_.push_back(texts > 1 ? Part{from, some, {0, n}} : Part{0, 1, {from, some}});
    }
    if (parts_.size() > 1) FindNeeded();
  }

  Tiles Node(const nn::GraphNode& node, std::span<const Tiles* const> in) {
    const Operator& op = OpOf(node);
    if (op.unused) return {};
    t_.scope(node.scope);
    const bool one_row = op.one_row || op.wanted != WantedRows::kAll;
    if (parts_.size() == 1 || (one_row && texts_ == 1) || Last(node))
      return {Build(node, in, {0, texts_, {0, n_}}, -1)};
    const bool meets = Meets(node);
    Tiles out(parts_.size());
    for (int i : {0, 1})
      if (needed_[size_t(node.index)][size_t(i)]) out[size_t(i)] = Build(node, in, parts_[size_t(i)], i);
    if (meets) ahead_ = 1 - ahead_;
    return out;
  }

 private:
  // Rows of some texts: a tile, or all.
  struct Part {
    int first_text, texts;
    TextRows rows;
  };

  const Operator& OpOf(const nn::GraphNode& n) const { return *c_.ops[size_t(n.index)]; }
  bool Last(const nn::GraphNode& n) const { return &n == plan_.graph.nodes().back().get(); }
  // Refuses a batch with an operator that takes one text alone.
  void WantBatch() const {
    if (const nn::GraphNode* n = TakesOneText(plan_.graph, c_))
      Fail(Cause::kRefused, "a batch has ", texts_, " texts, and the operator ", n->op->Name(), " at nodes[", n->index,
           "] (", Graph::Where(*n), ") takes 1; run each text alone");
  }
  TakenRows InputRows(const nn::GraphNode& n, size_t k) const { return OpOf(n).InputRows(int(k), n.in.size()); }
  // Returns the row of an input that the node reads for its own rows. kAll stands for a tile's rows.
  WantedRows OwnRow(const nn::GraphNode& n, size_t k) const { return OwnRows(InputRows(n, k), OpOf(n).wanted); }
  // Whether the tiles' rows meet here for the first time since they were apart, as they do at scores.
  bool Meets(const nn::GraphNode& n) const {
    return texts_ == 1 && OpOf(n).ResultLayout() == RowLayout::kPairs &&
           OpOf(*n.in[0]).ResultLayout() == RowLayout::kRows;
  }

  // Finds the nodes of which each tile is read. Behind the last keys a first row needs no other tile. A tile of texts
  // has all rows that it reads.
  void FindNeeded() {
    needed_.assign(plan_.graph.size(), {texts_ > 1, texts_ > 1});
    needed_.back() = {true, true};
    for (size_t i = plan_.graph.size(); i-- > 0;) {
      const nn::GraphNode& n = plan_.graph.node(i);
      if (OpOf(n).unused) continue;
      for (size_t k = 0; k < n.in.size(); ++k) {
        if (!OpOf(n).Uses(int(k))) continue;
        std::array<bool, 2>& x = needed_[size_t(n.in[k]->index)];
        const TakenRows taken = InputRows(n, k);
        const WantedRows row = OwnRow(n, k);
        const bool any = needed_[i][0] || needed_[i][1];
        const bool all = any && (taken == TakenRows::kAll || taken == TakenRows::kBoth || Last(n));
        x[0] = x[0] || all || (row == WantedRows::kAll ? needed_[i][0] : any && row == WantedRows::kFirst);
        x[1] = x[1] || all || (row == WantedRows::kAll ? needed_[i][1] : any && row == WantedRows::kLast);
      }
    }
  }

  // Builds a tile's rows, or (tile -1) all rows or a text's one row.
  AnyWire Build(const nn::GraphNode& node, std::span<const Tiles* const> in, Part part, int tile) {
    const Operator& op = OpOf(node);
    if (op.wanted != WantedRows::kAll) part.rows = RangeOf(op.wanted, n_);
    std::vector<AnyWire> x, behind;
    for (size_t k = 0; k < in.size(); ++k) {
      const Tiles& from = *in[k];
      if (from.empty()) {
        x.emplace_back();  // unused in this class
        continue;
      }
      const nn::GraphNode& source = *node.in[k];
      const TakenRows taken = InputRows(node, k);
      const WantedRows row = OwnRow(node, k);
      if (taken == TakenRows::kFirst || taken == TakenRows::kLast) part.rows = RangeOf(row, n_);
      if (row != WantedRows::kAll)
        x.push_back(Row(source, from, part, tile, row));
      else
        x.push_back(taken == TakenRows::kAll ? AllRows(source, from, tile) : Own(source, from, tile));
      if (taken == TakenRows::kBoth) behind.push_back(AllRows(source, from, tile));
    }
    x.insert(x.end(), behind.begin(), behind.end());
    if (tile >= 0 && tile == ahead_ && Meets(node)) x[0] = Later(x[0], 2);
    const auto [first, count] = part.rows;
    Emission e{t_, n_, Last(node), op.form, std::to_string(node.index), node.label, first, count};
    if (tile >= 0 && tile != ahead_ && node.in.empty()) e.wait = 1;
    e.texts = texts_;
    e.first_text = part.first_text;
    e.texts_here = part.texts;
    if (&c_ != &plan_.classes[0])
      for (const WeightSlot& s : op.Slots()) e.others[s.name] = SlotName(plan_, c_, node, s);
    return Built(node, e, x);
  }
  // Builds a node and checks the promises that Check made to its readers. A broken promise refuses the plan, because
  // another party may have written it.
  AnyWire Built(const nn::GraphNode& node, const Emission& e, std::span<const AnyWire> x) const {
    const Operator& op = OpOf(node);
    const std::string where = Str("nodes[", node.index, "] (", Graph::Where(node), ")");
    try {
      AnyWire y = op.Build(e, x);
      SUF_CHECK(e.result == std::holds_alternative<std::monostate>(y));
      SUF_CHECK(op.summands == std::holds_alternative<Summands>(y));
      SUF_CHECK(e.result || Lies(y, op.form, op.built, ShapeOf(op, e)));
      return y;
    } catch (const Bug& bug) {
      throw Unbuilt(where, bug.what());
    } catch (const Error& error) {
      Fail(Cause::kRefused, "the plan cannot be built ", texts_ > 1 ? Str("for ", texts_, " texts ") : "", "at ", where,
           ": ", error.what());
    }
  }
  // Returns the shape of the wire of a node's rows.
  Shape ShapeOf(const Operator& op, const Emission& e) const {
    const int64_t texts = e.texts_here, rows = op.one_row ? 1 : e.rows;
    if (op.ResultLayout() == RowLayout::kPairs || (op.ResultLayout() == RowLayout::kPacked && !e.Packed(true)))
      return {texts * op.dim, rows, n_};
    if (op.ResultLayout() == RowLayout::kPacked) return {texts * op.dim, int64_t{n_} * (n_ + 1) / 2};
    if (op.heads) return {texts * op.heads, rows, op.dim / op.heads};
    return {texts * rows, op.dim};
  }
  // Returns the tile's wire of an input. The result reads both tiles.
  AnyWire Own(const nn::GraphNode& source, const Tiles& from, int tile) {
    return from.size() == 1 ? from[0] : tile >= 0 ? from[size_t(tile)] : Whole(source, from);
  }
  // Returns the wire of all rows of each of the tile's texts.
  AnyWire AllRows(const nn::GraphNode& source, const Tiles& from, int tile) {
    return texts_ > 1 ? Own(source, from, tile) : Whole(source, from);
  }
  // Returns the wire of one row of each of the tile's texts.
  AnyWire Row(const nn::GraphNode& source, const Tiles& from, const Part& part, int tile, WantedRows which) {
    const bool ends = texts_ == 1 && from.size() == 2;  // a text's first row is in its first tile
    const AnyWire w = !ends ? Own(source, from, tile) : which == WantedRows::kFirst ? from[0] : from[1];
    const Operator& op = OpOf(source);
    return op.one_row || op.wanted != WantedRows::kAll ? w : RowOf(op, w, part.texts, n_, which);
  }
  // Joins both tiles of a node to one wire, once.
  AnyWire Whole(const nn::GraphNode& node, const Tiles& x) {
    auto [at, fresh] = whole_.try_emplace(node.index);
    if (fresh) at->second = Joined(x, texts_ > 1);
    return at->second;
  }

  pfss::Trace& t_;
  const Plan& plan_;
  const Class& c_;
  const int n_, texts_;
  std::vector<Part> parts_;
  std::vector<std::array<bool, 2>> needed_;  // by node and tile
  std::map<int, AnyWire> whole_;             // by node
  int ahead_ = 0;                            // the tile whose turn comes first
};

}  // namespace

Unbuilt::Unbuilt(const std::string& where, const std::string& why)
    : Error(Cause::kRefused, Str("the plan cannot be built at ", where, ": ", why, "; compile the plan again")) {}

void Build(pfss::Trace& t, const Plan& plan, int n, int variant, int texts, std::vector<OperatorNodes>* emitted) {
  CheckBatch(texts, kMostTexts);
  t.SetKeysTo(plan.variants.at(size_t(variant)).keys_to);
  Builder b(t, plan, n, variant, texts);
  Forward<Tiles>(plan.graph, [&](const GraphNode& node, std::span<const Tiles* const> in) {
    if (!emitted) return b.Node(node, in);
    t.BalanceAfresh();
    const int begin = int(t.nodes().size());
    Tiles out = b.Node(node, in);
    emitted->push_back({begin, int(t.nodes().size()), NodesOf(out)});
    return out;
  });
  t.close();
}

}  // namespace suf::nn
