// The plan as JSON text: a writer and a strict reader of the fields that operators list (fields.hpp).
#include "suf/nn/plan/plan.hpp"

#include "suf/nn/ops/lookup.hpp"
#include "suf/nn/ops/residual.hpp"
#include "suf/nn/plan/internal/plan_json.hpp"

namespace suf::nn {

namespace {

constexpr size_t kMostNodes = 1 << 12, kMostClasses = 64, kNameCharacters = 24;
// The limits of a plan's bytes, and of its nodes times its classes. They are many times the needs of a model with 48
// layers and 8 variants.
constexpr size_t kMostBytes = size_t{1} << 28, kMostClassNodes = size_t{1} << 16;

// Visits nodes with operators, inputs, scopes, labels and attributes.
void VisitGraph(Visitor& v, Graph& g) {
  v.List(
      "nodes", g.size(), kMostNodes, [](size_t) {},
      [&](Visitor& w, size_t i) {
        std::string name, scope, label;
        Ints in;
        if (!w.fills()) {
          const GraphNode& n = g.node(i);
          name = n.op->Name();
          scope = n.scope;
          label = n.label;
          for (const GraphNode* x : n.in) in.push_back(x->index);
        }
        w.Text("op", &name, 40);
        w.Many("in", &in, 8, 0, int64_t(i) - 1);
        w.Text("scope", &scope, 60);
        w.Text("label", &label, 40);
        if (w.fills()) {
          std::vector<GraphNode*> nodes;
          for (int64_t x : in) nodes.push_back(&g.node(size_t(x)));
          g.Scope(scope);
          g.AddNode(MakeOperator(name), nodes, label);
        }
        g.node(i).op->Attributes(w);
        if (w.fills()) g.node(i).op->Verify(Str("nodes[", i, "] (", Graph::Where(g.node(i)), ")"));
      });
}

// Visits a class. class_nodes counts the nodes of all classes.
void VisitClass(Visitor& v, const Graph& g, Class& c, size_t* class_nodes) {
  v.Int("variant", c.variant, 0, kMostVariants - 1);
  v.Int("max_n", c.max_n, 1, kTokens);
  if (c.tiles != 1 || v.Has("tiles")) v.Int("tiles", c.tiles, 1, 2);
  if (c.batch_tiles != 1 || v.Has("batch_tiles")) v.Int("batch_tiles", c.batch_tiles, 1, 2);
  v.List(
      "nodes", g.size(), g.size(),
      [&](size_t n) {
        if (n != g.size())
          Fail(Cause::kRefused, "the plan has parameters of ", n, " nodes, its graph has ", g.size(),
               "; compile the plan again");
        if ((*class_nodes += n) > kMostClassNodes)
          Fail(Cause::kRefused, "the plan has more than ", kMostClassNodes,
               " nodes in all its classes; compile it for ", "fewer lengths or variants");
        for (size_t i = 0; i < n; ++i) c.ops.push_back(g.node(i).op->Clone());
        c.certificates.resize(n);
      },
      [&](Visitor& w, size_t i) {
        w.Int("ring", c.ops[i]->ring, 1, kRing);
        w.Int("scale", c.ops[i]->scale, 0, 126);
        c.ops[i]->Fields(w);
        w.List(
            "certificates", c.certificates[i].size(), 8, [&](size_t n) { c.certificates[i].resize(n); },
            [&](Visitor& x, size_t k) {
              Certificate& y = c.certificates[i][k];
              x.Text("width", &y.width, 20);
              x.Int("bits", y.bits, 0, kRing);
              x.Flag("hard", &y.hard);
            });
      });
}

void VisitChoices(Visitor& v, Class& c) {
  v.List(
      "choices", c.choices.size(), 256, [&](size_t n) { c.choices.resize(n); },
      [&](Visitor& w, size_t i) {
        Chosen& x = c.choices[i];
        w.Text("what", &x.what, 80);
        w.Text("choice", &x.choice, 40);
        w.Text("runner_up", &x.runner_up, 40);
        w.Int("microseconds", x.microseconds, -kBig, kBig);
      });
}

pfss::KeysTo ReadKeysTo(const std::string& field, const std::string& name) {
  try {
    return KeysToNamed(name);
  } catch (const Error& e) {
    Fail(Cause::kRefused, "the plan's field ", field, ": ", e.what());
  }
}

void VisitPlan(Visitor& v, Plan& p) {
  VisitGraph(v, p.graph);
  if (v.fills()) {
    Wanted(p.graph.size() > 0, "nodes", "there is none");
    p.graph.Number();
  }
  VisitDigest(v, "tokenizer", &p.tokenizer);
  VisitDigest(v, "table", &p.table);
  v.Int("min_tokens", p.min_tokens, 1, kTokens);
  v.Int("max_tokens", p.max_tokens, 1, kTokens);
  v.List(
      "variants", p.variants.size(), size_t(kMostVariants), [&](size_t n) { p.variants.resize(n); },
      [&](Visitor& w, size_t i) {
        w.Text("name", &p.variants[i].name, kNameCharacters);
        w.Text("profile", &p.variants[i].profile, 200);
        std::string keys_to = NameOf(p.variants[i].keys_to);
        w.Text("keys_to", &keys_to, kNameCharacters);
        if (w.fills()) p.variants[i].keys_to = ReadKeysTo(Str("variants[", i, "].keys_to"), keys_to);
      });
  size_t class_nodes = 0;
  v.List(
      "classes", p.classes.size(), kMostClasses, [&](size_t n) { p.classes.resize(n); },
      [&](Visitor& w, size_t i) {
        VisitClass(w, p.graph, p.classes[i], &class_nodes);
        VisitChoices(w, p.classes[i]);
      });
  v.Text("calibration", &p.calibration, 64);
  p.about.Fields(v);
}

// Returns everything but the hash.
Json Content(const Plan& plan) {
  PlanFunctions functions;
  Json body, j = Json::object();
  PlanWriter put(body, functions);
  Plan copy = plan;  // a visitor may write
  VisitPlan(put, copy);
  j["version"] = kPlanVersion;
  for (auto& [key, x] : body.items()) j[key] = std::move(x);
  j["functions"] = functions.list;
  return j;
}

Hash HashOfContent(const Json& j) { return HashOf({AsView(j.dump())}); }

}  // namespace

Class::Class(const Class& c)
    : variant(c.variant),
      max_n(c.max_n),
      tiles(c.tiles),
      batch_tiles(c.batch_tiles),
      certificates(c.certificates),
      choices(c.choices) {
  for (const OperatorPtr& op : c.ops) ops.push_back(op->Clone());
}

std::string StoredText(Operator& op) {
  PlanFunctions functions;
  Json fields;
  PlanWriter put(fields, functions);
  op.Attributes(put);
  op.Fields(put);
  return Json::array({op.Name(), fields, functions.list}).dump();
}

Hash PlanHash(const Plan& plan) { return HashOfContent(Content(plan)); }

std::string Serialize(const Plan& plan, int indent) {
  Json j = Content(plan);
  j["hash"] = Hex(HashOfContent(j));
  return j.dump(indent) + "\n";
}

Plan Parse(const std::string& text) {
  if (text.size() > kMostBytes)
    Fail(Cause::kRefused, "the plan has ", text.size(), " bytes, the limit is ", kMostBytes,
         "; compile it for fewer lengths or variants");
  Json j = ReadOrderedJson(text, {"the plan", "compile the plan again", Cause::kRefused});
  if (j.is_object() && j.contains("kind"))
    Fail(Cause::kRefused, "this is the plan of a ", j["kind"] == "composition" ? "composition" : "function",
         ", not of a model; compile one of the model");
  PlanFunctions functions;
  PlanReader get(j, "", functions);
  int version = 0;
  get.Int("version", version, INT64_MIN, INT64_MAX);
  if (version != kPlanVersion)
    Fail(Cause::kRefused, "the plan has version ", version, ", this program reads version ", kPlanVersion,
         "; compile the plan again");
  for (const Json& t : get.Items("functions", 1 << 16)) {
    if (!t.is_string())
      Fail(Cause::kRefused, "the plan's field functions[", functions.list.size(),
           "] is not a text; compile the plan again");
    functions.list.push_back(t.get<std::string>());
  }
  Plan plan;
  Hash hash;
  VisitPlan(get, plan);
  VisitDigest(get, "hash", &hash);
  get.Done();
  Check(plan);
  for (Class& c : plan.classes) Derive(plan.graph, c.ops);
  j.erase("hash");
  if (hash != HashOfContent(j) || hash != PlanHash(plan))
    Fail(Cause::kRefused, "the plan's content does not match its hash; copy or compile the plan again");
  return plan;
}

const char* NameOf(pfss::KeysTo keys_to) { return keys_to == pfss::KeysTo::kP0 ? "p0" : "balanced"; }

pfss::KeysTo KeysToNamed(const std::string& name) {
  for (const pfss::KeysTo k : {pfss::KeysTo::kBalanced, pfss::KeysTo::kP0})
    if (name == NameOf(k)) return k;
  Fail(Cause::kInput, Quoted(name), " says no bundle that receives corrections; take balanced or p0");
}

void CheckName(const std::string& variant) {
  if (variant.empty() || variant.size() > kNameCharacters ||
      variant.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != variant.npos)
    Fail(Cause::kInput, "'", variant, "' is no name of a variant; take 1 to ", kNameCharacters,
         " lower-case letters, digits and dashes");
}

const Class& Plan::First(int variant) const {
  for (const Class& c : classes)
    if (c.variant == variant) return c;
  throw Bug(Str("the plan has no class of variant ", variant));
}

int TilesOf(const Class& c, int n, int texts) { return texts > 1 ? c.batch_tiles : n < 2 ? 1 : c.tiles; }

const GraphNode* TakesOneText(const Graph& g, const Class& c) {
  for (auto& n : g.nodes())
    if (const Operator& op = *c.ops[size_t(n->index)]; !op.unused && !op.TakesTexts()) return n.get();
  return nullptr;
}

int MostTexts(const Plan& plan) {
  for (const Class& c : plan.classes)
    if (TakesOneText(plan.graph, c)) return 1;
  return kMostTexts;
}

int Plan::VariantNamed(const std::string& name) const {
  std::string names;
  for (size_t v = 0; v < variants.size(); ++v) {
    if (variants[v].name == name) return int(v);
    names += (v ? ", " : "") + variants[v].name;
  }
  Fail(Cause::kInput, "the plan has no variant '", name, "'; it has ", names);
}

Plan Plan::Only(int variant) const {
  Plan out = *this;
  out.variants = {variants.at(size_t(variant))};
  std::erase_if(out.classes, [&](const Class& c) { return c.variant != variant; });
  for (Class& c : out.classes) c.variant = 0;
  return out;
}

const Class& Plan::For(int n, int variant) const {
  if (n < min_tokens)
    Fail(Cause::kInput, "a text of ", n, " tokens is below the limit of ", min_tokens, "; give it at least one word");
  for (const Class& c : classes)
    if (c.variant == variant && n <= c.max_n) return c;
  Fail(Cause::kInput, "a text of ", n, " tokens is over the plan's limit of ", max_tokens,
       "; shorten it or compile a plan for longer texts");
}

// Returns the first lookup, or null.
static const Lookup* LookupOf(const Graph& g) {
  for (auto& n : g.nodes())
    if (const Lookup* l = n->As<Lookup>()) return l;
  return nullptr;
}

int64_t WordsOf(const Graph& g) {
  const Lookup* l = LookupOf(g);
  return l ? l->words() : int64_t{1} << 31;
}

int64_t TypesOf(const Graph& g) {
  const Lookup* l = LookupOf(g);
  return l && l->types ? l->types : 1;
}

bool Plan::public_table() const {
  const Lookup* l = LookupOf(graph);
  return l && l->known;
}

void SetPublicTable(Graph& g, bool known) {
  for (auto& n : g.nodes())
    if (Lookup* l = n->As<Lookup>()) l->known = known;
}

int DivisorOf(const Graph& g, const About& about, int n) {
  if (about.result != ResultKind::kVector) return 1;
  for (auto& node : g.nodes())
    if (const PoolRows* p = node->As<PoolRows>()) return p->kind == PoolRows::kSum ? n : 1;
  return 1;
}

}  // namespace suf::nn
