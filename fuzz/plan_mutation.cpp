#include "fuzz/plan_mutation.hpp"

namespace suf::fuzz {

namespace {

constexpr int64_t kSpecial[] = {0,
                                1,
                                2,
                                3,
                                4,
                                7,
                                8,
                                15,
                                16,
                                31,
                                32,
                                33,
                                62,
                                63,
                                64,
                                65,
                                126,
                                127,
                                128,
                                255,
                                1023,
                                1024,
                                65535,
                                65536,
                                1 << 20,
                                -1,
                                -2,
                                int64_t{1} << 31,
                                int64_t{1} << 40,
                                int64_t{1} << 62,
                                INT64_MAX,
                                INT64_MIN};

Json* Member(Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}
// The list in this member of the object; an empty one if there is none.
Json& ListOf(Json& object, const char* name) {
  static thread_local Json none;
  Json* list = Member(object, name);
  if (list && list->is_array()) return *list;
  return none = Json::array();
}

// Adds `by` to every node input that is at least `from`.
void Shift(Json& plan, int64_t from, int64_t by) {
  for (Json& node : ListOf(plan, "nodes"))
    for (Json& in : ListOf(node, "in"))
      if (in.is_number_integer() && in.get<int64_t>() >= from) in = in.get<int64_t>() + by;
}

}  // namespace

size_t PlanMutation::Below(size_t n) {
  if (n <= 1) return 0;
  return (n <= 256 ? size_t(Pull<uint8_t>(program_)) : size_t(Pull<uint16_t>(program_))) % n;
}

Json* PlanMutation::ClassNode(Json& plan, size_t node) {
  Json* c = Item(ListOf(plan, "classes"));
  if (!c) return nullptr;
  Json& nodes = ListOf(*c, "nodes");
  return node < nodes.size() ? &nodes[node] : nullptr;
}

void PlanMutation::Rewire(Json& plan) {
  Json& nodes = ListOf(plan, "nodes");
  const size_t i = Below(nodes.size());
  if (i >= nodes.size()) return;
  Json& in = ListOf(nodes[i], "in");
  switch (Below(8)) {
    case 0:
      in.push_back(Below(i));
      break;
    case 1:
      if (!in.empty()) in.erase(in.begin() + int64_t(Below(in.size())));
      break;
    case 2:
      if (in.size() > 1) std::swap(in[0], in[1]);
      break;
    default:
      if (Json* one = Item(in)) *one = Below(i + (Below(16) == 0));
  }
}

void PlanMutation::Number(Json& x) {
  const int64_t v = x.get<int64_t>();
  switch (Below(5)) {
    case 0:
      x = kSpecial[Below(std::size(kSpecial))];
      break;
    case 1:
      x = int64_t(uint64_t(v) + 1);
      break;
    case 2:
      x = int64_t(uint64_t(v) - 1);
      break;
    case 3:
      x = int64_t(Below(70));
      break;
    default:
      x = Below(2) ? v / 2 : int64_t(uint64_t(v) * 2);
  }
}

void PlanMutation::Text(Json& x) {
  static constexpr char kCharacters[] = " 0123456789()[]+*-,abcmW.\x1b\n\"";
  std::string s = x.get<std::string>();
  const size_t at = Below(s.size() + 1);
  switch (Below(5)) {
    case 0:
      s.erase(at, 1 + Below(8));
      break;
    case 1:
      s.insert(at, 1, kCharacters[Below(std::size(kCharacters) - 1)]);
      break;
    case 2:
      if (at < s.size()) s[at] = kCharacters[Below(std::size(kCharacters) - 1)];
      break;
    case 3:
      s.clear();
      break;
    default: {  // replaces a number in the text
      const size_t digit = s.find_first_of("0123456789", at);
      if (digit == s.npos) break;
      const size_t end = std::min(s.find_first_not_of("0123456789", digit), s.size());
      s.replace(digit, end - digit, std::to_string(kSpecial[Below(std::size(kSpecial))]));
    }
  }
  x = s;
}

void PlanMutation::List(Json& x) {
  switch (Below(6)) {
    case 0:
      x = Json::array();
      break;
    case 1:
      if (!x.empty()) x.erase(x.begin() + int64_t(Below(x.size())));
      break;
    case 2:
      if (Json* one = Item(x)) x.push_back(Json(*one));
      break;
    case 3:
      if (x.size() > 1) std::swap(x[Below(x.size())], x[Below(x.size())]);
      break;
    default:
      if (Json* one = Item(x)) Value(*one);
  }
}

void PlanMutation::Value(Json& x) {
  if (x.is_number_integer()) return Number(x);
  if (x.is_number_float())
    return void(x = Below(2) ? x.get<double>() * 2 : double(kSpecial[Below(std::size(kSpecial))]));
  if (x.is_string()) return Text(x);
  if (x.is_boolean()) return void(x = !x.get<bool>());
  if (x.is_array()) return List(x);
  if (x.is_object()) Field(x);
}

void PlanMutation::Field(Json& object) {
  if (!object.is_object() || object.empty()) return;
  auto at = object.begin();
  std::advance(at, int64_t(Below(object.size())));
  if (Below(24) == 0) return void(object.erase(at));
  if (Below(24) == 0) return void(*at = Json(kSpecial[Below(std::size(kSpecial))]));
  Value(*at);
}

// Copies a value that another node of this plan or another one has under the same name.
void PlanMutation::Borrow(Json& plan) {
  const bool graph = Below(2);
  Json& nodes = ListOf(plan, "nodes");
  const size_t i = Below(nodes.size());
  Json* to = graph ? (i < nodes.size() ? &nodes[i] : nullptr) : ClassNode(plan, i);
  if (!to || !to->is_object() || to->empty()) return;
  auto at = to->begin();
  std::advance(at, int64_t(Below(to->size())));
  Json of = Below(2) ? plan : others_[Below(others_.size())];
  Json& donors = ListOf(of, "nodes");
  const size_t j = Below(donors.size());
  Json* from = graph ? (j < donors.size() ? &donors[j] : nullptr) : ClassNode(of, j);
  if (Json* value = from ? Member(*from, at.key().c_str()) : nullptr) *at = *value;
}

void PlanMutation::InsertNode(Json& plan) {
  Json& nodes = ListOf(plan, "nodes");
  const size_t i = Below(nodes.size());
  if (i >= nodes.size() || nodes.size() > 80) return;
  Shift(plan, int64_t(i) + 1, 1);
  nodes.insert(nodes.begin() + int64_t(i) + 1, Json(nodes[i]));
  if (Json& in = ListOf(nodes[i + 1], "in"); !in.empty() && Below(2)) in[0] = i;
  for (Json& c : ListOf(plan, "classes")) {
    Json& own = ListOf(c, "nodes");
    if (i < own.size()) own.insert(own.begin() + int64_t(i) + 1, Json(own[i]));
  }
  if (Below(2) && i + 2 < nodes.size())
    if (Json* in = Item(ListOf(nodes[i + 2], "in"))) *in = i + 1;
}

void PlanMutation::RemoveNode(Json& plan) {
  Json& nodes = ListOf(plan, "nodes");
  const size_t i = Below(nodes.size());
  if (i >= nodes.size() || nodes.size() < 2) return;
  const Json& in = ListOf(nodes[i], "in");
  const Json instead = in.empty() ? Json(0) : in[0];
  for (Json& node : nodes)
    for (Json& x : ListOf(node, "in"))
      if (x == i) x = instead;
  nodes.erase(nodes.begin() + int64_t(i));
  for (Json& c : ListOf(plan, "classes"))
    if (Json& own = ListOf(c, "nodes"); i < own.size()) own.erase(own.begin() + int64_t(i));
  Shift(plan, int64_t(i) + 1, -1);
}

// Turns a node into another operator, with that one's attributes and, in each class, its parameters.
void PlanMutation::Kind(Json& plan) {
  Json& nodes = ListOf(plan, "nodes");
  const size_t i = Below(nodes.size()), j = Below(nodes.size());
  if (i >= nodes.size() || j >= nodes.size()) return;
  const Json in = ListOf(nodes[i], "in");
  nodes[i] = Json(nodes[j]);
  if (nodes[i].is_object()) nodes[i]["in"] = in;
  for (Json& c : ListOf(plan, "classes"))
    if (Json& own = ListOf(c, "nodes"); i < own.size() && j < own.size()) own[i] = Json(own[j]);
}

void PlanMutation::Function(Json& plan) {
  Json& functions = ListOf(plan, "functions");
  if (Below(4) == 0) {
    Json of = others_[Below(others_.size())];
    if (Json* one = Item(ListOf(of, "functions"))) functions.push_back(*one);
    return;
  }
  Json* one = Item(functions);
  if (one && one->is_string()) Text(*one);
}

void PlanMutation::Classes(Json& plan) {
  Json& classes = ListOf(plan, "classes");
  switch (Below(4)) {
    case 0:
      if (Json* c = Item(classes); c && classes.size() < 8) classes.push_back(Json(*c));
      break;
    case 1:
      List(ListOf(plan, "variants"));
      break;
    case 2:
      if (Json* c = Item(classes))
        for (const char* name : {"max_n", "tiles", "batch_tiles", "variant"})
          if (Below(2)) (*c)[name] = int64_t(Below(70));
      break;
    default:
      for (const char* name : {"min_tokens", "max_tokens"})
        if (Below(2)) plan[name] = int64_t(Below(70));
  }
}

void PlanMutation::Anywhere(Json& plan) {
  Json* at = &plan;
  for (int depth = 0; depth < 8 && at->is_structured() && !at->empty() && (depth < 2 || Below(4)); ++depth) {
    auto next = at->begin();
    std::advance(next, int64_t(Below(at->size())));
    at = &*next;
  }
  Value(*at);
}

void PlanMutation::Change(Json& plan) {
  const size_t kind = Below(16);
  Json& nodes = ListOf(plan, "nodes");
  const size_t node = kind >= 4 && kind <= 7 ? Below(nodes.size()) : 0;
  switch (kind) {
    case 0:
    case 1:
    case 2:
      return Rewire(plan);
    case 3:
      return Borrow(plan);
    case 4:
      if (node < nodes.size()) Field(nodes[node]);
      return;
    case 5:
    case 6:
    case 7:
      if (Json* own = ClassNode(plan, node)) Field(*own);
      return;
    case 8:
      return InsertNode(plan);
    case 9:
      return RemoveNode(plan);
    case 10:
      return Kind(plan);
    case 11:
    case 12:
      return Function(plan);
    case 13:
      return Classes(plan);
    default:
      return Anywhere(plan);
  }
}

}  // namespace suf::fuzz
