#include "apps/costs.hpp"

namespace suf::apps {

std::vector<std::string> CostHeader(const std::string& first, bool safe,
                                    const std::vector<compiler::Profile>& profiles) {
  std::vector<std::string> out{first};
  if (safe) out.emplace_back("safe");
  out.insert(out.end(), {"flights", "P0 sends", "P1 sends", "key P0", "key P1", "AES dealer", "AES P0", "AES P1"});
  for (const compiler::Profile& p : profiles) out.push_back(p.name);
  return out;
}

std::vector<std::string> CostCells(const std::string& name, bool safe, const compiler::TraceBill& bill,
                                   const std::vector<compiler::Profile>& profiles, const std::vector<bool>& chosen) {
  const compiler::Bill& b = bill.bill;
  std::vector<std::string> out{name};
  if (safe) out.emplace_back(bill.steering.empty() ? "yes" : "no");
  out.insert(out.end(), {Str(b.flights), Bytes10(b.sent[0]), Bytes10(b.sent[1]), Bytes10(b.key[0]), Bytes10(b.key[1]),
                         Count10(b.blocks[2]), Count10(b.blocks[0]), Count10(b.blocks[1])});
  for (size_t k = 0; k < profiles.size(); ++k)
    out.push_back(Duration10(compiler::Seconds(b, profiles[k].prices)) + (chosen[k] ? " *" : "  "));
  return out;
}

std::vector<std::string> CostDrop(const std::vector<compiler::Profile>& profiles) {
  std::vector<std::string> out{"AES P0", "AES P1", "AES dealer", "key P0", "P0 sends"};
  for (size_t k = profiles.size(); k > 1; --k) out.push_back(profiles[k - 1].name);
  out.insert(out.end(), {"P1 sends", "key P1", "flights"});
  return out;
}

void AddBill(nlohmann::ordered_json* row, const compiler::Bill& bill) {
  nlohmann::ordered_json& out = *row;
  out["flights"] = bill.flights;
  out["sent_bytes"] = bill.sent;
  out["key_bytes"] = bill.key;
  out["aes_blocks"] = {bill.blocks[2], bill.blocks[0], bill.blocks[1]};
}

nlohmann::ordered_json WordsJson(const compiler::Bill& bill) { return {bill.words[2], bill.words[0], bill.words[1]}; }

}  // namespace suf::apps
