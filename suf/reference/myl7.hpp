// myl7: the comparison functions of the public library myl7/fss (PyPI package fss-crypto 0.2.0; ePrint 2020/1392,
// figure 1, as ours) under clear's executor: one DCF a mask and word over Z_{2^64}, read at every public point. It has
// no DPF tree. A yardstick for meaning and speed, not for secrets: its Gen branches on alpha. Its half-tree classes are
// never used: one party's key shows alpha (myl7_test.cpp).
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::reference {

// In key headers: PRG words are those of fss::kPrgId, keys of DCFs are not.
inline constexpr uint32_t kMyl7PrgId = 2;

// Whether this build has it (CMake's SUF_MYL7). Myl7WhyNot: why it does not run here, and what does: it was
// not built, or the processor has no AES instructions; empty where it runs.
bool Myl7Built();
std::string Myl7WhyNot();
pfss::Capabilities Myl7Capabilities();
// Throws Cause::kResource where it is not built or not supported.
std::unique_ptr<pfss::Backend> MakeMyl7();

}  // namespace suf::reference
