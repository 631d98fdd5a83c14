#include "suf/backends/all.hpp"

#include <algorithm>

#include "suf/backends/clear.hpp"
#include "suf/backends/interpreter.hpp"
#include "suf/backends/myl7.hpp"
#include "suf/backends/packed.hpp"

namespace suf::backends {
namespace {

// Listed: names, with commas between.
std::string Listed(const std::vector<Entry>& all) {
  std::string out;
  for (const Entry& e : all) out += (out.empty() ? "" : ", ") + e.name;
  return out;
}

// Named: throws Cause::kInput for a name that none has.
Entry Named(const std::string& name) {
  const std::vector<Entry> all = All();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](auto& e) { return e.name == (name == "auto" ? "packed" : name); });
  if (it == all.end()) Fail(Cause::kInput, "there is no backend ", name, "; use one of auto, ", Listed(all));
  return *it;
}

}  // namespace

std::vector<Entry> All() {
  const auto packed = MakePacked(exec::Default());
  std::vector<Entry> out{{"packed", packed->capabilities(), [](exec::Pool& pool) { return MakePacked(pool); }}};
  out[0].can.what = Str("the fast one, with the kernels that suit this processor: ", packed->name());
  for (ring::Variant v : {ring::Variant::kPortable, ring::Variant::kAvx2, ring::Variant::kAvx512}) {
    const std::string kernels = ring::Name(v);
    Entry e{"packed/" + kernels, packed->capabilities(),
            [kernels](exec::Pool& pool) { return MakePacked(pool, ring::VariantNamed(kernels)); }};
    e.can.what = "with the kernels " + kernels;
    if (!ring::Supports(v)) e.why_not = "needs a processor with the instructions of " + kernels + "; use packed";
    e.variant = true;
    out.push_back(std::move(e));
  }
  out.push_back({"clear", MakeClear()->capabilities(), [](exec::Pool&) { return MakeClear(); }});
  out.push_back({"rows", MakeRows()->capabilities(), [](exec::Pool&) { return MakeRows(); }});
  out.push_back({"myl7", Myl7Capabilities(), [](exec::Pool&) { return MakeMyl7(); }, Myl7Built(), Myl7WhyNot(), false});
  return out;
}

std::vector<Entry> Usable(bool models) {
  std::vector<Entry> out = All();
  std::erase_if(out, [&](const Entry& e) { return e.variant || !e.why_not.empty() || (models && !e.models); });
  return out;
}

std::unique_ptr<pfss::Backend> Make(const std::string& name, exec::Pool& pool) { return Named(name).make(pool); }

std::unique_ptr<pfss::Backend> MakeForModels(const std::string& name, exec::Pool& pool) {
  if (!Named(name).models)
    Fail(Cause::kInput, "the backend ", name, " runs plans of functions alone; use one of auto, ", Listed(Usable()));
  return Make(name, pool);
}

}  // namespace suf::backends
