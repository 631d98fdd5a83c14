// The plan as JSON text: a writer and a strict reader of the fields that internal/fields.hpp lists.
#include "suf/nn/plan.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "suf/base/digest.hpp"
#include "suf/nn/internal/fields.hpp"

namespace suf::nn {

namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<int64_t>;

// Tables: the distinct tables of a plan in order of first use.
struct Tables {
  std::vector<Words> list;
  std::map<Words, size_t> index;
  size_t Of(const Words& t) {
    auto [at, fresh] = index.emplace(t, list.size());
    if (fresh) list.push_back(t);
    return at->second;
  }
};

// Put: the writer.
class Put {
 public:
  Put(Json& j, Tables& tables) : j_(j), tables_(tables) { j_ = Json::object(); }
  void Int(const char* name, auto x, int64_t, int64_t) { j_[name] = x; }
  void Real(const char* name, double x, double, double) { j_[name] = x; }
  void Flag(const char* name, bool x) { j_[name] = x; }
  void Text(const char* name, const std::string& x, size_t) { j_[name] = x; }
  void Digest(const char* name, const Hash& x) { j_[name] = Hex(x); }
  void Ints(const char* name, const Words& x, int64_t, int64_t) { j_[name] = x; }
  void Table(const char* name, const Words& x) { j_[name] = tables_.Of(x); }
  void One(const char* name, auto& x) {
    Put inner(j_[name], tables_);
    Fields(inner, x);
  }
  void Many(const char* name, auto& list, size_t, size_t) {
    Json& a = j_[name] = Json::array();
    for (auto& x : list) {
      Put inner(a.emplace_back(), tables_);
      Fields(inner, x);
    }
  }
  void Dict(const char* name, auto& map) {
    Put inner(j_[name], tables_);
    for (auto& [key, x] : map) inner.One(key.c_str(), x);
  }

 private:
  Json& j_;
  Tables& tables_;
};

// Given: the tables of the text that is read, and how many entries their uses have copied so far.
struct Given {
  std::vector<Words> list;
  size_t copied = 0;
};

// Get: the strict reader; `at` is the path of the object in sentences.
class Get {
 public:
  Get(const Json& j, std::string at, Given& tables) : j_(j), at_(std::move(at)), tables_(tables) {
    if (!j.is_object())
      Fail(Cause::kRefused, at_.empty() ? "the plan" : Str("the plan's field ", at_),
           " is not an object; compile the plan again");
  }
  const Json& Field(const char* name, bool (Json::*type)() const noexcept, const char* what) {
    auto it = j_.find(name);
    if (it == j_.end()) Fail(Cause::kRefused, "the plan lacks the field ", Path(name), "; compile the plan again");
    if (!((*it).*type)())
      Fail(Cause::kRefused, "the plan's field ", Path(name), " is not ", what, "; compile the plan again");
    seen_.insert(name);
    return *it;
  }
  template <class T>
  void Int(const char* name, T& x, int64_t lo, int64_t hi) {
    x = T(Whole(Field(name, &Json::is_number_integer, "a whole number"), Path(name), lo, hi));
  }
  void Real(const char* name, double& x, double lo, double hi) {
    x = Field(name, &Json::is_number, "a number").get<double>();
    if (!(x >= lo && x <= hi))
      Fail(Cause::kRefused, "the plan's field ", Path(name), " is ", x, ", outside ", lo, " to ", hi);
  }
  void Flag(const char* name, bool& x) { x = Field(name, &Json::is_boolean, "true or false").get<bool>(); }
  void Text(const char* name, std::string& x, size_t limit) {
    x = Field(name, &Json::is_string, "a text").get<std::string>();
    if (x.size() > limit)
      Fail(Cause::kRefused, "the plan's field ", Path(name), " is longer than ", limit, " characters");
  }
  void Digest(const char* name, Hash& x) {
    std::string text = Field(name, &Json::is_string, "a text").get<std::string>();
    Bytes b = text.size() == 2 * x.size() && text.find_first_not_of("0123456789abcdef") == text.npos
                  ? FromHex(text, x.size(), name)
                  : Bytes{};
    if (b.size() != x.size())
      Fail(Cause::kRefused, "the plan's field ", Path(name), " is not a SHA-256 in lower-case hex");
    std::copy(b.begin(), b.end(), x.begin());
  }
  void Ints(const char* name, Words& x, int64_t lo, int64_t hi) {
    for (const Json& e : Field(name, &Json::is_array, "a list")) x.push_back(Whole(e, Path(name), lo, hi));
  }
  void Table(const char* name, Words& x) {
    int64_t i =
        Whole(Field(name, &Json::is_number_integer, "a whole number"), Path(name), 0, int64_t(tables_.list.size()) - 1);
    x = tables_.list[size_t(i)];
    if ((tables_.copied += x.size()) > kTableWords)
      Fail(Cause::kRefused, "the plan's tables have more than ", kTableWords,
           " entries, each table counted as often as it is used; compile the plan for fewer lengths");
  }
  void One(const char* name, auto& x) {
    Get inner(Field(name, &Json::is_object, "an object"), Path(name), tables_);
    Fields(inner, x), inner.Done();
  }
  template <class T>
  void Many(const char* name, std::vector<T>& list, size_t least, size_t most) {
    const Json& a = Field(name, &Json::is_array, "a list");
    if (a.size() < least || a.size() > most)
      Fail(Cause::kRefused, "the plan's field ", Path(name), " has ", a.size(), " entries, outside ", least, " to ",
           most);
    for (size_t i = 0; i < a.size(); ++i) {
      Get inner(a[i], Str(Path(name), "[", i, "]"), tables_);
      Fields(inner, list.emplace_back()), inner.Done();
    }
  }
  template <class T>
  void Dict(const char* name, std::map<std::string, T>& map) {
    Get inner(Field(name, &Json::is_object, "an object"), Path(name), tables_);
    for (auto& [key, x] : inner.j_.items()) inner.One(key.c_str(), map[key]);
  }
  void Done() const {
    for (auto& [key, x] : j_.items())
      if (!seen_.count(key))
        Fail(Cause::kRefused, "the plan's field ", Path(key), " is unknown; compile the plan again");
  }

 private:
  std::string Path(const std::string& name) const { return at_.empty() ? name : at_ + "." + name; }
  static int64_t Whole(const Json& e, const std::string& path, int64_t lo, int64_t hi) {
    if (!e.is_number_integer()) Fail(Cause::kRefused, "the plan's field ", path, " is not a whole number");
    bool fits = !e.is_number_unsigned() || e.get<uint64_t>() <= uint64_t(INT64_MAX);
    if (!fits || e.get<int64_t>() < lo || e.get<int64_t>() > hi)
      Fail(Cause::kRefused, "the plan's field ", path, " is ", e.dump(), ", outside ", lo, " to ", hi);
    return e.get<int64_t>();
  }
  const Json& j_;
  std::string at_;
  Given& tables_;
  std::set<std::string> seen_;
};

// Content: everything but the hash.
Json Content(Plan plan) {
  Tables tables;
  Json body, j = Json::object();
  Put put(body, tables);
  Fields(put, plan);
  j["version"] = kPlanVersion;
  for (auto& [key, x] : body.items()) j[key] = std::move(x);
  j["tables"] = tables.list;
  return j;
}

Hash HashOfContent(const Json& j) { return HashOf({AsView(j.dump())}); }

}  // namespace

Hash PlanHash(const Plan& plan) { return HashOfContent(Content(plan)); }

std::string Serialize(const Plan& plan, int indent) {
  Json j = Content(plan);
  j["hash"] = Hex(HashOfContent(j));
  return j.dump(indent) + "\n";
}

Plan Parse(const std::string& text) {
  // a plan nests to 7; copies of a text that nests to a million would run out of stack
  auto shallow = [](int depth, Json::parse_event_t, Json&) {
    if (depth > 16) Fail(Cause::kRefused, "the plan nests deeper than 16 levels; compile the plan again");
    return true;
  };
  Json j = Json::parse(text, shallow, false);
  if (j.is_discarded()) Fail(Cause::kRefused, "the plan is not JSON text; compile the plan again");
  Given tables;
  Get get(j, "", tables);
  int version = 0;
  get.Int("version", version, INT64_MIN, INT64_MAX);
  if (version != kPlanVersion)
    Fail(Cause::kRefused, "the plan has version ", version, ", this program reads version ", kPlanVersion,
         "; compile the plan again");
  size_t i = 0;
  for (const Json& t : get.Field("tables", &Json::is_array, "a list")) {
    Json wrapped = Json::object();
    std::string name = Str("tables[", i++, "]");
    wrapped[name] = t;
    Get(wrapped, "", tables).Ints(name.c_str(), tables.list.emplace_back(), -kBig, kBig);
  }
  Plan plan;
  Hash hash;
  Fields(get, plan);
  get.Digest("hash", hash);
  get.Done();
  Check(plan);
  j.erase("hash");
  if (hash != HashOfContent(j) || hash != PlanHash(plan))
    Fail(Cause::kRefused, "the plan's content does not match its hash; copy or compile the plan again");
  return plan;
}

const Class& Plan::For(int n) const {
  if (n < 3) Fail(Cause::kInput, "a text of ", n, " tokens is below the limit of 3; give it at least one word");
  for (const Class& c : classes)
    if (n <= c.max_n) return c;
  Fail(Cause::kInput, "a text of ", n, " tokens is over the plan's limit of ", max_tokens,
       "; shorten it or compile a plan for longer texts");
}

}  // namespace suf::nn
