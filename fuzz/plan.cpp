// Fuzzes a plan file: its text, read strictly. An accepted plan is written and read again.
#include "suf/nn/plan/plan.hpp"

#include "fuzz/fuzz.hpp"

SUF_FUZZ(plan) {
  using namespace suf;
  nn::Plan plan = nn::Parse(fuzz::TextOf(input));
  std::string again = nn::Serialize(plan);
  SUF_CHECK(nn::Serialize(nn::Parse(again)) == again);
}
