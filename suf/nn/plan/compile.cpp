#include "suf/nn/plan/compile.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "suf/nn/plan/fold.hpp"
#include "suf/nn/plan/knob_search.hpp"
#include "suf/nn/plan/measure.hpp"
#include "suf/nn/read/forward.hpp"
#include "suf/nn/read/simulate.hpp"

namespace suf::nn {

namespace {

constexpr int kWidest = 64;
constexpr int kLeastScale = 4;  // to which a scale is lowered for a ring that its operator sets itself

// The report that a ring which an operator sets itself lacks bits. The scale of its result can be lowered.
struct NarrowRing {
  int node = 0, bits = 0, scale = 0;
};

int BitsOf(const RowBound& r) { return BitLength(r.most()); }

// Returns the longest text of each length class, in increasing order.
std::vector<int> ClassLengths(int max_tokens) {
  std::vector<int> out;
  for (int n = 8; n < max_tokens; n *= 2) out.push_back(n);
  out.push_back(max_tokens);
  return out;
}

// Counts the steps of a stage and reports the part that is done. `report` may be null.
class StageProgress {
 public:
  StageProgress(std::function<void(double)> report, size_t steps) : report_(std::move(report)), steps_(steps) {}
  void Step() {
    ++done_;
    Report();
  }
  void Report() const {
    if (report_) report_(std::min(1.0, double(done_) / double(steps_)));  // steps repeat if a scale is lowered
  }

 private:
  const std::function<void(double)> report_;
  const size_t steps_;
  size_t done_ = 0;
};

// A forward pass over one class, with the edges and their reaches by node.
class Walk {
 public:
  Walk(const Graph& g, Ops& ops) : ops_(ops), edges_(g.size()), rows_(g.size(), false) {
    for (size_t i = g.size(); i-- > 0;)
      for (const GraphNode* r : g.Readers(&g.node(i)))
        rows_[i] = rows_[i] || ops[size_t(r->index)]->ReadsRows(rows_[size_t(r->index)]);
  }
  // Whether a reader of the node uses the length of its rows.
  bool Rows(const GraphNode& n) const { return rows_[size_t(n.index)]; }
  Edges In(const GraphNode& n) const {
    Edges in;
    for (const GraphNode* x : n.in) in.push_back(edges_[size_t(x->index)]);
    return in;
  }
  // Returns the node's widths and keeps the edge of its result.
  std::vector<Width> Bound(const GraphNode& n, const Facts& c) {
    Operator& op = *ops_[size_t(n.index)];
    const Edges in = In(n);
    std::vector<Width> widths;
    Edge& e = edges_[size_t(n.index)];
    e.reach = op.Bound(c, in, &widths);
    op.dim = e.dim = op.Dim(in);
    op.one_row = e.one_row = op.OneRow(in);
    e.scale = op.scale;
    e.nominal = op.Nominal(c.options);
    e.ring = op.ring;
    return widths;
  }
  Edge& edge(const GraphNode& n) { return edges_[size_t(n.index)]; }

 private:
  Ops& ops_;
  std::vector<Edge> edges_;
  std::vector<bool> rows_;
};

class Compiler {
 public:
  Compiler(const Graph& g, const Checkpoint& w, const CompileOptions& o, exec::Pool& pool, Shifts* shifts)
      : weights_(&w), o_(o), pool_(pool), measures_(pool), shifts_(shifts) {
    plan_.graph = Fold(g);
    plan_.tokenizer = o.tokenizer;
    plan_.min_tokens = o.min_tokens;
    plan_.max_tokens = o.max_tokens;
    plan_.calibration = o.calibration;
    plan_.about = o.about;
    plan_.variants = o.variants;
  }
  Plan Run(std::span<const std::vector<int32_t>> texts);

 private:
  void MakeClasses();
  void MakeVariant(int variant, StageProgress* certify, StageProgress* search);
  void MakeFirst(int variant, StageProgress* certify);
  void NoteScales(size_t first);
  // Returns the progress of a stage, from no step on.
  StageProgress Stage(const char* stage, size_t steps) const {
    return {[this, stage](double done) {
              if (o_.progress) o_.progress(stage, done);
            },
            steps};
  }
  std::string Where(const GraphNode& n) const { return Str(class_, "/", Graph::Where(n)); }
  Facts FactsOf(const GraphNode& n, Walk* walk);
  int RingAhead(const GraphNode& n, const Edge& mine, Walk* walk);
  void Choose(const GraphNode& n, Walk* walk);
  void Rings(Walk* walk);
  void Certify(Walk* walk);
  void Shift(std::span<const std::vector<int32_t>> texts);
  Class MakeClass(const Options& policy, int least, int n, StageProgress* certify = nullptr);

  Checkpoint weights_;  // the model's and the fitted ones
  const CompileOptions& o_;
  const std::vector<int> lengths_ = ClassLengths(o_.max_tokens);
  exec::Pool& pool_;
  Measures measures_;
  Shifts* const shifts_;
  Plan plan_;
  BillMemo memo_;  // of all variants, whose classes have the same parts
  std::vector<Seen> seen_;
  Options policy_;  // of the class that is being made
  struct LoweredScale {
    int bits = 0, from = 0;  // below the policy's scale; the last scale that was too high
  };
  std::map<int, LoweredScale> lowered_;  // by node
  bool may_lower_ = false;               // whether Rings may report a narrow ring
  int class_ = 0, least_ = 0;
  Ops* ops_ = nullptr;
  std::vector<std::vector<Certificate>> certificates_;
};

Facts Compiler::FactsOf(const GraphNode& n, Walk* walk) {
  Facts c{policy_, n.index, least_, class_, nullptr, &seen_[size_t(n.index)], walk->Rows(n), {}};
  if (const auto lowered = lowered_.find(n.index); lowered != lowered_.end()) c.lower = lowered->second.bits;
  c.ring_ahead = [this, &n, walk](const Edge& mine) { return RingAhead(n, mine, walk); };
  return c;
}

// Returns the ring that the wire behind n would need if n's result had this edge. Its one reader and the reader of that
// one are chosen on copies.
int Compiler::RingAhead(const GraphNode& n, const Edge& mine, Walk* walk) {
  const std::vector<GraphNode*> readers = plan_.graph.Readers(&n);
  if (readers.size() != 1) return kWidest + 1;
  const GraphNode& reader = *readers[0];
  const std::vector<GraphNode*> behind = plan_.graph.Readers(&reader);
  if (behind.size() != 1 || behind[0]->in.size() != 1) return kWidest + 1;
  OperatorPtr op = (*ops_)[size_t(reader.index)]->Clone(), next = (*ops_)[size_t(behind[0]->index)]->Clone();
  Edges in = walk->In(reader);
  for (size_t k = 0; k < in.size(); ++k)
    if (reader.in[k] == &n) in[k] = mine;
  Edge e;
  try {
    Facts c = FactsOf(reader, walk);
    op->Choose(c, in);
    for (const WeightSlot& s : op->Slots()) measures_.Set(reader, s, weights_);
    c.weights = &measures_.Of(reader);
    std::vector<Width> widths;
    e = {op->scale, op->Nominal(policy_), 0, op->Dim(in), op->OneRow(in), op->Bound(c, in, &widths)};
    Facts after = FactsOf(*behind[0], walk);
    next->Choose(after, {e});
    next->Bound(after, {e}, &widths);
    for (const Width& w : widths)
      if (w.field) *w.field = w.bits;
  } catch (const Error&) {
    return kWidest + 1;  // the reader throws it again in its own turn, under its own name
  }
  return next->Need(0, {e});
}

void Compiler::Choose(const GraphNode& n, Walk* walk) {
  Operator& op = *(*ops_)[size_t(n.index)];
  Facts c = FactsOf(n, walk);
  try {
    op.Choose(c, walk->In(n));
  } catch (const Error& e) {
    throw Error(e.cause(), Str("wire ", Where(n), ": ", e.what()));
  }
  const std::vector<WeightSlot> slots = op.Slots();
  for (const WeightSlot& s : slots) measures_.Set(n, s, weights_);
  if (!slots.empty()) c.weights = &measures_.Of(n);
  for (const Width& w : walk->Bound(n, c)) {
    if (w.bits > w.limit)
      Fail(Cause::kRefused, "wire ", Where(n), ".", w.name, " needs a ring of ", w.bits, " bits, the limit is ",
           w.limit, "; lower the scales that it reads");
    if (w.field) *w.field = w.bits;
    certificates_[size_t(n.index)].push_back({w.name, w.bits - w.gap, !w.calibrated});
  }
}

// Sets rings backward: a wire's ring is the widest that its readers need.
void Compiler::Rings(Walk* walk) {
  const Graph& g = plan_.graph;
  for (size_t i = g.size(); i-- > 0;) {
    const GraphNode& n = g.node(i);
    Operator& op = *(*ops_)[i];
    int ring = op.ring;
    for (const GraphNode* r : g.Readers(&n)) {
      const Edges in = walk->In(*r);
      const Operator& reader = *(*ops_)[size_t(r->index)];
      for (size_t k = 0; k < r->in.size(); ++k)
        if (r->in[k] == &n && reader.Uses(int(k))) ring = std::max(ring, reader.Need(int(k), in));
    }
    ring = std::max(ring, op.LeastRing());
    const int limit = op.ring ? op.ring : kWidest;  // a ring that the operator set itself never grows
    if (ring > limit && op.ring && may_lower_ && op.scale - (ring - limit) >= kLeastScale) {
      const auto before = lowered_.find(n.index);  // an operator may have no other scale
      if (before == lowered_.end() || op.scale < before->second.from) throw NarrowRing{n.index, ring - limit, op.scale};
    }
    if (ring > limit)
      Fail(Cause::kRefused, "wire ", Where(n), " needs a ring of ", ring, " bits, the limit is ", limit,
           "; lower the scale of what it is made of, or set clamp=1 for a residual stream");
    op.ring = walk->edge(n).ring = ring;
  }
  Derive(g, *ops_);
  for (auto& n : g.nodes()) (*ops_)[size_t(n->index)]->Settle(walk->In(*n));
}

void Compiler::Certify(Walk* walk) {
  for (auto& n : plan_.graph.nodes()) {
    const RowBound& r = walk->edge(*n).reach;
    const Operator& op = *(*ops_)[size_t(n->index)];
    if (op.unused) certificates_[size_t(n->index)].clear();
    if (r.dim == 0 || op.wrapped || op.unused) continue;
    certificates_[size_t(n->index)].push_back({"", BitsOf(r), true});
  }
}

// Makes a class. Segments that the policy leaves to cost have their first choice. Each node is a step of `certify`, if
// that is not null.
Class Compiler::MakeClass(const Options& policy, int least, int n, StageProgress* certify) {
  policy_ = policy;
  for (const Segment& s : Segments())
    if (policy_.*s.field == Options::kByCost) policy_.*s.field = 0;
  Class c;
  c.max_n = class_ = n;
  least_ = least;
  for (auto& node : plan_.graph.nodes()) c.ops.push_back(node->op->Clone());
  ops_ = &c.ops;
  certificates_.assign(plan_.graph.size(), {});
  Walk walk(plan_.graph, c.ops);
  for (auto& node : plan_.graph.nodes()) {
    Choose(*node, &walk);
    if (certify) certify->Step();
  }
  Rings(&walk);
  Certify(&walk);
  if (policy.tiles == 2 && n >= kTiledTokens) {
    if (!MayTile(plan_.graph, c))
      Fail(Cause::kRefused, "two tiles were requested, but this model's attention is causal and takes a text ",
           "whole; set tiles=1");
    c.tiles = 2;
  }
  if (policy.tiles == 2) c.batch_tiles = 2;
  c.certificates = std::move(certificates_);
  return c;
}

// Fits the predictors of softmax row sums, if there are enough texts, and keeps those that fit.
void Compiler::Shift(std::span<const std::vector<int32_t>> texts) {
  if (!shifts_ || o_.policy.softmax == Options::kMaximum || AddShifts(&plan_.graph) == 0) return;
  *shifts_ = FitShifts(&plan_.graph, weights_, texts, pool_, [&](double done) {
    if (o_.progress) o_.progress("fit", done);
  });
  if (!shifts_->why_not.empty() && o_.policy.softmax == Options::kShift)
    Fail(Cause::kInput, "the calibration texts are too few for softmaxes without a maximum: ", shifts_->why_not,
         "; give more lines, or set softmax=", int(Options::kMaximum));
  for (auto& [name, t] : shifts_->weights.tensors()) weights_.Set(name, t);
}

// Makes the classes of one variant with their first choices. If a ring is too narrow, it lowers the wire's scale and
// makes all of them again. A weight has one scale in all classes.
void Compiler::MakeFirst(int variant, StageProgress* certify) {
  const auto first = std::ptrdiff_t(plan_.classes.size());
  may_lower_ = true;
  for (bool made = false; !made;) {
    int shortest = o_.min_tokens;
    try {
      for (int n : lengths_) {
        plan_.classes.push_back(MakeClass(o_.policy, shortest, n, certify));
        plan_.classes.back().variant = variant;
        shortest = n + 1;
      }
      made = true;
    } catch (const NarrowRing& narrow) {
      lowered_[narrow.node].bits += narrow.bits;
      lowered_[narrow.node].from = narrow.scale;
      plan_.classes.erase(plan_.classes.begin() + first, plan_.classes.end());
    }
  }
  may_lower_ = false;
}

// Records the lowered scales among the choices of the classes from `first` on.
void Compiler::NoteScales(size_t first) {
  for (size_t i = first; i < plan_.classes.size(); ++i)
    for (const auto& [node, lowered] : lowered_) {
      Class& c = plan_.classes[i];
      const GraphNode& n = plan_.graph.node(size_t(node));
      const std::string what = Str(n.label.empty() ? std::string(c.ops[size_t(node)]->Name()) : n.label, kScaleChoice);
      c.choices.insert(c.choices.begin(), {what, Str("2^", c.ops[size_t(node)]->scale), "", 0});
    }
}

// Makes the classes of one variant, chosen for its prices.
void Compiler::MakeVariant(int variant, StageProgress* certify, StageProgress* search) {
  const std::string& profile = plan_.variants[size_t(variant)].profile;
  const size_t first = plan_.classes.size();
  MakeFirst(variant, certify);
  if (profile.empty()) return NoteScales(first);
  search->Report();
  const compiler::Prices prices = compiler::ParseProfile(profile).prices;
  Start start;  // the choices of the longer class
  for (size_t i = plan_.classes.size(); i-- > first;) {
    const int least = i > first ? plan_.classes[i - 1].max_n + 1 : o_.min_tokens;
    auto make = [&](const Options& policy) {
      Class c = MakeClass(policy, least, plan_.classes[i].max_n);
      c.variant = variant;
      return c;
    };
    SearchSegments(&plan_, i, prices, o_.policy, make, &start, &memo_);
    ChooseTiles(&plan_, i, prices, o_.policy);
    search->Step();
  }
  NoteScales(first);
}

// Makes all classes of all variants. Progress counts every one of them.
void Compiler::MakeClasses() {
  const auto searched =
      std::count_if(plan_.variants.begin(), plan_.variants.end(), [](const Variant& v) { return !v.profile.empty(); });
  StageProgress certify = Stage("certify", plan_.variants.size() * lengths_.size() * plan_.graph.size()),
                search = Stage("search", size_t(searched) * lengths_.size());
  for (int v = 0; v < int(plan_.variants.size()); ++v) MakeVariant(v, &certify, &search);
}

Plan Compiler::Run(std::span<const std::vector<int32_t>> texts) {
  if (texts.empty()) Fail(Cause::kInput, "there is no calibration text; give at least one line");
  std::vector<std::vector<int32_t>> cut(texts.begin(), texts.end());
  for (size_t i = 0; i < cut.size(); ++i)
    if (cut[i].size() > size_t(o_.max_tokens)) {
      cut[i] = {cut[i].begin(), cut[i].begin() + o_.max_tokens - 1};
      cut[i].push_back(texts[i].back());
    }
  Shift(cut);
  const std::vector<WantedRows> wanted = RowsWanted(plan_.graph);
  for (auto& n : plan_.graph.nodes()) n->op->wanted = wanted[size_t(n->index)];
  {
    RealModel model(plan_.graph, weights_, pool_);
    StageProgress calibrate = Stage("calibrate", cut.size());
    for (const std::vector<int32_t>& text : cut) {
      model.Run(text, &seen_);
      calibrate.Step();
    }
  }
  MakeClasses();
  Check(plan_);
  const QuantisedWeights q = Quantise(weights_, plan_, pool_);
  PlanSimulator simulator(plan_, q, pool_);
  StageProgress simulate = Stage("simulate", cut.size());
  for (size_t i = 0; i < cut.size(); ++i) {
    for (int v = 0; v < int(plan_.variants.size()); ++v)
      for (const Outside& out : simulator.Run(cut[i], {}, v).outside)
        Fail(Cause::kRefused, "the calibration text ", i + 1, " leaves its own plan: ", Sentence(out));
    simulate.Step();
  }
  return std::move(plan_);
}

// Refuses a wire that can reach more bits than the plan gives it.
void Within(const std::string& wire, int bits, int most) {
  if (bits > most)
    Fail(Cause::kRefused, "wire ", wire, " can reach 2^", bits, " with these weights; the plan allows 2^", most,
         "; compile a plan from this model");
}

}  // namespace

void CheckVariants(const std::vector<Variant>& variants) {
  if (variants.empty() || variants.size() > size_t(kMostVariants))
    Fail(Cause::kInput, variants.size(), " variants were requested; a plan has 1 to ", kMostVariants);
  std::set<std::string> names;
  for (const Variant& v : variants) {
    CheckName(v.name);
    if (!names.insert(v.name).second)
      Fail(Cause::kInput, "two variants are called ", v.name, "; give each a name of its own");
    if (!v.profile.empty()) (void)compiler::ParseProfile(v.profile);
  }
}

LengthLimit LongestOf(const Graph& graph) {
  LengthLimit least;
  for (auto& n : graph.nodes())
    if (const LengthLimit limit = n->op->Longest(); limit.tokens && (!least.tokens || limit.tokens < least.tokens))
      least = limit;
  return least;
}

Plan Compile(const Graph& graph, const Checkpoint& weights, std::span<const std::vector<int32_t>> texts,
             const CompileOptions& options, exec::Pool& pool, Shifts* shifts) {
  if (options.min_tokens < 1 || options.max_tokens < options.min_tokens)
    Fail(Cause::kInput, "a limit of ", options.max_tokens, " tokens is below the least length of ", options.min_tokens,
         "; raise it");
  CheckVariants(options.variants);
  CheckLength(LongestOf(graph), options.max_tokens);
  return Compiler(graph, weights, options, pool, shifts).Run(texts);
}

void CheckWeights(const Plan& plan, const QuantisedWeights& weights, exec::Pool& pool,
                  const std::function<void(double)>& progress) {
  Measures measures(pool);
  const Options defaults;
  StageProgress nodes(progress, plan.classes.size() * plan.graph.size());
  for (const Class& c : plan.classes) {
    for (auto& n : plan.graph.nodes())
      for (const WeightSlot& s : c.ops[size_t(n->index)]->Slots())
        measures.Set(*n, s, weights.at(SlotName(plan, c, *n, s)));
    Class own = c;  // widths of Bound may point into its operators
    Walk walk(plan.graph, own.ops);
    for (auto& n : plan.graph.nodes()) {
      Operator& op = *own.ops[size_t(n->index)];
      nodes.Step();
      if (op.unused) continue;
      Facts facts{defaults, n->index, plan.min_tokens, c.max_n, nullptr, nullptr, walk.Rows(*n), {}};
      if (!op.Slots().empty()) facts.weights = &measures.Of(*n);
      const Edges in = walk.In(*n);
      const std::string where = Str(c.max_n, "/", Graph::Where(*n));
      for (size_t k = 0; k < n->in.size(); ++k) {  // the bits read of an input fit its ring
        if (own.ops[size_t(n->in[k]->index)]->wrapped || !op.Uses(int(k))) continue;
        Within(Str(c.max_n, "/", Graph::Where(*n->in[k])), op.Need(int(k), in), in[k].ring);
      }
      std::vector<Width> widths = walk.Bound(*n, facts);
      const RowBound& r = walk.edge(*n).reach;
      if (r.dim > 0 && !op.wrapped) widths.push_back({"", BitsOf(r)});
      for (const Width& w : widths) {
        if (w.calibrated) continue;
        const std::string wire = *w.name ? where + "." + w.name : where;
        if (w.field) Within(wire, w.bits, *w.field);
        auto& list = c.certificates[size_t(n->index)];
        auto at = std::find_if(list.begin(), list.end(), [&](const Certificate& x) { return x.width == w.name; });
        if (at == list.end() || !at->hard)
          Fail(Cause::kRefused, "the plan has no hard certificate of wire ", wire, "; compile a plan from this model");
        Within(wire, w.bits - w.gap, at->bits);
      }
    }
  }
}

}  // namespace suf::nn
