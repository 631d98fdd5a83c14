// Reads JSON text as values of nlohmann's library. No other product code parses JSON.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "suf/base/error.hpp"

namespace suf {

// Most objects and lists inside each other. A value that nests deeper would overflow the stack when it is copied.
inline constexpr int kJsonDepth = 64;

// What an error message says about a text, and what the caller needs beside the value.
struct JsonText {
  std::string what;    // subject of the message: "the plan", a path
  std::string remedy;  // an imperative: "compile the plan again"
  Cause cause = Cause::kInput;
  // If set, receives the whole numbers in the outermost object by name, as they are written. They may have any number
  // of digits. The value holds a rounded number, or 0, in place of one outside 64 bits.
  std::map<std::string, std::string>* wholes = nullptr;
};

// Parses a text. Throws Error with text.cause, naming line and column, for a text that is not JSON, nests deeper than
// kJsonDepth, gives a name twice in one object, or holds a number above the largest double.
nlohmann::json ReadJson(std::string_view json, const JsonText& text);
// Parses a text like ReadJson, but keeps the order of names.
nlohmann::ordered_json ReadOrderedJson(std::string_view json, const JsonText& text);

}  // namespace suf
