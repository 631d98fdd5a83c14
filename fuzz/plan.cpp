// A plan file: as text when the input begins with '{'; otherwise a list of {u16 which, i64 value}, each put in place of
// one number of fuzz/plan.json, the hash made right again, so that Check and Build see what no honest compiler writes.
#include "suf/nn/plan.hpp"

#include <nlohmann/json.hpp>

#include "fuzz/fuzz.hpp"
#include "suf/base/digest.hpp"
#include "suf/nn/build.hpp"

namespace {
using Json = nlohmann::ordered_json;

void Numbers(Json& j, std::vector<Json*>* out) {
  if (j.is_number()) out->push_back(&j);
  if (j.is_structured())
    for (auto& x : j) Numbers(x, out);
}

std::string Patched(suf::View input) {
  using namespace suf;
  static const Json base = Json::parse(std::ifstream(SUF_FUZZ_DIR "/plan.json"));
  Json j = base;
  std::vector<Json*> numbers;
  Numbers(j, &numbers);
  while (!input.empty()) {
    size_t which = fuzz::Pull<uint16_t>(input);
    *numbers[which % numbers.size()] = fuzz::Pull<int64_t>(input);
  }
  j.erase("hash");
  j["hash"] = Hex(HashOf({AsView(j.dump())}));
  return j.dump();
}
}  // namespace

SUF_FUZZ(plan) {
  using namespace suf;
  nn::Plan plan = nn::Parse(!input.empty() && input[0] == '{' ? fuzz::TextOf(input) : Patched(input));
  SUF_CHECK(nn::PlanHash(nn::Parse(nn::Serialize(plan))) == nn::PlanHash(plan));
  if (plan.dims.d > 64 || plan.dims.ff > 256 || plan.dims.vocab > 1024 || plan.dims.layers > 2)
    return;  // keep it quick
  pfss::Trace t;
  nn::Build(t, plan, 3);
}
