// The two roles of a private function: a server (P0) and a client (P1) with a function's plan (gates). The plan says
// which of them brings values and which learns the results.
#pragma once
#include <span>

#include "suf/gates/plan_text.hpp"
#include "suf/roles/client.hpp"
#include "suf/roles/server.hpp"

namespace suf::roles {

// Reads and checks a function's plan file. Throws Cause::kInput if there is none, and the errors of gates::ParseFile.
gates::FunctionFile LoadFunctionPlan(const std::string& path);

// The engine of a function's plan.
class FunctionEngine : public Engine {
 public:
  FunctionEngine(gates::FunctionFile file, pfss::Backend& backend)
      : FunctionEngine(std::make_shared<const gates::FunctionFile>(std::move(file)), backend) {}
  const gates::FunctionPlan& plan() const { return file_->plan; }

 private:
  FunctionEngine(std::shared_ptr<const gates::FunctionFile> file, pfss::Backend& backend);
  std::shared_ptr<const gates::FunctionFile> file_;
};

// Returns whether party p brings values, or shares of them.
bool Brings(const gates::FunctionPlan& plan, int p);
// Returns whether party p ends with results, or shares of them.
inline bool Learns(const gates::FunctionPlan& plan, int p) { return Learns(gates::EndingOf(plan), p); }

// Returns a client's job with these words of Z_{2^n}. If the server alone brings values, it is a job of `count` values.
JobRequest Values(const gates::FunctionPlan& plan, WipedVector<uint64_t> words, uint32_t count);
// Returns the data of a server that brings these words, the same for every client. They are empty if P0 brings nothing.
// `learned` receives the words that gates::ChannelWords reads.
ServerData ServerDataOf(const gates::FunctionPlan& plan, WipedVector<uint64_t> words,
                        std::function<void(uint32_t count, std::vector<uint64_t> words)> learned);

}  // namespace suf::roles
