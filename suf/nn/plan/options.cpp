#include "suf/nn/plan/options.hpp"

namespace suf::nn {

namespace {

// An option with its name, range and meaning, and the field that holds it.
struct Entry {
  std::string name;
  int low, high;
  const char* what;
  int Options::*field;
};

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> all{
      {"activation", 4, 20, "scale of a norm's result", &Options::activation},
      {"embedding", 4, 20, "scale of a lookup", &Options::embedding},
      {"gamma", 4, 20, "scale of a norm's gamma", &Options::gamma},
      {"mean", 0, 20, "further bits of gamma / d", &Options::mean},
      {"input", 3, 16, "scale of an activation's input", &Options::input},
      {"slope", 2, 16, "scale of the slopes of an activation's lines", &Options::slope},
      {"piece", 1, 14, "log2 of a line's width in units of the activation's input", &Options::piece},
      {"rotation", 4, 16, "scale of the cosines of rotary positions", &Options::rotation},
      {"exp_high", 4, 20, "scale of the exponential's high table", &Options::exp_high},
      {"exp_low", 2, 16, "scale of the exponential's low table", &Options::exp_low},
      {"exp_shift", 8, 24, "scale of the exponential of a score less a predicted shift", &Options::exp_shift},
      {"exp_cap", 9, 30, "bits of the largest exponential of a score less a predicted shift", &Options::exp_cap},
      {"shift_slice", 1, 8, "fractional bits of a score less a predicted shift", &Options::shift_slice},
      {"slice", 1, 8, "fractional bits of a score that the exponential sees", &Options::slice},
      {"recip_pieces", 2, 9, "log2 of the pieces an octave of 1 / row sum", &Options::recip_pieces},
      {"recip_bits", 2, 16, "bits of the least 1 / row sum", &Options::recip_bits},
      {"rsqrt_pieces", 2, 10, "log2 of the pieces an octave of 1 / sqrt", &Options::rsqrt_pieces},
      {"rsqrt_bits", 2, 16, "bits of 1 / sqrt at the largest calibrated sum of squares", &Options::rsqrt_bits},
      {"rsqrt_steps", 16, 4096, "pieces of 1 / sqrt where a DCF reads them: narrow where sums of squares were seen",
       &Options::rsqrt_steps},
      {"unit_pieces", 2, 10, "rsqrt_pieces, of x / |x|", &Options::unit_pieces},
      {"unit_bits", 2, 16, "rsqrt_bits, of x / |x|", &Options::unit_bits},
      {"span", 1, 12, "octaves that share one piece width", &Options::span},
      {"softmax", 0, 2, "0: by the row's maximum; 1: by a shift fitted in calibration; 2: the cheaper one",
       &Options::softmax},
      {"scores", 0, 2, "0: of rescaled queries and keys; 1: of un-truncated ones; 2: the cheaper one",
       &Options::scores},
      {"square", 0, 2,
       "a norm's sum of squares. 0: of the rescaled row; 1: of the un-truncated one; 2: the cheaper one",
       &Options::square},
      {"pieces", 0, 2, "an activation. 0: of a rounded slice; 1: at the un-truncated wire; 2: the cheaper one",
       &Options::pieces},
      {"tiles", 0, 2,
       "in which a long text or batch runs, each a tick behind the other. 1: whole; 2; 0: the cheaper one",
       &Options::tiles},
      {"merge", 0, 1 << 16, "lengths up to so many tokens skip an optional rescale where 64 bits allow it",
       &Options::merge},
      {"clamp", 0, 1, "1: residual streams are read by wrapping slices even if a hard bound would fit",
       &Options::clamp},
      {"weight", 4, 24, "scale of the weights of maps without one of their own", &Options::weight_default}};
  return all;
}

// Options by an operator's key.
struct OptionGroup {
  const char* name;
  const char* what;
  std::map<std::string, int> Options::*field;
};
constexpr OptionGroup kGroups[] = {{"weight", "scale of a map's weight", &Options::weight},
                             {"result", "scale to which a result is rescaled", &Options::result},
                             {"norm", "scale of x in a norm", &Options::norm}};
constexpr int kLeastScale = 2, kMostScale = 24;

}  // namespace

int Options::At(const std::map<std::string, int>& of, const char* what, const std::string& key) {
  auto it = of.find(key);
  if (it == of.end()) Fail(Cause::kRefused, "there is no scale `", what, ".", key, "`; set it");
  return it->second;
}

const std::vector<Options::Setting>& Options::Settings() {
  static const std::vector<Setting> all = [] {
    const Options defaults;
    std::vector<Setting> s;
    for (const Entry& e : Entries()) s.push_back({e.name, e.what, defaults.*e.field, e.low, e.high});
    for (const OptionGroup& g : kGroups)
      for (auto& [key, value] : defaults.*g.field)
        s.push_back({Str(g.name, ".", key), g.what, value, kLeastScale, kMostScale});
    return s;
  }();
  return all;
}

void Options::Set(const std::string& name, int value) {
  auto within = [&](int low, int high) {
    if (value < low || value > high)
      Fail(Cause::kInput, "the setting ", name, " is ", value, "; it may be ", low, " to ", high);
    return value;
  };
  for (const Entry& e : Entries())
    if (name == e.name) return void(this->*e.field = within(e.low, e.high));
  for (const OptionGroup& g : kGroups)
    if (name.rfind(std::string(g.name) + ".", 0) == 0 && name.size() <= 60)
      return void((this->*g.field)[name.substr(std::string(g.name).size() + 1)] = within(kLeastScale, kMostScale));
  std::string names;
  for (const Setting& s : Settings()) names += (names.empty() ? "" : ", ") + s.name;
  Fail(Cause::kInput, name.substr(0, 60), " is no setting of the compiler; take one of ", names);
}

}  // namespace suf::nn
