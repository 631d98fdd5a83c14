// Formats a function's run as JSON, as a table or as sentences, and reads and writes files of values.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/fn/fn_source.hpp"
#include "suf/base/digest.hpp"
#include "suf/compiler/choose.hpp"

namespace suf::apps {

using ValueRows = std::vector<std::vector<uint64_t>>;  // (channels)(values), modulo 2^bits

// A run of a function, or the plan of one.
struct FnRun {
  const gates::FunctionPlan& plan;
  std::string backend, profile;
  compiler::Bill bill;
  Hash trace{};
  std::optional<bool> equal;  // to the function's meaning; none if this process lacks x or y
};

// Names the source of x.
const char* SourceName(gates::Origin from);
// Names the parties that learn the result.
const char* ReceiverName(gates::To to);

// Formats a run as JSON of schema suf.fn/2. `x` and `y` hold the values that this process knows in clear; otherwise
// they are empty.
nlohmann::ordered_json FnRow(const FnRun& run, const std::vector<uint64_t>& x, const ValueRows& y);
// Formats the first values as a table, also in units if the library gives scales.
std::string FnTable(const gates::FunctionPlan& plan, const NamedFunction& g, const std::vector<uint64_t>& x,
                    const ValueRows& y);
// Returns two lines, the parties and the cost, and a third one if every value equals the function's meaning. The clause
// `time` ends the second line.
std::string FnSentences(const FnRun& run, int64_t count, const std::string& time);

// Returns the file of each channel's values: OUT, or OUT.CHANNEL if there are several. Throws Cause::kRefused if the
// name of a channel leads to another folder, as in a stranger's plan.
std::vector<std::string> FilesOf(const std::string& out, const gates::FunctionPlan& plan);
// Throws Cause::kResource unless WriteValues can write this number of values. Leaves no file behind.
void ProbeValues(const std::string& out, const gates::FunctionPlan& plan, uint64_t values);
// Writes the results or shares of a party, a file for each channel, as FilesOf names them. Shares and bits are words
// below 2^bits; signed numbers are signed.
void WriteValues(const std::string& out, const gates::FunctionPlan& plan, const ValueRows& y);
// Reads the files of WriteValues, to compare the results of both parties.
ValueRows ReadValues(const std::string& out, const gates::FunctionPlan& plan);

}  // namespace suf::apps
