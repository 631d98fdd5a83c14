// What is said of a function's run: a row of JSON, a table of values, a sentence of what it cost.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/fn_source.hpp"
#include "suf/base/digest.hpp"
#include "suf/compiler/choose.hpp"

namespace suf::apps {

using ValueRows = std::vector<std::vector<uint64_t>>;  // (channels)(values), modulo 2^bits

// What a row is made of.
struct FnRun {
  const gates::FunctionPlan& plan;
  std::string backend, profile;
  compiler::Bill bill;
  Hash trace{};
  std::optional<bool> equal;  // to the function's own meaning; nothing where nobody here knows x and y
};

// In words: where x comes from, and who learns the result.
const char* Whose(gates::From from);
const char* Whom(gates::To to);

// Schema suf.fn/1. x and y: what this process knows of both, shares or nothing otherwise.
nlohmann::ordered_json FnRow(const FnRun& run, const std::vector<uint64_t>& x, const ValueRows& y);
// The first values; in units, too, where the library gives scales.
std::string FnTable(const gates::FunctionPlan& plan, const Given& g, const std::vector<uint64_t>& x,
                    const ValueRows& y);
// Two lines: what ran between whom, and what it took; `time` is a clause that ends the second.
std::string FnSentences(const FnRun& run, int64_t count, const std::string& time);

// Returns the file of each channel's values: OUT, or OUT.CHANNEL of several. Throws Cause::kRefused if a channel's
// name, which may come from a stranger's plan, leads to another folder.
std::vector<std::string> FilesOf(const std::string& out, const gates::FunctionPlan& plan);
// Throws Cause::kResource unless WriteValues can write so many values. Leaves nothing behind.
void ProbeValues(const std::string& out, const gates::FunctionPlan& plan, uint64_t values);
// What a party learned or keeps, a file a channel: FILE, or FILE.CHANNEL of several. Shares and bits are
// words below 2^bits, signed numbers are signed.
void WriteValues(const std::string& out, const gates::FunctionPlan& plan, const ValueRows& y);
// The inverse of a run's output, for who compares both parties'.
ValueRows ReadValues(const std::string& out, const gates::FunctionPlan& plan);

}  // namespace suf::apps
