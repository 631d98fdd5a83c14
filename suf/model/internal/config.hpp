// The JSON files of a model directory, read strictly: a model that we would compute wrongly is refused. Private to the
// room.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>

#include "suf/base/json.hpp"
#include "suf/model/internal/files.hpp"

namespace suf::model {

using nlohmann::json;

inline constexpr size_t kFileLimit = 1 << 20;

// Fields: a JSON object from a file, its fields read one by one. Hidden: libsuf exports nothing of another library.
class [[gnu::visibility("hidden")]] Fields {
 public:
  explicit Fields(std::filesystem::path file) : file_(std::move(file)) {
    all_ = ReadJson(ReadText(file_, kFileLimit), {file_.string(), "fetch it again"});
    if (!all_.is_object()) Fail(Cause::kInput, file_.string(), " is not a JSON object; fetch it again");
  }

  int64_t Count(const char* field, int64_t limit) const {
    const auto v = all_.find(field);
    if (v == all_.end() || !v->is_number_integer() || *v < 1 || *v > limit) {
      Fail(Cause::kInput, file_.string(), ": ", field, " is ", Shown(field), ", it must be a whole number from 1 to ",
           limit, "; use another model");
    }
    return v->get<int64_t>();
  }

  // Must: the field, or `absent` where there is none, equals `supported`.
  void Must(const char* field, const json& absent, const json& supported) const {
    if (all_.value(field, absent) != supported) {
      Fail(Cause::kInput, file_.string(), ": ", field, " is ", Shown(field), ", only ", supported.dump(),
           " is supported; use another model");
    }
  }

  // OneOf: the field's text, or `absent` where there is none (nullptr: it must be there), is one of the supported ones.
  std::string OneOf(const char* field, const char* absent, std::initializer_list<const char*> supported) const {
    const json v = all_.value(field, absent ? json(absent) : json());
    std::string names;
    for (const char* s : supported) {
      if (v == s) return s;
      names += (names.empty() ? "" : ", ") + json(s).dump();
    }
    Fail(Cause::kInput, file_.string(), ": ", field, " is ", Shown(field), ", only ", names,
         " are supported; use another model");
  }
  // Activation: a function of nn::RealFunction by the name that configurations have.
  std::string Activation(const char* field, const char* absent) const {
    return OneOf(field, absent, {"gelu", "gelu_new", "relu", "silu", "tanh"});
  }

  double Epsilon(const char* field, double absent) const {
    const json v = all_.value(field, json(absent));
    if (!v.is_number() || !(v.get<double>() > 0 && v.get<double>() <= 1e-3)) {
      Fail(Cause::kInput, file_.string(), ": ", field, " is ", Shown(field),
           ", it must be above 0 and at most 0.001; use another model");
    }
    return v.get<double>();
  }

  double Number(const char* field, double low, double high, double absent) const {
    const json v = all_.value(field, json(absent));
    if (!v.is_number() || !(v.get<double>() >= low && v.get<double>() <= high)) {
      Fail(Cause::kInput, file_.string(), ": ", field, " is ", Shown(field), ", it must be from ", low, " to ", high,
           "; use another model");
    }
    return v.get<double>();
  }

  // Multiple: `count` must be one of `of`.
  void Multiple(const char* field, int64_t count, int64_t of, const char* what) const {
    if (count % of != 0) {
      Fail(Cause::kInput, file_.string(), ": ", field, " is ", count, ", it must be a multiple of the ", of, " ", what,
           "; use another model");
    }
  }

  bool True(const char* field, bool absent) const { return all_.value(field, json(absent)) == json(true); }
  std::string Text(const char* field) const {
    const auto v = all_.find(field);
    return v != all_.end() && v->is_string() ? v->get<std::string>() : "";
  }

  bool Has(const char* field) const { return all_.contains(field) && !all_[field].is_null(); }
  bool Null(const char* field) const { return !Has(field); }

 private:
  std::string Shown(const char* field) const {
    if (!all_.contains(field)) return "missing";
    const json& v = all_[field];
    return v.is_string() ? Quoted(v.get<std::string>()) : Quoted(v.dump(-1, ' ', true));
  }

  std::filesystem::path file_;
  json all_;
};

}  // namespace suf::model
