// Fuzzes an index plan: its text, read strictly. The first byte says whether its hash and its model's are put right, as
// an attacker can do. An accepted plan is written and read again. Behind a small model it gives a sound trace, and P1
// reads only hits that the index can have.
#include "suf/nn/plan/index_plan.hpp"

#include <nlohmann/json.hpp>
#include <random>

#include "fuzz/base_plan.hpp"
#include "suf/base/digest.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/pfss/schedule.hpp"
#include "suf/run/deal.hpp"

namespace {
using namespace suf;
using fuzz::BasePlan;
using Json = nlohmann::ordered_json;

// Returns the text with its fields in canonical order, for the base plan, under the right hash. Other text stays as it
// is.
std::string Hashed(const std::string& text) {
  const Json given = Json::parse(text, nullptr, false);
  if (!given.is_object()) return text;
  Json j = Json::parse(nn::Serialize(nn::IndexPlan{}));
  j.erase("hash");
  for (auto& [name, value] : j.items())
    if (given.contains(name)) value = given.at(name);
  for (auto& [name, value] : given.items())
    if (name != "hash") j[name] = value;
  j["model"] = Hex(nn::PlanHash(BasePlan()));
  const std::string body = j.dump(-1, ' ', false, Json::error_handler_t::replace);
  j["hash"] = Hex(HashOf({AsView(body)}));
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Emits, schedules, lints and lays out a trace of the search, as a role does before it sends anything.
void TakeSearch(const nn::Plan& plan) {
  pfss::Trace trace;
  nn::Build(trace, plan, plan.min_tokens);
  const pfss::Schedule schedule(trace);
  const pfss::LintReport lint = pfss::Lint(schedule);
  SUF_CHECK(lint.faults.empty() && lint.results == 1);
  for (int p : {0, 1}) (void)run::LayoutOf(schedule, p);
  (void)run::WindowOf(schedule);
}

// Reads random words as a result.
void TakeHits(const nn::Search& search, uint64_t seed) {
  std::mt19937_64 rng(seed);
  nn::Ints y;
  for (int64_t i = 0; i < search.Entries(); ++i) y.push_back(rng() % 4 ? 0 : int64_t(rng() >> (rng() % 64)));
  for (const nn::SearchHit& h : search.Decode(y)) SUF_CHECK(h.row >= 0 && h.row < search.rows() && h.rank < search.k);
}
}  // namespace

SUF_FUZZ(index_plan) {
  const bool right = fuzz::Pull<uint8_t>(input) % 2;
  const std::string text = right ? Hashed(fuzz::TextOf(input)) : fuzz::TextOf(input);
  const nn::IndexPlan index = nn::ParseIndexPlan(text);
  const std::string again = nn::Serialize(index);
  SUF_CHECK(nn::Serialize(nn::ParseIndexPlan(again)) == again);
  constexpr int64_t kMostRows = 400;  // of a trace that is cheap enough for many executions
  SUF_CHECK(index.search.Entries() > index.search.k && index.search.Entries() <= index.search.buckets);
  if (index.capacity() > kMostRows) return;
  const nn::Plan plan = nn::WithIndex(BasePlan(), index);
  SUF_CHECK(nn::RowFactor(plan) < 1 && nn::ScoreOfOne(plan) < std::ldexp(1, index.search.f + index.search.g));
  TakeHits(index.search, text.size());
  TakeSearch(plan);
}
