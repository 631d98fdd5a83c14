#include "suf/reference/myl7.hpp"

#include "suf/reference/clear.hpp"
#include "suf/reference/myl7_kernels.hpp"

namespace suf::reference {

using pfss::Op;

bool Myl7Built() { return SUF_MYL7; }
std::string Myl7WhyNot() {
  if (!Myl7Built())
    return "was not built here (SUF_MYL7=OFF); build it with the headers that the set-up fetches, or use clear or "
           "packed";
  return __builtin_cpu_supports("aes") ? "" : "needs a processor with AES instructions; use clear or packed";
}

pfss::Capabilities Myl7Capabilities() {
  pfss::Capabilities all{
      "myl7", "DCFs of the library myl7/fss 0.2.0 under clear's executor; a yardstick", {fss::DcfScheme::kMyl7}};
  all.largest = 64;
  return all.Without({Op::kDpfGen, Op::kDpfWindow, Op::kDpfParity, Op::kDpfDense});
}

std::unique_ptr<pfss::Backend> MakeMyl7() {
  if (const std::string why_not = Myl7WhyNot(); !why_not.empty()) Fail(Cause::kResource, "the backend myl7 ", why_not);
#if SUF_MYL7
  return MakeClear(Myl7Capabilities(), kMyl7PrgId, std::make_shared<const Myl7Kernels>());
#else
  return nullptr;
#endif
}

}  // namespace suf::reference
