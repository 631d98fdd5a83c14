#include "suf/backends/all.hpp"

#include <algorithm>

#include "suf/cpu/packed.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/reference/clear.hpp"
#include "suf/reference/myl7.hpp"
#include "suf/reference/rows.hpp"

namespace suf::backends {
namespace {

// Returns the names, with commas between them.
std::string Listed(const std::vector<BackendEntry>& all) {
  std::string out;
  for (const BackendEntry& e : all) out += (out.empty() ? "" : ", ") + e.name;
  return out;
}

// Queries the driver.
BackendEntry Cuda(int device) {
  std::string why_not = gpu::CudaWhyNot(device);
  if (!why_not.empty()) why_not += ", or use packed";
  return {"cuda", gpu::CudaCapabilities(), [device](const exec::Pools&) { return gpu::MakeCuda(device); },
          !gpu::CudaBuilt().empty(), std::move(why_not)};
}

// Returns the backends that compute on the processor and query no driver.
std::vector<BackendEntry> Hosts() {
  const auto packed = cpu::MakePacked(exec::DefaultPools());
  std::vector<BackendEntry> out{
      {"packed", packed->capabilities(), [](const exec::Pools& pools) { return cpu::MakePacked(pools); }}};
  out[0].can.what = Str("the fast one, with the kernels that suit this processor: ", packed->name());
  for (ring::Isa v : {ring::Isa::kPortable, ring::Isa::kAvx2, ring::Isa::kAvx512}) {
    const std::string kernels = ring::Name(v);
    BackendEntry e{"packed/" + kernels, packed->capabilities(),
                   [kernels](const exec::Pools& pools) { return cpu::MakePacked(pools, ring::VariantNamed(kernels)); }};
    e.can.what = "with the kernels " + kernels;
    if (!ring::Supports(v))
      e.why_not = Str("the backend ", e.name, " needs a processor with the instructions of ", kernels, "; use packed");
    e.variant = true;
    out.push_back(std::move(e));
  }
  out.push_back(
      {"clear", reference::MakeClear()->capabilities(), [](const exec::Pools&) { return reference::MakeClear(); }});
  out.push_back(
      {"rows", reference::MakeRows()->capabilities(), [](const exec::Pools&) { return reference::MakeRows(); }});
  std::string why_not = reference::Myl7WhyNot();
  if (!why_not.empty()) why_not = "the backend myl7 " + why_not;
  out.push_back({"myl7", reference::Myl7Capabilities(), [](const exec::Pools&) { return reference::MakeMyl7(); },
                 reference::Myl7Built(), std::move(why_not), false});
  return out;
}

}  // namespace

std::vector<BackendEntry> All(int device) {
  std::vector<BackendEntry> out = Hosts();
  out.push_back(Cuda(device));
  return out;
}

std::vector<BackendEntry> Usable(bool models) {
  std::vector<BackendEntry> out = All();
  std::erase_if(out, [&](const BackendEntry& e) { return e.variant || !e.why_not.empty() || (models && !e.models); });
  return out;
}

BackendEntry Find(const std::string& name, bool models, int device) {
  if (name == "auto" || name == "cuda") {
    BackendEntry e = Cuda(device);
    if (e.why_not.empty()) return e;
    if (name == "cuda") Fail(Cause::kResource, e.why_not);
  }
  const std::vector<BackendEntry> all = Hosts();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](auto& e) { return e.name == (name == "auto" ? "packed" : name); });
  if (it == all.end()) Fail(Cause::kInput, "there is no backend ", name, "; use one of auto, ", Listed(all), ", cuda");
  if (models && !it->models)
    Fail(Cause::kInput, "the backend ", name, " runs plans of functions alone; use one of auto, ", Listed(Usable()));
  if (!it->why_not.empty()) Fail(Cause::kResource, it->why_not);
  return *it;
}

std::unique_ptr<pfss::Backend> Make(const std::string& name, const exec::Pools& pools) {
  return Find(name).make(pools);
}

}  // namespace suf::backends
