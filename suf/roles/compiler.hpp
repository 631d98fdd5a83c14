// Compiler: from a model and texts like those to come to the plan, which holds everything public and no weight.
#pragma once
#include <string>
#include <vector>

#include "suf/roles/model.hpp"

namespace suf::roles {

// A number that the compiler chooses unless it is told: a scale, a size of tables.
using Setting = nn::Options::Setting;

// Calibration texts that the last Compile left out, by reason, and those that it cut.
struct Unusable {
  struct Reason {
    std::string error;            // of the first one
    size_t count = 0, first = 0;  // of the texts; counted from 0
  };
  std::vector<Reason> reasons;
  size_t cut = 0;
};

class Compiler {
 public:
  // max_tokens: of the longest text that the plan covers. The model outlives the compiler.
  explicit Compiler(const Model& model, int max_tokens = 256);
  // All settings, with their defaults.
  static const std::vector<Setting>& Settings() { return nn::Options::Settings(); }
  // Sets another value than the default. Throws Cause::kInput for an unknown name or a value out of range.
  void Set(const std::string& name, int value);
  // Whose networks and machines the plan is chosen for, one variant for each (nn::Variant); lan unless it is
  // told. What is wrong in them is refused by Compile.
  void Variants(std::vector<nn::Variant> variants) { variants_ = std::move(variants); }
  // Texts in UTF-8, longer ones are cut; they place the windows, and each is simulated at the end. used, if
  // given: how many of them could be used. calibration: what the plan says of their origin (hex), by default the
  // SHA-256 of the texts, one a line. Throws Cause::kInput when no text can be used, Cause::kRefused when a wire needs
  // more bits than its ring may have, naming the wire, bits, limit and setting. Takes minutes for a real model.
  nn::Plan Compile(const std::vector<std::string>& texts, std::string calibration = {}, const Progress& progress = {},
                   size_t* used = nullptr);
  // The same from token ids as the model reads them.
  nn::Plan CompileIds(const std::vector<std::vector<int32_t>>& ids, std::string calibration,
                      const Progress& progress = {});
  const Unusable& unusable() const { return unusable_; }
  // shifts: what the last Compile fitted beside the plan: P0's weights, and of each softmax why or why not.
  const nn::Shifts& shifts() const { return shifts_; }

 private:
  const Model& model_;
  int max_tokens_;
  nn::Options options_;
  std::vector<nn::Variant> variants_{{"lan", "lan"}};
  nn::Shifts shifts_;
  Unusable unusable_;
};

}  // namespace suf::roles
