// Structured changes of a plan's JSON text by an attacker who recomputes the hash. The bytes of an input are a program:
// each change takes some. So a longer input continues a shorter one.
#pragma once
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.hpp"
#include "suf/base/digest.hpp"

namespace suf::fuzz {

using Json = nlohmann::ordered_json;

// A plan as a file, with the hash of its contents.
inline std::string Hashed(Json plan) {
  constexpr auto replace = Json::error_handler_t::replace;
  plan.erase("hash");
  plan["hash"] = Hex(HashOf({AsView(plan.dump(-1, ' ', false, replace))}));
  return plan.dump(-1, ' ', false, replace);
}

// Changes one plan. It borrows values, nodes and functions from the plans `others`.
class PlanMutation {
 public:
  PlanMutation(const std::vector<Json>& others, View* program) : others_(others), program_(*program) {}
  // Makes one change, chosen by the next bytes of the program.
  void Change(Json& plan);

 private:
  size_t Below(size_t n);  // 0 for n = 0
  Json* Item(Json& list) { return list.is_array() && !list.empty() ? &list[Below(list.size())] : nullptr; }
  Json* ClassNode(Json& plan, size_t node);
  void Rewire(Json& plan);
  void Number(Json& x);
  void Text(Json& x);
  void List(Json& x);
  void Value(Json& x);
  void Field(Json& object);
  void Borrow(Json& plan);
  void InsertNode(Json& plan);
  void RemoveNode(Json& plan);
  void Kind(Json& plan);
  void Function(Json& plan);
  void Classes(Json& plan);
  void Anywhere(Json& plan);

  const std::vector<Json>& others_;
  View& program_;
};

}  // namespace suf::fuzz
