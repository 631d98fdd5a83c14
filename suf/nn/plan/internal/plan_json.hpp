// The fields of a plan as JSON text: a writer and a strict reader. Another party may have written the text.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "suf/base/digest.hpp"
#include "suf/base/json.hpp"
#include "suf/base/printable.hpp"
#include "suf/func/text.hpp"
#include "suf/nn/plan/fields.hpp"

namespace suf::nn {

using Json = nlohmann::ordered_json;

// The subject and the remedy of error messages about a kind of plan.
struct PlanWords {
  std::string what, remedy;
};
inline const PlanWords kModelPlan{"the plan", "compile the plan again"};

// The limit of pieces and their outputs in a plan's functions. Each function counts as often as it is used. A short
// text could name a long function in every node of every class.
inline constexpr size_t kTableWords = size_t{1} << 24;

// The distinct functions of a plan in order of first use.
struct PlanFunctions {
  std::vector<std::string> list;
  std::map<std::string, size_t> index;
  size_t used = 0;  // pieces copied by a reader
  std::map<size_t, func::Suf> read = {};
  // Returns function i. Its text is read once, however often it is used.
  const func::Suf& Read(size_t i) {
    auto at = read.find(i);
    if (at == read.end()) at = read.emplace(i, func::Parse(list[i])).first;
    return at->second;
  }
  size_t Of(const std::string& text) {
    auto [at, fresh] = index.emplace(text, list.size());
    if (fresh) list.push_back(text);
    return at->second;
  }
};

// Refuses text that is not printable. Other roles, which did not write a plan's texts, show them.
inline void WantPrintable(const PlanWords& words, const std::string& field, const std::string& text) {
  if (!IsPrintable(text))
    Fail(Cause::kRefused, words.what, "'s field ", field, " has a character that is not printable: ", Quoted(text),
         "; ", words.remedy, " with other names");
}

// The writer. Hidden, because the interface of libsuf names no type of the JSON library.
class [[gnu::visibility("hidden")]] PlanWriter : public Visitor {
 public:
  PlanWriter(Json& j, PlanFunctions& functions, const PlanWords& words = kModelPlan)
      : j_(j), functions_(functions), words_(words) {
    if (!j_.is_object()) j_ = Json::object();
  }
  bool fills() const override { return false; }
  void Whole(const char* name, int64_t* x, int64_t, int64_t) override { j_[name] = *x; }
  void Real(const char* name, double* x, double, double) override { j_[name] = *x; }
  void Flag(const char* name, bool* x) override { j_[name] = *x; }
  void Text(const char* name, std::string* x, size_t) override {
    WantPrintable(words_, name, *x);
    j_[name] = *x;
  }
  void AnyText(const char* name, std::string* x, size_t) override { j_[name] = *x; }
  void Many(const char* name, Ints* x, size_t, int64_t, int64_t) override { j_[name] = *x; }
  void Weight(const char* name, Expr* x, bool) override { j_[name] = x->Text(); }
  void Function(const char* name, func::Suf* x) override { j_[name] = functions_.Of(func::Print(*x)); }
  void List(const char* name, size_t size, size_t, const std::function<void(size_t)>&,
            const std::function<void(Visitor&, size_t)>& item) override {
    Json& a = j_[name] = Json::array();
    for (size_t i = 0; i < size; ++i) {
      PlanWriter inner(a.emplace_back(), functions_, words_);
      item(inner, i);
    }
  }

 private:
  Json& j_;
  PlanFunctions& functions_;
  const PlanWords& words_;
};

// The strict reader. `at` is the path of the object in error messages. Hidden like the writer.
class [[gnu::visibility("hidden")]] PlanReader : public Visitor {
 public:
  PlanReader(const Json& j, std::string at, PlanFunctions& functions, const PlanWords& words = kModelPlan)
      : j_(j), at_(std::move(at)), functions_(functions), words_(words) {
    if (!j.is_object())
      Fail(Cause::kRefused, at_.empty() ? words.what : Str(words.what, "'s field ", at_), " is not an object; ",
           words.remedy);
  }
  bool fills() const override { return true; }
  bool Has(const char* name) const override { return j_.contains(name); }
  const Json& Field(const char* name, bool (Json::*type)() const noexcept, const char* what) {
    auto it = j_.find(name);
    if (it == j_.end()) Fail(Cause::kRefused, words_.what, " lacks the field ", Path(name), "; ", words_.remedy);
    if (!((*it).*type)())
      Fail(Cause::kRefused, words_.what, "'s field ", Path(name), " is not ", what, "; ", words_.remedy);
    seen_.insert(name);
    return *it;
  }
  void Whole(const char* name, int64_t* x, int64_t lo, int64_t hi) override {
    *x = Number(Field(name, &Json::is_number_integer, "a whole number"), Path(name), lo, hi);
  }
  void Real(const char* name, double* x, double lo, double hi) override {
    *x = Field(name, &Json::is_number, "a number").get<double>();
    if (!(*x >= lo && *x <= hi))
      Fail(Cause::kRefused, words_.what, "'s field ", Path(name), " is ", *x, ", outside ", lo, " to ", hi, "; ",
           words_.remedy);
  }
  void Flag(const char* name, bool* x) override { *x = Field(name, &Json::is_boolean, "true or false").get<bool>(); }
  void Text(const char* name, std::string* x, size_t limit) override {
    AnyText(name, x, limit);
    WantPrintable(words_, Path(name), *x);
  }
  void AnyText(const char* name, std::string* x, size_t limit) override {
    *x = Field(name, &Json::is_string, "a text").get<std::string>();
    if (x->size() > limit)
      Fail(Cause::kRefused, words_.what, "'s field ", Path(name), " has ", x->size(), " bytes, the limit is ", limit,
           "; ", words_.remedy);
  }
  void Many(const char* name, Ints* x, size_t most, int64_t lo, int64_t hi) override {
    x->clear();
    for (const Json& e : Items(name, most)) x->push_back(Number(e, Path(name), lo, hi));
  }
  void Weight(const char* name, Expr* x, bool optional) override {
    std::string text;
    Text(name, &text, 1 << 16);
    if (text.empty() && !optional)
      Fail(Cause::kRefused, words_.what, "'s field ", Path(name), " is empty; ", words_.remedy);
    *x = text.empty() ? Expr() : Expr::Parse(text, Str(words_.what, "'s field ", Path(name)));
  }
  void Function(const char* name, func::Suf* x) override {
    int64_t i = 0;
    Whole(name, &i, 0, int64_t(functions_.list.size()) - 1);
    const func::Suf* f = nullptr;
    try {
      f = &functions_.Read(size_t(i));
    } catch (const Error& e) {
      Fail(Cause::kRefused, "the plan's field functions[", i, "]: ", e.what());
    }
    functions_.used += f->pieces.size() * size_t(f->outputs) + f->channels.size();
    for (const func::Formula& formula : f->formulas) functions_.used += formula.size();
    if (functions_.used > kTableWords)
      Fail(Cause::kRefused, words_.what, "'s functions have more than ", kTableWords,
           " pieces, each function counted as often as it is used; compile the plan for fewer lengths");
    *x = *f;
  }
  void List(const char* name, size_t, size_t most, const std::function<void(size_t)>& resize,
            const std::function<void(Visitor&, size_t)>& item) override {
    const Json& a = Items(name, most);
    resize(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      PlanReader inner(a[i], Str(Path(name), "[", i, "]"), functions_, words_);
      item(inner, i);
      inner.Done();
    }
  }
  void Done() const {
    for (auto& [key, x] : j_.items())
      if (!seen_.count(key)) Fail(Cause::kRefused, words_.what, "'s field ", Path(key), " is unknown; ", words_.remedy);
  }
  const Json& Items(const char* name, size_t most) {
    const Json& a = Field(name, &Json::is_array, "a list");
    if (a.size() > most)
      Fail(Cause::kRefused, words_.what, "'s field ", Path(name), " has ", a.size(), " entries, the limit is ", most,
           "; ", words_.remedy);
    return a;
  }

 private:
  std::string Path(const std::string& name) const { return at_.empty() ? name : at_ + "." + name; }
  int64_t Number(const Json& e, const std::string& path, int64_t lo, int64_t hi) const {
    if (!e.is_number_integer())
      Fail(Cause::kRefused, words_.what, "'s field ", path, " is not a whole number; ", words_.remedy);
    bool fits = !e.is_number_unsigned() || e.get<uint64_t>() <= uint64_t(INT64_MAX);
    if (!fits || e.get<int64_t>() < lo || e.get<int64_t>() > hi)
      Fail(Cause::kRefused, words_.what, "'s field ", path, " is ", e.dump(), ", outside ", lo, " to ", hi, "; ",
           words_.remedy);
    return e.get<int64_t>();
  }
  const Json& j_;
  std::string at_;
  PlanFunctions& functions_;
  const PlanWords& words_;
  std::set<std::string> seen_;
};

// Visits a SHA-256, as hex.
inline void VisitDigest(Visitor& v, const char* name, Hash* x, const PlanWords& words = kModelPlan) {
  std::string text = v.fills() ? "" : Hex(*x);
  v.Text(name, &text, 2 * x->size());
  if (!v.fills()) return;
  if (text.size() != 2 * x->size() || text.find_first_not_of("0123456789abcdef") != text.npos)
    Fail(Cause::kRefused, words.what, "'s field ", name, " is not a SHA-256 in lower-case hex; ", words.remedy);
  Bytes b = FromHex(text, x->size(), name);
  std::copy(b.begin(), b.end(), x->begin());
}

}  // namespace suf::nn
