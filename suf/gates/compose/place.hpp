// Places of a composition's text in error messages.
#pragma once
#include <string>

#include "suf/gates/compose/composition.hpp"

namespace suf::gates {

// Returns "line 3, column 5: ", or nothing for a statement that comes from no text.
inline std::string Where(const TextPlace& at) {
  return at.line ? Str("line ", at.line, ", column ", at.column, ": ") : "";
}
// Runs f and puts the place before its errors.
template <class F>
decltype(auto) AtPlace(const TextPlace& at, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    Fail(e.cause(), Where(at), e.what());
  }
}

}  // namespace suf::gates
