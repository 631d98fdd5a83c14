// The plan as JSON text. Each struct's fields are listed once, in Fields, and read by a writer and by a strict reader.
#include "suf/nn/plan.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "suf/base/digest.hpp"

namespace suf::nn {

namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<int64_t>;
constexpr int64_t kBig = int64_t{1} << 62;
constexpr int kRing = 64, kTokens = 1 << 16;

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

template <class V>
void Fields(V& v, Dims& x) {
  v.Int("d", x.d, 1, 1 << 14), v.Int("heads", x.heads, 1, 1 << 10), v.Int("ff", x.ff, 1, 1 << 17);
  v.Int("vocab", x.vocab, 1, 1 << 24), v.Int("layers", x.layers, 1, 1 << 8),
      v.Int("positions", x.positions, 1, kTokens);
  v.Real("eps", x.eps, 0, 1);
}

template <class V>
void Fields(V& v, Scales& x) {
  v.Int("f", x.f, 1, 30), v.Int("embedding", x.embedding, 1, 30), v.Int("gamma", x.gamma, 1, 30);
  v.Int("w_qk", x.w_qk, 1, 30), v.Int("w_v", x.w_v, 1, 30), v.Int("w_o", x.w_o, 1, 30);
  v.Int("w_1", x.w_1, 1, 30), v.Int("w_2", x.w_2, 1, 30);
  v.Int("qk", x.qk, 1, 30), v.Int("v", x.v, 1, 30), v.Int("o", x.o, 1, 30), v.Int("x", x.x, 1, 30);
  v.Int("gelu", x.gelu, 1, 30), v.Int("mean", x.mean, 0, 30), v.Int("result", x.result, 1, 30);
}

template <class V>
void Fields(V& v, Group& x) {
  v.Int("w", x.w, 0, kRing), v.Int("lo", x.lo, 0, kBig), v.Int("hi", x.hi, 1, kBig), v.Table("values", x.values);
}

template <class V>
void Fields(V& v, Norm& x) {
  v.Int("kz", x.kz, 3, kRing), v.Int("cut", x.cut, 0, kRing), v.Int("square", x.square, 1, kRing),
      v.Int("eps", x.eps, 0, kBig);
  v.Int("floor", x.floor, 0, kRing), v.Int("top", x.top, 0, kRing), v.Many("rsqrt", x.rsqrt, 1, kRing);
  v.Int("product", x.product, 3, kRing), v.Int("shift", x.shift, 1, kRing), v.Int("out", x.out, 1, kRing);
}

template <class V>
void Fields(V& v, Layer& x) {
  v.Int("qk", x.qk, 3, kRing), v.Int("v", x.v, 3, kRing);
  v.Int("shift_qk", x.shift_qk, 1, kRing), v.Int("shift_v", x.shift_v, 1, kRing);
  v.Int("score", x.score, 3, kRing), v.Int("shift_score", x.shift_score, 1, kRing), v.Ints("offset", x.offset, 0, kBig);
  v.Int("low", x.low, 1, 10), v.Int("level", x.level, 1, 10), v.Int("floor", x.floor, 0, 1 << 10);
  v.Int("elo_bits", x.elo_bits, 1, kRing), v.Int("ehi_bits", x.ehi_bits, 1, kRing);
  v.Table("elo", x.elo), v.Table("ehi", x.ehi);
  v.Int("row_sum", x.row_sum, 1, kRing), v.Int("ev", x.ev, 3, kRing), v.Many("recip", x.recip, 1, kRing);
  v.Int("count_bits", x.count_bits, 1, 17), v.Int("o", x.o, 3, kRing), v.Int("shift_o", x.shift_o, 0, kRing);
  v.Int("proj", x.proj, 3, kRing), v.Int("diag_o", x.diag_o, 0, kRing), v.Int("mean_o", x.mean_o, 0, kRing);
  v.Int("bias_o", x.bias_o, 0, kRing);
  v.One("attention", x.attention);
  v.Int("ffn1", x.ffn1, 3, kRing), v.Int("shift_ffn1", x.shift_ffn1, 1, kRing);
  v.Int("piece_width", x.piece_width, 1, 16), v.Int("piece", x.piece, 1, 12);
  v.Table("gelu_a", x.gelu_a), v.Table("gelu_b", x.gelu_b);
  v.Int("gelu_u", x.gelu_u, 1, kRing), v.Int("gelu_v", x.gelu_v, 1, kRing);
  v.Int("ffn2", x.ffn2, 3, kRing), v.Int("diag_2", x.diag_2, 0, kRing), v.Int("mean_2", x.mean_2, 0, kRing);
  v.One("output", x.output);
}

template <class V>
void Fields(V& v, Class& x) {
  v.Int("max_n", x.max_n, 1, kTokens), v.One("embedding", x.embedding), v.Many("layers", x.layers, 1, 1 << 8);
  v.Int("pool", x.pool, 3, kRing), v.One("result", x.result);
}

template <class V>
void Fields(V& v, Certificate& x) {
  v.Int("bits", x.bits, 0, kRing), v.Flag("hard", x.hard);
}

template <class V>
void Fields(V& v, Plan& x) {
  v.One("dims", x.dims), v.Digest("tokenizer", x.tokenizer), v.Int("max_tokens", x.max_tokens, 1, kTokens);
  v.One("scales", x.scales), v.Many("classes", x.classes, 1, 64), v.Dict("certificates", x.certificates);
  v.Text("calibration", x.calibration, 64);
}

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

// Get: the strict reader; `at` is the path of the object in sentences.
class Get {
 public:
  Get(const Json& j, std::string at, const std::vector<Words>& tables) : j_(j), at_(std::move(at)), tables_(tables) {
    if (!j.is_object())
      Fail(Exit::kRefused, at_.empty() ? "the plan" : Str("the plan's field ", at_),
           " is not an object; compile the plan again");
  }
  const Json& Field(const char* name, bool (Json::*type)() const noexcept, const char* what) {
    auto it = j_.find(name);
    if (it == j_.end()) Fail(Exit::kRefused, "the plan lacks the field ", Path(name), "; compile the plan again");
    if (!((*it).*type)())
      Fail(Exit::kRefused, "the plan's field ", Path(name), " is not ", what, "; compile the plan again");
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
      Fail(Exit::kRefused, "the plan's field ", Path(name), " is ", x, ", outside ", lo, " to ", hi);
  }
  void Flag(const char* name, bool& x) { x = Field(name, &Json::is_boolean, "true or false").get<bool>(); }
  void Text(const char* name, std::string& x, size_t limit) {
    x = Field(name, &Json::is_string, "a text").get<std::string>();
    if (x.size() > limit)
      Fail(Exit::kRefused, "the plan's field ", Path(name), " is longer than ", limit, " characters");
  }
  void Digest(const char* name, Hash& x) {
    std::string text = Field(name, &Json::is_string, "a text").get<std::string>();
    Bytes b = text.size() == 2 * x.size() && text.find_first_not_of("0123456789abcdef") == text.npos
                  ? FromHex(text, x.size(), name)
                  : Bytes{};
    if (b.size() != x.size())
      Fail(Exit::kRefused, "the plan's field ", Path(name), " is not a SHA-256 in lower-case hex");
    std::copy(b.begin(), b.end(), x.begin());
  }
  void Ints(const char* name, Words& x, int64_t lo, int64_t hi) {
    for (const Json& e : Field(name, &Json::is_array, "a list")) x.push_back(Whole(e, Path(name), lo, hi));
  }
  void Table(const char* name, Words& x) {
    int64_t i =
        Whole(Field(name, &Json::is_number_integer, "a whole number"), Path(name), 0, int64_t(tables_.size()) - 1);
    x = tables_[size_t(i)];
  }
  void One(const char* name, auto& x) {
    Get inner(Field(name, &Json::is_object, "an object"), Path(name), tables_);
    Fields(inner, x), inner.Done();
  }
  template <class T>
  void Many(const char* name, std::vector<T>& list, size_t least, size_t most) {
    const Json& a = Field(name, &Json::is_array, "a list");
    if (a.size() < least || a.size() > most)
      Fail(Exit::kRefused, "the plan's field ", Path(name), " has ", a.size(), " entries, outside ", least, " to ",
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
        Fail(Exit::kRefused, "the plan's field ", Path(key), " is unknown; compile the plan again");
  }

 private:
  std::string Path(const std::string& name) const { return at_.empty() ? name : at_ + "." + name; }
  static int64_t Whole(const Json& e, const std::string& path, int64_t lo, int64_t hi) {
    if (!e.is_number_integer()) Fail(Exit::kRefused, "the plan's field ", path, " is not a whole number");
    bool fits = !e.is_number_unsigned() || e.get<uint64_t>() <= uint64_t(INT64_MAX);
    if (!fits || e.get<int64_t>() < lo || e.get<int64_t>() > hi)
      Fail(Exit::kRefused, "the plan's field ", path, " is ", e.dump(), ", outside ", lo, " to ", hi);
    return e.get<int64_t>();
  }
  const Json& j_;
  std::string at_;
  const std::vector<Words>& tables_;
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
    if (depth > 16) Fail(Exit::kRefused, "the plan nests deeper than 16 levels; compile the plan again");
    return true;
  };
  Json j = Json::parse(text, shallow, false);
  if (j.is_discarded()) Fail(Exit::kRefused, "the plan is not JSON text; compile the plan again");
  std::vector<Words> tables;
  Get get(j, "", tables);
  int version = 0;
  get.Int("version", version, INT64_MIN, INT64_MAX);
  if (version != kPlanVersion)
    Fail(Exit::kRefused, "the plan has version ", version, ", this program reads version ", kPlanVersion,
         "; compile the plan again");
  size_t i = 0;
  for (const Json& t : get.Field("tables", &Json::is_array, "a list")) {
    Json wrapped = Json::object();
    std::string name = Str("tables[", i++, "]");
    wrapped[name] = t;
    Get(wrapped, "", tables).Ints(name.c_str(), tables.emplace_back(), -kBig, kBig);
  }
  Plan plan;
  Hash hash;
  Fields(get, plan);
  get.Digest("hash", hash);
  get.Done();
  Check(plan);
  j.erase("hash");
  if (hash != HashOfContent(j) || hash != PlanHash(plan))
    Fail(Exit::kRefused, "the plan's content does not match its hash; copy or compile the plan again");
  return plan;
}

const Class& Plan::For(int n) const {
  if (n < 3) Fail(Exit::kInput, "a text of ", n, " tokens is below the limit of 3; give it at least one word");
  for (const Class& c : classes)
    if (n <= c.max_n) return c;
  Fail(Exit::kInput, "a text of ", n, " tokens is over the plan's limit of ", max_tokens,
       "; shorten it or compile a plan for longer texts");
}

}  // namespace suf::nn
