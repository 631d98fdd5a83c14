// The words that the formula parser accepts, taken from the parser itself, for tests of Vocabulary().
#pragma once
#include <set>
#include <string>

namespace suf::func::internal {

// The functions, constants, variables and binary operators of the parser.
struct ParserNames {
  std::set<std::string> functions, constants, variables, operators;
};
ParserNames NamesOfParser();

}  // namespace suf::func::internal
