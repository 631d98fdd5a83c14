// The two roles of a private function: a server (P0) and a client (P1) whose plan is a function's (gates). Which of
// them brings values and which learns the results, the plan says.
#pragma once
#include <span>

#include "suf/gates/plan_text.hpp"
#include "suf/roles/client.hpp"
#include "suf/roles/server.hpp"

namespace suf::roles {

// Reads and checks a function's plan file. Throws Cause::kInput (no file) or what gates::ParseFile
// throws.
gates::FunctionFile LoadFunctionPlan(const std::string& path);

class FunctionEngine : public Engine {
 public:
  FunctionEngine(gates::FunctionFile file, pfss::Backend& backend)
      : FunctionEngine(std::make_shared<const gates::FunctionFile>(std::move(file)), backend) {}
  const gates::FunctionPlan& plan() const { return file_->plan; }

 private:
  FunctionEngine(std::shared_ptr<const gates::FunctionFile> file, pfss::Backend& backend);
  std::shared_ptr<const gates::FunctionFile> file_;
};

// Of a model's or a function's plan, for a role that takes both: the dealer.
std::unique_ptr<Engine> LoadEngine(const std::string& path, pfss::Backend& backend);

// Brings, Learns: whether party p brings values, or shares of them; whether it ends with results, or shares of them.
bool Brings(const gates::FunctionPlan& plan, int p);
bool Learns(const gates::FunctionPlan& plan, int p);

// One job of a client that brings these words of Z_{2^n}; of `count` where the server alone brings some.
Ask Values(const gates::FunctionPlan& plan, Wiped<uint64_t> words, uint32_t count);
// A server that brings these words, the same for every client; none where the plan asks nothing of P0.
// learned: gets the words of gates::ChannelWords.
ServerPart PartOf(const gates::FunctionPlan& plan, Wiped<uint64_t> words,
                  std::function<void(uint32_t count, std::vector<uint64_t> words)> learned);

}  // namespace suf::roles
