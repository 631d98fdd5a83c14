// The shared parts of functions and compositions. Their plans have one variant and no masked weights, and their parties
// bring arrays of words.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "suf/roles/inputs.hpp"
#include "suf/roles/server.hpp"

namespace suf::roles {

// Reads the text of a plan file.
std::string ReadPlanText(const std::string& path);
// Returns the engine's part of a plan whose calls have 1 to `most` values or rows. `emit` writes the trace of one call.
ProtocolSpec CallSpec(const Hash& hash, int64_t most, const proto::JobUnit& unit, const pfss::Ending& ending,
                      std::function<void(pfss::Trace&, int64_t n)> emit);
// Returns the data of a server that brings these inputs in every call.
ServerData CallData(std::vector<NamedArray> inputs, uint32_t brings, const pfss::Ending& ending,
                    std::function<void(uint32_t n, std::vector<uint64_t> words)> learned);
// Returns an input of these words.
NamedArray InputNamed(std::string name, WipedVector<uint64_t> words);

}  // namespace suf::roles
