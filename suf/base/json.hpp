// Reads JSON text as values of nlohmann's library. No other product code parses JSON.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "suf/base/error.hpp"

namespace suf {

// The largest depth of nested objects and lists. A deeper value would overflow the stack when it is copied.
inline constexpr int kJsonDepth = 64;

// The subject and the remedy of an error message about a text, and an optional second result.
struct JsonText {
  std::string what;    // subject of the message: "the plan", a path
  std::string remedy;  // an imperative: "compile the plan again"
  Cause cause = Cause::kInput;
  // If set, receives the whole numbers in the outermost object by name, as they are written. They may have any number
  // of digits. The value holds a rounded number, or 0, in place of one outside 64 bits.
  std::map<std::string, std::string>* wholes = nullptr;
};

// Parses a text. Throws Error with text.cause, naming line and column, if the text is not JSON or nests deeper than
// kJsonDepth. Throws it also if a name occurs twice in one object, or a number is above the largest double.
nlohmann::json ReadJson(std::string_view json, const JsonText& text);
// Parses a text like ReadJson, but keeps the order of names.
nlohmann::ordered_json ReadOrderedJson(std::string_view json, const JsonText& text);

}  // namespace suf
