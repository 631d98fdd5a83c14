// The JSON files of a model directory, read strictly: a model that would be computed wrongly is refused. Private to the
// module.
#pragma once
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "suf/base/json.hpp"
#include "suf/model/internal/files.hpp"

namespace suf::model {

using nlohmann::json;

inline constexpr size_t kFileLimit = 1 << 20;
inline constexpr const char* kAnother = "use another model";

// The JSON value of a file of a model directory.
inline json ReadJsonFile(const std::filesystem::path& file, size_t limit = kFileLimit) {
  return ReadJson(ReadText(file, limit), {file.string(), "fetch it again"});
}

// A JSON object from a file, whose fields are read one by one. Hidden: libsuf exports nothing of another library.
class [[gnu::visibility("hidden")]] Fields {
 public:
  explicit Fields(const std::filesystem::path& file) : Fields(file.string(), ReadJsonFile(file), "") {}
  // An object inside a file; `path` is its place there, such as "normalizer".
  Fields(std::string file, json object, std::string path)
      : file_(std::move(file)), path_(std::move(path)), all_(std::move(object)) {
    if (!all_.is_object())
      Fail(Cause::kInput, file_, path_.empty() ? "" : ": ", path_, " is not a JSON object; fetch it again");
  }

  // Throws that a field has its present value, then `parts`, which end with a remedy.
  template <class... T>
  [[noreturn]] void Refuse(const std::string& field, const T&... parts) const {
    Fail(Cause::kInput, file_, ": ", Place(), field, " is ", Shown(field), ", ", parts...);
  }

  int64_t Count(const char* field, int64_t limit) const {
    const auto v = all_.find(field);
    if (v == all_.end() || !v->is_number_integer() || *v < 1 || *v > limit)
      Refuse(field, "it must be a whole number from 1 to ", limit, "; ", kAnother);
    return v->get<int64_t>();
  }

  // Checks that the field, or `absent` if there is none, equals `supported`.
  void Must(const char* field, const json& absent, const json& supported, const char* remedy = kAnother) const {
    if (all_.value(field, absent) != supported) Refuse(field, "only ", supported.dump(), " is supported; ", remedy);
  }

  // Returns the field's text, or `absent` if there is none, if it is supported. If `absent` is null, the field must
  // exist.
  std::string OneOf(const char* field, const char* absent, std::initializer_list<const char*> supported,
                    const char* remedy = kAnother) const {
    const json v = all_.value(field, absent ? json(absent) : json());
    std::string names;
    for (const char* s : supported) {
      if (v == s) return s;
      names += (names.empty() ? "" : ", ") + json(s).dump();
    }
    Refuse(field, "only ", names, " are supported; ", remedy);
  }
  // Returns a function of nn::RealFunction by the name that configurations have.
  std::string Activation(const char* field, const char* absent) const {
    return OneOf(field, absent, {"gelu", "gelu_new", "relu", "silu", "tanh"});
  }

  double Epsilon(const char* field, double absent) const {
    const json v = all_.value(field, json(absent));
    if (!v.is_number() || !(v.get<double>() > 0 && v.get<double>() <= 1e-3))
      Refuse(field, "it must be above 0 and at most 0.001; ", kAnother);
    return v.get<double>();
  }

  double Number(const char* field, double low, double high, double absent) const {
    const json v = all_.value(field, json(absent));
    if (!v.is_number() || !(v.get<double>() >= low && v.get<double>() <= high))
      Refuse(field, "it must be from ", low, " to ", high, "; ", kAnother);
    return v.get<double>();
  }

  // Checks that `count` is a multiple of `of`.
  void Multiple(const char* field, int64_t count, int64_t of, const char* what) const {
    if (count % of != 0)
      Fail(Cause::kInput, file_, ": ", Place(), field, " is ", count, ", it must be a multiple of the ", of, " ", what,
           "; ", kAnother);
  }

  // Checks that the field holds nothing: null, false, or a list, an object or a text without content.
  void Empty(const char* field, const char* remedy = kAnother) const {
    if (!Nothing(all_.value(field, json())))
      Refuse(field, "which changes the result; only an empty one is supported; ", remedy);
  }
  // Refuses every field that is not `known` and holds something, because its meaning is not known here.
  void Only(std::initializer_list<std::string_view> known) const {
    for (const auto& [field, v] : all_.items())
      if (std::find(known.begin(), known.end(), field) == known.end() && !Nothing(v))
        Fail(Cause::kInput, file_, ": ", Place(), Quoted(field), " is ", Shown(field),
             ", and its effect is not known here; ", kAnother);
  }

  // Returns whether the field is true. `absent` counts if there is none, or null.
  bool True(const char* field, bool absent) const { return Has(field) ? Value(field) == json(true) : absent; }
  std::string Text(const char* field) const {
    const auto v = all_.find(field);
    return v != all_.end() && v->is_string() ? v->get<std::string>() : "";
  }

  bool Has(const std::string& field) const { return all_.contains(field) && !all_[field].is_null(); }
  bool Null(const char* field) const { return !Has(field); }
  bool Named(const char* field) const { return all_.contains(field); }
  json Value(const std::string& field) const { return all_.value(field, json()); }
  Fields Object(const char* field, const char* supported, const char* remedy = kAnother) const {
    if (!Value(field).is_object()) Refuse(field, "only ", supported, " is supported; ", remedy);
    return Fields(file_, Value(field), Place() + field);
  }
  // Returns the objects of a list of at most `most`.
  std::vector<Fields> List(const char* field, size_t most) const {
    json list = Value(field);
    if (!list.is_array() || list.size() > most) Refuse(field, "it must be a list of up to ", most, "; ", kAnother);
    std::vector<Fields> out;
    for (size_t i = 0; i < list.size(); ++i)
      out.emplace_back(file_, std::move(list[i]), Str(Place(), field, "[", i, "]"));
    return out;
  }
  const json& all() const { return all_; }
  const std::string& file() const { return file_; }

 private:
  std::string Place() const { return path_.empty() ? "" : path_ + "."; }
  static bool Nothing(const json& v) { return v.empty() || v == json(false) || v == json(""); }
  // Whether a text reads like a number, true, false or null.
  static bool LooksOtherwise(const std::string& text) {
    return text == "true" || text == "false" || text == "null" ||
           (!text.empty() && text.find_first_not_of("0123456789+-.eE") == text.npos);
  }
  std::string Shown(const std::string& field) const {
    if (!all_.contains(field)) return "missing";
    const json& v = all_[field];
    if (!v.is_string()) return Quoted(v.dump(-1, ' ', true));
    const auto& text = v.get_ref<const std::string&>();
    return (LooksOtherwise(text) ? "the text " : "") + Quoted(text);
  }

  std::string file_, path_;
  json all_;
};

}  // namespace suf::model
