// Formats compositions and their runs: for people, and as JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "suf/gates/compose/composition.hpp"

namespace suf::apps {

// Formats the first rows: a column for each number of an output, and each input of one number a row. Both are
// in order of the text; values that this process does not know are empty.
std::string GateTable(const gates::Composition& c, const std::vector<gates::Ints>& inputs,
                      const std::vector<gates::Ints>& outputs, int64_t rows);
// Formats outputs as JSON, by name: an array of each that is known, and the types and learners of all.
nlohmann::ordered_json OutputsJson(const gates::Composition& c, const std::vector<gates::Ints>& outputs);
// Formats a run as JSON of schema suf.gate/1, with OutputsJson.
nlohmann::ordered_json GateRow(const gates::Composition& c, const gates::GateChoices& choices,
                               const compiler::Bill& bill, const Hash& trace, int64_t rows,
                               const std::vector<gates::Ints>& outputs);
// Returns a line with rows, flights, bytes and keys. The clause `time` ends it.
std::string GateSentence(const compiler::Bill& bill, int64_t rows, const std::string& time);
// Returns `rows`, or 1 if no input has rows.
int64_t RowsOrOne(const gates::Composition& c, int64_t rows);
// Names the party that brings an input, and the one that learns an output: "P1", "both parties".
const char* BringerName(gates::Origin from);
const char* LearnerName(gates::To to);
// Formats a number of this type. An unsigned word of 64 bits is held in two's complement.
std::string GateNumber(const gates::ValueType& type, int64_t v);
// Returns the lowerings with semicolons between, as --lowering takes them.
std::string LoweringsOf(const gates::GateChoices& choices);
// Returns the bill of a composition's trace for `rows` rows.
compiler::Bill BillOf(const gates::Composition& c, const gates::GateChoices& choices, int64_t rows, Hash* trace);

}  // namespace suf::apps
