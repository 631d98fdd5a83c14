// What the formula parser accepts, as the parser itself says, for tests of Vocabulary().
#pragma once
#include <set>
#include <string>

namespace suf::func::internal {

// Every function, constant and variable that the parser knows, and its binary operators.
struct ParserNames {
  std::set<std::string> functions, constants, variables, operators;
};
ParserNames NamesOfParser();

}  // namespace suf::func::internal
