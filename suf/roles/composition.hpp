// The two roles of a private composition of gates: a server (P0) and a client (P1) with its plan (gates). The plan says
// which of them brings which inputs and learns which outputs.
#pragma once
#include <vector>

#include "suf/gates/compose/plan.hpp"
#include "suf/roles/client.hpp"
#include "suf/roles/server.hpp"

namespace suf::roles {

// Reads and checks a composition's plan file. Throws Cause::kInput if there is none, and the errors of
// gates::ParseCompositionPlan.
gates::CompositionPlan LoadCompositionPlan(const std::string& path);

// The engine of a composition's plan. Its jobs count rows.
class CompositionEngine : public Engine {
 public:
  CompositionEngine(gates::CompositionPlan plan, pfss::Backend& backend);
  const gates::CompositionPlan& plan() const { return plan_; }
  const gates::Composition& composition() const { return *plan_.composition; }

 private:
  const gates::CompositionPlan plan_;
};

// Returns whether party p ends with outputs, or shares of them.
inline bool Learns(const gates::Composition& c, int p) { return Learns(gates::EndingOf(c), p); }
// Returns whether party p brings an input or a share of one; with `rows`, one that has rows.
bool Brings(const gates::Composition& c, int p, bool rows = false);

// The words of a party's inputs, in order of the text, from gates::InputWords or ShareWords. Inputs that the party does
// not bring are empty.
using InputWordLists = std::vector<WipedVector<uint64_t>>;
// Returns a client's job of `rows` rows.
JobRequest Values(const gates::Composition& c, InputWordLists words, uint32_t rows);
// Returns the data of a server, the same for every client. It announces `rows` if it brings an input with rows;
// otherwise every client chooses the rows of its calls. `learned` receives the words that gates::OutputWords reads.
ServerData ServerDataOf(const gates::Composition& c, InputWordLists words, uint32_t rows,
                        std::function<void(uint32_t rows, std::vector<uint64_t> words)> learned);

}  // namespace suf::roles
