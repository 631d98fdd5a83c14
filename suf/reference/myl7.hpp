// myl7: comparison functions of the public library myl7/fss (PyPI package fss-crypto 0.2.0) under clear's executor. Its
// DCF is that of ePrint 2020/1392, figure 1, as ours. It takes one DCF per mask and word over Z_{2^64}, read at every
// public point. It has no DPF tree. It is a yardstick for meaning and speed, not for secrets: its Gen branches on
// alpha. Its half-tree classes are never used, because one party's key shows alpha (myl7_test.cpp).
#pragma once
#include "suf/pfss/backend.hpp"

namespace suf::reference {

// The PRG's identifier in key headers. PRG words are those of fss::kPrgId, DCF keys are not.
inline constexpr uint32_t kMyl7PrgId = 2;

// Returns whether this build has it (CMake's SUF_MYL7).
bool Myl7Built();
// Returns why it does not run here and which backends do, or an empty string if it runs. It does not run if it was not
// built or the processor has no AES instructions.
std::string Myl7WhyNot();
pfss::Capabilities Myl7Capabilities();
// Throws Cause::kResource if it is not built or not supported.
std::unique_ptr<pfss::Backend> MakeMyl7();

}  // namespace suf::reference
