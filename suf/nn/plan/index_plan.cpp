#include "suf/nn/plan/index_plan.hpp"

#include <algorithm>
#include <cmath>

#include "suf/nn/ops/norm.hpp"
#include "suf/nn/plan/internal/plan_json.hpp"

namespace suf::nn {

namespace {

const PlanWords kIndexWords{"the index plan", "create the index again"};
constexpr size_t kMostIndexBytes = 1 << 16;

void VisitIndex(Visitor& v, IndexPlan& p) {
  VisitDigest(v, "id", &p.id, kIndexWords);
  VisitDigest(v, "model", &p.model, kIndexWords);
  v.Text("text", &p.text, About::kNameBytes);
  v.Text("document", &p.document, About::kNameBytes);
  p.search.Attributes(v);
  p.search.Fields(v);
  v.Int("table", p.table, 0, kMostTableWords);
}

Json ContentOf(const IndexPlan& index) {
  PlanFunctions none;
  Json body, j = Json::object();
  PlanWriter put(body, none, kIndexWords);
  IndexPlan copy = index;  // a visitor may write
  VisitIndex(put, copy);
  j["kind"] = "index";
  j["version"] = kIndexPlanVersion;
  for (auto& [key, x] : body.items()) j[key] = std::move(x);
  return j;
}

// Returns the norm that gives the embedding. Throws Cause::kRefused if there is none.
const Norm& EmbeddingNorm(const Operator& op) {
  const auto* norm = dynamic_cast<const Norm*>(&op);
  if (!norm || !norm->unit || norm->groups != 1)
    Fail(Cause::kRefused, "the plan's result is no embedding of norm 1, which a search needs; use a model whose last ",
         "step normalises");
  return *norm;
}

}  // namespace

std::string Serialize(const IndexPlan& index, int indent) {
  Json j = ContentOf(index);
  j["hash"] = Hex(IndexPlanHash(index));
  return j.dump(indent) + "\n";
}

Hash IndexPlanHash(const IndexPlan& index) { return HashOf({AsView(ContentOf(index).dump())}); }

IndexPlan ParseIndexPlan(const std::string& text) {
  if (text.size() > kMostIndexBytes)
    Fail(Cause::kRefused, "the index plan has ", text.size(), " bytes, the limit is ", kMostIndexBytes,
         "; name the file index.json of an index");
  const Json j = ReadOrderedJson(text, {kIndexWords.what, kIndexWords.remedy, Cause::kRefused});
  PlanFunctions none;
  PlanReader get(j, "", none, kIndexWords);
  std::string kind;
  if (get.Has("kind")) get.Text("kind", &kind, 40);
  if (kind != "index") Fail(Cause::kRefused, "this is no index plan; name the file index.json of an index");
  int version = 0;
  get.Int("version", version, INT64_MIN, INT64_MAX);
  if (version != kIndexPlanVersion)
    Fail(Cause::kRefused, "the index plan has version ", version, ", this program reads version ", kIndexPlanVersion,
         "; create the index again");
  IndexPlan index;
  Hash hash;
  VisitIndex(get, index);
  VisitDigest(get, "hash", &hash, kIndexWords);
  get.Done();
  index.search.Verify("search");
  index.search.ring = index.search.ResultRing();
  if (hash != IndexPlanHash(index))
    Fail(Cause::kRefused, "the index plan's content does not match its hash; copy or create the index again");
  return index;
}

Plan WithIndex(Plan plan, const IndexPlan& index) {
  if (const Hash own = PlanHash(plan); own != index.model)
    Fail(Cause::kRefused, "the index is of the plan ", Hex(index.model), ", and this plan is ", Hex(own),
         "; use the plan with which the index was created");
  for (const std::string& name : {index.text, index.document})
    if (!name.empty()) (void)plan.about.PromptNamed(name);
  GraphNode* const last = plan.graph.nodes().back().get();
  Search search = index.search;
  search.ring = search.ResultRing();
  plan.graph.Scope("search");
  plan.graph.AddNode(search.Clone(), {last}, "hits");
  plan.graph.Number();
  for (Class& c : plan.classes) {
    auto norm = std::make_unique<Norm>(EmbeddingNorm(*c.ops.back()));
    const int more = norm->scale - search.f;
    if (more < 0)
      Fail(Cause::kRefused, "the plan's embedding has ", norm->scale, " fractional bits, and the search takes ",
           search.f, "; create the index again");
    norm->shift += more;
    norm->scale = search.f;
    norm->ring = search.ScoreRing();
    for (Certificate& x : c.certificates.back())
      if (x.width.empty()) x.bits = std::max(1, x.bits - more);
    c.ops.back() = std::move(norm);
    c.ops.push_back(search.Clone());
    c.certificates.emplace_back();
    Derive(plan.graph, c.ops);
  }
  Check(plan);
  return plan;
}

double RowFactor(const Plan& plan) {
  const auto& search = dynamic_cast<const Search&>(*plan.classes.at(0).ops.back());
  double longest = 0;
  for (const Class& c : plan.classes)
    longest = std::max(longest, EmbeddingNorm(*c.ops.at(c.ops.size() - 2)).HardLength());
  const double most = std::ldexp(1, search.f + search.g) - 1, rounding = std::sqrt(double(search.columns)) / 2;
  return std::ldexp(most / longest - rounding, -search.g);
}

double ScoreOfOne(const Plan& plan) {
  const auto& search = dynamic_cast<const Search&>(*plan.classes.at(0).ops.back());
  return std::ldexp(RowFactor(plan), search.f + search.g);
}

}  // namespace suf::nn
